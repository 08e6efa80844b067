//! In what ways a model is asked.

use std::fmt;
use std::str::FromStr;

use anyhow::bail;
use clap::ValueEnum;
use structgen::decode::{BeamOptions, PromptLookup, Speculation};
use structgen::{Request, SchemaExtractor};

/// What the output is constrained to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// The documents that are valid against the schema.
    Constrained,
    /// Nothing: the model alone.
    Unconstrained,
}

impl Mode {
    pub(super) fn request(
        self,
        extractor: &SchemaExtractor,
        text: &str,
    ) -> structgen::Result<Request> {
        let request = extractor.request(text)?;
        Ok(match self {
            Self::Constrained => request,
            Self::Unconstrained => request.with_constraint(None),
        })
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constrained => "constrained",
            Self::Unconstrained => "unconstrained",
        })
    }
}

/// How the output is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The most probable token each time.
    Greedy,
    /// Beam search of this width.
    Beam(usize),
    /// The greedy output, drafted by a smaller model, by lookup in the prompt and by what the constraint forces.
    Speculative,
}

impl Strategy {
    pub(super) fn options(self) -> structgen::Strategy {
        match self {
            Self::Greedy => structgen::Strategy::default(),
            Self::Beam(width) => BeamOptions {
                width,
                ..BeamOptions::default()
            }
            .into(),
            Self::Speculative => Speculation {
                model: true,
                lookup: Some(PromptLookup::default()),
                forced_text: true,
                ..Speculation::default()
            }
            .into(),
        }
    }
}

impl FromStr for Strategy {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        Ok(match (text, text.strip_prefix("beam:").map(str::parse)) {
            ("greedy", _) => Self::Greedy,
            ("speculative", _) => Self::Speculative,
            (_, Some(Ok(width))) if width > 0 => Self::Beam(width),
            _ => bail!("a strategy is greedy, speculative or beam:N, such as beam:4"),
        })
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Greedy => f.write_str("greedy"),
            Self::Beam(width) => write!(f, "beam:{width}"),
            Self::Speculative => f.write_str("speculative"),
        }
    }
}
