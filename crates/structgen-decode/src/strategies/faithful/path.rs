//! The tokens of an output that is being drawn, and what may come next.

use std::collections::VecDeque;
use std::sync::Arc;

use structgen_vocab::TokenId;

use super::ForcedEnd;
use crate::{Constraint, FinishReason, GenerateError, constraint::AllowedTokens};

/// Maximum number of positions of forced tokens to look ahead: each takes a row of logits.
const LOOKAHEAD: usize = 32;

/// How an output can continue at some position.
#[derive(Debug)]
pub(super) enum Continuation<M> {
    /// With one of these tokens.
    Tokens(Arc<M>),
    /// With an end-of-sequence token that is drawn, since no tokens are left.
    LastEnd,
    /// With the end, since nothing can follow; it counts.
    ForcedEnd,
    /// With the end, whose probability is not needed.
    FreeEnd,
    /// Not at all: no tokens are left, and the output is incomplete.
    Nothing,
}

// Deriving it would require masks to be `Clone`.
impl<M> Clone for Continuation<M> {
    fn clone(&self) -> Self {
        match self {
            Self::Tokens(mask) => Self::Tokens(Arc::clone(mask)),
            Self::LastEnd => Self::LastEnd,
            Self::ForcedEnd => Self::ForcedEnd,
            Self::FreeEnd => Self::FreeEnd,
            Self::Nothing => Self::Nothing,
        }
    }
}

impl<M> Continuation<M> {
    /// Returns whether the model's logits are needed.
    pub(super) fn needs_logits(&self) -> bool {
        !matches!(self, Self::FreeEnd | Self::Nothing)
    }
}

/// An output up to some token, and the forced tokens after it.
///
/// A position is visited once its logits were used and its token was drawn.
pub(super) struct Path<C: Constraint> {
    constraint: C,
    tokens: Vec<TokenId>,
    budget: usize,
    end: ForcedEnd,
    /// What may come at the next positions. All but the last have one token, which is in `tokens`.
    ahead: VecDeque<Continuation<C::Mask>>,
    visited: usize,
}

impl<C: Constraint + Clone> Clone for Path<C> {
    fn clone(&self) -> Self {
        Self {
            constraint: self.constraint.clone(),
            tokens: self.tokens.clone(),
            ahead: self.ahead.clone(),
            ..*self
        }
    }
}

impl<C: Constraint> Path<C> {
    pub(super) fn new(constraint: C, budget: usize, end: ForcedEnd) -> Self {
        Self {
            constraint,
            tokens: Vec::new(),
            budget,
            end,
            ahead: VecDeque::new(),
            visited: 0,
        }
    }

    /// Returns the tokens of the output, including forced ones ahead.
    pub(super) fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// Returns the number of positions visited.
    pub(super) fn visited(&self) -> usize {
        self.visited
    }

    /// Determines what may come next, and accepts tokens as long as there is only one; returns the number of positions
    /// whose logits are needed.
    pub(super) fn look_ahead(&mut self) -> Result<usize, GenerateError> {
        let mut forced = None;
        while self.ahead.is_empty() || (forced.is_some() && self.ahead.len() < LOOKAHEAD) {
            if let Some(token) = forced {
                self.take(token)?;
            }
            let continuation = self.continuation()?;
            forced = match &continuation {
                Continuation::Tokens(mask) if mask.count() == 1 => {
                    let step = self.tokens.len();
                    let token = self.constraint.forced_token();
                    let token =
                        token.map_err(|source| GenerateError::Constraint { step, source })?;
                    token.filter(|token| !self.constraint.eos().contains(token))
                }
                _ => None,
            };
            self.ahead.push_back(continuation);
        }
        // An earlier lookahead may have ended at the limit.
        Ok({ self.ahead.iter() }
            .filter(|continuation| continuation.needs_logits())
            .count())
    }

    /// Returns what may come after all tokens.
    fn continuation(&mut self) -> Result<Continuation<C::Mask>, GenerateError> {
        let step = self.tokens.len();
        if self.constraint.is_finished() {
            return Ok(match self.end {
                ForcedEnd::Counted => Continuation::ForcedEnd,
                ForcedEnd::Free => Continuation::FreeEnd,
            });
        }
        if step == self.budget {
            return Ok(match self.constraint.is_accepting() {
                true => Continuation::LastEnd,
                false => Continuation::Nothing,
            });
        }
        let mask = self.constraint.mask();
        let mask = mask.map_err(|source| GenerateError::Constraint { step, source })?;
        if mask.count() == 0 {
            return Err(GenerateError::DeadEnd { step });
        }
        Ok(Continuation::Tokens(mask))
    }

    /// Returns what may come at the first position not visited.
    pub(super) fn next(&self) -> Option<&Continuation<C::Mask>> {
        self.ahead.front()
    }

    /// Returns how the output ends if `token` comes at the first position not visited, or `None` if it continues.
    pub(super) fn finish(&self, token: TokenId) -> Option<FinishReason> {
        match self.next()? {
            Continuation::ForcedEnd | Continuation::FreeEnd => {
                Some(FinishReason::ConstraintFinished)
            }
            _ if self.constraint.eos().contains(&token) => Some(FinishReason::Eos(token)),
            _ => None,
        }
    }

    /// Visits the first position not visited yet, with `token`, which is not the end.
    pub(super) fn go_on(&mut self, token: TokenId) -> Result<(), GenerateError> {
        self.ahead.pop_front();
        self.visited += 1;
        if self.visited > self.tokens.len() {
            self.take(token)?;
        }
        Ok(())
    }

    fn take(&mut self, token: TokenId) -> Result<(), GenerateError> {
        let step = self.tokens.len();
        self.constraint
            .accept_token(token)
            .map_err(|source| GenerateError::Constraint { step, source })?;
        self.tokens.push(token);
        Ok(())
    }
}
