//! Speculative decoding: tokens are drafted cheaply, and the model looks at all of them in one run.

mod accept;
mod draft;
mod heads;
mod lookup;
mod stats;

pub(crate) use accept::{Distribution, DraftedDraw, DraftedFrom};
pub use lookup::PromptLookup;
pub use stats::{SourceStats, SpeculationStats};

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use structgen_vocab::{TokenId, Vocabulary};

use super::sequence::{Next, OnDelta, Sequence};
use super::{Delta, GenerateError, GenerateOptions, Generation, Generator};
use crate::{Constraint, DraftHeads, Forward, KeyValueCache, LanguageModel};
use draft::Drafter;
pub(super) use draft::{Cached, DraftModel};

/// Which source a drafted token comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// No other token is allowed.
    Forced,
    /// What a source planned before.
    Plan,
    ForcedText,
    Lookup,
    Heads,
    Model,
}

/// Where drafts come from and how long they are.
///
/// Drafts never change what is generated. At temperature zero the output is that of [`Generator::generate`], token for token, and so it is for every seed
/// where no model drafts: then drafts are tested by making the choice as always. What a model drafts by drawing is kept by the rule
/// of Leviathan, Kalman and Matias (2023), so that outputs have the same distribution. The distributions compared are those after constraint and samplers.
///
/// Sources are asked in this order, for each token: what the constraint forces; the text that it forces, as a tokenizer writes it; what followed the
/// last tokens before; extra heads; the draft model.
///
/// ```
/// use structgen_decode::{GenerateOptions, Generator, MockModel, PromptLookup, Speculation, Unconstrained};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let mut model = MockModel::new(4, 64, [TokenId(3)]);
/// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(20), ..GenerateOptions::default() };
/// let mut speculation = Speculation::new().with_lookup(PromptLookup::default());
/// let mut generator = Generator::new(&mut model, &vocabulary);
/// let plain = generator.generate(&[TokenId(0)], &mut free.clone(), &options)?;
/// let same = generator.generate_speculative(&[TokenId(0)], &mut free.clone(), &options, &mut speculation)?;
/// assert_eq!(same.text, plain.text);
/// assert!(speculation.stats().target_runs <= plain.stats.runs);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Speculation<'d> {
    model: Option<DraftModel<'d>>,
    lookup: Option<PromptLookup>,
    heads: Option<&'d mut dyn DraftHeads>,
    forced_text: bool,
    length: DraftLength,
    stats: SpeculationStats,
}

/// How many tokens are drafted before the model looks at them. Those that the constraint forces count as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftLength {
    /// Always so many.
    Fixed(NonZeroUsize),
    /// Two more after a draft that was kept whole, one fewer after one that was not, from 1 to this many: the schedule of transformers.
    Adaptive(NonZeroUsize),
}

impl Default for DraftLength {
    /// Adaptive, up to 16.
    fn default() -> Self {
        Self::Adaptive(NonZeroUsize::MIN.saturating_add(15))
    }
}

impl DraftLength {
    /// Where an adaptive length begins.
    const FIRST: usize = 5;

    fn first(self) -> usize {
        match self {
            Self::Fixed(n) => n.get(),
            Self::Adaptive(most) => most.get().min(Self::FIRST),
        }
    }

    /// The length after a draft.
    fn after(self, length: usize, kept_whole: bool) -> usize {
        match self {
            Self::Fixed(n) => n.get(),
            Self::Adaptive(most) if kept_whole => most.get().min(length + 2),
            Self::Adaptive(_) => length.saturating_sub(1).max(1),
        }
    }
}

impl<'d> Speculation<'d> {
    /// No source: nothing is drafted but what the constraint forces.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Drafts by a model, usually a smaller one, whose ids mean what the target's mean.
    ///
    /// Its cache is kept from one generation to the next, for what the prompts begin with in common.
    #[must_use]
    pub fn with_model<M: LanguageModel>(
        mut self,
        model: &'d mut M,
        vocabulary: Arc<Vocabulary>,
    ) -> Self {
        self.model = Some(DraftModel {
            logits: Box::new(Cached::new(model)),
            vocabulary,
        });
        self
    }

    /// Drafts what followed the last tokens when they came before, in the prompt or in the output.
    #[must_use]
    pub fn with_lookup(mut self, lookup: PromptLookup) -> Self {
        self.lookup = Some(lookup);
        self
    }

    /// Drafts by extra heads of the target itself: from its state behind the last tokens that it has run, each head guesses one token, the largest that is allowed.
    ///
    /// Guesses are tested by making the choice as always, so that outputs are the same for every seed.
    #[must_use]
    pub fn with_heads(mut self, heads: &'d mut dyn DraftHeads) -> Self {
        self.heads = Some(heads);
        self
    }

    /// Drafts the text that the constraint forces, in the tokens that the generator's [encoder](Generator::with_encoder) gives.
    #[must_use]
    pub fn with_forced_text(mut self) -> Self {
        self.forced_text = true;
        self
    }

    /// Sets how many tokens are drafted at once.
    #[must_use]
    pub fn with_length(mut self, length: DraftLength) -> Self {
        self.length = length;
        self
    }

    /// What became of the drafts of all generations so far.
    #[must_use]
    pub fn stats(&self) -> &SpeculationStats {
        &self.stats
    }
}

impl fmt::Debug for Speculation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Speculation")
            .field("model", &self.model.is_some())
            .field("lookup", &self.lookup)
            .field("heads", &self.heads.as_ref().map(|heads| heads.heads()))
            .field("forced_text", &self.forced_text)
            .field("length", &self.length)
            .field("stats", &self.stats)
            .finish()
    }
}

impl<M: LanguageModel> Generator<'_, M> {
    /// Generates one sequence like [`generate`](Generator::generate), with fewer runs of the model where drafts are kept.
    ///
    /// # Errors
    /// As [`generate`](Generator::generate); [`GenerateError::DraftVocabulary`] when the ids of draft and target do not mean the same;
    /// [`ModelError::NoHiddenStates`](crate::ModelError::NoHiddenStates) and [`GenerateError::HeadsWidth`] when heads are to draft and the model does not give out what they take;
    /// [`GenerateError::NoEncoder`] when forced text is to be drafted and the generator has no encoder.
    pub fn generate_speculative<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
        speculation: &mut Speculation<'_>,
    ) -> Result<Generation, GenerateError> {
        self.stream_speculative(prompt, constraint, options, speculation, |_| {
            ControlFlow::Continue(())
        })
    }

    /// [`generate_speculative`](Generator::generate_speculative), and hands out the text as it comes.
    ///
    /// # Errors
    /// As [`generate_speculative`](Generator::generate_speculative).
    pub fn stream_speculative<C: Constraint>(
        &mut self,
        prompt: &[TokenId],
        constraint: &mut C,
        options: &GenerateOptions,
        speculation: &mut Speculation<'_>,
        mut on_delta: impl FnMut(Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Generation, GenerateError> {
        if let Some(model) = &speculation.model {
            model.check(self.vocabulary)?;
        }
        let encoder = match speculation.forced_text {
            true => Some(self.encoder.ok_or(GenerateError::NoEncoder)?),
            false => None,
        };
        let info = self.model.info();
        if let Some(heads) = &speculation.heads {
            heads::check(*heads, info)?;
        }
        let context_length = info.context_length;
        let mut sequence = Sequence::start(prompt, constraint, options, 0, info, self.words())?;
        let mut next = sequence.begin(self.words(), &mut on_delta)?;
        let schedule = speculation.length;
        let mut length = schedule.first();
        let mut drafter = Drafter::new(speculation, encoder, options.sampling.seed);
        sequence.crop(context_length);
        let known = match &mut self.prefixes {
            Some(prefixes) => prefixes.longest(sequence.all(), sequence.reusable())?,
            None => None,
        };
        if let Some(cache) = &known {
            sequence.reuse(cache.len());
        }
        let mut run = Run {
            cache: match known {
                Some(cache) => cache,
                None => self.model.new_cache(&[0])?,
            },
            generator: self,
            tokens: Vec::new(),
        };
        let reason = loop {
            let mask = match next {
                Next::Ended(reason) => break reason,
                Next::Logits(mask) => mask,
            };
            if run.make_room(&mut sequence)? {
                drafter.state.forget();
            }
            let room = context_length - sequence.all().len();
            // The target's own choice behind the draft takes the last token that is left.
            let most = length.min(sequence.limits().remaining - 1).min(room);
            drafter.draft(&mut sequence, most)?;
            let kept_whole;
            (next, kept_whole) = run.check(&mut sequence, &mut drafter, mask, &mut on_delta)?;
            if !drafter.drafts.is_empty() {
                length = schedule.after(length, kept_whole);
            }
        };
        let generated = sequence.len();
        let time = drafter.time;
        let stats = &mut drafter.speculation().stats;
        stats.tokens += generated as u64;
        stats.draft_time += time;
        if sequence.unseen(true) > 0 {
            run.make_room(&mut sequence)?;
            run.see_rest(&mut sequence)?;
        }
        let cache = run.cache;
        if let Some(prefixes) = &mut self.prefixes {
            prefixes.keep(sequence.run(), cache);
        }
        sequence.finish(reason, self.words(), &mut on_delta)
    }
}

/// The target model at work on one sequence.
pub(super) struct Run<'r, 'a, M: LanguageModel> {
    pub(super) generator: &'r mut Generator<'a, M>,
    pub(super) cache: M::Cache,
    tokens: Vec<TokenId>,
}

impl<'r, 'a, M: LanguageModel> Run<'r, 'a, M> {
    /// Empties the cache of a sequence that has outgrown it, and says whether it had.
    fn make_room<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<'_, C>,
    ) -> Result<bool, GenerateError> {
        let context_length = self.generator.model.info().context_length;
        let is_cropped = sequence.crop(context_length);
        if is_cropped {
            self.cache.truncate(0)?;
        }
        Ok(is_cropped)
    }

    /// An empty cache.
    pub(super) fn new(generator: &'r mut Generator<'a, M>) -> Result<Self, GenerateError> {
        Ok(Self {
            cache: generator.model.new_cache(&[0])?,
            generator,
            tokens: Vec::new(),
        })
    }

    /// Runs all tokens that the model has not seen; `last` becomes the logits behind them.
    pub(super) fn see_all<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<'_, C>,
        last: &mut Vec<f32>,
    ) -> Result<(), GenerateError> {
        while sequence.unseen(false) > self.generator.prefill_chunk {
            self.see(sequence, self.generator.prefill_chunk, None)?;
        }
        self.see(sequence, sequence.unseen(false), Some(last))
    }

    /// Runs what log probabilities of the last tokens take, once the sequence has ended.
    pub(super) fn see_rest<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<'_, C>,
    ) -> Result<(), GenerateError> {
        match sequence.unseen(true) {
            0 => Ok(()),
            rest => self.see(sequence, rest, None),
        }
    }

    /// Runs the next `n` tokens of a sequence; `last` becomes the logits behind them.
    fn see<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<'_, C>,
        n: usize,
        last: Option<&mut Vec<f32>>,
    ) -> Result<(), GenerateError> {
        let started = Instant::now();
        let model = &mut *self.generator.model;
        let before = model.stats().backend_time;
        let input = Forward::new(
            &sequence.all()[sequence.seen..sequence.seen + n],
            sequence.positions(n),
        );
        let logits = model.forward(input, &mut self.cache)?;
        let time = started.elapsed();
        sequence.see(n, &logits, 0, 0);
        if let Some(last) = last {
            last.clear();
            last.extend_from_slice(logits.row(0, logits.positions() - 1));
        }
        let backend = model.stats().backend_time.saturating_sub(before);
        sequence.count_run(time, backend, Duration::ZERO);
        Ok(())
    }

    /// Runs what the model has not seen and the draft behind it; takes what of the draft is kept, and one token more. Also says whether all of it was kept.
    fn check<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<'_, C>,
        drafter: &mut Drafter<'_, '_>,
        mask: Option<Arc<C::Mask>>,
        on_delta: OnDelta<'_>,
    ) -> Result<(Next<C::Mask>, bool), GenerateError> {
        while sequence.unseen(false) > self.generator.prefill_chunk {
            self.see(sequence, self.generator.prefill_chunk, None)?;
        }
        let drafts = std::mem::take(&mut drafter.drafts);
        let eos = sequence.limits().eos;
        // Nobody asks what comes behind an end.
        let fed = drafts.iter().filter(|d| !eos.contains(&d.token)).count();
        let pending = sequence.unseen(false);
        self.tokens.clear();
        self.tokens
            .extend_from_slice(&sequence.all()[sequence.seen..]);
        let tokens = drafts[..fed].iter().map(|drafted| drafted.token);
        self.tokens.extend(tokens);
        let positions = sequence.positions(pending) + fed;

        let words = self.generator.words();
        let started = Instant::now();
        let model = &mut *self.generator.model;
        let before = model.stats().backend_time;
        let mut input = Forward::new(&self.tokens, positions);
        input.hidden = drafter.speculation().heads.is_some();
        let logits = model.forward(input, &mut self.cache)?;
        let time = started.elapsed();
        sequence.see(pending, &logits, 0, fed);
        let step = &mut self.generator.step;
        let stats = &mut drafter.speculation().stats;
        stats.target_runs += 1;

        let mut mask = mask.map(Ok);
        let mut at = 0;
        let mut tested = 0;
        let next = loop {
            let drafted = drafts.get(at);
            let forced = match at {
                0 => None,
                _ => {
                    let ready = sequence.ready_mask()?;
                    let forced = sequence.forced_token(ready.as_deref(), words)?;
                    mask = ready.map(Ok);
                    forced
                }
            };
            let (token, ended) = match forced {
                Some(token) => (token, sequence.take_forced(token, words, on_delta)?),
                None => {
                    let row = logits.row(0, positions - 1 - fed + at);
                    let draw = drafted.and_then(|drafted| drafted.draw.as_ref());
                    let chosen = sequence.pick(row, mask.take(), draw, step)?;
                    let token = chosen.accepted.token;
                    (token, sequence.take_chosen(chosen, words, on_delta)?)
                }
            };
            // A forced token's own logits are of this run as well.
            sequence.see(0, &logits, 0, fed - at);
            let kept = drafted.is_some_and(|drafted| drafted.token == token);
            if let Some(drafted) = drafted
                && forced.is_none()
            {
                stats.count(drafted.source, tested, kept);
                tested += 1;
            }
            if let Some(reason) = ended {
                break Next::Ended(reason);
            }
            if !kept {
                break sequence.advance(words, on_delta)?;
            }
            sequence.seen += 1;
            at += 1;
            if let Some(reason) = sequence.ended() {
                break Next::Ended(reason);
            }
        };
        if let (Next::Logits(_), Some(hidden)) =
            (&next, logits.hidden(0, positions - 1 - fed + at.min(fed)))
        {
            // Behind it, the token was chosen that is the last but for forced ones.
            drafter.state.set(hidden, sequence.seen);
        }
        let backend = { self.generator.model.stats().backend_time }.saturating_sub(before);
        sequence.count_run(time, backend, Duration::ZERO);
        self.cache.truncate(sequence.seen)?;
        let kept_whole = at == drafts.len();
        drafter.drafts = drafts;
        Ok((next, kept_whole))
    }
}
