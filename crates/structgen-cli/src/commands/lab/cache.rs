//! `structgen lab cache`.

use std::time::Instant;

use serde_json::json;
use structgen::{GenerateOptions, Request, SamplingParams};
use structgen_lab::chart::{Axis, Line, LineChart};

use super::report::{Report, ReportArgs};
use super::subject::SubjectArgs;
use super::table::{Table, one, title};

/// Number of lengths at which the whole text is run without a cache.
const LENGTHS: usize = 8;

/// Runs per measurement; the fastest counts.
const RUNS: usize = 3;

/// Options of `structgen lab cache`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "With the cache, a step runs one token and reads the keys and values of all before; without it, a step runs the whole text anew. Times \
    are those\nof this machine, now; the fastest of three runs counts. Cache is the size of keys and values at that length."
)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Number of tokens to generate
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = crate::args::at_least_one::<usize>)]
    tokens: usize,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

pub(super) fn report(args: &Args) -> anyhow::Result<Report> {
    let subject = args.subject.load_for_text()?;
    let (model, prompt) = (&subject.model, &subject.prompt);
    let tokens = model.room_after(prompt, args.tokens);
    let options = GenerateOptions {
        sampling: SamplingParams {
            temperature: 1.0,
            ..SamplingParams::default()
        },
        max_new_tokens: Some(tokens),
        min_new_tokens: tokens,
        token_times: true,
        ..GenerateOptions::default()
    };
    // The time of a step is that between two tokens. The fastest run is the one least disturbed by other work.
    let mut steps: Vec<f64> = Vec::new();
    let mut text = prompt.clone();
    for _ in 0..RUNS {
        let request = Request::new(prompt.clone(), None).with_options(options.clone());
        let output = model.submit(request)?.wait()?.single()?;
        let times = output.tokens.iter().filter_map(|token| token.time);
        let times: Vec<f64> = times.map(|time| time.as_secs_f64() * 1e3).collect();
        let between: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if steps.is_empty() {
            steps = between;
        } else {
            for (best, step) in steps.iter_mut().zip(between) {
                *best = best.min(step);
            }
        }
        text.truncate(prompt.len());
        text.extend(output.tokens.iter().map(|token| token.id));
    }
    let per_token = model.info().cache_bytes_per_token;
    let mut table = Table::new([
        "length",
        "cached ms",
        "anew ms",
        "times as long",
        "cache kB",
    ]);
    let (mut cached, mut anew, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for part in 1..=LENGTHS {
        let step = (steps.len() * part / LENGTHS).saturating_sub(1);
        if steps.is_empty()
            || cached
                .iter()
                .any(|&(length, _)| length == (prompt.len() + step + 1) as f64)
        {
            continue;
        }
        let length = prompt.len() + step + 1;
        // A single step is too short to time: average over its neighbours.
        let around = &steps[step.saturating_sub(2)..steps.len().min(step + 3)];
        let with_cache = around.iter().sum::<f64>() / around.len() as f64;
        let mut without = f64::INFINITY;
        for _ in 0..RUNS {
            let started = Instant::now();
            model.logits(&text[..length], 1)?;
            without = without.min(started.elapsed().as_secs_f64() * 1e3);
        }
        let bytes = length * per_token;
        table.row([
            length.to_string(),
            format!("{with_cache:.3}"),
            format!("{without:.3}"),
            one(without / with_cache),
            one(bytes as f64 / 1e3),
        ]);
        cached.push((length as f64, with_cache));
        anew.push((length as f64, without));
        rows.push(json!({"length": length, "cached_ms": with_cache, "anew_ms": without, "cache_bytes": bytes}));
    }
    let chart = LineChart {
        title: "The time of a step, with a cache and without".to_owned(),
        x: Axis::linear("length of the text (tokens)"),
        y: Axis::linear("time of a step (ms)"),
        lines: vec![
            Line::new("with the cache", cached),
            Line::new("the whole text anew", anew),
        ],
    };
    Ok(Report {
        json: json!({"source": subject.about, "cache_bytes_per_token": per_token, "steps": rows}),
        text: format!(
            "{}{tokens} tokens after a prompt of {}; each token takes {per_token} bytes of cache\n\n{}",
            title(&format!("The cache: {}", subject.about)),
            prompt.len(),
            table.text()
        ),
        chart: chart.into(),
    })
}
