//! The sources of drafts: the constraint, the text so far, extra heads, and a smaller model.

use std::time::{Duration, Instant};

use structgen_vocab::TokenId;

use super::heads::State;
use super::{Source, Speculation, SpeculationStats};
use crate::demand::{Demand, Text};
use crate::sequence::{DraftedDraw, DraftedFrom, Limits, Sequence, set_temperature};
use crate::task::Context;
use crate::{
    Constraint, GenerateError,
    constraint::AllowedTokens,
    samplers::{Accepted, SamplerChain, SequenceRng},
};

/// Maximum bytes of forced text to examine.
const FORCED_BYTES: usize = 256;

/// A token proposed to the target.
#[derive(Debug)]
pub(super) struct Drafted {
    pub(super) token: TokenId,
    pub(super) source: Source,
    /// How it was drawn; `None` if it was not.
    pub(super) draw: Option<DraftedDraw>,
}

/// The state of drafting for one sequence.
pub(super) struct Drafter {
    options: Speculation,
    /// Independent of the numbers by which drafts are tested.
    rng: SequenceRng,
    /// The sequence's tokens, followed by those drafted.
    tokens: Vec<TokenId>,
    /// Planned tokens, last one first.
    plan: Vec<TokenId>,
    plan_source: Source,
    /// The state from which heads predict.
    pub(super) state: State,
    pub(super) drafts: Vec<Drafted>,
    /// The draft in progress.
    current: Option<Current>,
    /// The tokens in the draft model's row.
    in_draft_row: Vec<TokenId>,
    pub(super) stats: SpeculationStats,
}

/// A draft in progress, whose tokens the constraint has accepted.
struct Current {
    chain: SamplerChain,
    /// The limits of the first token.
    limits: Limits,
    /// The maximum number of tokens to draft.
    most: usize,
    /// The number of tokens to roll back from the constraint.
    taken: usize,
}

/// The state of drafting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drafting {
    /// The draft is complete.
    Done,
    /// The draft model must process [`Drafter::demand`] first.
    NeedsModel,
}

/// The next token of a draft.
enum Next {
    Token(Drafted),
    Nothing,
    NeedsModel,
}

impl Drafter {
    pub(super) fn new(options: Speculation, seed: u64, number: u64) -> Self {
        Self {
            options,
            rng: SequenceRng::drafts(seed, number),
            tokens: Vec::new(),
            plan: Vec::new(),
            plan_source: Source::Forced,
            state: State::default(),
            drafts: Vec::new(),
            current: None,
            in_draft_row: Vec::new(),
            stats: SpeculationStats::default(),
        }
    }

    /// Starts a draft of at most `most` tokens after a sequence.
    pub(super) fn begin<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<C>,
        most: usize,
        cx: &mut Context<'_>,
    ) -> Result<Drafting, GenerateError> {
        self.drafts.clear();
        self.plan.clear();
        self.tokens.clear();
        self.tokens.extend_from_slice(sequence.all());
        self.current = Some(Current {
            chain: sequence.chain.clone(),
            limits: sequence.limits(),
            most,
            taken: 0,
        });
        self.go_on(sequence, None, cx)
    }

    /// Continues a draft; `logits` are the draft model's, if it was run. Once the draft is complete, the constraint is
    /// rolled back.
    pub(super) fn go_on<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<C>,
        mut logits: Option<&[f32]>,
        cx: &mut Context<'_>,
    ) -> Result<Drafting, GenerateError> {
        let started = Instant::now();
        let Some(mut current) = self.current.take() else {
            return Ok(Drafting::Done);
        };
        let mut result = Ok(Drafting::Done);
        while self.drafts.len() < current.most && !sequence.constraint.is_finished() {
            let drafted = self.drafts.len();
            let limits = Limits {
                step: current.limits.step + drafted,
                remaining: current.limits.remaining - drafted,
                eos: current.limits.eos.clone(),
                ban_eos: current.limits.step + drafted < sequence.options.min_new_tokens,
            };
            let constraint = &mut sequence.constraint;
            let next = match logits.take() {
                Some(logits) => self.by_model(logits, constraint, &mut current.chain, &limits, cx),
                None => self.next(constraint, &mut current, &limits, cx),
            };
            let drafted = match next {
                Ok(Next::Token(drafted)) => drafted,
                Ok(Next::Nothing) => break,
                Ok(Next::NeedsModel) => {
                    result = Ok(Drafting::NeedsModel);
                    break;
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            };
            let token = drafted.token;
            let is_end = limits.eos.contains(&token);
            if !is_end && sequence.constraint.accept_token(token).is_err() {
                break;
            }
            current.chain.accept(match &drafted.draw {
                Some(draw) => Accepted::drawn(token, draw.from.probability(token) as f32),
                None => Accepted::certain(token),
            });
            self.tokens.push(token);
            self.drafts.push(drafted);
            if is_end {
                break;
            }
            current.taken += 1;
        }
        self.current = Some(current);
        if result
            .as_ref()
            .is_ok_and(|drafting| *drafting == Drafting::NeedsModel)
        {
            self.stats.draft_time += started.elapsed();
            return result;
        }
        self.end(sequence)?;
        self.stats.draft_time += started.elapsed();
        result
    }

    /// Ends the draft in progress, and rolls back the constraint.
    pub(super) fn end<C: Constraint>(
        &mut self,
        sequence: &mut Sequence<C>,
    ) -> Result<(), GenerateError> {
        let Some(current) = self.current.take() else {
            return Ok(());
        };
        let step = current.limits.step;
        { sequence.constraint.rollback(current.taken) }
            .map_err(|source| GenerateError::Constraint { step, source })
    }

    /// Returns what the draft model has to run to predict what follows the tokens so far.
    pub(super) fn demand(&mut self) -> Demand {
        let pairs = self.in_draft_row.iter().zip(&self.tokens);
        let known = pairs.take_while(|(own, other)| own == other).count();
        // The last token is run again, for its logits.
        let known = known.min(self.tokens.len() - 1);
        self.in_draft_row.clone_from(&self.tokens);
        Demand::row(Text::Draft, known, self.tokens[known..].to_vec(), 1)
    }

    /// Counts a run of the draft model.
    pub(super) fn count_run(&mut self, time: Duration) {
        self.stats.draft_runs += 1;
        self.stats.draft_time += time;
    }

    /// Returns the next token to propose, from the first source with an allowed one.
    fn next<C: Constraint>(
        &mut self,
        constraint: &mut C,
        current: &mut Current,
        limits: &Limits,
        cx: &mut Context<'_>,
    ) -> Result<Next, GenerateError> {
        // Errors of the constraint are reported when the target's token is chosen.
        let Ok(mask) = constraint.mask() else {
            return Ok(Next::Nothing);
        };
        if mask.count() == 1
            && let Ok(Some(token)) = constraint.forced_token()
        {
            if self.plan.pop() != Some(token) {
                self.plan.clear();
            }
            return Ok(Next::plain(token, Source::Forced));
        }
        for source in [Source::Plan, Source::ForcedText, Source::Lookup] {
            if source != Source::Plan {
                self.plan = self.planned(source, constraint, current.most, cx);
                self.plan.reverse();
                self.plan_source = source;
            }
            match self.plan.pop() {
                Some(token) if mask.allows(token) => {
                    return Ok(Next::plain(token, self.plan_source));
                }
                _ => self.plan.clear(),
            }
        }
        if self.options.heads
            && let Some(heads) = &mut cx.heads
            && let Some(token) = self.state.guess(
                &mut **heads,
                self.tokens.len(),
                &*mask,
                limits,
                &mut self.stats,
            )?
        {
            return Ok(Next::plain(token, Source::Heads));
        }
        let context_length = cx.draft.map_or(0, |draft| draft.context_length);
        match self.options.model && self.tokens.len() <= context_length {
            true => Ok(Next::NeedsModel),
            false => Ok(Next::Nothing),
        }
    }

    /// Drafts a token with the draft model.
    fn by_model<C: Constraint>(
        &mut self,
        logits: &[f32],
        constraint: &mut C,
        chain: &mut SamplerChain,
        limits: &Limits,
        cx: &mut Context<'_>,
    ) -> Result<Next, GenerateError> {
        let Ok(mask) = constraint.mask() else {
            return Ok(Next::Nothing);
        };
        if set_temperature(chain, constraint).is_err() {
            return Ok(Next::Nothing);
        }
        let drafted = match cx.step.distribution(logits, &*mask, chain, limits) {
            None => None,
            Some(DraftedFrom::Largest(token)) => return Ok(Next::plain(token, Source::Model)),
            Some(DraftedFrom::Distribution(from)) => {
                from.draw(self.rng.uniform()).map(|token| Drafted {
                    token,
                    source: Source::Model,
                    draw: Some(DraftedDraw { token, from }),
                })
            }
        };
        Ok(drafted.map_or(Next::Nothing, Next::Token))
    }

    fn planned<C: Constraint>(
        &self,
        source: Source,
        constraint: &mut C,
        most: usize,
        cx: &Context<'_>,
    ) -> Vec<TokenId> {
        match (source, &cx.codec.encoder, self.options.lookup) {
            (Source::ForcedText, Some(encoder), _) if self.options.forced_text => {
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
}

impl Next {
    /// Creates a token that was not drawn.
    fn plain(token: TokenId, source: Source) -> Self {
        Self::Token(Drafted {
            token,
            source,
            draw: None,
        })
    }
}
