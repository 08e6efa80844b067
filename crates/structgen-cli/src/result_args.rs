//! What is told of an output beside its text.

use std::io;
use std::ops::ControlFlow;

use anyhow::anyhow;
use serde_json::{Map, Value, json};
use structgen::constraint::CompiledConstraint;
use structgen::decode::{
    Delta, EventError, EventStream, GeneratedToken, Generation, GenerationStats, OutputEvent,
    TokenLogProbs,
};
use structgen::vocab::{TokenId, Vocabulary};
use structgen::{Constraint, GenerateOptions};

use crate::output::write_line;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Results")]
pub(crate) struct ResultArgs {
    /// Print what becomes of the output's parts while it comes, as JSON, an event a line: JSON values or captures that have started, more of their text, and done, or text;
    /// the last line is {"event": "end"} with what else is asked for
    #[arg(long, conflicts_with_all = ["tools", "sequences", "beams", "faithful"])]
    events: bool,
    /// Print the output as JSON: {"text", "fields"}, where a field says how probable a value of a JSON output was, under the model and under the constraint
    #[arg(long, conflicts_with = "tools")]
    confidence: bool,
    /// Print the output as JSON: {"text", "finish", "tokens", "stats"}, with log probabilities and times
    #[arg(long, conflicts_with_all = ["tools", "faithful"])]
    details: bool,
    /// So many of the most probable tokens of each choice, among the details
    #[arg(long, value_name = "N", requires = "details")]
    alternatives: Option<usize>,
}

impl ResultArgs {
    /// Whether an output is printed as JSON once it is complete.
    pub(crate) fn is_whole(&self) -> bool {
        !self.events && (self.confidence || self.details)
    }

    /// Asks for what will be told.
    pub(crate) fn ask(&self, options: &mut GenerateOptions) {
        options.log_probs = self.confidence || self.details;
        options.token_times = self.details;
        options.alternatives = self.alternatives.unwrap_or(0);
    }

    /// Whether what is asked for can be told of outputs under this constraint.
    pub(crate) fn check(&self, constraint: Option<&Constraint>) -> anyhow::Result<()> {
        let is_json = constraint.is_some_and(|constraint| constraint.grammar().is_json());
        match self.confidence && !is_json {
            true => Err(anyhow!(
                "--confidence is of the values of JSON: it needs --json or --json-schema"
            )),
            false => Ok(()),
        }
    }

    /// Where events go, if they are wanted.
    pub(crate) fn lines(&self, constraint: Option<&CompiledConstraint>) -> Option<EventLines> {
        self.events.then(|| EventLines {
            stream: constraint.map_or_else(EventStream::text, EventStream::new),
            result: Ok(()),
        })
    }

    /// What is asked for beside the text.
    pub(crate) fn describe(
        &self,
        output: &Generation,
        vocabulary: &Vocabulary,
    ) -> anyhow::Result<Map<String, Value>> {
        let mut told = Map::new();
        if self.confidence {
            let fields = serde_json::to_value(output.confidence()?)?;
            told.insert("fields".to_owned(), fields);
        }
        if self.details {
            let tokens = output.tokens.iter().chain(&output.end);
            let tokens = tokens
                .map(|token| describe_token(token, vocabulary))
                .collect();
            told.insert("finish".to_owned(), output.finish.to_string().into());
            told.insert("tokens".to_owned(), tokens);
            told.insert("stats".to_owned(), describe_stats(&output.stats));
        }
        Ok(told)
    }
}

/// Prints events.
pub(crate) struct EventLines {
    stream: EventStream,
    result: anyhow::Result<()>,
}

impl EventLines {
    pub(crate) fn push(&mut self, delta: &Delta<'_>) -> ControlFlow<()> {
        self.result = print(|on_event| self.stream.push(delta, on_event));
        match self.result {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// What went wrong while the output came.
    pub(crate) fn result(&mut self) -> anyhow::Result<()> {
        std::mem::replace(&mut self.result, Ok(()))
    }

    /// Ends the output, with what else is told of it.
    pub(crate) fn end(
        mut self,
        finish: String,
        mut told: Map<String, Value>,
    ) -> anyhow::Result<()> {
        print(|on_event| self.stream.finish(on_event))?;
        told.shift_insert(0, "event".to_owned(), "end".into());
        told.insert("finish".to_owned(), finish.into());
        write_line(&Value::from(told).to_string())?;
        Ok(())
    }
}

/// Prints the events that something tells, each on a line.
fn print(
    tell: impl FnOnce(&mut dyn FnMut(OutputEvent<'_>)) -> Result<(), EventError>,
) -> anyhow::Result<()> {
    let mut written: io::Result<()> = Ok(());
    tell(&mut |event| {
        if written.is_ok() {
            let line = serde_json::to_string(&event).map_err(io::Error::from);
            written = line.and_then(|line| write_line(&line));
        }
    })?;
    Ok(written?)
}

fn describe_token(token: &GeneratedToken, vocabulary: &Vocabulary) -> Value {
    let mut told = json!({
        "id": token.id.0,
        "text": text(token.id, vocabulary),
        "span": token.span,
        "forced": token.forced,
    });
    if let Some(log_probs) = token.log_probs {
        told["log_prob"] = describe_log_probs(log_probs);
        told["removed_mass"] = log_probs.removed_mass().into();
    }
    if !token.alternatives.is_empty() {
        let alternatives = token.alternatives.iter().map(|other| {
            let log_prob = describe_log_probs(other.log_probs);
            json!({"id": other.id.0, "text": text(other.id, vocabulary), "log_prob": log_prob})
        });
        told["alternatives"] = alternatives.collect();
    }
    if let Some(time) = token.time {
        told["seconds"] = time.as_secs_f64().into();
    }
    told
}

fn describe_log_probs(log_probs: TokenLogProbs) -> Value {
    json!({"model": log_probs.model, "allowed": log_probs.allowed})
}

/// A token's bytes, or what a special one is called.
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
