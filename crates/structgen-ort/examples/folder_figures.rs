//! What a model folder costs: seconds of loading, of a batch's prompts and of its further tokens, and the memory of the
//! process after each, as a line of JSON.
//!
//! ```text
//! cargo run --release -p structgen-ort --example folder_figures -- MODEL_FOLDER BATCH PROMPT_TOKENS TOKENS THREADS
//! ```
//!
//! `training/exports/speed.py` runs it and onnxruntime-genai in turns.

#![allow(clippy::print_stdout, reason = "prints what it measures")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use structgen_decode::{
    LanguageModel,
    model::{RowId, RowRun},
};
use structgen_ort::{Device, LoadOptions, OrtModel, Runtime, Search};
use structgen_vocab::TokenId;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, numbers @ ..] = &arguments[..] else {
        return Err("a model folder is wanted".into());
    };
    let numbers: Vec<usize> = { numbers.iter() }
        .map(|number| number.parse())
        .collect::<Result<_, _>>()?;
    let [batch, prompt, tokens, threads] = numbers[..] else {
        return Err("batch, prompt, tokens and threads are wanted".into());
    };
    let runtime = Runtime::load(&Search::from_env(None))?;
    // The runtime's library is not the model's.
    let before = resident()?;
    let resident = || Ok::<_, Box<dyn Error>>(resident()?.saturating_sub(before));
    let started = Instant::now();
    let options = LoadOptions {
        device: Device::cpu(threads),
        ..LoadOptions::default()
    };
    let mut model = OrtModel::open(runtime, Path::new(folder), &options)?;
    let load = started.elapsed().as_secs_f64();
    let loaded = resident()?;

    let width = model.info().logits_width;
    let id = |i: usize, row: usize| TokenId(((i * 31 + row * 7 + 5) % width) as u32);
    let prompts = (0..batch).map(|row| (0..prompt).map(|i| id(i, row)).collect());
    let prompts: Vec<Vec<TokenId>> = prompts.collect();
    let rows: Vec<RowId> = { 0..batch }
        .map(|_| model.open_row())
        .collect::<Result<_, _>>()?;
    let started = Instant::now();
    let mut next = step(&mut model, &rows, &prompts)?;
    let prefill = started.elapsed().as_secs_f64();
    let prompted = resident()?;
    let started = Instant::now();
    for _ in 0..tokens {
        next = step(&mut model, &rows, &next)?;
    }
    let decode = started.elapsed().as_secs_f64();
    println!(
        "{{\"load\": {load}, \"prefill\": {prefill}, \"decode\": {decode}, \"loaded\": {loaded}, \
         \"prompted\": {prompted}, \"decoded\": {}, \"first\": {}}}",
        resident()?,
        next[0][0].0,
    );
    Ok(())
}

/// Runs tokens of each row; the token with the largest logit after them.
fn step(
    model: &mut OrtModel,
    rows: &[RowId],
    tokens: &[Vec<TokenId>],
) -> Result<Vec<Vec<TokenId>>, Box<dyn Error>> {
    let runs = rows.iter().zip(tokens);
    let runs: Vec<RowRun<'_>> = runs.map(|(&row, ids)| RowRun::last(row, ids)).collect();
    let output = model.run(&runs, false)?;
    let rows = output.rows().iter();
    Ok(rows.map(|row| vec![largest(row.last())]).collect())
}

fn largest(logits: &[f32]) -> TokenId {
    let best = (0..logits.len()).fold(0, |best, id| match logits[id] > logits[best] {
        true => id,
        false => best,
    });
    TokenId(best as u32)
}

/// The kilobytes of the process that are in memory.
fn resident() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(number.ok_or("the system does not say it")?.parse()?)
}
