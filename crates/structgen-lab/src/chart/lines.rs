use super::axis::{Axis, Placed};
use super::scene::{Anchor, Scene, TEXT_LINE, text_width};
use super::theme::Ink;

const WIDTH: f64 = 720.0;
const PLOT: f64 = 300.0;

/// A chart of lines over two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    is_reference: bool,
}

impl Line {
    /// Creates a line with a name for the legend.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            is_reference: false,
        }
    }

    /// Creates a reference line for comparison.
    pub fn reference(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            is_reference: true,
            ..Self::new(name, points)
        }
    }
}

impl LineChart {
    pub(super) fn scene(&self) -> Scene {
        // References have no colour of their own.
        let mut colours = 0;
        let inks = self.lines.iter().map(|line| match line.is_reference {
            true => Ink::Reference,
            false => {
                colours += 1;
                Ink::Series(colours - 1)
            }
        });
        let inks: Vec<Ink> = inks.collect();
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = Placed::new(self.x.scale, points().map(|point| point.0), 8);
        let y = Placed::new(self.y.scale, points().map(|point| point.1), 6);
        let y_labels = y.labels();
        let widest =
            { y_labels.iter() }.fold(0.0, |widest: f64, label| widest.max(text_width(label)));

        let mut scene = Scene::new(WIDTH, 0.0, &self.title);
        let names = self.lines.iter().zip(&inks);
        let names: Vec<(String, Ink)> =
            names.map(|(line, &ink)| (line.name.clone(), ink)).collect();
        let mut top = 36.0;
        if names.len() > 1 {
            top = scene.legend(top, &names);
        }
        // The label of the vertical axis is above it, where it is readable without being rotated.
        scene.text(
            16.0,
            top + TEXT_LINE / 2.0,
            Anchor::Start,
            &self.y.label,
            Ink::Soft,
        );
        top += TEXT_LINE + 8.0;
        let (left, right, bottom) = (16.0 + widest + 8.0, WIDTH - 24.0, top + PLOT);
        let at_x = |place: f64| left + place * (right - left);
        let at_y = |place: f64| bottom - place * (bottom - top);

        for (&tick, label) in y.ticks.iter().zip(&y_labels) {
            if let Some(place) = y.place(tick) {
                let height = at_y(place);
                scene.line(vec![(left, height), (right, height)], 1.0, Ink::Grid);
                scene.text(left - 8.0, height, Anchor::End, label, Ink::Soft);
            }
        }
        scene.line(vec![(left, bottom), (right, bottom)], 1.0, Ink::Soft);
        let mut free_from = f64::NEG_INFINITY;
        for (&tick, label) in x.ticks.iter().zip(x.labels()) {
            let Some(place) = x.place(tick) else { continue };
            let centre = at_x(place);
            let half = text_width(&label) / 2.0;
            scene.line(
                vec![(centre, bottom), (centre, bottom + 4.0)],
                1.0,
                Ink::Soft,
            );
            // Omit labels that would overlap the previous one or leave the chart.
            if centre - half >= free_from && centre + half <= WIDTH {
                scene.text(centre, bottom + 14.0, Anchor::Middle, &label, Ink::Soft);
                free_from = centre + half + 8.0;
            }
        }
        scene.text(
            (left + right) / 2.0,
            bottom + 34.0,
            Anchor::Middle,
            &self.x.label,
            Ink::Soft,
        );

        for (line, &ink) in self.lines.iter().zip(&inks) {
            let place = |&(px, py): &(f64, f64)| Some((at_x(x.place(px)?), at_y(y.place(py)?)));
            let points: Vec<(f64, f64)> = line.points.iter().filter_map(place).collect();
            if !line.is_reference && points.len() <= 30 {
                for &(px, py) in &points {
                    scene.rect(px - 2.5, py - 2.5, 5.0, 5.0, ink);
                }
            }
            scene.line(points, 2.0, ink);
        }
        scene.height = bottom + 50.0;
        scene.sized()
    }
}
