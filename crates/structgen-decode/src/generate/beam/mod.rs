//! Beam search: several sequences side by side, of which the best go on.

mod choose;
mod distinct;
mod expand;
mod group;
mod options;

pub use options::{BeamError, BeamOptions, Distinct, EarlyStopping};

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use structgen_vocab::TokenId;

use super::masks::with_masks;
use super::sequence::Sequence;
use super::{ContextOverflow, Delta, GenerateError, GenerateOptions, Generation, Generator};
use crate::{Constraint, Forward, KeyValueCache, LanguageModel, SequenceRng};
use choose::Beams;
use expand::Expansion;
use group::{Beam, Group, Hypothesis};

/// An output of a beam search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BeamOutput {
    /// The output. Its statistics are those of its own beam.
    pub generation: Generation,
    /// What outputs are ordered by: `log_prob` over the length to the power of the length penalty.
    pub score: f64,
    /// The sum of the tokens' log probabilities after penalties, end-of-sequence included where the model chose it.
    pub log_prob: f64,
}

impl<M: LanguageModel> Generator<'_, M> {
    /// Searches the best outputs behind a prompt, best first. Each beam has a constraint, samplers and a row in the cache of its own.
    ///
    /// Without a constraint, sequences and scores are those of transformers' `generate` in versions 4.5x: penalties and biases work on log probabilities.
    /// A beam ends where the constraint lets it: with an end-of-sequence token, which counts in its score like any other, or where nothing can follow, without
    /// one. The budget works as in [`generate`](Generator::generate): no beam takes a token after which it could not be completed. A width of one gives what
    /// `generate` gives at temperature zero, as long as no sampler is on.
    ///
    /// ```
    /// use structgen_decode::{BeamOptions, GenerateOptions, Generator, MockModel, Unconstrained};
    /// use structgen_vocab::{TokenId, Vocabulary};
    ///
    /// let vocabulary = Vocabulary::from_tokens(
    ///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
    ///     &[(TokenId(3), "<eos>")],
    /// )?;
    /// let mut model = MockModel::new(4, 64, [TokenId(3)]);
    /// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
    /// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
    /// let beams = BeamOptions { width: 3, n_best: 2, ..BeamOptions::default() };
    /// let outputs = Generator::new(&mut model, &vocabulary).beam_search(&[TokenId(0)], &free, &options, &beams)?;
    /// assert!(outputs[0].score >= outputs[1].score);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`generate`](Generator::generate), and [`GenerateError::Beams`]. Outputs that were cut are left out as long as there are others.
    pub fn beam_search<C: Constraint + Clone>(
        &mut self,
        prompt: &[TokenId],
        constraint: &C,
        options: &GenerateOptions,
        beams: &BeamOptions,
    ) -> Result<Vec<BeamOutput>, GenerateError> {
        beams.validate()?;
        let mut options = options.clone();
        // Beams of one cache would have to be cut alike.
        options.overflow = ContextOverflow::Error;
        if !beams.sample {
            // Temperature and truncation are for draws.
            options.sampling.temperature = 0.0;
        } else if options.sampling.temperature == 0.0 {
            return Err(BeamError::ColdDraw.into());
        }
        let mut beams = beams.clone();
        if beams.width == 1 && !beams.sample {
            // One beam has nothing to be better than.
            beams.early_stopping = EarlyStopping::Always;
        }
        let info = self.model.info();
        let first = Sequence::start(prompt, constraint.clone(), &options, 0, info, self.words())?;
        let cache = self.model.new_cache(&[0])?;
        let width = beams.width / beams.groups;
        let groups = (0..beams.groups).map(|_| Group::new(first.clone(), width));
        let beams = Beams {
            groups: groups.collect(),
            rng: SequenceRng::new(options.sampling.seed, 0),
            words: self.words(),
            options: &beams,
            expansion: Expansion::default(),
        };
        let search = Search {
            model: self.model,
            prefill_chunk: self.prefill_chunk,
            runs: 0,
            cache,
            tokens: Vec::new(),
            beams,
        };
        search.run(first)
    }
}

/// A search under way.
struct Search<'r, 'a, 'o, M: LanguageModel, C: Constraint> {
    model: &'r mut M,
    prefill_chunk: usize,
    /// How often the model ran.
    runs: u64,
    cache: M::Cache,
    /// The tokens of a run, one row behind the other.
    tokens: Vec<TokenId>,
    beams: Beams<'r, 'a, 'o, C>,
}

/// Nobody sees the text before it is complete.
fn silent(_: Delta<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

impl<'o, M: LanguageModel, C: Constraint + Clone> Search<'_, '_, 'o, M, C> {
    fn run(mut self, first: Sequence<'o, C>) -> Result<Vec<BeamOutput>, GenerateError> {
        if let Some(reason) = first.ended() {
            let beam = Beam {
                sequence: first,
                mask: None,
                sum: 0.0,
                place: 0,
            };
            self.beams.groups[0].add(beam, reason, None, 1, self.beams.options);
            return self.finish();
        }
        drop(first);
        while self.beams.groups.iter().any(|group| !group.done) {
            if self.beams.all().any(|beam| beam.sequence.is_late()) {
                self.beams.stop();
                break;
            }
            self.step()?;
        }
        self.finish()
    }

    /// One token more for every beam.
    fn step(&mut self) -> Result<(), GenerateError> {
        if self.beams.are_forced()? {
            self.beams.choose(None)?;
            return self.reorder();
        }
        let unseen = { self.beams.all() }.map(|beam| beam.sequence.unseen(false));
        let unseen = unseen.max();
        let mut left = unseen.unwrap_or(0);
        while left > self.prefill_chunk {
            self.forward(self.prefill_chunk, false)?;
            left -= self.prefill_chunk;
        }
        self.forward(left, true)
    }

    /// Runs the next `n` tokens of every beam, and chooses by the logits behind them if `chooses` says so.
    fn forward(&mut self, n: usize, chooses: bool) -> Result<(), GenerateError> {
        self.tokens.clear();
        let mut positions = 1;
        let mut places = 0;
        for beam in self.beams.all() {
            let sequence = &beam.sequence;
            positions = positions.max(sequence.positions(n));
            // At first, the groups' beams share a row.
            if beam.place == places {
                places += 1;
                let new = &sequence.all()[sequence.seen..sequence.seen + n];
                self.tokens.extend_from_slice(new);
            }
        }
        let before = self.model.stats().backend_time;
        let started = Instant::now();
        let input = Forward::new(&self.tokens, positions);
        let missing = { self.beams.all_mut() }
            .filter(|beam| chooses && beam.mask.is_none())
            .map(|beam| (&mut beam.sequence.constraint, &mut beam.mask));
        let (model, cache) = (&mut *self.model, &mut self.cache);
        let (logits, mask_time) = with_masks(missing, move || model.forward(input, cache));
        let logits = logits?;
        let time = started.elapsed().saturating_sub(mask_time);
        for beam in self.beams.all_mut() {
            beam.sequence.see(n, &logits, beam.place, 0);
            beam.sequence.count_run(time, Duration::ZERO, mask_time);
        }
        self.runs += 1;
        let chosen = match chooses {
            true => self.beams.choose(Some(&logits)),
            false => Ok(()),
        };
        let backend = self.model.stats().backend_time.saturating_sub(before);
        self.beams.count_backend(self.runs, backend);
        chosen?;
        self.reorder()
    }

    /// Makes the cache's rows those of the beams.
    fn reorder(&mut self) -> Result<(), GenerateError> {
        let places: Vec<usize> = self.beams.all().map(|beam| beam.place).collect();
        if places.is_empty() || places.iter().copied().eq(0..self.cache.rows()) {
            return Ok(());
        }
        self.cache.select_rows(&places)?;
        for (place, beam) in self.beams.all_mut().enumerate() {
            beam.place = place;
        }
        Ok(())
    }

    /// The best outputs of all groups.
    fn finish(mut self) -> Result<Vec<BeamOutput>, GenerateError> {
        let groups = std::mem::take(&mut self.beams.groups);
        let mut found: Vec<Hypothesis<'o, C>> = groups
            .into_iter()
            .flat_map(|group| group.finished)
            .collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        let mut keys = BTreeSet::new();
        found.retain(|one| one.key.as_ref().is_none_or(|key| keys.insert(key.clone())));
        let mut outputs = Vec::new();
        let mut cut = None;
        for mut one in found {
            if outputs.len() == self.beams.options.n_best {
                break;
            }
            self.score(&mut one.sequence)?;
            match one
                .sequence
                .finish(one.reason, self.beams.words, &mut silent)
            {
                Ok(generation) => outputs.push(BeamOutput {
                    generation,
                    score: one.score,
                    log_prob: one.sum,
                }),
                Err(error) => cut = cut.or(Some(error)),
            }
        }
        match cut {
            Some(error) if outputs.is_empty() => Err(error),
            _ => Ok(outputs),
        }
    }

    /// Runs a sequence once more where log probabilities of forced tokens are missing: its row in the cache has gone.
    fn score(&mut self, sequence: &mut Sequence<'o, C>) -> Result<(), GenerateError> {
        if sequence.unseen(true) == 0 {
            return Ok(());
        }
        sequence.seen = 0;
        let n = sequence.unseen(true);
        let positions = sequence.positions(n);
        let tokens = &sequence.all()[..n];
        let mut cache = self.model.new_cache(&[0])?;
        let input = Forward::new(tokens, positions);
        let logits = self.model.forward(input, &mut cache)?;
        sequence.see(n, &logits, 0, 0);
        Ok(())
    }
}
