//! Generation by two opinions: an expert and an amateur, or one model behind two prompts; and by what is unlike the text so far.

use std::ops::ControlFlow;

use structgen_constraint::CompiledConstraint;
use structgen_decode::{
    ClassifierFreeGuidance, ContrastiveDecoding, ContrastiveSearch, Delta, GenerateOptions,
    Generation,
};
use structgen_vocab::TokenId;

use crate::generate::{generator, under};
use crate::{Model, Result};

impl Model {
    /// Generates one output like [`stream`](Model::stream), in which what the prompt changes is made stronger.
    ///
    /// # Errors
    /// As [`generate`](Model::generate), and a scale that is no number.
    pub fn stream_guided(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
        guidance: &ClassifierFreeGuidance,
        on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation> {
        under!(self, constraint, |generator, constraint| {
            Ok(generator.stream_guided(prompt, constraint, options, guidance, on_delta)?)
        })
    }

    /// Generates one output like [`stream`](Model::stream), in which what a smaller model likes as well counts for less.
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use structgen::decode::ContrastiveDecoding;
    /// use structgen::{GenerateOptions, Model, ModelOptions};
    ///
    /// let mut model = Model::embedded(&ModelOptions::new())?;
    /// let mut amateur = Model::embedded_draft(&ModelOptions::new())?;
    /// let vocabulary = amateur.tokenizer().vocabulary().clone();
    /// let mut contrast = ContrastiveDecoding::new(amateur.language_model(), vocabulary).with_beta(0.5);
    /// let prompt = model.encode_prompt("one, two, three, ")?;
    /// let options = GenerateOptions::default();
    /// model.stream_contrastive(&prompt, None, &options, &mut contrast, |delta| {
    ///     print!("{}", delta.text);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`generate`](Model::generate), parameters that make no sense, and an amateur of another vocabulary.
    pub fn stream_contrastive(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
        contrast: &mut ContrastiveDecoding<'_>,
        on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation> {
        under!(self, constraint, |generator, constraint| {
            Ok(generator.stream_contrastive(prompt, constraint, options, contrast, on_delta)?)
        })
    }

    /// Generates one output like [`stream`](Model::stream), by contrastive search.
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use structgen::decode::ContrastiveSearch;
    /// use structgen::{GenerateOptions, Model, ModelOptions};
    ///
    /// let mut model = Model::embedded(&ModelOptions::new())?;
    /// let prompt = model.encode_prompt("one, two, three, ")?;
    /// let options = GenerateOptions::default();
    /// let search = ContrastiveSearch { alpha: 0.6, top_k: 4 };
    /// model.stream_contrastive_search(&prompt, None, &options, &search, |delta| {
    ///     print!("{}", delta.text);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`generate`](Model::generate), parameters that make no sense, and a model that gives out no hidden states.
    pub fn stream_contrastive_search(
        &mut self,
        prompt: &[TokenId],
        constraint: Option<&CompiledConstraint>,
        options: &GenerateOptions,
        search: &ContrastiveSearch,
        on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation> {
        under!(self, constraint, |generator, constraint| {
            Ok(generator
                .stream_contrastive_search(prompt, constraint, options, search, on_delta)?)
        })
    }
}
