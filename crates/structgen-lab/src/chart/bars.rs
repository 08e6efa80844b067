use super::axis::{Axis, Placed, scaled};
use super::scene::{Anchor, Scene, TEXT_LINE, text_width};
use super::theme::Ink;

const WIDTH: f64 = 720.0;
const BAR: f64 = 13.0;
const GAP: f64 = 9.0;

/// Maximum number of characters in a group's name.
const NAME: usize = 28;

/// Horizontal bars in groups, each labelled with its number.
#[derive(Debug, Clone, PartialEq)]
pub struct BarChart {
    /// The title.
    pub title: String,
    /// The axis of the bars' lengths.
    pub x: Axis,
    /// The names of the bars in each group; a single series has no legend.
    pub series: Vec<String>,
    /// The groups, from top to bottom.
    pub groups: Vec<BarGroup>,
}

/// Bars that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct BarGroup {
    /// The name of the group.
    pub name: String,
    /// Their lengths, one per series; NaN draws no bar.
    pub values: Vec<f64>,
}

impl BarGroup {
    /// Creates a group.
    pub fn new(name: impl Into<String>, values: impl Into<Vec<f64>>) -> Self {
        Self {
            name: name.into(),
            values: values.into(),
        }
    }
}

impl BarChart {
    pub(super) fn scene(&self) -> Scene {
        let values = || {
            self.groups
                .iter()
                .flat_map(|group| group.values.iter().copied())
        };
        let x = Placed::new(self.x.scale, values().chain([0.0]), 6);
        let names: Vec<String> = self
            .groups
            .iter()
            .map(|group| shortened(&group.name))
            .collect();
        let widest = |texts: &[String]| {
            texts
                .iter()
                .fold(0.0, |w: f64, text| w.max(text_width(text)))
        };
        let numbers: Vec<String> = values().map(|value| scaled(value, x.reach())).collect();

        let mut scene = Scene::new(WIDTH, 0.0, &self.title);
        let mut top = 36.0;
        if self.series.len() > 1 {
            let series = self.series.iter().enumerate();
            let series: Vec<_> = series
                .map(|(i, name)| (name.clone(), Ink::Series(i)))
                .collect();
            top = scene.legend(top, &series);
        }
        top += 8.0;
        let left = 16.0 + widest(&names) + 10.0;
        // The number of the longest bar is to its right.
        let right = WIDTH - 20.0 - widest(&numbers) - 6.0;
        let rows = |group: &BarGroup| group.values.len().max(1) as f64 * BAR + GAP;
        let bottom = top + self.groups.iter().map(rows).sum::<f64>() + GAP / 2.0;
        let at = |value: f64| x.place(value).map(|place| left + place * (right - left));

        let mut free_from = f64::NEG_INFINITY;
        for (&tick, label) in x.ticks.iter().zip(x.labels()) {
            let Some(place) = at(tick) else { continue };
            scene.line(vec![(place, top), (place, bottom)], 1.0, Ink::Grid);
            let half = text_width(&label) / 2.0;
            if place - half >= free_from && place + half <= WIDTH {
                scene.text(place, bottom + 12.0, Anchor::Middle, &label, Ink::Soft);
                free_from = place + half + 8.0;
            }
        }
        let mut y = top + GAP / 2.0;
        for (group, name) in self.groups.iter().zip(&names) {
            let middle = y + (rows(group) - GAP) / 2.0;
            scene.text(left - 10.0, middle, Anchor::End, name, Ink::Text);
            for (series, &value) in group.values.iter().enumerate() {
                let end = match value {
                    f64::INFINITY => Some(right),
                    _ => at(value),
                };
                if let (Some(zero), Some(end)) = (at(0.0).or(Some(left)), end) {
                    let (from, to) = (zero.min(end), zero.max(end));
                    scene.rect(
                        from,
                        y + 1.0,
                        (to - from).max(1.0),
                        BAR - 2.0,
                        Ink::Series(series),
                    );
                    scene.text(
                        to + 6.0,
                        y + BAR / 2.0,
                        Anchor::Start,
                        &scaled(value, x.reach()),
                        Ink::Soft,
                    );
                }
                y += BAR;
            }
            y += GAP + if group.values.is_empty() { BAR } else { 0.0 };
        }
        scene.line(vec![(left, top), (left, bottom)], 1.0, Ink::Soft);
        let centre = (left + right) / 2.0;
        scene.text(
            centre,
            bottom + 12.0 + TEXT_LINE,
            Anchor::Middle,
            &self.x.label,
            Ink::Soft,
        );
        scene.height = bottom + 46.0;
        scene.sized()
    }
}

/// Shortens a name to 28 characters.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some(_) => {
            let kept: String = name.chars().take(NAME - 1).collect();
            format!("{kept}…")
        }
        None => name.to_owned(),
    }
}
