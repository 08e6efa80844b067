//! The tokens of an output that is being drawn, and what may come next.

use std::collections::VecDeque;
use std::sync::Arc;

use structgen_vocab::TokenId;

use super::ForcedEnd;
use crate::{AllowedTokens, Constraint, FinishReason, GenerateError};

/// So many tokens are looked ahead at most: each takes a row of logits.
const STRETCH: usize = 32;

/// What may come at a place.
#[derive(Debug)]
pub(super) enum Place<M> {
    /// These tokens.
    Tokens(Arc<M>),
    /// The end, since no tokens are left: by the end-of-sequence token that is drawn.
    LastEnd,
    /// The end, since nothing can follow.
    ForcedEnd,
    /// The end, of which the model is not asked.
    FreeEnd,
    /// Nothing: no tokens are left, and the output is not complete.
    Nothing,
}

// Derived, it would ask for masks that can be cloned.
impl<M> Clone for Place<M> {
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

impl<M> Place<M> {
    /// Whether the model has to be asked what it says of this place.
    pub(super) fn is_asked(&self) -> bool {
        !matches!(self, Self::FreeEnd | Self::Nothing)
    }
}

/// An output up to some token, and the forced tokens behind it.
pub(super) struct Path<C: Constraint> {
    constraint: C,
    tokens: Vec<TokenId>,
    budget: usize,
    end: ForcedEnd,
    /// What may come at the places that nobody has looked at. All but the last have one token, which is in `tokens`.
    ahead: VecDeque<Place<C::Mask>>,
    /// How many places were looked at.
    seen: usize,
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
            seen: 0,
        }
    }

    /// The tokens of the output, those looked ahead included.
    pub(super) fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// How many places were looked at.
    pub(super) fn seen(&self) -> usize {
        self.seen
    }

    /// Finds out what may come next, and takes tokens as long as there is only one; says for how many places the model has to be asked.
    pub(super) fn look_ahead(&mut self) -> Result<usize, GenerateError> {
        let mut forced = None;
        while self.ahead.is_empty() || (forced.is_some() && self.ahead.len() < STRETCH) {
            if let Some(token) = forced {
                self.take(token)?;
            }
            let place = self.place()?;
            forced = match &place {
                Place::Tokens(mask) if mask.count() == 1 => {
                    let step = self.tokens.len();
                    let token = self.constraint.forced_token();
                    let token =
                        token.map_err(|source| GenerateError::Constraint { step, source })?;
                    token.filter(|token| !self.constraint.eos().contains(token))
                }
                _ => None,
            };
            self.ahead.push_back(place);
        }
        // What was looked ahead before may have ended at the limit.
        Ok(self.ahead.iter().filter(|place| place.is_asked()).count())
    }

    fn place(&mut self) -> Result<Place<C::Mask>, GenerateError> {
        let step = self.tokens.len();
        if self.constraint.is_finished() {
            return Ok(match self.end {
                ForcedEnd::Counted => Place::ForcedEnd,
                ForcedEnd::Free => Place::FreeEnd,
            });
        }
        if step == self.budget {
            return Ok(match self.constraint.is_accepting() {
                true => Place::LastEnd,
                false => Place::Nothing,
            });
        }
        let mask = self.constraint.mask();
        let mask = mask.map_err(|source| GenerateError::Constraint { step, source })?;
        if mask.count() == 0 {
            return Err(GenerateError::DeadEnd { step });
        }
        Ok(Place::Tokens(mask))
    }

    /// What may come at the first place that nobody has looked at.
    pub(super) fn next_place(&self) -> Option<&Place<C::Mask>> {
        self.ahead.front()
    }

    /// How the output ends if `token` comes at the first place that nobody has looked at; nothing where it goes on.
    pub(super) fn finish(&self, token: TokenId) -> Option<FinishReason> {
        match self.next_place()? {
            Place::ForcedEnd | Place::FreeEnd => Some(FinishReason::ConstraintFinished),
            _ if self.constraint.eos().contains(&token) => Some(FinishReason::Eos(token)),
            _ => None,
        }
    }

    /// Goes on to the place behind the first one that nobody has looked at, where `token` comes. Behind an end there is none.
    pub(super) fn go_on(&mut self, token: TokenId) -> Result<(), GenerateError> {
        self.ahead.pop_front();
        self.seen += 1;
        if self.seen > self.tokens.len() {
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
