//! Pictures: confidence against accuracy, and accuracy over training.

use structgen_bench::scoring::Calibration;

use super::report::Results;
use super::training::Curve;
use crate::chart::{Axis, Chart, Line, Scale};

/// How often fields are right, by their confidence; on the diagonal, confidences are kept.
pub(super) fn calibration(all: &[Results]) -> anyhow::Result<String> {
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
    let chart = Chart {
        title: "Share of fields that are right, by confidence",
        x: Axis {
            label: "confidence",
            scale: Scale::Linear(0.0, 1.0),
        },
        y: Axis {
            label: "share right",
            scale: Scale::Linear(0.0, 1.0),
        },
        lines: [diagonal].into_iter().chain(lines).collect(),
    };
    chart.svg()
}

/// Accuracy over the tokens that a model was trained on.
pub(super) fn training(curve: &Curve) -> anyhow::Result<String> {
    let lines = curve.lines.iter();
    let lines: Vec<Line> = lines
        .map(|(name, points)| Line::new(name, points.clone()))
        .collect();
    let tokens = curve.lines.iter().flat_map(|(_, points)| points);
    let most = tokens.map(|point| point.0).fold(1.0, f64::max);
    let chart = Chart {
        title: "Accuracy over training",
        x: Axis {
            label: "million tokens",
            scale: Scale::Linear(0.0, most),
        },
        y: Axis {
            label: "share right",
            scale: Scale::Linear(0.0, 1.0),
        },
        lines,
    };
    chart.svg()
}
