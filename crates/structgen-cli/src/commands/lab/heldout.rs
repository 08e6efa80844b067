//! `structgen lab heldout`.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use serde_json::json;
use structgen::decode::strategies::LogitsRequest;
use structgen::{GenerateOptions, Request, SamplingParams};
use structgen_lab::chart::{Axis, Line, LineChart};
use structgen_lab::heldout::Score;

use super::report::{Report, ReportArgs};
use super::source::token_text;
use super::table::{Table, perplexity, quoted, three, title};
use crate::args::LoadArgs;
use crate::input::TextArgs;

/// The held-out text, if none is given.
const TEXT: &str = "The order of 12 March was delivered on Friday. Two of the five lamps were broken, \
    and the invoice of 148.50 EUR named the wrong address.";

/// Options of `structgen lab heldout`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "The text is cut into a prompt and its true continuation. Log probability is the sum over the continuation's tokens at temperature 1, \
    perplexity\nexp of the mean surprise: as of choosing among so many equally probable tokens at each step."
)]
pub(crate) struct Args {
    #[command(flatten)]
    text: TextArgs,
    /// Share of the tokens to use as the prompt
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    prompt_share: f64,
    /// Number of samples to compare with the true continuation
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = crate::args::at_least_one::<usize>)]
    samples: usize,
    /// Temperature of the samples
    #[arg(long, value_name = "T", default_value_t = 0.7)]
    temperature: f32,
    /// Seed of the samples
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

pub(super) fn report(args: &Args) -> anyhow::Result<Report> {
    if !(args.prompt_share > 0.0 && args.prompt_share < 1.0) {
        bail!(
            "--prompt-share is {}, and must be between 0 and 1",
            args.prompt_share
        );
    }
    let text = match args.text.text.is_some() || args.text.file.is_some() {
        true => args.text.read()?,
        false => TEXT.to_owned(),
    };
    let model = args.load.load()?;
    let tokens = model.encode_prompt(&text)?;
    if tokens.len() < 2 {
        bail!(
            "the text has {} tokens, and two are needed to cut it",
            tokens.len()
        );
    }
    let cut = (tokens.len() as f64 * args.prompt_share).round() as usize;
    let cut = cut.clamp(1, tokens.len() - 1);
    let (prompt, truth) = tokens.split_at(cut);

    let score = Arc::new(Mutex::new(Score::default()));
    let (found, wanted) = (Arc::clone(&score), tokens.clone());
    let scored = &tokens[..tokens.len() - 1];
    let request = LogitsRequest::new(scored, truth.len(), move |at, logits| {
        let mut score = found.lock().unwrap_or_else(PoisonError::into_inner);
        score.push(logits, wanted[at + 1]);
    });
    model.engine().run(request)?;
    let score = score.lock().unwrap_or_else(PoisonError::into_inner).clone();

    let sampling = SamplingParams {
        temperature: args.temperature,
        seed: args.seed,
        ..SamplingParams::default()
    };
    let options = GenerateOptions {
        sampling,
        sequences: args.samples,
        max_new_tokens: Some(model.room_after(prompt, truth.len())),
        log_probs: true,
        ..GenerateOptions::default()
    };
    let request = Request::new(prompt, None).with_options(options);
    let outputs = model.submit(request)?.wait()?.all()?;

    let vocabulary = model.tokenizer().vocabulary();
    let text_of = |ids: &[structgen::vocab::TokenId]| {
        let bytes = ids.iter().filter_map(|&id| vocabulary.token_bytes(id));
        String::from_utf8_lossy(&bytes.flatten().copied().collect::<Vec<u8>>()).into_owned()
    };
    let mut table = Table::new(["<", "tokens", "log p", "perplexity", "<text"]);
    let mut row = |name: String, score: &Score, text: &str| {
        table.row([
            name,
            score.log_probs.len().to_string(),
            three(score.log_prob()).replace('∞', "−∞"),
            perplexity(score),
            quoted(text, 70),
        ]);
    };
    row("truth".to_owned(), &score, &text_of(truth));
    let mut samples = Vec::new();
    for (number, output) in outputs.iter().enumerate() {
        let generation = &output.generation;
        let log_probs = generation.tokens.iter().filter_map(|token| token.log_probs);
        let score = Score {
            log_probs: log_probs
                .map(|log_probs| f64::from(log_probs.model))
                .collect(),
        };
        row(format!("sample {}", number + 1), &score, &generation.text);
        samples.push(json!({
            "text": generation.text,
            "tokens": generation.tokens.len(),
            "log_prob": score.log_prob(),
            "perplexity": score.perplexity(),
        }));
    }
    let mut surprises: Vec<(usize, f64)> = score.log_probs.iter().map(|p| -p).enumerate().collect();
    surprises.sort_by(|a, b| b.1.total_cmp(&a.1));
    let hardest = surprises.iter().take(5).map(|&(at, surprise)| {
        format!("{} ({surprise:.1} nats)", token_text(truth[at], vocabulary))
    });
    let hardest = hardest.collect::<Vec<_>>().join(", ");

    let points = score.log_probs.iter().enumerate();
    let points = points.map(|(at, log_prob)| ((cut + at + 1) as f64, -log_prob));
    let points: Vec<(f64, f64)> = points.collect();
    let mean = score.surprise();
    let ends = [points.first(), points.last()].into_iter().flatten();
    let level = ends.map(|point| (point.0, mean)).collect();
    let chart = LineChart {
        title: "Surprise of the true continuation".to_owned(),
        x: Axis::linear("position of the token"),
        y: Axis::linear("surprise (nats)"),
        lines: vec![
            Line::new("-ln p of each token", points),
            Line::reference(format!("mean {mean:.2}"), level),
        ],
    };
    Ok(Report {
        json: json!({
            "prompt": text_of(prompt),
            "truth": {
                "text": text_of(truth),
                "tokens": truth.len(),
                "log_prob": score.log_prob(),
                "perplexity": score.perplexity(),
                "log_probs": score.log_probs,
            },
            "samples": samples,
        }),
        text: format!(
            "{}Prompt: {}\n\n{}\nThe most surprising tokens of the truth: {hardest}.\n",
            title("A text that exists, beside samples"),
            quoted(&text_of(prompt), 90),
            table.text()
        ),
        chart: chart.into(),
    })
}
