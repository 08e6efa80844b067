//! Runs of the model behind one prompt.

use std::time::{Duration, Instant};

use structgen_vocab::TokenId;

use crate::{Forward, GenerationStats, KeyValueCache, LanguageModel, Logits, ModelError};

/// The model, the prompt, and what its runs took.
pub(super) struct Runs<'r, M> {
    model: &'r mut M,
    prompt: Vec<TokenId>,
    runs: u64,
    model_time: Duration,
    /// The backend's time, as it was told last.
    reported: Duration,
}

impl<'r, M: LanguageModel> Runs<'r, M> {
    /// A cache with the prompt but for its last token, whose logits every output begins with.
    pub(super) fn start(
        model: &'r mut M,
        prompt: &[TokenId],
        chunk: usize,
    ) -> Result<(Self, M::Cache), ModelError> {
        let mut cache = model.new_cache(&[0])?;
        let mut runs = Self {
            reported: model.stats().backend_time,
            model,
            prompt: prompt.to_vec(),
            runs: 0,
            model_time: Duration::ZERO,
        };
        for piece in prompt[..prompt.len() - 1].chunks(chunk) {
            runs.run(piece, 1, &mut cache)?;
        }
        Ok((runs, cache))
    }

    /// The last token of the prompt and those of the output, from the `start`-th on, `n` of them.
    ///
    /// The logits of the last one say what comes at place `start + n - 1` of the output.
    pub(super) fn tokens<'t>(
        &'t self,
        output: &'t [TokenId],
        start: usize,
        n: usize,
    ) -> impl Iterator<Item = TokenId> + 't {
        let last = &self.prompt[self.prompt.len() - 1..];
        last.iter().chain(output).copied().skip(start).take(n)
    }

    /// Forgets all outputs.
    pub(super) fn rewind(&self, cache: &mut M::Cache) -> Result<(), ModelError> {
        cache.truncate(self.prompt.len() - 1)
    }

    pub(super) fn run(
        &mut self,
        tokens: &[TokenId],
        positions: usize,
        cache: &mut M::Cache,
    ) -> Result<Logits<'_>, ModelError> {
        let started = Instant::now();
        let logits = self.model.forward(Forward::new(tokens, positions), cache)?;
        self.runs += 1;
        self.model_time += started.elapsed();
        Ok(logits)
    }

    /// Tells what was run since the last time.
    pub(super) fn report(&mut self, stats: &mut GenerationStats) {
        stats.runs = std::mem::take(&mut self.runs);
        stats.model_time = std::mem::take(&mut self.model_time);
        let backend = self.model.stats().backend_time;
        stats.backend_time = backend.saturating_sub(std::mem::replace(&mut self.reported, backend));
    }
}
