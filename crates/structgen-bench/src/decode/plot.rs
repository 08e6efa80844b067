//! Plots the times by length.

use structgen_lab::chart::{Axis, Chart, Line, LineChart, Theme};

use super::length::At;

/// Returns an SVG of the steps' times with and without the cache.
pub(super) fn svg(lengths: &[At]) -> String {
    let line = |name: &str, time: fn(&At) -> f64| {
        let points = lengths.iter().map(|at| (at.length as f64, time(at)));
        Line::new(name, points.collect())
    };
    let chart = LineChart {
        title: "One more token, by the length of the text".to_owned(),
        x: Axis::log("length of the text (tokens)"),
        y: Axis::log("time of one more token (µs)"),
        lines: vec![
            line("with the cache", |at| at.cached),
            line("all of the text again", |at| at.uncached),
        ],
    };
    Chart::from(chart).svg(Theme::Auto)
}
