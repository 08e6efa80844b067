//! The probabilities of the allowed tokens of a position: their sum, and draws from them.

use structgen_vocab::{TokenId, TokenMask};

use super::FaithfulError;
use super::path::Continuation;
use crate::{
    GenerateError,
    constraint::{AllowedTokens, PlainMask},
    numeric,
    samplers::{Candidates, SequenceRng, masked_softmax},
};

/// Draws among allowed tokens, with a buffer and the set of end-of-sequence tokens.
#[derive(Debug)]
pub(super) struct AllowedDraw {
    candidates: Candidates,
    ends: PlainMask,
}

/// The tokens to draw from.
#[derive(Debug)]
pub(super) enum Allowed<'a, M> {
    Tokens(&'a M),
    Ends(&'a PlainMask),
}

impl<M: AllowedTokens> AllowedTokens for Allowed<'_, M> {
    fn bits(&self) -> &TokenMask {
        match self {
            Self::Tokens(mask) => mask.bits(),
            Self::Ends(mask) => mask.bits(),
        }
    }

    fn list(&self) -> Option<&[TokenId]> {
        match self {
            Self::Tokens(mask) => mask.list(),
            Self::Ends(mask) => mask.list(),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Tokens(mask) => mask.count(),
            Self::Ends(mask) => mask.count(),
        }
    }
}

impl AllowedDraw {
    /// Creates it for a model with logits of this width, and the tokens that end an output.
    pub(super) fn new(width: usize, eos: &[TokenId]) -> Self {
        let mut ends = TokenMask::new(width);
        for &id in eos.iter().filter(|id| id.index() < width) {
            ends.allow(id);
        }
        Self {
            candidates: Candidates::default(),
            ends: PlainMask::new(ends),
        }
    }

    /// Returns the tokens that may come, or the end-of-sequence tokens if only the end may.
    pub(super) fn allowed<'a, M>(&'a self, continuation: &'a Continuation<M>) -> Allowed<'a, M> {
        match continuation {
            Continuation::Tokens(mask) => Allowed::Tokens(mask),
            _ => Allowed::Ends(&self.ends),
        }
    }

    /// Draws a token in proportion to its probability, among the allowed ones except `banned`, which are sorted.
    pub(super) fn draw<M: AllowedTokens>(
        &mut self,
        logits: &[f32],
        continuation: &Continuation<M>,
        banned: &[TokenId],
        rng: &mut SequenceRng,
    ) -> Option<TokenId> {
        let candidates = &mut self.candidates;
        match continuation {
            Continuation::Tokens(mask) => candidates.fill(logits, &**mask, banned),
            _ => candidates.fill(logits, &self.ends, banned),
        }
        candidates.draw(rng).map(|(token, _)| token)
    }
}

/// Returns the logarithm of the sum of all exponentials, the difference between a logit and a log probability.
pub(super) fn ln_total(logits: &[f32], step: usize) -> Result<f64, GenerateError> {
    match numeric::log_sum_exp(logits) {
        Some(total) if total.is_finite() => Ok(total),
        Some(_) => Err(FaithfulError::InfiniteLogit { step }.into()),
        None => Err(GenerateError::NoFiniteLogit {
            step,
            allowed: logits.len(),
        }),
    }
}

/// Returns a token's logit, which is its log probability plus [`ln_total`].
pub(super) fn ln_of(logits: &[f32], token: TokenId) -> f64 {
    { logits.get(token.index()) }.map_or(f64::NEG_INFINITY, |&logit| f64::from(logit))
}

/// Returns the logarithm of the sum of the allowed tokens' exponentials, except `banned`, which are sorted.
pub(super) fn ln_mass(logits: &[f32], allowed: &impl AllowedTokens, banned: &[TokenId]) -> f64 {
    masked_softmax(logits, allowed, banned).map_or(f64::NEG_INFINITY, |all| all.log_sum_exp())
}
