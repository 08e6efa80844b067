//! Predictions of extra heads, from the state after the last choice.

use structgen_vocab::TokenId;

use super::SpeculationStats;
use crate::sequence::Limits;
use crate::{
    GenerateError, ModelError, ModelInfo, constraint::AllowedTokens, model::DraftHeads,
    samplers::masked_argmax,
};

/// Returns an error unless there are heads, and the model returns the states that they accept.
pub(super) fn check(heads: Option<usize>, info: &ModelInfo) -> Result<(), GenerateError> {
    let heads = heads.ok_or(GenerateError::NoHeads)?;
    let model = info.hidden_width.ok_or(ModelError::NoHiddenStates)?;
    match heads == model {
        true => Ok(()),
        false => Err(GenerateError::HeadsWidth { heads, model }),
    }
}

/// The target's hidden state at its last choice.
#[derive(Debug, Default)]
pub(super) struct State {
    hidden: Vec<f32>,
    /// The number of tokens it includes; `None` if there is no state.
    seen: Option<usize>,
    /// The heads' predictions, once they were run.
    guesses: Vec<f32>,
}

impl State {
    pub(super) fn forget(&mut self) {
        self.seen = None;
    }

    /// Sets the state after `seen` tokens.
    pub(super) fn set(&mut self, hidden: &[f32], seen: usize) {
        self.hidden.clear();
        self.hidden.extend_from_slice(hidden);
        self.guesses.clear();
        self.seen = Some(seen);
    }

    /// Returns the allowed token that the head for this position predicts after `tokens` tokens; `None` if no head
    /// predicts so far ahead.
    pub(super) fn guess(
        &mut self,
        heads: &mut dyn DraftHeads,
        tokens: usize,
        mask: &impl AllowedTokens,
        limits: &Limits,
        stats: &mut SpeculationStats,
    ) -> Result<Option<TokenId>, ModelError> {
        // The state's own logits chose the next token; the first head predicts the one after it.
        let head = self.seen.and_then(|seen| tokens.checked_sub(seen + 1));
        let Some(head) = head.filter(|&head| head < heads.heads()) else {
            return Ok(None);
        };
        if self.guesses.is_empty() {
            self.guesses.extend_from_slice(heads.guess(&self.hidden)?);
            stats.head_runs += 1;
        }
        let width = self.guesses.len() / heads.heads();
        let mut banned = match limits.ban_eos {
            true => limits.eos.to_vec(),
            false => Vec::new(),
        };
        banned.sort_unstable();
        Ok(masked_argmax(
            &self.guesses[head * width..][..width],
            mask,
            &banned,
        ))
    }
}
