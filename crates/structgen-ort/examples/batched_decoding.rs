//! Tokens per second of greedy decoding by the number of rows in a run, without samplers and constraints: the fastest
//! of several windows of steps, so that other work on the machine counts little.
//!
//! ```text
//! cargo run --release -p structgen-ort --example batched_decoding -- MODEL_FOLDER [PROMPT_TOKENS] [WINDOWS] [THREADS]
//! ```
//!
//! `training/genai_batches.py` prints the same of onnxruntime-genai; `training/random_gqa_model.py` writes a model.

#![allow(clippy::print_stdout, reason = "prints what it measures")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use structgen_decode::{
    LanguageModel,
    model::{RowId, RowRun},
};
use structgen_ort::{Device, LoadOptions, OrtModel, Runtime, Search};
use structgen_vocab::TokenId;

const BATCHES: [usize; 4] = [1, 4, 8, 16];

/// The steps of a window.
const STEPS: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().ok_or("a model folder is wanted")?;
    let number = |at: usize, default: usize| match arguments.get(at) {
        Some(text) => text.parse(),
        None => Ok(default),
    };
    let (prompt, windows, threads) = (number(1, 64)?, number(2, 12)?, number(3, 4)?);
    let runtime = Runtime::load(&Search::from_env(None))?;
    let options = LoadOptions {
        device: Device::cpu(threads),
        ..LoadOptions::default()
    };
    let mut model = OrtModel::open(runtime, Path::new(folder), &options)?;
    println!("{} {:?}", runtime.version(), model.info().packing);
    for batch in BATCHES {
        let rate = measure(&mut model, batch, prompt, windows)?;
        println!("batch {batch:2}: {rate:7.1} tokens/s");
    }
    Ok(())
}

/// Prompts `batch` rows, one after the other, and times steps of one token of each.
fn measure(
    model: &mut OrtModel,
    batch: usize,
    prompt: usize,
    windows: usize,
) -> Result<f64, Box<dyn Error>> {
    let width = model.info().logits_width;
    let mut rows: Vec<(RowId, TokenId)> = Vec::new();
    for at in 0..batch {
        let ids = (0..prompt).map(|i| TokenId(((i * 31 + at * 7 + 5) % width) as u32));
        let ids: Vec<TokenId> = ids.collect();
        let row = model.open_row()?;
        let output = model.run(&[RowRun::last(row, &ids)], false)?;
        rows.push((row, largest(output.row(0).last())));
    }
    let mut fastest = Duration::MAX;
    for _ in 0..windows {
        let started = Instant::now();
        for _ in 0..STEPS {
            step(model, &mut rows)?;
        }
        fastest = fastest.min(started.elapsed());
    }
    rows.iter().for_each(|(row, _)| model.close_row(*row));
    Ok((batch * STEPS) as f64 / fastest.as_secs_f64())
}

/// Appends the token with the largest logit to each row.
fn step(model: &mut OrtModel, rows: &mut [(RowId, TokenId)]) -> Result<(), Box<dyn Error>> {
    let runs = rows
        .iter()
        .map(|(row, token)| RowRun::last(*row, std::slice::from_ref(token)));
    let runs: Vec<RowRun<'_>> = runs.collect();
    let output = model.run(&runs, false)?;
    let next: Vec<TokenId> = output
        .rows()
        .iter()
        .map(|row| largest(row.last()))
        .collect();
    rows.iter_mut()
        .zip(next)
        .for_each(|(row, next)| row.1 = next);
    Ok(())
}

fn largest(logits: &[f32]) -> TokenId {
    let best = (0..logits.len()).fold(0, |best, id| match logits[id] > logits[best] {
        true => id,
        false => best,
    });
    TokenId(best as u32)
}
