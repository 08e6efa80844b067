//! Decodes tokens and encodes text; and canonical forcing, which tokenizes forced text as the tokenizer does.

use std::fmt;
use std::sync::Arc;

use structgen_vocab::{TokenId, Vocabulary};

use crate::{
    Constraint,
    constraint::{AllowedTokens, ConstraintError},
    model::TextEncoder,
};

/// Decodes tokens to text and, if there is a tokenizer, encodes text.
#[derive(Clone)]
pub(crate) struct Codec {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) encoder: Option<Arc<dyn TextEncoder>>,
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec")
            .field("encoder", &self.encoder.is_some())
            .finish_non_exhaustive()
    }
}

/// Maximum bytes of forced text to examine.
const FORCED_BYTES: usize = 4096;

impl Codec {
    fn length(&self, token: TokenId) -> usize {
        self.vocabulary.token_bytes(token).map_or(0, <[u8]>::len)
    }

    /// Returns whether a token longer than `left` bytes may come next.
    fn may_be_longer(&self, mask: &impl AllowedTokens, left: usize) -> bool {
        if left >= self.vocabulary.max_token_len() {
            return false;
        }
        let is_longer = |token| self.length(token) > left;
        match mask.list() {
            Some(list) => list.iter().copied().any(is_longer),
            None => mask.bits().iter().any(is_longer),
        }
    }

    /// Returns the tokens after `output` by which the tokenizer encodes the text that the constraint forces, last one
    /// first.
    ///
    /// A token is certain if no allowed token is longer than the rest of the forced text: otherwise it could extend
    /// into text that is not known yet. Moreover, the tokens so far must be what the tokenizer gives. Returns at most
    /// `room` tokens, each within the budget. The constraint is restored afterwards.
    pub(crate) fn jump<C: Constraint>(
        &self,
        output: &[TokenId],
        constraint: &mut C,
        mask: &C::Mask,
        room: usize,
    ) -> Result<Vec<TokenId>, ConstraintError> {
        let Some(encoder) = &self.encoder else {
            return Ok(Vec::new());
        };
        let forced = constraint.forced_text(FORCED_BYTES)?;
        // Usually nothing is certain, and the text need not be encoded.
        if forced.is_empty() || self.may_be_longer(mask, forced.len()) {
            return Ok(Vec::new());
        }
        let tokens = output.iter();
        let mut text: Vec<u8> = tokens
            .flat_map(|&token| self.vocabulary.token_bytes(token).unwrap_or_default())
            .copied()
            .collect();
        let before = text.len();
        text.extend_from_slice(&forced);
        let text = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let mut left = text.len().saturating_sub(before);
        let canonical = match left {
            0 => None,
            _ => encoder.encode_text(text),
        };
        let canonical = canonical.unwrap_or_default();
        let Some(new) = canonical.strip_prefix(output) else {
            return Ok(Vec::new());
        };
        let mut taken = 0;
        let mut failed = None;
        for &token in new {
            let length = self.length(token);
            if taken == room || length == 0 || length > left {
                break;
            }
            match self.fits(constraint, token, left, room - taken) {
                Ok(true) => taken += 1,
                Ok(false) => break,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            left -= length;
        }
        constraint.rollback(taken)?;
        match failed {
            Some(error) => Err(error),
            None => Ok(new[..taken].iter().rev().copied().collect()),
        }
    }

    /// Accepts a token if it is certain and leaves enough of the budget.
    fn fits<C: Constraint>(
        &self,
        constraint: &mut C,
        token: TokenId,
        left: usize,
        room: usize,
    ) -> Result<bool, ConstraintError> {
        let mask = constraint.mask()?;
        if self.may_be_longer(&*mask, left) || !mask.allows(token) {
            return Ok(false);
        }
        if constraint.completion_cost_after(token)? > room as u64 - 1 {
            return Ok(false);
        }
        constraint.accept_token(token)?;
        Ok(true)
    }
}
