//! Several sequences in one cache, a row for each, until all have ended.

use std::iter::repeat_n;
use std::ops::ControlFlow;
use std::time::Instant;

use structgen_vocab::TokenId;

use super::jump::Words;
use super::masks::{SomeMask, with_masks};
use super::sequence::{Next, Sequence};
use super::step::Step;
use super::{Delta, FinishReason, GenerateError, GenerateOptions, Generation, Generator};
use crate::{Constraint, Forward, KeyValueCache, LanguageModel, ModelError, PrefixCache};

/// One sequence of a batch.
#[derive(Debug, Clone)]
pub struct Request<'a, C> {
    /// The tokens before the output.
    pub prompt: &'a [TokenId],
    /// The constraint, where the output begins: a matcher, or `&mut` of one that is looked at afterwards.
    pub constraint: C,
    /// How to generate.
    pub options: &'a GenerateOptions,
    /// Which stream of the seed's random numbers the sequence draws from. Sequences that share prompt and seed are different draws
    /// where their numbers differ; [`Generator::generate`] is number 0.
    pub sequence: u64,
}

impl<'a, C> Request<'a, C> {
    /// Sequence number 0 behind a prompt.
    pub fn new(prompt: &'a [TokenId], constraint: C, options: &'a GenerateOptions) -> Self {
        Self {
            prompt,
            constraint,
            options,
            sequence: 0,
        }
    }
}

/// What is told of each piece of text, with the number of its request.
pub(super) type OnBatchDelta<'d> = &'d mut dyn FnMut(usize, Delta<'_>) -> ControlFlow<()>;

/// One output for each request, or why there is none; without an outer error the model did its part.
pub type BatchOutputs = Result<Vec<Result<Generation, GenerateError>>, ModelError>;

impl<M: LanguageModel> Generator<'_, M> {
    /// Generates a sequence for each request, all in one cache, until all have ended.
    ///
    /// Shorter prompts are padded on the left, and equal beginnings are run once. Each run of the model takes as many tokens of every
    /// sequence as the one with the fewest has ready, so that a stretch of forced tokens costs the others nothing. A sequence that has
    /// ended leaves the cache. What a sequence is does not depend on the others: where the model's logits do not depend on the number of
    /// rows, it equals that of [`generate`](Generator::generate).
    ///
    /// ```
    /// use structgen_decode::{GenerateOptions, Generator, MockModel, Request, Unconstrained};
    /// use structgen_vocab::{TokenId, Vocabulary};
    ///
    /// let vocabulary = Vocabulary::from_tokens(
    ///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
    ///     &[(TokenId(3), "<eos>")],
    /// )?;
    /// let mut model = MockModel::new(4, 64, [TokenId(3)]);
    /// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
    /// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
    /// let prompts = [vec![TokenId(0)], vec![TokenId(1), TokenId(2)]];
    /// let requests = prompts.iter().map(|prompt| Request::new(prompt, free.clone(), &options));
    /// let outputs = Generator::new(&mut model, &vocabulary).generate_batch(requests.collect())?;
    /// let single = Generator::new(&mut model, &vocabulary).generate(&prompts[1], &mut free.clone(), &options)?;
    /// assert_eq!(outputs[1].as_ref().unwrap().text, single.text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ModelError`] when the model fails, which ends all sequences. What is wrong with one request is the error of that one alone.
    pub fn generate_batch<C: Constraint>(&mut self, requests: Vec<Request<'_, C>>) -> BatchOutputs {
        self.stream_batch(requests, |_, _| ControlFlow::Continue(()))
    }

    /// [`generate_batch`](Generator::generate_batch), and hands out the texts as they come, each with the number of its request.
    ///
    /// A callback that breaks ends that sequence only.
    ///
    /// # Errors
    /// As [`generate_batch`](Generator::generate_batch).
    pub fn stream_batch<C: Constraint>(
        &mut self,
        requests: Vec<Request<'_, C>>,
        mut on_delta: impl FnMut(usize, Delta<'_>) -> ControlFlow<()>,
    ) -> BatchOutputs {
        Batch::new(self, requests, &mut on_delta).run()
    }

    /// Generates `n` sequences behind one prompt, which is run once; each draws random numbers of its own.
    ///
    /// The first equals that of [`generate`](Generator::generate). At temperature zero all are the same.
    ///
    /// # Errors
    /// As [`generate_batch`](Generator::generate_batch).
    pub fn generate_many<C: Constraint + Clone>(
        &mut self,
        prompt: &[TokenId],
        constraint: &C,
        n: usize,
        options: &GenerateOptions,
    ) -> BatchOutputs {
        let requests = (0..n as u64).map(|sequence| Request {
            sequence,
            ..Request::new(prompt, constraint.clone(), options)
        });
        self.generate_batch(requests.collect())
    }
}

/// Sequences in one cache.
pub(super) struct Batch<'r, 'a, 'o, M: LanguageModel, C: Constraint> {
    model: &'r mut M,
    words: Words<'a>,
    step: &'r mut Step,
    /// The most tokens of a row in one run.
    most: usize,
    on_delta: OnBatchDelta<'r>,
    rows: Vec<Row<'o, C>>,
    outputs: Vec<Option<Result<Generation, GenerateError>>>,
    /// How many tokens of each row, padding included, go into a new cache before any row can go on.
    to_fill: usize,
    /// The tokens of a run, one row behind the other.
    tokens: Vec<TokenId>,
    /// What was run before, by whoever.
    prefixes: Option<&'r mut PrefixCache<M::Cache>>,
}

/// A sequence in the cache.
struct Row<'o, C: Constraint> {
    /// Which request it is.
    index: usize,
    sequence: Sequence<'o, C>,
    /// What the next token is chosen by, once it is there.
    mask: SomeMask<C>,
    /// Why the sequence has ended. It may be left in the cache for the log probabilities of its last tokens.
    ended: Option<FinishReason>,
    /// How many tokens of padding go before its own.
    padding: usize,
    /// Its row in the cache. Sequences that begin alike share one until they have run that.
    place: usize,
    /// Why it cannot go on.
    failed: Option<GenerateError>,
}

impl<C: Constraint> Row<'_, C> {
    /// How many tokens are there to run.
    fn ready(&self) -> usize {
        self.padding + self.sequence.unseen(self.ended.is_some())
    }

    fn set(&mut self, next: Next<C::Mask>) {
        match next {
            Next::Ended(reason) => self.ended = Some(reason),
            Next::Logits(mask) => self.mask = mask.map(Ok),
        }
    }
}

impl<'r, 'a, 'o, M: LanguageModel, C: Constraint> Batch<'r, 'a, 'o, M, C> {
    pub(super) fn new(
        generator: &'r mut Generator<'a, M>,
        requests: Vec<Request<'o, C>>,
        on_delta: OnBatchDelta<'r>,
    ) -> Self {
        let mut batch = Self {
            words: generator.words(),
            model: generator.model,
            step: &mut generator.step,
            most: generator.prefill_chunk,
            on_delta,
            rows: Vec::with_capacity(requests.len()),
            outputs: requests.iter().map(|_| None).collect(),
            to_fill: 0,
            tokens: Vec::new(),
            prefixes: generator.prefixes.as_deref_mut(),
        };
        for (index, request) in requests.into_iter().enumerate() {
            match batch.start(index, request) {
                Ok(row) => batch.rows.push(row),
                Err(error) => batch.outputs[index] = Some(Err(error)),
            }
        }
        batch
    }

    fn start(
        &mut self,
        index: usize,
        request: Request<'o, C>,
    ) -> Result<Row<'o, C>, GenerateError> {
        let mut sequence = Sequence::start(
            request.prompt,
            request.constraint,
            request.options,
            request.sequence,
            self.model.info(),
            self.words,
        )?;
        let on_delta = &mut *self.on_delta;
        let next = sequence.begin(self.words, &mut |delta| on_delta(index, delta))?;
        let mut row = Row {
            index,
            sequence,
            mask: None,
            ended: None,
            padding: 0,
            place: 0,
            failed: None,
        };
        row.set(next);
        Ok(row)
    }

    pub(super) fn run(mut self) -> BatchOutputs {
        let mut kept: Option<M::Cache> = None;
        loop {
            self.retire(&mut kept);
            if self.rows.is_empty() {
                break;
            }
            let mut cache = match kept.take() {
                Some(cache) => cache,
                None => self.new_cache()?,
            };
            if self.to_fill == 0 {
                self.separate(&mut cache)?;
            }
            let room = { self.model.info().context_length }.saturating_sub(cache.len());
            let ready = self.rows.iter().map(Row::ready).min().unwrap_or(0);
            let n = ready.min(room).min(self.most);
            if n == 0 {
                // Padding has used up the cache: in a new one, the longest sequence has none.
                continue;
            }
            self.forward(&mut cache, n)?;
            kept = Some(cache);
        }
        // Every request was refused, or had a row that has retired.
        Ok(self.outputs.into_iter().flatten().collect())
    }

    /// Takes out the sequences of which the model has nothing more to say.
    fn retire(&mut self, cache: &mut Option<M::Cache>) {
        let mut at = 0;
        while let Some(row) = self.rows.get(at) {
            if row.ready() > 0 {
                at += 1;
                continue;
            }
            if self.rows.len() == 1
                && let Some(prefixes) = &mut self.prefixes
                && let Some(cache) = cache.take()
            {
                // Of a row with padding before it, the length is another.
                prefixes.keep(row.sequence.run(), cache);
            }
            let Row {
                index,
                sequence,
                ended,
                ..
            } = self.rows.remove(at);
            let on_delta = &mut *self.on_delta;
            // A sequence that goes on has a token that the model has not seen.
            if let Some(reason) = ended {
                let output =
                    sequence.finish(reason, self.words, &mut |delta| on_delta(index, delta));
                self.outputs[index] = Some(output);
            }
        }
    }

    /// An empty cache, with the padding that lets all rows end together, and one row for those that begin alike.
    fn new_cache(&mut self) -> Result<M::Cache, ModelError> {
        for row in &mut self.rows {
            row.sequence.crop(self.model.info().context_length);
            row.sequence.seen = 0;
            row.padding = 0;
        }
        self.to_fill = self.rows.iter().map(Row::ready).max().unwrap_or(0);
        let mut padding: Vec<usize> = Vec::new();
        for at in 0..self.rows.len() {
            let (before, rest) = self.rows.split_at_mut(at);
            let row = &mut rest[0];
            row.padding = self.to_fill - row.ready();
            let alike = before.iter().find(|other| {
                other.ended.is_none() == row.ended.is_none()
                    && other.sequence.all() == row.sequence.all()
            });
            row.place = alike.map_or(padding.len(), |other| other.place);
            if row.place == padding.len() {
                padding.push(row.padding);
            }
        }
        if padding[..] == [0]
            && let Some(prefixes) = &mut self.prefixes
        {
            let most = self.rows.iter().map(|row| row.sequence.reusable());
            let most = most.min().unwrap_or(0);
            if let Some(cache) = prefixes.longest(self.rows[0].sequence.all(), most)? {
                self.to_fill -= cache.len();
                for row in &mut self.rows {
                    row.sequence.reuse(cache.len());
                }
                return Ok(cache);
            }
        }
        self.model.new_cache(&padding)
    }

    /// Gives every sequence a row of its own, and drops the rows of those that have left.
    fn separate(&mut self, cache: &mut M::Cache) -> Result<(), ModelError> {
        let places = self.rows.iter().map(|row| row.place);
        if !places.clone().eq(0..cache.rows()) {
            if let (Some(prefixes), [row, _, ..]) = (&mut self.prefixes, &self.rows[..])
                && cache.rows() == 1
                && cache.bytes() <= prefixes.max_bytes()
            {
                prefixes.keep(row.sequence.run(), cache.fork()?);
            }
            cache.select_rows(&places.collect::<Vec<_>>())?;
            for (place, row) in self.rows.iter_mut().enumerate() {
                row.place = place;
            }
        }
        Ok(())
    }

    /// Runs `n` tokens of every row, and lets those go on of which the model has seen all.
    fn forward(&mut self, cache: &mut M::Cache, n: usize) -> Result<(), ModelError> {
        self.tokens.clear();
        let mut positions = 1;
        let mut places = 0;
        for row in &self.rows {
            let padding = row.padding.min(n);
            positions = positions.max(row.sequence.positions(n - padding));
            if row.place == places {
                places += 1;
                let (all, seen) = (row.sequence.all(), row.sequence.seen);
                self.tokens.extend(repeat_n(all[0], padding));
                self.tokens
                    .extend_from_slice(&all[seen..seen + n - padding]);
            }
        }
        let before = self.model.stats().backend_time;
        let started = Instant::now();
        let input = Forward::new(&self.tokens, positions);
        let missing = { self.rows.iter_mut() }
            .filter(|row| row.mask.is_none() && row.ended.is_none())
            .map(|row| (&mut row.sequence.constraint, &mut row.mask));
        let model = &mut *self.model;
        let (logits, mask_time) = with_masks(missing, move || model.forward(input, cache));
        let logits = logits?;
        let model_time = started.elapsed().saturating_sub(mask_time);
        self.to_fill = self.to_fill.saturating_sub(n);
        for row in &mut self.rows {
            let padding = row.padding.min(n);
            row.padding -= padding;
            row.sequence.see(n - padding, &logits, row.place, 0);
            if row.ready() == 0 && row.ended.is_none() {
                let logits = logits.row(row.place, positions - 1);
                row.go_on(logits, self.step, self.words, self.on_delta);
            }
        }
        let backend_time = self.model.stats().backend_time.saturating_sub(before);
        let outputs = &mut self.outputs;
        self.rows.retain_mut(|row| {
            row.sequence.count_run(model_time, backend_time, mask_time);
            let failed = row.failed.take();
            let stays = failed.is_none();
            if let Some(error) = failed {
                outputs[row.index] = Some(Err(error));
            }
            stays
        });
        Ok(())
    }
}

impl<C: Constraint> Row<'_, C> {
    /// Chooses a token by its logits, and takes it and what is forced behind it.
    fn go_on(
        &mut self,
        logits: &[f32],
        step: &mut Step,
        words: Words<'_>,
        on_delta: OnBatchDelta<'_>,
    ) {
        let mask = self.mask.take();
        let index = self.index;
        let next = self
            .sequence
            .choose(logits, mask, step, words, &mut |delta| {
                on_delta(index, delta)
            });
        match next {
            Ok(next) => self.set(next),
            Err(error) => self.failed = Some(error),
        }
    }
}
