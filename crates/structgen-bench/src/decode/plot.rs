//! A picture of the times over length, both axes logarithmic.

use std::fmt::Write;

use super::length::At;

const SIZE: (f64, f64) = (640.0, 400.0);
const MARGIN: f64 = 60.0;

/// An SVG file: the steps' times with the cache, and without.
pub(super) fn svg(lengths: &[At]) -> String {
    let times = lengths.iter().flat_map(|at| [at.cached, at.uncached]);
    let x = Axis::new(
        lengths.iter().map(|at| at.length as f64),
        (MARGIN, SIZE.0 - MARGIN),
    );
    // Upwards is towards zero.
    let y = Axis::new(times, (SIZE.1 - MARGIN, MARGIN));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{w}\" height=\"{h}\" fill=\"white\"/>\n\
         <text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">length of the text, tokens</text>\n\
         <text x=\"{MARGIN}\" y=\"30\">microseconds for one more token</text>\n",
        w = SIZE.0,
        h = SIZE.1,
        middle = SIZE.0 / 2.0,
        below = SIZE.1 - 15.0,
    );
    // Writing to a string cannot fail.
    for value in x.marks() {
        let at = x.at(value);
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{MARGIN}\" y2=\"{end}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{label}\" text-anchor=\"middle\">{value}</text>",
            end = SIZE.1 - MARGIN,
            label = SIZE.1 - MARGIN + 18.0,
        );
    }
    for value in y.marks() {
        let at = y.at(value);
        let _ = writeln!(
            svg,
            "<line x1=\"{MARGIN}\" x2=\"{end}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{label}\" y=\"{at:.1}\" dy=\"4\" text-anchor=\"end\">{value}</text>",
            end = SIZE.0 - MARGIN,
            label = MARGIN - 6.0,
        );
    }
    for cached in [true, false] {
        let (name, colour) = match cached {
            true => ("with the cache", "#1b6ca8"),
            false => ("all of the text again", "#c0392b"),
        };
        let time = |at: &At| if cached { at.cached } else { at.uncached };
        let points: Vec<String> = lengths
            .iter()
            .map(|at| format!("{:.1},{:.1}", x.at(at.length as f64), y.at(time(at))))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        if let Some(last) = lengths.last() {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" dy=\"-8\" text-anchor=\"end\" fill=\"{colour}\">{name}</text>",
                x.at(last.length as f64),
                y.at(time(last)),
            );
        }
    }
    svg + "</svg>\n"
}

/// Positive numbers on a line.
struct Axis {
    least: f64,
    most: f64,
    ends: (f64, f64),
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, ends: (f64, f64)) -> Self {
        let (mut least, mut most) = (f64::MAX, f64::MIN_POSITIVE);
        for value in values {
            least = least.min(value);
            most = most.max(value);
        }
        Self { least, most, ends }
    }

    fn at(&self, value: f64) -> f64 {
        let span = (self.most / self.least).ln();
        let share = if span > 0.0 {
            (value / self.least).ln() / span
        } else {
            0.0
        };
        self.ends.0 + share * (self.ends.1 - self.ends.0)
    }

    /// 1, 2 and 5 times powers of ten between the ends.
    fn marks(&self) -> Vec<f64> {
        let mut marks = Vec::new();
        let mut power = 1.0;
        while power <= self.most {
            let steps = [power, 2.0 * power, 5.0 * power];
            marks.extend(
                steps
                    .into_iter()
                    .filter(|step| (self.least..=self.most).contains(step)),
            );
            power *= 10.0;
        }
        marks
    }
}
