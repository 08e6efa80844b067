//! The time per token by length of the text: with the cache, and running the whole text anew.

use std::fmt::Write;
use std::time::Instant;

use serde::Serialize;
use structgen::decode::{LanguageModel, ModelError, model::RowRun};
use structgen::ort::OrtModel;
use structgen::vocab::TokenId;

use super::rounds::median;

/// Number of steps with the cache to time at each length of a round.
const STEPS: usize = 8;

/// The longest text to run.
const MOST: usize = 8192;

/// The medians at one length, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct At {
    pub(super) length: usize,
    pub(super) cached: f64,
    pub(super) uncached: f64,
}

/// Measures at lengths that double from 16 on, up to the model's context.
pub(super) fn measure(model: &mut OrtModel, rounds: usize) -> Result<Vec<At>, ModelError> {
    let info = model.info();
    let width = info.logits_width as u32;
    let most = info.context_length.min(MOST);
    let tokens: Vec<TokenId> = (0..most as u32).map(|i| TokenId(i * 7 % width)).collect();
    let mut lengths = Vec::new();
    let mut length = 16.min(most);
    while length < most {
        lengths.push(length);
        length *= 2;
    }
    lengths.push(most);
    let mut times = vec![(Vec::new(), Vec::new()); lengths.len()];
    for _ in 0..=rounds {
        for (&length, (cached, uncached)) in lengths.iter().zip(&mut times) {
            let row = model.open_row()?;
            let started = Instant::now();
            model.run(&[RowRun::last(row, &tokens[..length])], false)?;
            uncached.push(started.elapsed().as_secs_f64() * 1e6);
            let mut seconds = 0.0;
            for step in 0..=STEPS {
                model.cut_row(row, length - 1)?;
                let started = Instant::now();
                model.run(&[RowRun::last(row, &tokens[length - 1..length])], false)?;
                // The step after a run over the whole text finds the CPU caches filled by that.
                if step > 0 {
                    seconds += started.elapsed().as_secs_f64();
                }
            }
            model.close_row(row);
            cached.push(seconds / STEPS as f64 * 1e6);
        }
    }
    let at = lengths
        .iter()
        .zip(times)
        .map(|(&length, (cached, uncached))| At {
            length,
            // In the first round, the backend allocates its memory.
            cached: median(cached[1..].to_vec()),
            uncached: median(uncached[1..].to_vec()),
        });
    Ok(at.collect())
}

pub(super) fn table(lengths: &[At]) -> String {
    let mut table =
        "\none more token, by the length of the text    cached us  uncached us\n".to_owned();
    for at in lengths {
        // Writing to a string never fails.
        let _ = writeln!(
            table,
            "{:>44} {:>10.0} {:>12.0}",
            at.length, at.cached, at.uncached
        );
    }
    table
}
