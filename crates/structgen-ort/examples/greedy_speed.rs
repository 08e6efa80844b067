//! Tokens per second of greedy decoding, and how much of a step is spent outside ONNX Runtime.
//!
//! ```text
//! cargo run --release -p structgen-ort --example greedy_speed -- MODEL_FOLDER [STEPS] [ROUNDS]
//! ```
//!
//! A prompt of 100 tokens, one thread, no constraint; the median of the rounds, after one that is not counted.

use std::error::Error;
use std::io::Write;
use std::time::Instant;

use structgen_decode::{Forward, GenerateOptions, Generator, LanguageModel, Unconstrained};
use structgen_ort::{Device, LoadOptions, OrtModel, ensure_runtime};
use structgen_vocab::{TokenId, TokenMask, Vocabulary};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments
        .next()
        .ok_or("usage: greedy_speed MODEL_FOLDER [STEPS] [ROUNDS]")?;
    let steps: usize = arguments.next().map_or(Ok(150), |n| n.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(9), |n| n.parse())?;
    let mut err = std::io::stderr();
    let runtime = ensure_runtime(|line| drop(writeln!(err, "{line}")))?;
    let options = LoadOptions {
        device: Device::cpu(1),
        ..LoadOptions::default()
    };
    let mut model = OrtModel::open(runtime, folder.as_ref(), &options)?;
    let width = model.info().logits_width;
    let prompt: Vec<TokenId> = (0..100)
        .map(|i| TokenId(5 + i * 7 % (width as u32 - 8)))
        .collect();

    let mut bare = Vec::new();
    let mut whole = Vec::new();
    for _ in 0..=rounds {
        bare.push(bare_loop(&mut model, &prompt, steps)?);
        whole.push(generator(&mut model, &prompt, steps)?);
    }
    let mut out = std::io::stdout();
    let (rate, share) = median(&mut bare[1..]);
    writeln!(
        out,
        "forward and arg-max: {rate:.0} tokens/s, {:.2}% outside the run call",
        share * 100.0
    )?;
    let (rate, share) = median(&mut whole[1..]);
    writeln!(
        out,
        "Generator: {rate:.0} tokens/s, {:.2}% outside the run call",
        share * 100.0
    )?;
    Ok(())
}

/// The least that a loop can do; tokens per second after the prompt, and the share outside the backend.
fn bare_loop(
    model: &mut OrtModel,
    prompt: &[TokenId],
    steps: usize,
) -> Result<(f64, f64), Box<dyn Error>> {
    let mut cache = model.new_cache(&[0])?;
    let mut next = argmax(model.forward(Forward::last(prompt), &mut cache)?.row(0, 0));
    let before = model.stats().backend_time;
    let started = Instant::now();
    for _ in 0..steps {
        next = argmax(model.forward(Forward::last(&[next]), &mut cache)?.row(0, 0));
    }
    let total = started.elapsed().as_secs_f64();
    let backend = (model.stats().backend_time - before).as_secs_f64();
    Ok((steps as f64 / total, 1.0 - backend / total))
}

fn generator(
    model: &mut OrtModel,
    prompt: &[TokenId],
    steps: usize,
) -> Result<(f64, f64), Box<dyn Error>> {
    let width = model.info().logits_width;
    let tokens = (0..width).map(|id| format!("<{id}>").into_bytes());
    let vocabulary = Vocabulary::from_tokens(tokens, &[])?;
    let options = GenerateOptions {
        max_new_tokens: Some(steps + 1),
        ..GenerateOptions::default()
    };
    let mut constraint = Unconstrained::new(TokenMask::full(width), &[]);
    let started = Instant::now();
    let mut first = None;
    let mut backend = None;
    let output =
        Generator::new(model, &vocabulary).stream(prompt, &mut constraint, &options, |delta| {
            if delta.tokens == 1 {
                first = Some(started.elapsed());
            }
            backend = Some(started.elapsed());
            std::ops::ControlFlow::Continue(())
        })?;
    // The prompt's run is taken out, as in the bare loop.
    let steps_time = (backend.unwrap_or_default() - first.unwrap_or_default()).as_secs_f64();
    let outside = output.stats.total_time - output.stats.backend_time;
    Ok((
        steps as f64 / steps_time,
        outside.as_secs_f64() / output.stats.total_time.as_secs_f64(),
    ))
}

fn argmax(logits: &[f32]) -> TokenId {
    let mut best = 0;
    for (i, &logit) in logits.iter().enumerate() {
        if logit > logits[best] {
            best = i;
        }
    }
    TokenId(best as u32)
}

fn median(rounds: &mut [(f64, f64)]) -> (f64, f64) {
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    rounds.get(rounds.len() / 2).copied().unwrap_or((0.0, 0.0))
}
