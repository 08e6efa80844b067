//! A picture of the times over length.

use super::length::At;
use crate::chart::{Axis, Chart, Line, Scale};

/// An SVG file: the steps' times with the cache, and without.
pub(super) fn svg(lengths: &[At]) -> anyhow::Result<String> {
    let line = |name: &str, time: fn(&At) -> f64| {
        let points = lengths.iter().map(|at| (at.length as f64, time(at)));
        Line::new(name, points.collect())
    };
    let chart = Chart {
        title: "One more token, by the length of the text",
        x: Axis {
            label: "length of the text, tokens",
            scale: Scale::Log,
        },
        y: Axis {
            label: "microseconds for one more token",
            scale: Scale::Log,
        },
        lines: vec![
            line("with the cache", |at| at.cached),
            line("all of the text again", |at| at.uncached),
        ],
    };
    chart.svg()
}
