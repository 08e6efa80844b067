use std::collections::BTreeMap;

use structgen_vocab::TokenId;

use crate::{Accepted, Candidates, Sampler};

/// Divides positive logits of tokens already seen by `r`, and multiplies negative ones by it.
///
/// CTRL, Keskar et al. 2019. Prompt and output count alike. One is off.
#[derive(Debug, Clone)]
pub struct RepetitionPenalty {
    penalty: f32,
    seen: BTreeMap<TokenId, u32>,
}

impl RepetitionPenalty {
    /// A penalty above zero; above one it discourages repetition.
    pub fn new(penalty: f32) -> Self {
        Self {
            penalty,
            seen: BTreeMap::new(),
        }
    }
}

impl Sampler for RepetitionPenalty {
    fn apply(&mut self, candidates: &mut Candidates) {
        let penalty = self.penalty;
        candidates.change_logits_of(&self.seen, |logit, _| {
            if logit > 0.0 {
                logit / penalty
            } else {
                logit * penalty
            }
        });
    }

    fn accept(&mut self, accepted: Accepted) {
        *self.seen.entry(accepted.token).or_default() += 1;
    }

    fn reset(&mut self, prompt: &[TokenId]) {
        self.seen = count(prompt);
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

/// Takes `f * count + p` from the logits of tokens that the output already has.
///
/// The prompt does not count. Both zero is off; negative values encourage repetition.
#[derive(Debug, Clone)]
pub struct FrequencyPresencePenalty {
    frequency: f32,
    presence: f32,
    output: BTreeMap<TokenId, u32>,
}

impl FrequencyPresencePenalty {
    /// Penalties in logit units: `frequency` for each occurrence, `presence` once.
    pub fn new(frequency: f32, presence: f32) -> Self {
        Self {
            frequency,
            presence,
            output: BTreeMap::new(),
        }
    }
}

impl Sampler for FrequencyPresencePenalty {
    fn apply(&mut self, candidates: &mut Candidates) {
        let (frequency, presence) = (self.frequency, self.presence);
        candidates.change_logits_of(&self.output, |logit, count| {
            logit - (frequency * count as f32 + presence)
        });
    }

    fn accept(&mut self, accepted: Accepted) {
        *self.output.entry(accepted.token).or_default() += 1;
    }

    fn reset(&mut self, _prompt: &[TokenId]) {
        self.output.clear();
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

fn count(tokens: &[TokenId]) -> BTreeMap<TokenId, u32> {
    let mut counts = BTreeMap::new();
    for &token in tokens {
        *counts.entry(token).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::candidates;

    #[test]
    fn repetition_counts_prompt_and_output_once_and_by_sign() {
        let mut sampler = RepetitionPenalty::new(2.0);
        sampler.reset(&[TokenId(0), TokenId(0)]);
        sampler.accept(Accepted::certain(TokenId(2)));
        let mut c = candidates(&[4.0, 4.0, -4.0, -4.0]);
        sampler.apply(&mut c);
        assert_eq!(c.logits(), [2.0, 4.0, -8.0, -4.0]);
        sampler.reset(&[]);
        sampler.apply(&mut c);
        assert_eq!(c.logits(), [2.0, 4.0, -8.0, -4.0]);
    }

    #[test]
    fn frequency_counts_each_and_presence_once_in_the_output_only() {
        let mut sampler = FrequencyPresencePenalty::new(0.5, 1.0);
        sampler.reset(&[TokenId(0)]);
        sampler.accept(Accepted::certain(TokenId(1)));
        sampler.accept(Accepted::certain(TokenId(1)));
        let mut c = candidates(&[4.0, 4.0, 4.0]);
        sampler.apply(&mut c);
        assert_eq!(c.logits(), [4.0, 2.0, 4.0]);
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
