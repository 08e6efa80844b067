//! What the loop asks of a constraint; the matcher answers, and so do free text and the tests' own.

use std::error::Error;
use std::sync::Arc;

use structgen_vocab::{TokenId, TokenMask};

/// A constraint on the output, advanced token by token.
///
/// Implemented by [`structgen_constraint::Matcher`], and by [`Unconstrained`] for free text.
pub trait Constraint: Send {
    /// The set of allowed tokens.
    type Mask: AllowedTokens + Send + Sync;

    /// The tokens that may come next; end-of-sequence ids exactly where the output may end.
    ///
    /// # Errors
    /// When a limit of the constraint is exceeded.
    fn mask(&mut self) -> Result<Arc<Self::Mask>, ConstraintError>;

    /// The [`mask`](Constraint::mask), unless that takes work that another thread could do while the model runs.
    ///
    /// `None` promises more than one allowed token: a forced token is taken without running the model.
    ///
    /// # Errors
    /// As for [`mask`](Constraint::mask).
    fn ready_mask(&mut self) -> Result<Option<Arc<Self::Mask>>, ConstraintError> {
        self.mask().map(Some)
    }

    /// Takes a token, end-of-sequence ids included. After an error nothing has changed.
    ///
    /// # Errors
    /// When the token is not allowed, or a limit is exceeded.
    fn accept_token(&mut self, token: TokenId) -> Result<(), ConstraintError>;

    /// Whether the output may end here.
    fn is_accepting(&self) -> bool;

    /// Whether an end-of-sequence id was taken, or the output may end here and nothing can follow.
    fn is_finished(&self) -> bool;

    /// Takes back the last `n` tokens.
    ///
    /// # Errors
    /// When fewer tokens were taken.
    fn rollback(&mut self, n: usize) -> Result<(), ConstraintError>;

    /// The one token that the mask has, if it has exactly one.
    ///
    /// # Errors
    /// As for [`mask`](Constraint::mask).
    fn forced_token(&mut self) -> Result<Option<TokenId>, ConstraintError>;

    /// In how many tokens, end-of-sequence not counted, the output can certainly be completed from here.
    fn completion_cost(&mut self) -> u64;

    /// The [`completion_cost`](Constraint::completion_cost) after one more token, which is not taken.
    ///
    /// # Errors
    /// When the token is not allowed, or a limit is exceeded.
    fn completion_cost_after(&mut self, token: TokenId) -> Result<u64, ConstraintError>;

    /// The text that comes next whatever is chosen, in bytes: at most `most`. A constraint that does not know it
    /// returns an empty one.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn forced_text(&mut self, most: usize) -> Result<Vec<u8>, ConstraintError> {
        let _ = most;
        Ok(Vec::new())
    }

    /// Whether [`temperature`](Constraint::temperature) ever returns one.
    fn sets_temperatures(&self) -> bool {
        false
    }

    /// The temperature at which the constraint wants the next token to be drawn, if it wants any.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn temperature(&mut self) -> Result<Option<f32>, ConstraintError> {
        Ok(None)
    }

    /// The ids that end the output.
    fn eos(&self) -> &[TokenId];

    /// Whether the output has a structure that can be cut. Free text has none, and may end anywhere.
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

    fn is_finished(&self) -> bool {
        (**self).is_finished()
    }

    fn rollback(&mut self, n: usize) -> Result<(), ConstraintError> {
        (**self).rollback(n)
    }

    fn forced_token(&mut self) -> Result<Option<TokenId>, ConstraintError> {
        (**self).forced_token()
    }

    fn completion_cost(&mut self) -> u64 {
        (**self).completion_cost()
    }

    fn completion_cost_after(&mut self, token: TokenId) -> Result<u64, ConstraintError> {
        (**self).completion_cost_after(token)
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

/// A set of allowed tokens, as bits and, where they are few, as a list.
pub trait AllowedTokens {
    /// The set as bits.
    fn bits(&self) -> &TokenMask;

    /// The set as a list, lowest id first, where one is known.
    fn list(&self) -> Option<&[TokenId]>;

    /// How many tokens are in the set.
    fn count(&self) -> usize;

    /// Whether a token is in the set.
    fn allows(&self, token: TokenId) -> bool {
        match self.list() {
            Some(list) => list.binary_search(&token).is_ok(),
            None => token.index() < self.bits().len() && self.bits().contains(token),
        }
    }
}

/// A set of allowed tokens that was made from bits.
#[derive(Debug, Clone)]
pub struct PlainMask {
    bits: TokenMask,
    list: Option<Vec<TokenId>>,
    count: usize,
}

impl PlainMask {
    /// Sets of at most this many tokens carry a list.
    const LISTED: usize = 64;

    /// The set with these bits.
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
    /// Free text over the tokens of `allowed`, to which the `eos` ids are added.
    ///
    /// `allowed` should leave out special tokens that are not meant to be written; ids in `eos` beyond its width are
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
        // Nothing is forced on free text, not even by a vocabulary of one token.
        Ok(None)
    }

    fn completion_cost(&mut self) -> u64 {
        0
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

/// What a constraint reports: a refused token, or a limit that was exceeded.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ConstraintError(Box<dyn Error + Send + Sync>);

impl ConstraintError {
    /// Wraps the constraint's own error.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }

    /// The constraint's own error, to look at.
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
