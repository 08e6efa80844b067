//! The probabilities of choices.

use structgen_decode::strategies::{AllLimits, ChoiceProbability, ChoiceRequest, Choices};
use structgen_vocab::TokenId;

use crate::{Model, Result};

/// Which tokenizations of a choice count, and whether the output must end after it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChooseOptions {
    /// Count all tokenizations, within these limits, rather than only the tokenizer's own.
    pub all: Option<AllLimits>,
    /// Whether the model has to end its output after the choice. If so, the probability of a choice excludes that of
    /// longer choices that start with it.
    pub with_end: bool,
}

impl Default for ChooseOptions {
    /// The canonical tokenization, with the end after it.
    fn default() -> Self {
        Self {
            all: None,
            with_end: true,
        }
    }
}

impl ChooseOptions {
    /// Counts the canonical tokenization only, with the end after it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts all tokenizations, within these limits.
    #[must_use]
    pub fn with_all(self, limits: AllLimits) -> Self {
        Self {
            all: Some(limits),
            ..self
        }
    }

    /// Sets whether the model has to end its output after the choice.
    #[must_use]
    pub fn with_end(self, with_end: bool) -> Self {
        Self { with_end, ..self }
    }
}

impl Model {
    /// Returns the probability of each choice after a prompt, in order, under the model alone, without temperature or
    /// constraint.
    ///
    /// ```no_run
    /// use structgen::{ChooseOptions, Model, ModelOptions};
    ///
    /// let model = Model::open("path/to/model", &ModelOptions::new())?;
    /// let prompt = model.encode_prompt("The capital of France is ")?;
    /// for choice in model.choose(&prompt, &["Paris", "Rome"], &ChooseOptions::new())? {
    ///     println!("{:.3}", choice.share);
    /// }
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Generate`](crate::Error::Generate) without a prompt or a choice, or if the model fails;
    /// [`Error::Tokenizer`](crate::Error::Tokenizer) if the tokenizer lacks a character.
    pub fn choose(
        &self,
        prompt: &[TokenId],
        choices: &[impl AsRef<str>],
        options: &ChooseOptions,
    ) -> Result<Vec<ChoiceProbability>> {
        let texts = choices.iter().map(AsRef::as_ref);
        let choices = match options.all {
            Some(limits) => Choices::Texts {
                texts: texts.map(str::to_owned).collect(),
                limits,
            },
            None => {
                let sequences = texts.map(|text| self.tokenizer().encode(text));
                Choices::Tokens(sequences.collect::<std::result::Result<_, _>>()?)
            }
        };
        let mut request = ChoiceRequest::new(prompt, choices);
        if options.with_end {
            request = request.with_ends(self.eos());
        }
        Ok(self.engine().choose(request)?)
    }
}
