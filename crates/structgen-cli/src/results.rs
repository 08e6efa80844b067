//! What is printed about an output besides its text.

use std::io;
use std::ops::ControlFlow;

use anyhow::bail;
use serde_json::{Map, Value, json};
use structgen::decode::{
    GeneratedToken, Generation, Output, Outputs,
    request::{GenerationStats, Report, TokenLogProbs},
};
use structgen::grammar::{Indent, Whitespace};
use structgen::vocab::{TokenId, Vocabulary};
use structgen::{Constraint, GenerateOptions, Model, Request, format_json};

use crate::error::Failure;
use crate::output::{detail, write_line};

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Results")]
pub(crate) struct ResultArgs {
    /// Print the events of the output as it is generated, one JSON object per line: a JSON value or capture has
    /// started, more of its text, and its end, or plain text; the last line is {"event": "end"} with the other details
    /// requested
    #[arg(long)]
    pub(crate) events: bool,
    /// Report the model's confidence in each value of a JSON output
    #[arg(long)]
    pub(crate) confidence: bool,
    /// Report the tokens with their log probabilities and times, plus the alternatives and refused tokens requested by
    /// --set alternatives=N and --set refused=N
    #[arg(long)]
    pub(crate) details: bool,
    /// Print JSON over several lines, indented by two spaces
    #[arg(long, conflicts_with_all = ["events", "outputs"])]
    pub(crate) pretty: bool,
}

impl ResultArgs {
    /// Returns whether an output is printed as a JSON object once it is complete.
    pub(crate) fn is_whole(&self) -> bool {
        !self.events && (self.confidence || self.details)
    }

    /// Returns JSON as it is to be printed: unchanged, or over several lines.
    pub(crate) fn shown(&self, json: &str) -> String {
        let whitespace = Whitespace::Indented {
            indent: Indent::Spaces(2),
        };
        match self.pretty {
            true => format_json(json, whitespace),
            false => json.to_owned(),
        }
    }

    /// Requests what will be printed.
    pub(crate) fn ask(&self, options: &mut GenerateOptions) {
        options.log_probs |= self.confidence || self.details;
        options.token_times |= self.details;
    }

    /// Checks that the requested details are available for outputs under this constraint.
    pub(crate) fn check(
        &self,
        constraint: Option<&Constraint>,
        writes_calls: bool,
    ) -> anyhow::Result<()> {
        let is_json = constraint.is_some_and(|constraint| constraint.grammar().is_json());
        if self.confidence && !is_json {
            bail!("--confidence is of the values of JSON: it needs --json or --json-schema");
        }
        if self.pretty && !is_json && !self.details && !writes_calls {
            bail!("--pretty is for JSON: it needs --json, --json-schema, --tools or --details");
        }
        Ok(())
    }

    /// Prints the events of a request's first output as they arrive, and a last line once it is complete.
    pub(crate) fn print_events(&self, model: &Model, request: Request) -> Result<Outputs, Failure> {
        let mut written = Ok(());
        let outputs = model.stream(request, |event| {
            let line = serde_json::to_string(&event).map_err(io::Error::from);
            written = line.and_then(|line| write_line(&line));
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        written?;
        if let Some(Ok(output)) = outputs.outputs.first() {
            let generation = &output.generation;
            let mut end = self.describe(generation, model.tokenizer().vocabulary())?;
            end.shift_insert(0, "event".to_owned(), "end".into());
            end.insert("finish".to_owned(), generation.finish.to_string().into());
            write_line(&Value::from(end).to_string())?;
        }
        Ok(outputs)
    }

    /// Returns an output as a JSON object: its text, the requested details, and those of its strategy.
    pub(crate) fn object(
        &self,
        output: &Output,
        model: &Model,
    ) -> anyhow::Result<Map<String, Value>> {
        let generation = &output.generation;
        let mut object = self.describe(generation, model.tokenizer().vocabulary())?;
        object.shift_insert(0, "text".to_owned(), generation.text.as_str().into());
        let known = [
            ("score", output.score),
            ("log_prob", output.log_prob),
            ("masked_log_prob", output.masked_log_prob()),
            ("weight", output.weight),
        ];
        for (name, number) in known {
            if let Some(number) = number {
                object.insert(name.to_owned(), number.into());
            }
        }
        Ok(object)
    }

    /// Returns the details of an output's tokens.
    pub(crate) fn details(&self, output: &Generation, model: &Model) -> Value {
        let mut object = tokens(output, model.tokenizer().vocabulary());
        object.shift_insert(0, "text".to_owned(), output.text.as_str().into());
        object.into()
    }

    /// Returns the requested details.
    fn describe(
        &self,
        output: &Generation,
        vocabulary: &Vocabulary,
    ) -> anyhow::Result<Map<String, Value>> {
        let mut object = Map::new();
        if self.confidence {
            let fields = serde_json::to_value(output.confidence()?)?;
            object.insert("fields".to_owned(), fields);
        }
        if self.details {
            object.extend(tokens(output, vocabulary));
        }
        Ok(object)
    }
}

/// Prints a request's token counts and time, if that is asked for.
pub(crate) fn report_stats(outputs: &[Output], report: &Report) {
    for Output { generation, .. } in outputs {
        let seconds = generation.stats.total_time.as_secs_f64();
        detail(&format!(
            "{} prompt tokens, {} new tokens ({} forced) in {:.0} ms, {:.0} tokens/s; ended: {}",
            generation.stats.prompt_tokens,
            generation.tokens.len(),
            generation.stats.forced_tokens,
            seconds * 1e3,
            generation.tokens.len() as f64 / seconds,
            generation.finish,
        ));
    }
    if let Report::Speculation(stats) = report {
        let kept: u64 = stats.kept.iter().sum();
        detail(&format!(
            "{:.2} tokens for each of {} runs; {kept} of {} drafted tokens kept, {} runs of the draft, {} of heads",
            stats.tokens_per_run(),
            stats.target_runs,
            stats.tested.iter().sum::<u64>(),
            stats.draft_runs,
            stats.head_runs,
        ));
    }
}

/// Returns how an output ended, its tokens, and the time they took.
fn tokens(output: &Generation, vocabulary: &Vocabulary) -> Map<String, Value> {
    let tokens = output.tokens.iter().chain(&output.end);
    let tokens = tokens.map(|token| describe_token(token, vocabulary));
    let mut object = Map::new();
    object.insert("finish".to_owned(), output.finish.to_string().into());
    object.insert("tokens".to_owned(), tokens.collect());
    object.insert("stats".to_owned(), describe_stats(&output.stats));
    object
}

fn describe_token(token: &GeneratedToken, vocabulary: &Vocabulary) -> Value {
    let mut object = json!({
        "id": token.id.0,
        "text": text(token.id, vocabulary),
        "span": token.span,
        "forced": token.forced,
    });
    if let Some(log_probs) = token.log_probs {
        object["log_prob"] = describe_log_probs(log_probs);
        object["removed_mass"] = log_probs.removed_mass().into();
    }
    if !token.alternatives.is_empty() {
        let alternatives = token.alternatives.iter().map(|other| {
            let log_prob = describe_log_probs(other.log_probs);
            json!({"id": other.id.0, "text": text(other.id, vocabulary), "log_prob": log_prob})
        });
        object["alternatives"] = alternatives.collect();
    }
    if let Some(mask) = &token.mask {
        let refused = mask.refused.iter().map(|other| {
            let log_prob = other.log_probs.model;
            json!({"id": other.id.0, "text": text(other.id, vocabulary), "log_prob": log_prob})
        });
        object["mask"] = json!({"allowed": mask.allowed, "refused": refused.collect::<Vec<_>>()});
    }
    if let Some(time) = token.time {
        object["seconds"] = time.as_secs_f64().into();
    }
    object
}

fn describe_log_probs(log_probs: TokenLogProbs) -> Value {
    json!({"model": log_probs.model, "allowed": log_probs.allowed})
}

/// Returns a token's bytes as text, or the name of a special token.
fn text(token: TokenId, vocabulary: &Vocabulary) -> String {
    match vocabulary.token_bytes(token) {
        Some(bytes) if !bytes.is_empty() => String::from_utf8_lossy(bytes).into_owned(),
        _ => vocabulary.token_name(token).unwrap_or_default().to_owned(),
    }
}

fn describe_stats(stats: &GenerationStats) -> Value {
    json!({
        "prompt_tokens": stats.prompt_tokens,
        "forced_tokens": stats.forced_tokens,
        "runs": stats.runs,
        "steered_steps": stats.steered_steps,
        "lifted_bans": stats.lifted_bans,
        "seconds": {
            "total": stats.total_time.as_secs_f64(),
            "first_token": stats.first_token_time.as_secs_f64(),
            "prefill": stats.prefill_time.as_secs_f64(),
            "model": stats.model_time.as_secs_f64(),
            "backend": stats.backend_time.as_secs_f64(),
            "masks": stats.mask_time.as_secs_f64(),
        },
    })
}
