//! Implements the constraint trait for the matcher.

use std::sync::Arc;

use structgen_constraint::{Mask, Matcher};
use structgen_vocab::{TokenId, TokenMask};

use crate::{
    Constraint,
    constraint::{AllowedTokens, ConstraintError},
};

impl AllowedTokens for Mask {
    fn bits(&self) -> &TokenMask {
        self.bits()
    }

    fn list(&self) -> Option<&[TokenId]> {
        self.list()
    }

    fn count(&self) -> usize {
        self.count()
    }
}

impl Constraint for Matcher {
    type Mask = Mask;

    fn mask(&mut self) -> Result<Arc<Mask>, ConstraintError> {
        self.mask().map_err(ConstraintError::new)
    }

    fn ready_mask(&mut self) -> Result<Option<Arc<Mask>>, ConstraintError> {
        self.ready_mask().map_err(ConstraintError::new)
    }

    fn accept_token(&mut self, token: TokenId) -> Result<(), ConstraintError> {
        self.accept_token(token).map_err(ConstraintError::new)
    }

    fn is_accepting(&self) -> bool {
        self.is_accepting()
    }

    fn may_end_after(&mut self, text: &[u8]) -> Result<bool, ConstraintError> {
        match text.is_empty() {
            true => Ok(self.is_accepting()),
            false => { self.check_text(text) }
                .map(|refusal| refusal.is_none())
                .map_err(ConstraintError::new),
        }
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }

    fn rollback(&mut self, n: usize) -> Result<(), ConstraintError> {
        self.rollback(n).map_err(ConstraintError::new)
    }

    fn forced_token(&mut self) -> Result<Option<TokenId>, ConstraintError> {
        self.forced_token().map_err(ConstraintError::new)
    }

    fn completion_cost(&mut self) -> Result<u64, ConstraintError> {
        self.completion_cost().map_err(ConstraintError::new)
    }

    fn completion_cost_after(&mut self, token: TokenId) -> Result<u64, ConstraintError> {
        self.completion_cost_after(token)
            .map_err(ConstraintError::new)
    }

    fn tokens_within(&mut self, most: u64) -> Result<Option<Arc<TokenMask>>, ConstraintError> {
        self.tokens_within(most).map_err(ConstraintError::new)
    }

    fn forced_text(&mut self, most: usize) -> Result<Vec<u8>, ConstraintError> {
        self.forced_text(most).map_err(ConstraintError::new)
    }

    fn sets_temperatures(&self) -> bool {
        self.constraint().program().sets_temperatures()
    }

    fn temperature(&mut self) -> Result<Option<f32>, ConstraintError> {
        self.temperature().map_err(ConstraintError::new)
    }

    fn eos(&self) -> &[TokenId] {
        self.constraint().eos()
    }
}
