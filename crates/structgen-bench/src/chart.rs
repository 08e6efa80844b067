//! Charts of lines, as SVG.

use plotters::prelude::*;

const SIZE: (u32, u32) = (720, 440);

/// A chart of lines over two axes.
pub(crate) struct Chart<'c> {
    pub(crate) title: &'c str,
    pub(crate) x: Axis<'c>,
    pub(crate) y: Axis<'c>,
    pub(crate) lines: Vec<Line>,
}

pub(crate) struct Axis<'c> {
    label: &'c str,
    range: (f64, f64),
}

impl<'c> Axis<'c> {
    pub(crate) fn linear(label: &'c str, range: (f64, f64)) -> Self {
        Self { label, range }
    }
}

pub(crate) struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

impl Line {
    pub(crate) fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
        }
    }
}

impl Chart<'_> {
    pub(crate) fn svg(&self) -> Result<String, Box<dyn std::error::Error + '_>> {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            area.fill(&WHITE)?;
            let mut chart = ChartBuilder::on(&area)
                .caption(self.title, ("sans-serif", 16))
                .margin(12)
                .x_label_area_size(40)
                .y_label_area_size(48)
                .build_cartesian_2d(
                    self.x.range.0..self.x.range.1,
                    self.y.range.0..self.y.range.1,
                )?;
            chart
                .configure_mesh()
                .x_desc(self.x.label)
                .y_desc(self.y.label)
                .light_line_style(TRANSPARENT)
                .draw()?;
            for (at, line) in self.lines.iter().enumerate() {
                let style = Palette99::pick(at).stroke_width(2);
                chart
                    .draw_series(LineSeries::new(line.points.iter().copied(), style).point_size(2))?
                    .label(&line.name)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
            }
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::LowerRight)
                .background_style(WHITE.mix(0.8))
                .border_style(BLACK.mix(0.3))
                .draw()?;
            area.present()?;
        }
        Ok(svg)
    }
}
