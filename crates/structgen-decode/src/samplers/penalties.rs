use structgen_vocab::TokenId;

use super::counts::TokenCounts;
use super::{PenaltyScope, SequenceStart};
use crate::samplers::{Accepted, Candidates, Sampler};

/// Divides positive logits of tokens already seen by `r`, and multiplies the others by it.
///
/// CTRL, Keskar et al. 2019. The number of occurrences does not matter. Prompt and output both count, unless
/// [`within`](RepetitionPenalty::within) sets otherwise. One is off; below one, repetition is encouraged.
///
/// ```
/// use structgen_decode::samplers::{Accepted, Candidates, RepetitionPenalty, Sampler};
/// use structgen_vocab::TokenId;
///
/// let mut penalty = RepetitionPenalty::new(2.0);
/// penalty.accept(Accepted::certain(TokenId(7)));
/// let mut candidates = Candidates::from_pairs([(TokenId(6), 3.0), (TokenId(7), 3.0)]);
/// penalty.apply(&mut candidates);
/// assert_eq!(candidates.logits(), [3.0, 1.5]);
/// ```
#[derive(Debug, Clone)]
pub struct RepetitionPenalty {
    penalty: f32,
    seen: TokenCounts,
}

impl RepetitionPenalty {
    /// Sets a penalty above zero; above one it discourages repetition.
    pub fn new(penalty: f32) -> Self {
        Self {
            penalty,
            seen: TokenCounts::new(PenaltyScope::All, 0),
        }
    }

    /// Counts the last `window` tokens of `scope`, or all of them if `window` is zero.
    #[must_use]
    pub fn within(mut self, scope: PenaltyScope, window: usize) -> Self {
        self.seen = TokenCounts::new(scope, window);
        self
    }
}

impl Sampler for RepetitionPenalty {
    fn apply(&mut self, candidates: &mut Candidates) {
        let penalty = self.penalty;
        candidates.change_logits_of(self.seen.counts(), |logit, _| {
            if logit > 0.0 {
                logit / penalty
            } else {
                logit * penalty
            }
        });
    }

    fn accept(&mut self, accepted: Accepted) {
        self.seen.accept(accepted.token);
    }

    fn reset(&mut self, start: SequenceStart<'_>) {
        self.seen.reset(start);
    }

    fn touched(&mut self, tokens: &mut Vec<TokenId>) -> bool {
        self.seen.collect_ids(tokens);
        true
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

/// Subtracts `f * count + p` from the logits of tokens that the output already contains.
///
/// The formula of OpenAI's API. The prompt does not count, unless [`within`](FrequencyPresencePenalty::within) sets
/// otherwise. Zero for both is off; negative values encourage repetition. Unlike CTRL's penalty it does not commute
/// with the temperature, so it comes before it.
///
/// ```
/// use structgen_decode::samplers::{Accepted, Candidates, FrequencyPresencePenalty, Sampler};
/// use structgen_vocab::TokenId;
///
/// let mut penalty = FrequencyPresencePenalty::new(0.5, 1.0);
/// penalty.accept(Accepted::certain(TokenId(7)));
/// penalty.accept(Accepted::certain(TokenId(7)));
/// let mut candidates = Candidates::from_pairs([(TokenId(6), 3.0), (TokenId(7), 3.0)]);
/// penalty.apply(&mut candidates);
/// assert_eq!(candidates.logits(), [3.0, 1.0]);
/// ```
#[derive(Debug, Clone)]
pub struct FrequencyPresencePenalty {
    frequency: f32,
    presence: f32,
    seen: TokenCounts,
}

impl FrequencyPresencePenalty {
    /// Sets the penalties in logit units: `frequency` per occurrence, `presence` once.
    pub fn new(frequency: f32, presence: f32) -> Self {
        Self {
            frequency,
            presence,
            seen: TokenCounts::new(PenaltyScope::Output, 0),
        }
    }

    /// Counts the last `window` tokens of `scope`, or all of them if `window` is zero.
    #[must_use]
    pub fn within(mut self, scope: PenaltyScope, window: usize) -> Self {
        self.seen = TokenCounts::new(scope, window);
        self
    }
}

impl Sampler for FrequencyPresencePenalty {
    fn apply(&mut self, candidates: &mut Candidates) {
        let (frequency, presence) = (self.frequency, self.presence);
        candidates.change_logits_of(self.seen.counts(), |logit, count| {
            logit - (frequency * count as f32 + presence)
        });
    }

    fn accept(&mut self, accepted: Accepted) {
        self.seen.accept(accepted.token);
    }

    fn reset(&mut self, start: SequenceStart<'_>) {
        self.seen.reset(start);
    }

    fn touched(&mut self, tokens: &mut Vec<TokenId>) -> bool {
        self.seen.collect_ids(tokens);
        true
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::candidates;

    fn after(prompt: &[TokenId]) -> SequenceStart<'_> {
        SequenceStart {
            prompt,
            prefilled: 0,
            eos: &[],
        }
    }

    #[test]
    fn repetition_counts_prompt_and_output_once_and_by_sign() {
        let mut sampler = RepetitionPenalty::new(2.0);
        sampler.reset(after(&[TokenId(0), TokenId(0)]));
        sampler.accept(Accepted::certain(TokenId(2)));
        let mut c = candidates(&[4.0, 4.0, -4.0, -4.0]);
        sampler.apply(&mut c);
        assert_eq!(c.logits(), [2.0, 4.0, -8.0, -4.0]);
        sampler.reset(after(&[]));
        sampler.apply(&mut c);
        assert_eq!(c.logits(), [2.0, 4.0, -8.0, -4.0]);
    }

    #[test]
    fn frequency_counts_each_and_presence_once_in_the_output_only() {
        let mut sampler = FrequencyPresencePenalty::new(0.5, 1.0);
        sampler.reset(after(&[TokenId(0)]));
        sampler.accept(Accepted::certain(TokenId(1)));
        sampler.accept(Accepted::certain(TokenId(1)));
        let mut c = candidates(&[4.0, 4.0, 4.0]);
        sampler.apply(&mut c);
        assert_eq!(c.logits(), [4.0, 2.0, 4.0]);
    }

    #[test]
    fn scope_and_window_are_the_users() {
        let mut repetition = RepetitionPenalty::new(2.0).within(PenaltyScope::Output, 1);
        let mut frequency = FrequencyPresencePenalty::new(1.0, 0.0).within(PenaltyScope::All, 2);
        for sampler in [&mut repetition as &mut dyn Sampler, &mut frequency] {
            sampler.reset(after(&[TokenId(0), TokenId(1)]));
            sampler.accept(Accepted::certain(TokenId(2)));
        }
        let mut c = candidates(&[4.0, 4.0, 4.0]);
        repetition.apply(&mut c);
        assert_eq!(c.logits(), [4.0, 4.0, 2.0]);
        frequency.apply(&mut c);
        assert_eq!(c.logits(), [4.0, 3.0, 1.0]);
    }

    #[test]
    fn a_clone_remembers_and_goes_its_own_way() {
        let mut sampler = FrequencyPresencePenalty::new(0.0, 1.0);
        sampler.accept(Accepted::certain(TokenId(0)));
        let mut copy = sampler.clone_box();
        sampler.accept(Accepted::certain(TokenId(1)));
        let mut c = candidates(&[4.0, 4.0]);
        copy.apply(&mut c);
        assert_eq!(c.logits(), [3.0, 4.0]);
    }
}
