//! Ways to prompt and constrain a model.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use anyhow::bail;
use clap::ValueEnum;
use structgen::decode::{
    Confidence, Generation,
    strategies::{BeamOptions, PromptLookup, Speculation},
};
use structgen::{SchemaExtractor, SchemaOptions, Source};

/// The constraint on the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// Documents that are valid against the schema, wherever their values come from.
    Constrained,
    /// Valid documents whose strings and numbers come from the text.
    Grounded,
    /// No constraint: the model alone.
    Unconstrained,
}

/// A model's output.
pub(super) struct Written {
    pub(super) json: String,
    pub(super) confidence: Option<Confidence>,
    /// The probabilities of fields by the reader.
    pub(super) read: HashMap<String, f64>,
    /// A single output, or one per window of a long text.
    pub(super) outputs: Vec<Generation>,
}

impl Mode {
    /// Returns how to compile schemas.
    pub(super) fn schema_options(self) -> SchemaOptions {
        // Set explicitly, since the default depends on the model.
        SchemaOptions::new().with_source(match self {
            Self::Grounded => Source::Input,
            Self::Constrained | Self::Unconstrained => Source::Model,
        })
    }

    pub(super) fn ask(self, extractor: &SchemaExtractor, text: &str) -> structgen::Result<Written> {
        match self {
            Self::Constrained | Self::Grounded => {
                let found = extractor.extract(text)?;
                let outputs = found.outputs.into_iter();
                let fields = found.fields.into_iter();
                let read = fields.filter_map(|it| Some((it.pointer, it.read_probability?)));
                Ok(Written {
                    read: read.collect(),
                    json: found.json,
                    confidence: found.confidence,
                    outputs: outputs.map(|output| output.generation).collect(),
                })
            }
            Self::Unconstrained => {
                let request = extractor.request(text)?.with_constraint(None);
                let output = extractor.model().submit(request)?.wait()?.single()?;
                Ok(Written {
                    read: HashMap::new(),
                    json: output.text.clone(),
                    // Text that is not JSON has no confidence.
                    confidence: output.confidence().ok(),
                    outputs: vec![output],
                })
            }
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constrained => "constrained",
            Self::Grounded => "grounded",
            Self::Unconstrained => "unconstrained",
        })
    }
}

/// The decoding strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The most probable token each time.
    Greedy,
    /// Beam search of this width.
    Beam(usize),
    /// The greedy output, drafted by a smaller model, by prompt lookup and by forced text.
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
