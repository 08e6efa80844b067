//! The tasks: texts with schemas.

use std::path::Path;

use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use structgen::constraint::CompiledConstraint;
use structgen::grammar::Whitespace;
use structgen::vocab::TokenId;
use structgen::{Constraint, Model, SchemaOptions};

/// The samples of `structgen demo`.
const DEMONSTRATION: &str = include_str!("../../../structgen-cli/src/commands/demo_samples.json");

/// A prompt with the constraint on its output.
pub(super) struct Task {
    pub(super) prompt: Vec<TokenId>,
    pub(super) compiled: CompiledConstraint,
    source: Source,
}

#[derive(Clone, Deserialize, Serialize)]
struct Source {
    schema: Value,
    text: String,
}

/// A task in the form for other programs.
#[derive(Serialize)]
pub(super) struct Written<'t> {
    #[serde(flatten)]
    source: &'t Source,
    prompt_ids: Vec<u32>,
}

impl Task {
    pub(super) fn written(&self) -> Written<'_> {
        Written {
            source: &self.source,
            prompt_ids: self.prompt.iter().map(|token| token.0).collect(),
        }
    }
}

/// Reads the tasks of a file, or those of the demonstration.
pub(super) fn read(path: Option<&Path>, model: &Model) -> anyhow::Result<Vec<Task>> {
    let sources = match path {
        Some(path) => {
            let name = path.display();
            let text = crate::read(path)?;
            parse(&text).with_context(|| format!("the tasks {name} cannot be used"))?
        }
        None => parse(DEMONSTRATION)?,
    };
    if sources.is_empty() {
        return Err(anyhow!("there are no tasks"));
    }
    let mut options = SchemaOptions::new();
    options.whitespace = Some(Whitespace::Compact);
    sources
        .into_iter()
        .map(|source| {
            let constraint = Constraint::json_schema(&source.schema, &options)?;
            Ok(Task {
                prompt: model.extraction_prompt(&source.schema, &source.text)?,
                compiled: model.compile(&constraint)?,
                source,
            })
        })
        .collect()
}

fn parse(text: &str) -> serde_json::Result<Vec<Source>> {
    match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text),
        false => serde_json::Deserializer::from_str(text)
            .into_iter()
            .collect(),
    }
}
