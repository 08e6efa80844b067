//! Charts of lines, as SVG.

use anyhow::anyhow;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

const SIZE: (u32, u32) = (720, 440);

/// Lines over two axes.
pub(crate) struct Chart<'c> {
    pub(crate) title: &'c str,
    pub(crate) x: Axis<'c>,
    pub(crate) y: Axis<'c>,
    pub(crate) lines: Vec<Line>,
}

pub(crate) struct Axis<'c> {
    pub(crate) label: &'c str,
    pub(crate) scale: Scale,
}

/// What an axis shows.
#[derive(Clone, Copy)]
pub(crate) enum Scale {
    Linear(f64, f64),
    /// The values of the lines, which are positive.
    Log,
}

pub(crate) struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    is_reference: bool,
}

impl Line {
    pub(crate) fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            is_reference: false,
        }
    }

    /// A line that others are compared with.
    pub(crate) fn reference(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            is_reference: true,
            ..Self::new(name, points)
        }
    }
}

impl Chart<'_> {
    pub(crate) fn svg(&self) -> anyhow::Result<String> {
        let log = |of: fn(&(f64, f64)) -> f64| {
            let values = self.lines.iter().flat_map(|line| &line.points).map(of);
            let (least, most) = values
                .fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), value| {
                    (least.min(value), most.max(value))
                });
            (least..most).log_scale()
        };
        match (self.x.scale, self.y.scale) {
            (Scale::Linear(a, b), Scale::Linear(c, d)) => self.draw(a..b, c..d),
            (Scale::Linear(a, b), Scale::Log) => self.draw(a..b, log(|point| point.1)),
            (Scale::Log, Scale::Linear(c, d)) => self.draw(log(|point| point.0), c..d),
            (Scale::Log, Scale::Log) => self.draw(log(|point| point.0), log(|point| point.1)),
        }
    }

    fn draw<X, Y>(&self, x: X, y: Y) -> anyhow::Result<String>
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let mut svg = String::new();
        self.draw_to(
            &SVGBackend::with_string(&mut svg, SIZE).into_drawing_area(),
            x,
            y,
        )
        .map_err(|error| anyhow!("a chart cannot be drawn: {error}"))?;
        Ok(svg)
    }

    fn draw_to<'s, X, Y>(
        &self,
        area: &DrawingArea<SVGBackend<'s>, plotters::coord::Shift>,
        x: X,
        y: Y,
    ) -> Result<(), DrawingAreaErrorKind<<SVGBackend<'s> as DrawingBackend>::ErrorType>>
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 16))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(56)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(self.x.label)
            .y_desc(self.y.label)
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (at, line) in self.lines.iter().enumerate() {
            let colour = match line.is_reference {
                true => BLACK.mix(0.4),
                false => Palette99::pick(at).to_rgba(),
            };
            let series = LineSeries::new(line.points.iter().copied(), colour.stroke_width(2));
            chart
                .draw_series(series.point_size(2))?
                .label(&line.name)
                .legend(move |(x, y)| {
                    Rectangle::new([(x, y - 1), (x + 16, y + 1)], colour.filled())
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        area.present()
    }
}
