//! Plots confidence against accuracy, and accuracy over training.

use structgen_bench::scoring::Calibration;
use structgen_lab::chart::{Axis, Chart, Line, LineChart, Theme};

use super::report::Results;
use super::training::Curve;

/// Plots how often fields are correct by their confidence; calibrated confidences are on the diagonal.
pub(super) fn calibration(all: &[Results]) -> String {
    let several_sets = all.iter().any(|one| one.set != all[0].set);
    let points = |found: &Calibration| {
        let bins = found.bins.iter();
        bins.map(|bin| (bin.confidence, bin.accuracy)).collect()
    };
    let lines = all.iter().filter_map(|one| {
        let name = match several_sets {
            true => format!("{}: {}", one.set, one.way()),
            false => one.way(),
        };
        Some(Line::new(name, points(one.summary.calibration.as_ref()?)))
    });
    let diagonal = Line::reference("confidence is accuracy", vec![(0.0, 0.0), (1.0, 1.0)]);
    let chart = LineChart {
        title: "Share of fields that are right, by confidence".to_owned(),
        x: Axis::linear("confidence").from_to(0.0, 1.0),
        y: Axis::linear("share right").from_to(0.0, 1.0),
        lines: [diagonal].into_iter().chain(lines).collect(),
    };
    Chart::from(chart).svg(Theme::Auto)
}

/// Plots accuracy over the tokens that a model was trained on.
pub(super) fn training(curve: &Curve) -> String {
    let lines = curve.lines.iter();
    let lines: Vec<Line> = lines
        .map(|(name, points)| Line::new(name, points.clone()))
        .collect();
    let tokens = curve.lines.iter().flat_map(|(_, points)| points);
    let most = tokens.map(|point| point.0).fold(1.0, f64::max);
    let chart = LineChart {
        title: "Accuracy over training".to_owned(),
        x: Axis::linear("million tokens").from_to(0.0, most),
        y: Axis::linear("share right").from_to(0.0, 1.0),
        lines,
    };
    Chart::from(chart).svg(Theme::Auto)
}
