//! The interface to a model.

use std::sync::Arc;

use structgen_decode::constraint::PlainMask;
use structgen_decode::samplers::OwnSamplers;
use structgen_vocab::{TokenId, Vocabulary};

/// A model to play with. It is used from a single thread, which is not the drawing one.
pub trait Subject: Send {
    /// Starts an output after this prompt, under this constraint.
    ///
    /// # Errors
    /// If either is invalid. The previous output is then still current.
    fn begin(&mut self, prompt: &str, constraint: &ConstraintText) -> Result<Begun, Problem>;

    /// Computes the model's logits after these tokens of the output, and the tokens that may come there.
    ///
    /// # Errors
    /// If the model or the mask fails.
    fn look(&mut self, output: &[TokenId]) -> Result<Look, Problem>;

    /// Returns the vocabulary of the model.
    fn vocabulary(&self) -> Arc<Vocabulary>;
}

/// A constraint on outputs, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConstraintText {
    /// How to parse the text.
    pub kind: ConstraintKind,
    /// The schema, pattern or grammar.
    pub text: String,
}

/// How to parse the text of a constraint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConstraintKind {
    /// A JSON Schema.
    #[default]
    Schema,
    /// A regular expression.
    Pattern,
    /// A grammar in GBNF.
    Grammar,
    /// No constraint.
    Free,
}

impl ConstraintKind {
    /// All kinds, in the editor's order.
    pub const ALL: [Self; 4] = [Self::Schema, Self::Pattern, Self::Grammar, Self::Free];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Schema => "JSON Schema",
            Self::Pattern => "regular expression",
            Self::Grammar => "GBNF grammar",
            Self::Free => "no constraint",
        }
    }

    pub(crate) fn next(self) -> Self {
        let at = Self::ALL.iter().position(|&kind| kind == self);
        Self::ALL[at.map_or(0, |at| (at + 1) % Self::ALL.len())]
    }
}

/// A started output.
#[derive(Clone, Debug, Default)]
pub struct Begun {
    /// The tokens before the output.
    pub prompt: Vec<TokenId>,
    /// The tokens that end it.
    pub eos: Vec<TokenId>,
    /// Whether the output is JSON.
    pub is_json: bool,
    /// The output's own samplers, which come before those of the parameters: an extraction's reader.
    pub samplers: OwnSamplers,
    /// Whether the constraint sets [temperatures](Look::temperature).
    pub sets_temperatures: bool,
    /// Warnings about the constraint.
    pub warnings: Vec<String>,
}

/// The logits of a model at a position, and the tokens that may come there.
#[derive(Clone, Debug)]
pub struct Look {
    /// One logit per token.
    pub logits: Arc<[f32]>,
    /// The tokens that may come.
    pub allowed: Arc<PlainMask>,
    /// The temperature that the constraint sets for the token, instead of that of the parameters.
    pub temperature: Option<f32>,
}

/// Why there is no output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// The error.
    pub message: String,
    /// Its position in the constraint's text: line and character, from 0.
    pub at: Option<(usize, usize)>,
}

impl Problem {
    /// Creates a problem without a position.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            at: None,
        }
    }

    /// Sets the position to a byte of the constraint's text.
    #[must_use]
    pub fn at_byte(mut self, text: &str, byte: usize) -> Self {
        let before = &text.as_bytes()[..byte.min(text.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count();
        let start = before.iter().rposition(|&byte| byte == b'\n');
        let start = start.map_or(0, |newline| newline + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count();
        self.at = Some((line, column));
        self
    }
}
