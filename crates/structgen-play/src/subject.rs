//! The seam to a model.

use std::sync::Arc;

use structgen_decode::constraint::PlainMask;
use structgen_vocab::{TokenId, Vocabulary};

/// A model to play with. It is used from one thread, which is not the one that draws.
pub trait Subject: Send {
    /// Begins an output: after this prompt, under this constraint.
    ///
    /// # Errors
    /// What is wrong with either. The output that was begun before is still the one that is looked at.
    fn begin(&mut self, prompt: &str, constraint: &ConstraintText) -> Result<Begun, Problem>;

    /// What the model gives after these tokens of the output, and what may come there.
    ///
    /// # Errors
    /// When the model or the mask fails.
    fn look(&mut self, output: &[TokenId]) -> Result<Look, Problem>;

    /// The vocabulary of the model.
    fn vocabulary(&self) -> Arc<Vocabulary>;
}

/// What outputs have to match, as it is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConstraintText {
    /// How the text is read.
    pub kind: ConstraintKind,
    /// The schema, pattern or grammar.
    pub text: String,
}

/// How the text of a constraint is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConstraintKind {
    /// A JSON Schema.
    #[default]
    Schema,
    /// A regular expression.
    Pattern,
    /// A grammar in GBNF.
    Grammar,
    /// Nothing has to match.
    Free,
}

impl ConstraintKind {
    /// All of them, in the order in which the editor goes through them.
    pub const ALL: [Self; 4] = [Self::Schema, Self::Pattern, Self::Grammar, Self::Free];

    /// The name.
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

/// An output that was begun.
#[derive(Clone, Debug, Default)]
pub struct Begun {
    /// The tokens before the output.
    pub prompt: Vec<TokenId>,
    /// The tokens that end it.
    pub eos: Vec<TokenId>,
    /// Whether the output is JSON.
    pub is_json: bool,
}

/// What a model gives at a position, and what may come there.
#[derive(Clone, Debug)]
pub struct Look {
    /// A logit for each token.
    pub logits: Arc<[f32]>,
    /// The tokens that may come.
    pub allowed: Arc<PlainMask>,
}

/// Why there is no output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// Where in the constraint's text: the line and the character in it, from 0.
    pub at: Option<(usize, usize)>,
}

impl Problem {
    /// A problem of no particular place.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            at: None,
        }
    }

    /// The problem at a byte of the constraint's text.
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
