//! What decoding requires of a constraint: implemented by the matcher, by free text, and by tests.

use std::error::Error;
use std::sync::Arc;

use structgen_vocab::{TokenId, TokenMask};

/// A constraint on the output, advanced token by token.
///
/// Implemented by [`structgen_constraint::Matcher`], and by [`Unconstrained`] for free text.
pub trait Constraint: Send {
    /// The set of allowed tokens.
    type Mask: AllowedTokens + Send + Sync;

    /// Returns the tokens that may come next, including end-of-sequence ids if and only if the output may end.
    ///
    /// # Errors
    /// If a limit of the constraint is exceeded.
    fn mask(&mut self) -> Result<Arc<Self::Mask>, ConstraintError>;

    /// Returns the [`mask`](Constraint::mask), unless it needs work that another thread could do while the model runs.
    ///
    /// `None` guarantees that more than one token is allowed: a forced token is taken without running the model.
    ///
    /// # Errors
    /// As for [`mask`](Constraint::mask).
    fn ready_mask(&mut self) -> Result<Option<Arc<Self::Mask>>, ConstraintError> {
        self.mask().map(Some)
    }

    /// Accepts a token, which may be an end-of-sequence id. After an error the constraint is unchanged.
    ///
    /// # Errors
    /// If the token is not allowed, or a limit is exceeded.
    fn accept_token(&mut self, token: TokenId) -> Result<(), ConstraintError>;

    /// Returns whether the output may end here.
    fn is_accepting(&self) -> bool;

    /// Returns whether the output may end after these bytes, which follow the accepted tokens and are not accepted.
    /// They may be a part of a token. The default, for constraints that know tokens only, is false for them.
    ///
    /// # Errors
    /// If a limit is exceeded.
    fn may_end_after(&mut self, text: &[u8]) -> Result<bool, ConstraintError> {
        Ok(text.is_empty() && self.is_accepting())
    }

    /// Returns whether an end-of-sequence id was accepted, or the output may end here and nothing can follow.
    fn is_finished(&self) -> bool;

    /// Rolls back the last `n` tokens.
    ///
    /// # Errors
    /// If fewer tokens were accepted.
    fn rollback(&mut self, n: usize) -> Result<(), ConstraintError>;

    /// Returns the token of the mask, if it has exactly one.
    ///
    /// # Errors
    /// As for [`mask`](Constraint::mask).
    fn forced_token(&mut self) -> Result<Option<TokenId>, ConstraintError>;

    /// Returns a number of tokens, without end-of-sequence, that suffices to complete the output from here.
    ///
    /// # Errors
    /// If a limit is exceeded.
    fn completion_cost(&mut self) -> Result<u64, ConstraintError>;

    /// Returns the [`completion_cost`](Constraint::completion_cost) after one more token, which is not accepted.
    ///
    /// # Errors
    /// If the token is not allowed, or a limit is exceeded.
    fn completion_cost_after(&mut self, token: TokenId) -> Result<u64, ConstraintError>;

    /// Returns the tokens with a [`completion_cost_after`](Constraint::completion_cost_after) of at most `most`, and
    /// perhaps some that are not allowed; end-of-sequence ids do not count. The default, `None`, asks for each token.
    ///
    /// # Errors
    /// If a limit is exceeded.
    fn tokens_within(&mut self, most: u64) -> Result<Option<Arc<TokenMask>>, ConstraintError> {
        let _ = most;
        Ok(None)
    }

    /// Returns the bytes that must come next, at most `most` of them. The default, for constraints that do not know
    /// them, is an empty text.
    ///
    /// # Errors
    /// If a limit is exceeded.
    fn forced_text(&mut self, most: usize) -> Result<Vec<u8>, ConstraintError> {
        let _ = most;
        Ok(Vec::new())
    }

    /// Returns whether [`temperature`](Constraint::temperature) ever returns one.
    fn sets_temperatures(&self) -> bool {
        false
    }

    /// Returns the temperature that the constraint sets for the next token, if any.
    ///
    /// # Errors
    /// If a limit is exceeded.
    fn temperature(&mut self) -> Result<Option<f32>, ConstraintError> {
        Ok(None)
    }

    /// Returns the ids that end the output.
    fn eos(&self) -> &[TokenId];

    /// Returns whether the output has a structure that can be cut. Free text has none, and may end anywhere.
    fn has_structure(&self) -> bool {
        true
    }
}

impl<C: Constraint + ?Sized> Constraint for &mut C {
    type Mask = C::Mask;

    fn mask(&mut self) -> Result<Arc<Self::Mask>, ConstraintError> {
        (**self).mask()
    }

    fn ready_mask(&mut self) -> Result<Option<Arc<Self::Mask>>, ConstraintError> {
        (**self).ready_mask()
    }

    fn accept_token(&mut self, token: TokenId) -> Result<(), ConstraintError> {
        (**self).accept_token(token)
    }

    fn is_accepting(&self) -> bool {
        (**self).is_accepting()
    }

    fn may_end_after(&mut self, text: &[u8]) -> Result<bool, ConstraintError> {
        (**self).may_end_after(text)
    }

    fn is_finished(&self) -> bool {
        (**self).is_finished()
    }

    fn rollback(&mut self, n: usize) -> Result<(), ConstraintError> {
        (**self).rollback(n)
    }

    fn forced_token(&mut self) -> Result<Option<TokenId>, ConstraintError> {
        (**self).forced_token()
    }

    fn completion_cost(&mut self) -> Result<u64, ConstraintError> {
        (**self).completion_cost()
    }

    fn completion_cost_after(&mut self, token: TokenId) -> Result<u64, ConstraintError> {
        (**self).completion_cost_after(token)
    }

    fn tokens_within(&mut self, most: u64) -> Result<Option<Arc<TokenMask>>, ConstraintError> {
        (**self).tokens_within(most)
    }

    fn forced_text(&mut self, most: usize) -> Result<Vec<u8>, ConstraintError> {
        (**self).forced_text(most)
    }

    fn sets_temperatures(&self) -> bool {
        (**self).sets_temperatures()
    }

    fn temperature(&mut self) -> Result<Option<f32>, ConstraintError> {
        (**self).temperature()
    }

    fn eos(&self) -> &[TokenId] {
        (**self).eos()
    }

    fn has_structure(&self) -> bool {
        (**self).has_structure()
    }
}

/// A set of allowed tokens, as bits and, if small, as a list.
pub trait AllowedTokens {
    /// Returns the set as bits.
    fn bits(&self) -> &TokenMask;

    /// Returns the set as a sorted list, if one is available.
    fn list(&self) -> Option<&[TokenId]>;

    /// Returns the number of tokens in the set.
    fn count(&self) -> usize;

    /// Returns whether a token is in the set.
    fn allows(&self, token: TokenId) -> bool {
        match self.list() {
            Some(list) => list.binary_search(&token).is_ok(),
            None => token.index() < self.bits().len() && self.bits().contains(token),
        }
    }
}

/// A set of allowed tokens that is created from bits.
#[derive(Debug, Clone)]
pub struct PlainMask {
    bits: TokenMask,
    list: Option<Vec<TokenId>>,
    count: usize,
}

impl PlainMask {
    /// Sets of at most this many tokens have a list.
    const LISTED: usize = 64;

    /// Creates the set with these bits.
    pub fn new(bits: TokenMask) -> Self {
        let count = bits.count();
        let list = (count <= Self::LISTED).then(|| bits.iter().collect());
        Self { bits, list, count }
    }
}

impl AllowedTokens for PlainMask {
    fn bits(&self) -> &TokenMask {
        &self.bits
    }

    fn list(&self) -> Option<&[TokenId]> {
        self.list.as_deref()
    }

    fn count(&self) -> usize {
        self.count
    }
}

/// Free text: every token of a fixed set is allowed at every step, and the output may end anywhere.
#[derive(Debug, Clone)]
pub struct Unconstrained {
    mask: Arc<PlainMask>,
    eos: Arc<[TokenId]>,
    taken: usize,
    ended: bool,
}

impl Unconstrained {
    /// Creates a constraint that allows the tokens of `allowed` and the `eos` ids.
    ///
    /// `allowed` should exclude special tokens that are not meant to be written. Ids in `eos` beyond its width are
    /// ignored.
    pub fn new(mut allowed: TokenMask, eos: &[TokenId]) -> Self {
        let eos: Arc<[TokenId]> = eos
            .iter()
            .copied()
            .filter(|id| id.index() < allowed.len())
            .collect();
        allowed.allow_all(&eos);
        Self {
            mask: Arc::new(PlainMask::new(allowed)),
            eos,
            taken: 0,
            ended: false,
        }
    }
}

impl Constraint for Unconstrained {
    type Mask = PlainMask;

    fn mask(&mut self) -> Result<Arc<PlainMask>, ConstraintError> {
        Ok(Arc::clone(&self.mask))
    }

    fn accept_token(&mut self, token: TokenId) -> Result<(), ConstraintError> {
        if self.ended || !self.mask.bits.contains(token) {
            return Err(ConstraintError::new(NotAllowed(token)));
        }
        self.taken += 1;
        self.ended = self.eos.contains(&token);
        Ok(())
    }

    fn is_accepting(&self) -> bool {
        true
    }

    fn is_finished(&self) -> bool {
        self.ended
    }

    fn rollback(&mut self, n: usize) -> Result<(), ConstraintError> {
        if n > self.taken {
            return Err(ConstraintError::new(TooFar {
                n,
                taken: self.taken,
            }));
        }
        self.taken -= n;
        self.ended &= n == 0;
        Ok(())
    }

    fn forced_token(&mut self) -> Result<Option<TokenId>, ConstraintError> {
        // Free text forces nothing, even with a vocabulary of one token.
        Ok(None)
    }

    fn completion_cost(&mut self) -> Result<u64, ConstraintError> {
        Ok(0)
    }

    fn completion_cost_after(&mut self, _token: TokenId) -> Result<u64, ConstraintError> {
        Ok(0)
    }

    fn eos(&self) -> &[TokenId] {
        &self.eos
    }

    fn has_structure(&self) -> bool {
        false
    }
}

#[derive(Debug, thiserror::Error)]
#[error("token {0} is not allowed here")]
struct NotAllowed(TokenId);

#[derive(Debug, thiserror::Error)]
#[error("{n} tokens cannot be taken back where {taken} were taken")]
struct TooFar {
    n: usize,
    taken: usize,
}

/// A constraint's error: a refused token, or a limit that was exceeded.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ConstraintError(Box<dyn Error + Send + Sync>);

impl ConstraintError {
    /// Wraps the constraint's own error.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }

    /// Returns the constraint's own error.
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_text_ends_with_any_eos_and_can_be_taken_back() {
        let mut allowed = TokenMask::full(4);
        allowed.deny(TokenId(3));
        let mut free = Unconstrained::new(allowed, &[TokenId(0), TokenId(1), TokenId(99)]);
        assert_eq!(free.mask().unwrap().count(), 3);
        assert!(free.accept_token(TokenId(3)).is_err());
        free.accept_token(TokenId(2)).unwrap();
        free.accept_token(TokenId(1)).unwrap();
        assert!(free.is_finished());
        assert!(free.accept_token(TokenId(2)).is_err());
        free.rollback(1).unwrap();
        assert!(!free.is_finished());
        assert!(free.rollback(2).is_err());
    }
}
