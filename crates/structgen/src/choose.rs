//! How probable each of some texts is.

use structgen_decode::choose::{self, AllLimits, ChoiceProbability};
use structgen_vocab::TokenId;

use crate::{Model, Result};

/// Which ways of writing a choice as tokens count, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChooseOptions {
    /// All tokenizations, within these limits; without them, the one that the tokenizer gives.
    pub all: Option<AllLimits>,
    /// Whether the model has to end its output behind the choice: then no choice includes those that begin with it.
    pub with_end: bool,
}

impl Default for ChooseOptions {
    /// The canonical tokenization, and the end behind it.
    fn default() -> Self {
        Self {
            all: None,
            with_end: true,
        }
    }
}

impl ChooseOptions {
    /// The canonical tokenization, and the end behind it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All tokenizations, within these limits.
    #[must_use]
    pub fn with_all(self, limits: AllLimits) -> Self {
        Self {
            all: Some(limits),
            ..self
        }
    }

    /// Whether the model has to end its output behind the choice.
    #[must_use]
    pub fn with_end(self, with_end: bool) -> Self {
        Self { with_end, ..self }
    }
}

impl Model {
    /// How probable it is that each choice follows a prompt, in their order: under the model as it is, without temperature or constraint.
    ///
    /// ```no_run
    /// use structgen::{ChooseOptions, Model, ModelOptions};
    ///
    /// let mut model = Model::open("path/to/model", &ModelOptions::new())?;
    /// let prompt = model.encode_prompt("The capital of France is ")?;
    /// for choice in model.choose(&prompt, &["Paris", "Rome"], &ChooseOptions::new())? {
    ///     println!("{:.3}", choice.share);
    /// }
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Choose`](crate::Error::Choose) without a prompt or a choice, and where the model fails; [`Error::Tokenizer`](crate::Error::Tokenizer)
    /// when the tokenizer lacks a character.
    pub fn choose(
        &mut self,
        prompt: &[TokenId],
        choices: &[impl AsRef<str>],
        options: &ChooseOptions,
    ) -> Result<Vec<ChoiceProbability>> {
        let ends = match options.with_end {
            true => self.eos().to_vec(),
            false => Vec::new(),
        };
        if let Some(limits) = &options.all {
            let vocabulary = self.tokenizer.vocabulary();
            let model = &mut self.model;
            return Ok(choose::all(
                model, vocabulary, prompt, choices, &ends, limits,
            )?);
        }
        let mut sequences = Vec::with_capacity(choices.len());
        for choice in choices {
            sequences.push(self.tokenizer.encode(choice.as_ref())?);
        }
        Ok(choose::canonical(
            &mut self.model,
            prompt,
            &sequences,
            &ends,
        )?)
    }
}
