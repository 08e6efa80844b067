//! Generation, free or under a constraint.

use std::ops::ControlFlow;

use structgen_constraint::CompiledConstraint;
use structgen_decode::{
    Delta, GenerateOptions, Generation, Generator, LanguageModel, Unconstrained,
};
use structgen_vocab::TokenId;

use crate::{Model, Result};

impl Model {
    /// Generates one output behind a prompt; without a constraint, free text.
    ///
    /// # Errors
    /// [`Error::Generate`](crate::Error::Generate). An output that was cut before it was complete is an error, too, with
    /// what there is.
    pub fn generate(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
    ) -> Result<Generation> {
        self.stream(prompt, constraint, options, |_| ControlFlow::Continue(()))
    }

    /// Generates one output and hands out its text as it comes.
    ///
    /// # Errors
    /// As [`generate`](Model::generate).
    pub fn stream(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
        on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation> {
        let vocabulary = self.tokenizer.vocabulary();
        let free = || Unconstrained::new(vocabulary.text_tokens().clone(), &self.model.info().eos);
        let generation = match constraint {
            Some(constraint) => {
                let mut matcher = constraint.matcher();
                Generator::new(&mut self.model, vocabulary).stream(
                    prompt,
                    &mut matcher,
                    options,
                    on_delta,
                )
            }
            None => {
                let mut free = free();
                Generator::new(&mut self.model, vocabulary)
                    .stream(prompt, &mut free, options, on_delta)
            }
        };
        Ok(generation?)
    }

    /// How many tokens the model's context leaves behind a prompt, at most `most`.
    #[must_use]
    pub fn room_behind(&self, prompt: &[TokenId], most: usize) -> usize {
        // At least one, so that a prompt that is too long is told as such.
        self.model
            .info()
            .context_length
            .saturating_sub(prompt.len())
            .clamp(1, most.max(1))
    }
}
