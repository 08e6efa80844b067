//! A choice: the allowed tokens, without those that the budget and the bans exclude, go through the samplers.

use std::sync::Arc;

use structgen_vocab::{TokenId, TokenMask};

use super::{Distribution, DraftedDraw, DraftedFrom};
use crate::{
    Constraint, GenerateError,
    constraint::{AllowedTokens, ConstraintError, PlainMask},
    numeric,
    request::{Alternative, MaskReport, TokenLogProbs},
    samplers::{Accepted, Candidates, SamplerChain, masked_softmax},
};

/// After this many refused choices in one step, a chain that takes the largest checks the candidates in order.
const LARGEST_MISSES: usize = 4;

/// After this many, other chains check every candidate at once: drawing again costs them as much.
const DRAWN_MISSES: usize = 2;

/// Limits of a step, besides the constraint.
pub(crate) struct Limits {
    /// The number of tokens generated before.
    pub(crate) step: usize,
    /// The number of tokens that may still come, including this one.
    pub(crate) remaining: usize,
    /// The ids that end the output.
    pub(crate) eos: Arc<[TokenId]>,
    /// Whether the output is below its minimum length.
    pub(crate) ban_eos: bool,
}

/// A chosen token, not yet accepted.
pub(crate) struct Chosen {
    pub(crate) accepted: Accepted,
    pub(crate) scores: Scores,
    pub(crate) steered: bool,
    pub(crate) lifted: bool,
}

/// What to record about each chosen token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) log_probs: bool,
    pub(crate) alternatives: usize,
    pub(crate) refused: usize,
}

/// The data recorded about a chosen token.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scores {
    pub(crate) log_probs: Option<TokenLogProbs>,
    pub(crate) alternatives: Vec<Alternative>,
    pub(crate) mask: Option<MaskReport>,
}

/// The best tokens of a step, none of them accepted yet.
pub(crate) struct Best {
    /// Most probable first, with the probabilities among all candidates.
    pub(crate) tokens: Vec<(TokenId, f32)>,
    pub(crate) steered: bool,
    pub(crate) lifted: bool,
}

/// Buffers that every step reuses.
#[derive(Debug, Default)]
pub(crate) struct Step {
    candidates: Candidates,
    /// The sorted ids that this step excludes, by the budget and the bans.
    banned: Vec<TokenId>,
    over_budget: Vec<TokenId>,
}

impl Step {
    /// Chooses among the allowed tokens, in the order of precedence: constraint, budget, bans, samplers.
    ///
    /// If a drafted token is given, the first draw is made by testing it, which samples from the same distribution.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a sequence, which its owner has apart"
    )]
    pub(crate) fn choose<C: Constraint>(
        &mut self,
        logits: &[f32],
        mask: &C::Mask,
        constraint: &mut C,
        chain: &mut SamplerChain,
        limits: &Limits,
        mut drafted: Option<&DraftedDraw>,
        wanted: Wanted,
    ) -> Result<Chosen, GenerateError> {
        self.begin(mask, constraint, chain, limits)?;
        let step = limits.step;
        let fail = |source| GenerateError::Constraint { step, source };
        let mut ban_eos = limits.ban_eos;
        let mut misses = 0;
        loop {
            self.collect_bans(if ban_eos { &limits.eos } else { &[] });
            let Some(accepted) = self.pick(logits, mask, chain, drafted) else {
                if ban_eos {
                    // A ban that leaves nothing is lifted for this step.
                    ban_eos = false;
                    continue;
                }
                return Err(if self.over_budget.is_empty() {
                    let allowed = mask.count();
                    GenerateError::NoFiniteLogit { step, allowed }
                } else {
                    // The constraint promised a completion, but no token keeps the promise.
                    GenerateError::DeadEnd { step }
                });
            };
            let token = accepted.token;
            drafted = None;
            if !limits.eos.contains(&token) && !fits(constraint, token, limits).map_err(fail)? {
                misses += 1;
                match chain.is_plain_argmax() {
                    true if misses >= LARGEST_MISSES => {
                        self.ban_larger_than_fitting(logits, mask, constraint, limits)?;
                    }
                    false if misses >= DRAWN_MISSES => {
                        self.check_all(logits, mask, constraint, limits)?;
                    }
                    _ => insert(&mut self.over_budget, token),
                }
                continue;
            }
            let scores = Scores::new(logits, mask, token, wanted, chain);
            let lifted = self.candidates.lifted_bans() > 0 && !chain.is_plain_argmax();
            return Ok(Chosen {
                accepted,
                scores,
                steered: misses > 0,
                lifted: lifted || limits.ban_eos && !ban_eos,
            });
        }
    }

    /// Returns the best of the allowed tokens, at least one and at most `most`, in [`choose`](Step::choose)'s order of
    /// precedence. Nothing is drawn.
    pub(crate) fn best<C: Constraint>(
        &mut self,
        logits: &[f32],
        mask: &C::Mask,
        constraint: &mut C,
        chain: &mut SamplerChain,
        limits: &Limits,
        most: usize,
    ) -> Result<Best, GenerateError> {
        self.begin(mask, constraint, chain, limits)?;
        let step = limits.step;
        let fail = |source| GenerateError::Constraint { step, source };
        let mut ban_eos = limits.ban_eos;
        let mut tokens = Vec::new();
        let (mut steered, mut is_checked) = (false, false);
        loop {
            self.collect_bans(if ban_eos { &limits.eos } else { &[] });
            chain.fill(&mut self.candidates, logits, mask, &self.banned);
            chain.apply(&mut self.candidates);
            let total = self.candidates.weigh();
            let mut looked_at = 0;
            while tokens.len() < most && looked_at < self.candidates.len() {
                // Few are refused: the first ones usually suffice.
                let wanted = looked_at + most - tokens.len();
                let head = self.candidates.sorted_head(wanted);
                let found: Vec<TokenId> = head[looked_at..].iter().map(|&(_, id)| id).collect();
                looked_at += found.len();
                for token in found {
                    let Some(probability) = self.candidates.probability(token, total) else {
                        continue;
                    };
                    let is_end = limits.eos.contains(&token);
                    if is_end || fits(constraint, token, limits).map_err(fail)? {
                        tokens.push((token, probability));
                    } else {
                        steered = true;
                    }
                }
            }
            if !tokens.is_empty() {
                let lifted = self.candidates.lifted_bans() > 0 || limits.ban_eos && !ban_eos;
                return Ok(Best {
                    tokens,
                    steered,
                    lifted,
                });
            }
            if steered && !is_checked {
                // The budget refused what the samplers left: run them again on the tokens that fit.
                self.check_all(logits, mask, constraint, limits)?;
                is_checked = true;
            } else if ban_eos {
                ban_eos = false;
            } else {
                return Err(match steered {
                    true => GenerateError::DeadEnd { step },
                    false => GenerateError::NoFiniteLogit {
                        step,
                        allowed: mask.count(),
                    },
                });
            }
        }
    }

    /// Prepares the first choice at a position: nothing is known yet about what the budget refuses there.
    fn begin<C: Constraint>(
        &mut self,
        mask: &C::Mask,
        constraint: &mut C,
        chain: &mut SamplerChain,
        limits: &Limits,
    ) -> Result<(), GenerateError> {
        let step = limits.step;
        if mask.count() == 0 {
            return Err(GenerateError::DeadEnd { step });
        }
        set_temperature(chain, constraint)
            .map_err(|source| GenerateError::Constraint { step, source })?;
        self.over_budget.clear();
        Ok(())
    }

    fn pick(
        &mut self,
        logits: &[f32],
        mask: &impl AllowedTokens,
        chain: &mut SamplerChain,
        drafted: Option<&DraftedDraw>,
    ) -> Option<Accepted> {
        let candidates = &mut self.candidates;
        match drafted {
            Some(drafted) if !chain.is_greedy() => {
                chain.fill(candidates, logits, mask, &self.banned);
                drafted.test(candidates, chain)
            }
            _ => chain.pick(candidates, logits, mask, &self.banned),
        }
    }

    /// Returns the distribution that the chain would draw from under the mask. If it takes the largest instead, returns
    /// that token.
    pub(crate) fn distribution(
        &mut self,
        logits: &[f32],
        mask: &impl AllowedTokens,
        chain: &mut SamplerChain,
        limits: &Limits,
    ) -> Option<DraftedFrom> {
        self.over_budget.clear();
        self.collect_bans(if limits.ban_eos { &limits.eos } else { &[] });
        if chain.is_greedy() {
            let accepted = self.pick(logits, mask, chain, None)?;
            return Some(DraftedFrom::Largest(accepted.token));
        }
        chain.fill(&mut self.candidates, logits, mask, &self.banned);
        chain.apply(&mut self.candidates);
        Distribution::of(&mut self.candidates).map(DraftedFrom::Distribution)
    }

    /// Bans every candidate that the budget does not allow.
    fn check_all<C: Constraint>(
        &mut self,
        logits: &[f32],
        mask: &C::Mask,
        constraint: &mut C,
        limits: &Limits,
    ) -> Result<(), GenerateError> {
        self.candidates.fill(logits, mask, &[]);
        self.over_budget.clear();
        let left = limits.remaining.saturating_sub(1) as u64;
        let within = constraint.tokens_within(left);
        let within = within.map_err(|source| GenerateError::Constraint {
            step: limits.step,
            source,
        })?;
        if let Some(within) = within {
            let ids = self.candidates.ids().iter().copied();
            let is_over = |token: &TokenId| !within.contains(*token) && !limits.eos.contains(token);
            self.over_budget.extend(ids.filter(is_over));
            return Ok(());
        }
        for &token in self.candidates.ids() {
            if !may_come(constraint, token, limits)? {
                self.over_budget.push(token);
            }
        }
        Ok(())
    }

    /// Bans every candidate that is larger than the largest one that the budget allows: for a chain that takes the
    /// largest, which need not know what else fits.
    fn ban_larger_than_fitting<C: Constraint>(
        &mut self,
        logits: &[f32],
        mask: &C::Mask,
        constraint: &mut C,
        limits: &Limits,
    ) -> Result<(), GenerateError> {
        self.candidates.fill(logits, mask, &self.banned);
        let mut looked_at = 0;
        'heads: while looked_at < self.candidates.len() {
            // Usually one of the first few hundred fits; if none does, few rounds cover all.
            let head = self.candidates.sorted_head((looked_at * 8).max(256));
            for &(_, token) in &head[looked_at..] {
                if may_come(constraint, token, limits)? {
                    break 'heads;
                }
                self.over_budget.push(token);
            }
            looked_at = head.len();
        }
        self.over_budget.sort_unstable();
        Ok(())
    }

    fn collect_bans(&mut self, bans: &[TokenId]) {
        self.banned.clear();
        self.banned.extend_from_slice(&self.over_budget);
        for &id in bans {
            insert(&mut self.banned, id);
        }
    }
}

/// Sets the temperature that the constraint requests for the next token.
pub(crate) fn set_temperature<C: Constraint>(
    chain: &mut SamplerChain,
    constraint: &mut C,
) -> Result<(), ConstraintError> {
    if chain.is_guided() {
        chain.set_temperature(constraint.temperature()?);
    }
    Ok(())
}

impl Scores {
    pub(crate) fn new(
        logits: &[f32],
        mask: &impl AllowedTokens,
        token: TokenId,
        wanted: Wanted,
        chain: &mut SamplerChain,
    ) -> Self {
        if !wanted.log_probs && wanted.alternatives == 0 && wanted.refused == 0 {
            return Self::default();
        }
        let total = numeric::log_sum_exp(logits);
        let logit = |id: TokenId| logits.get(id.index()).copied();
        // With the caller's samplers, the allowed logits are those that they leave.
        let own = chain.has_own().then(|| chain.own(logits, mask));
        let own_total = { own.as_ref() }.and_then(|own| numeric::log_sum_exp(own.logits()));
        let softmax = match own {
            Some(_) => None,
            None => masked_softmax(logits, mask, &[]),
        };
        let log_probs = |id: TokenId, left: Option<f32>| TokenLogProbs {
            model: log_prob(logit(id), total),
            allowed: match (softmax, left) {
                (Some(softmax), Some(left)) => softmax.log_prob(left),
                (None, left) => log_prob(left, own_total),
                _ => f32::NEG_INFINITY,
            },
        };
        let report = || {
            let mut others = TokenMask::full(mask.bits().len());
            others.subtract(mask.bits());
            let no_chance = |id, _| TokenLogProbs {
                model: log_prob(logit(id), total),
                allowed: f32::NEG_INFINITY,
            };
            MaskReport {
                allowed: mask.count(),
                refused: best(
                    filled(logits, &PlainMask::new(others)),
                    wanted.refused,
                    no_chance,
                ),
            }
        };
        let left = match &own {
            Some(own) => {
                let place = own.ids().iter().position(|&id| id == token);
                place.map(|place| own.logits()[place])
            }
            None => logit(token),
        };
        Self {
            log_probs: { wanted.log_probs }.then(|| log_probs(token, left)),
            alternatives: match wanted.alternatives {
                0 => Vec::new(),
                most => best(own.unwrap_or_else(|| filled(logits, mask)), most, log_probs),
            },
            mask: (wanted.refused > 0).then(report),
        }
    }
}

/// Returns the most probable of some tokens.
fn best(
    mut candidates: Candidates,
    most: usize,
    log_probs: impl Fn(TokenId, Option<f32>) -> TokenLogProbs,
) -> Vec<Alternative> {
    let best = candidates.sorted_head(most).iter();
    best.map(|&(logit, id)| Alternative {
        id,
        log_probs: log_probs(id, Some(logit)),
    })
    .collect()
}

fn filled(logits: &[f32], tokens: &impl AllowedTokens) -> Candidates {
    let mut candidates = Candidates::default();
    candidates.fill(logits, tokens, &[]);
    candidates
}

/// Returns the log probability of a token over all logits.
pub(crate) fn model_log_prob(logits: &[f32], token: TokenId) -> f32 {
    let logit = logits.get(token.index()).copied();
    log_prob(logit, numeric::log_sum_exp(logits))
}

fn log_prob(logit: Option<f32>, total: Option<f64>) -> f32 {
    match (logit, total) {
        (Some(logit), Some(total)) if logit > f32::NEG_INFINITY => {
            (f64::from(logit) - total) as f32
        }
        _ => f32::NEG_INFINITY,
    }
}

/// Returns whether the output can still be completed in time after a token.
pub(crate) fn fits<C: Constraint>(
    constraint: &mut C,
    token: TokenId,
    limits: &Limits,
) -> Result<bool, ConstraintError> {
    let left = limits.remaining.saturating_sub(1) as u64;
    Ok(constraint.completion_cost_after(token)? <= left)
}

/// Returns whether the budget allows a token: it ends the output, or leaves room for a completion.
fn may_come<C: Constraint>(
    constraint: &mut C,
    token: TokenId,
    limits: &Limits,
) -> Result<bool, GenerateError> {
    let step = limits.step;
    let fits = limits.eos.contains(&token) || {
        fits(constraint, token, limits)
            .map_err(|source| GenerateError::Constraint { step, source })?
    };
    Ok(fits)
}

fn insert(sorted: &mut Vec<TokenId>, id: TokenId) {
    if let Err(place) = sorted.binary_search(&id) {
        sorted.insert(place, id);
    }
}
