//! Formats the measurements.

use std::fmt::Write;

use serde::Serialize;

use super::rounds::{Contender, Measured, Tally};

/// A contender with its medians, for programs.
#[derive(Serialize)]
pub(super) struct Written<'m> {
    contender: String,
    texts: &'m [String],
    rounds: &'m [Tally],
}

impl<'m> Written<'m> {
    pub(super) fn new(measured: &'m Measured) -> Self {
        Self {
            contender: measured.contender.name(),
            texts: &measured.texts,
            rounds: &measured.rounds,
        }
    }
}

/// Formats the loops, each compared with the one that it extends.
pub(super) fn loops(measured: &[Measured]) -> String {
    let mut table = format!(
        "\n{:<44} {:>9} {:>11} {:>9} {:>9}\n",
        "loop", "tokens/s", "documents/s", "us/token", "outside"
    );
    for own in measured {
        let documents = own.texts.len() as f64;
        // Writing to a string never fails.
        let _ = writeln!(
            table,
            "{:<44} {:>9.0} {:>11.1} {:>9.1} {:>8.1}%",
            own.contender.name(),
            own.median(Tally::rate),
            own.median(|tally| documents / tally.seconds),
            own.median(|tally| 1e6 / tally.rate()),
            own.median(|tally| 100.0 * tally.outside / tally.seconds),
        );
    }
    for pair in [(1, 0), (3, 2)] {
        if let (Some(own), Some(other)) = (measured.get(pair.0), measured.get(pair.1)) {
            let _ = writeln!(
                table,
                "{}: {:.3} of the tokens per second of {}",
                own.contender.name(),
                own.ratio(other, Tally::rate),
                other.contender.name(),
            );
        }
    }
    table
}

/// Formats the strategies, each compared with the first one, which is plain.
pub(super) fn strategies(measured: &[Measured]) -> String {
    let Some(plain) = measured.first() else {
        return String::new();
    };
    let kind = match plain.contender {
        Contender::Schema(_) => "under a JSON Schema",
        _ => "free text",
    };
    let mut table = format!(
        "\n{:<44} {:>9} {:>8} {:>11} {:>8} {:>10} {:>9}\n",
        format!("strategies, {kind}"),
        "tokens/s",
        "x plain",
        "documents/s",
        "x plain",
        "tokens/run",
        "as plain"
    );
    for own in measured {
        let documents = own.texts.len() as f64;
        let same = own
            .texts
            .iter()
            .zip(&plain.texts)
            .filter(|(own, plain)| own == plain);
        let _ = writeln!(
            table,
            "{:<44} {:>9.0} {:>8.2} {:>11.1} {:>8.2} {:>10.2} {:>6} of {}",
            own.contender.strategy(),
            own.median(Tally::rate),
            own.ratio(plain, Tally::rate),
            own.median(|tally| documents / tally.seconds),
            own.ratio(plain, |tally| 1.0 / tally.seconds),
            own.median(|tally| tally.tokens as f64 / tally.runs as f64),
            same.count(),
            own.texts.len(),
        );
    }
    table
}
