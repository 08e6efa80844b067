//! Where the logits of a tool come from: typed in, a file, a named distribution, or a model.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use structgen::vocab::{TokenId, Vocabulary};
use structgen_lab::{Distribution, NamedDistribution};

use crate::args::LoadArgs;
use crate::input::read_text_file;
use crate::output::printable;

/// Logits, and where they come from.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Logits")]
pub(crate) struct SourceArgs {
    /// Logits, separated by commas or spaces
    #[arg(
        long,
        value_name = "NUMBERS",
        allow_hyphen_values = true,
        group = "source"
    )]
    logits: Option<String>,
    /// File of logits, separated by commas or white space
    #[arg(long, value_name = "FILE", group = "source")]
    logits_file: Option<PathBuf>,
    /// Distribution over 1,000 tokens: zipf, peaked, flat or bimodal
    #[arg(long, value_name = "NAME", group = "source")]
    distribution: Option<NamedDistribution>,
    /// Use the model's logits after this prompt
    #[arg(
        long,
        value_name = "TEXT",
        group = "source",
        allow_hyphen_values = true
    )]
    prompt: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
}

/// Logits of a step.
pub(crate) struct Logits {
    pub(crate) logits: Vec<f32>,
    /// Their source, for a heading.
    pub(crate) about: String,
    vocabulary: Option<Arc<Vocabulary>>,
}

impl SourceArgs {
    /// Returns whether the logits are given, so that no model is needed.
    pub(crate) fn is_without_model(&self) -> bool {
        self.logits.is_some() || self.logits_file.is_some() || self.distribution.is_some()
    }

    /// Returns an error if options are about a model, and none is used.
    fn check(&self) -> anyhow::Result<()> {
        let is_of_model = self.prompt.is_some() || self.load.model.is_some();
        match self.load.given() {
            Some("--model") if self.is_without_model() => {
                bail!("--model gives logits, and others are given: leave one of them out")
            }
            Some(option) if self.is_without_model() => {
                bail!("{option} is for a model, and the logits are not a model's")
            }
            Some(option) if !is_of_model => {
                bail!("{option} is for a model, which --model or --prompt asks for")
            }
            _ => Ok(()),
        }
    }

    /// Returns the prompt, if one was given.
    pub(crate) fn prompt(&self) -> Option<&str> {
        self.prompt.as_deref()
    }

    /// Reads the logits, or returns `default` if no source was given.
    pub(crate) fn read(&self, default: impl FnOnce() -> Logits) -> anyhow::Result<Logits> {
        self.check()?;
        if let Some(text) = &self.logits {
            return parse(text, "typed-in logits".to_owned());
        }
        if let Some(path) = &self.logits_file {
            return parse(&read_text_file(path)?, path.display().to_string());
        }
        if let Some(name) = self.distribution {
            return Ok(Logits::named(name));
        }
        let prompt = match (&self.prompt, self.load.model.is_some()) {
            (Some(prompt), _) => prompt.as_str(),
            (None, true) => super::subject::OPENING,
            (None, false) => return Ok(default()),
        };
        let model = self.load.load()?;
        let tokens = model.encode_prompt(prompt)?;
        let logits = model
            .logits(&tokens, 1)?
            .pop()
            .context("the model gave no logits")?;
        Ok(Logits {
            logits,
            about: format!("after {}", super::table::quoted(prompt, 40)),
            vocabulary: Some(model.tokenizer().vocabulary().clone()),
        })
    }
}

impl Logits {
    pub(crate) fn named(name: NamedDistribution) -> Self {
        Self {
            logits: Distribution::named(name).logits(),
            about: format!("the distribution {name}"),
            vocabulary: None,
        }
    }

    pub(crate) fn of(logits: &[f32], about: &str) -> Self {
        Self {
            logits: logits.to_vec(),
            about: about.to_owned(),
            vocabulary: None,
        }
    }

    /// Describes a token: its id, and its text if there is a vocabulary.
    pub(crate) fn token(&self, id: u32) -> String {
        match &self.vocabulary {
            Some(vocabulary) => token_text(TokenId(id), vocabulary),
            None => format!("#{id}"),
        }
    }
}

/// Returns a token's text in quotes, or the name of a special token.
pub(crate) fn token_text(token: TokenId, vocabulary: &Vocabulary) -> String {
    match vocabulary.token_bytes(token) {
        Some(bytes) if !bytes.is_empty() => {
            super::table::quoted(&String::from_utf8_lossy(bytes), 20)
        }
        _ => match vocabulary.token_name(token) {
            Some(name) => printable(name).into_owned(),
            None => format!("#{}", token.0),
        },
    }
}

fn parse(text: &str, about: String) -> anyhow::Result<Logits> {
    let parts = text.split(|c: char| c == ',' || c.is_whitespace());
    let mut logits = Vec::new();
    for part in parts.filter(|part| !part.is_empty()) {
        let logit: f32 = part
            .parse()
            .with_context(|| format!("{part:?} is no number, in {about}"))?;
        logits.push(logit);
    }
    if logits.is_empty() {
        bail!("there is no number in {about}");
    }
    Ok(Logits {
        logits,
        about,
        vocabulary: None,
    })
}
