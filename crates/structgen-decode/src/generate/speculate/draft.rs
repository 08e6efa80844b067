//! Where drafts come from: the constraint, the text so far, and a smaller model.

use std::sync::Arc;
use std::time::{Duration, Instant};

use structgen_vocab::{TokenId, Vocabulary};

use super::super::sequence::Sequence;
use super::super::step::{Limits, Step, set_temperature};
use super::heads::State;
use super::{DraftedDraw, DraftedFrom, Source, Speculation};
use crate::{
    Accepted, AllowedTokens, Constraint, Forward, GenerateError, KeyValueCache, LanguageModel,
    ModelError, SequenceRng, TextEncoder,
};

/// How many bytes of forced text are looked at.
const FORCED_BYTES: usize = 256;

/// A model that drafts, whatever its cache is.
pub(in crate::generate) trait NextLogits {
    /// The logits behind some tokens; none where they are more than the model can attend to.
    fn behind(&mut self, tokens: &[TokenId]) -> Result<Option<&[f32]>, ModelError>;
}

/// A model with what its cache holds.
pub(in crate::generate) struct Cached<'d, M: LanguageModel> {
    model: &'d mut M,
    cache: Option<M::Cache>,
    seen: Vec<TokenId>,
}

impl<'d, M: LanguageModel> Cached<'d, M> {
    pub(in crate::generate) fn new(model: &'d mut M) -> Self {
        Self {
            model,
            cache: None,
            seen: Vec::new(),
        }
    }
}

impl<M: LanguageModel> NextLogits for Cached<'_, M> {
    fn behind(&mut self, tokens: &[TokenId]) -> Result<Option<&[f32]>, ModelError> {
        if tokens.is_empty() || tokens.len() > self.model.info().context_length {
            return Ok(None);
        }
        let pairs = self.seen.iter().zip(tokens);
        let known = pairs.take_while(|(own, other)| own == other).count();
        // The last one is run again, for its logits.
        let known = known.min(tokens.len() - 1);
        // After an error, the next call begins with an empty cache.
        let mut cache = match self.cache.take() {
            Some(cache) => cache,
            None => self.model.new_cache(&[0])?,
        };
        cache.truncate(known)?;
        self.seen.truncate(cache.len());
        let rest = &tokens[self.seen.len()..];
        let logits = self.model.forward(Forward::last(rest), &mut cache)?;
        self.seen.extend_from_slice(rest);
        self.cache = Some(cache);
        Ok(Some(logits.row(0, 0)))
    }
}

/// A model that drafts, with its vocabulary.
pub(in crate::generate) struct DraftModel<'d> {
    pub(in crate::generate) logits: Box<dyn NextLogits + 'd>,
    pub(in crate::generate) vocabulary: Arc<Vocabulary>,
}

impl DraftModel<'_> {
    /// Ids have to mean the same in both vocabularies, but for those that only pad logits.
    pub(in crate::generate) fn check(&self, target: &Vocabulary) -> Result<(), GenerateError> {
        let draft = &*self.vocabulary;
        let meaning = |vocabulary: &Vocabulary, id: TokenId| {
            if vocabulary.is_special(id) {
                let name = vocabulary.token_name(id).unwrap_or_default();
                return format!("the special token {name:?}");
            }
            match vocabulary.token_bytes(id) {
                Some(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
                None => "nothing".to_owned(),
            }
        };
        for id in (0..target.len().max(draft.len()) as u32).map(TokenId) {
            let specials = (target.is_special(id), draft.is_special(id));
            let is_same = match specials {
                (true, true) => target.token_name(id) == draft.token_name(id),
                (false, false) => target.token_bytes(id) == draft.token_bytes(id),
                _ => false,
            };
            if !is_same {
                return Err(GenerateError::DraftVocabulary {
                    token: id,
                    target: meaning(target, id),
                    draft: meaning(draft, id),
                });
            }
        }
        Ok(())
    }
}

/// A token that is put before the target.
#[derive(Debug)]
pub(super) struct Drafted {
    pub(super) token: TokenId,
    pub(super) source: Source,
    /// How it was drawn; none where there was nothing to draw.
    pub(super) draw: Option<DraftedDraw>,
}

/// What drafting for one sequence needs.
pub(super) struct Drafter<'s, 'd> {
    speculation: &'s mut Speculation<'d>,
    encoder: Option<&'s dyn TextEncoder>,
    /// Independent of the numbers by which drafts are tested.
    rng: SequenceRng,
    step: Step,
    /// The sequence's tokens, with those drafted behind them.
    tokens: Vec<TokenId>,
    /// Planned tokens, last one first.
    plan: Vec<TokenId>,
    plan_source: Source,
    /// What heads guess from.
    pub(super) state: State,
    pub(super) drafts: Vec<Drafted>,
    pub(super) time: Duration,
}

impl<'s, 'd> Drafter<'s, 'd> {
    pub(super) fn new(
        speculation: &'s mut Speculation<'d>,
        encoder: Option<&'s dyn TextEncoder>,
        seed: u64,
    ) -> Self {
        Self {
            speculation,
            encoder,
            rng: SequenceRng::drafts(seed, 0),
            step: Step::default(),
            tokens: Vec::new(),
            plan: Vec::new(),
            plan_source: Source::Forced,
            state: State::default(),
            drafts: Vec::new(),
            time: Duration::ZERO,
        }
    }

    /// Drafts at most so many tokens behind a sequence, whose constraint is where it was afterwards.
    pub(super) fn draft<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<'_, C>,
        most: usize,
    ) -> Result<(), GenerateError> {
        let started = Instant::now();
        self.drafts.clear();
        self.plan.clear();
        self.tokens.clear();
        self.tokens.extend_from_slice(sequence.all());
        let mut chain = sequence.chain.clone();
        let limits = sequence.limits();
        let mut taken = 0;
        let mut result = Ok(());
        while self.drafts.len() < most && !sequence.constraint.is_finished() {
            let limits = Limits {
                step: limits.step + self.drafts.len(),
                remaining: limits.remaining - self.drafts.len(),
                eos: limits.eos.clone(),
                ban_eos: limits.step + self.drafts.len() < sequence.options.min_new_tokens,
            };
            match self.next(&mut sequence.constraint, &mut chain, &limits, most) {
                Ok(Some(drafted)) => {
                    let token = drafted.token;
                    let is_end = limits.eos.contains(&token);
                    if !is_end && sequence.constraint.accept_token(token).is_err() {
                        break;
                    }
                    chain.accept(match &drafted.draw {
                        Some(draw) => Accepted::drawn(token, draw.from.probability(token) as f32),
                        None => Accepted::certain(token),
                    });
                    self.tokens.push(token);
                    self.drafts.push(drafted);
                    if is_end {
                        break;
                    }
                    taken += 1;
                }
                Ok(None) => break,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        let step = limits.step;
        { sequence.constraint.rollback(taken) }
            .map_err(|source| GenerateError::Constraint { step, source })?;
        self.time += started.elapsed();
        result
    }

    /// The next token to put before the target, from the first source that has one which is allowed.
    fn next<C: Constraint>(
        &mut self,
        constraint: &mut C,
        chain: &mut crate::SamplerChain,
        limits: &Limits,
        most: usize,
    ) -> Result<Option<Drafted>, GenerateError> {
        // What is wrong with the constraint is said where the target's token is chosen.
        let Ok(mask) = constraint.mask() else {
            return Ok(None);
        };
        let plain = |token, source| {
            Ok(Some(Drafted {
                token,
                source,
                draw: None,
            }))
        };
        if mask.count() == 1
            && let Ok(Some(token)) = constraint.forced_token()
        {
            if self.plan.pop() != Some(token) {
                self.plan.clear();
            }
            return plain(token, Source::Forced);
        }
        for source in [Source::Plan, Source::ForcedText, Source::Lookup] {
            if source != Source::Plan {
                self.plan = self.planned(source, constraint, most);
                self.plan.reverse();
                self.plan_source = source;
            }
            match self.plan.pop() {
                Some(token) if mask.allows(token) => return plain(token, self.plan_source),
                _ => self.plan.clear(),
            }
        }
        let Speculation { heads, stats, .. } = &mut *self.speculation;
        if let Some(heads) = heads
            && let Some(token) =
                self.state
                    .guess(&mut **heads, self.tokens.len(), &*mask, limits, stats)?
        {
            return plain(token, Source::Heads);
        }
        let Some(model) = &mut self.speculation.model else {
            return Ok(None);
        };
        if set_temperature(chain, constraint).is_err() {
            return Ok(None);
        }
        let Some(logits) = model.logits.behind(&self.tokens)? else {
            return Ok(None);
        };
        self.speculation.stats.draft_runs += 1;
        Ok(
            match self.step.distribution(logits, &*mask, chain, limits) {
                None => None,
                Some(DraftedFrom::Largest(token)) => return plain(token, Source::Model),
                Some(DraftedFrom::Distribution(from)) => {
                    from.draw(self.rng.uniform()).map(|token| Drafted {
                        token,
                        source: Source::Model,
                        draw: Some(DraftedDraw { token, from }),
                    })
                }
            },
        )
    }

    fn planned<C: Constraint>(
        &self,
        source: Source,
        constraint: &mut C,
        most: usize,
    ) -> Vec<TokenId> {
        match (source, self.encoder, self.speculation.lookup) {
            (Source::ForcedText, Some(encoder), _) => {
                let text = constraint.forced_text(FORCED_BYTES).unwrap_or_default();
                let valid = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
                if valid.is_empty() {
                    return Vec::new();
                }
                encoder.encode_text(valid).unwrap_or_default()
            }
            (Source::Lookup, _, Some(lookup)) => {
                lookup.find(&self.tokens, most - self.drafts.len()).to_vec()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn speculation(&mut self) -> &mut Speculation<'d> {
        self.speculation
    }
}
