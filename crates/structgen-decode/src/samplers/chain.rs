use structgen_vocab::TokenId;

use super::draw::Choice;
use super::{
    Accepted, FrequencyPresencePenalty, LogitBias, MinP, RepetitionPenalty, Sampler, SamplerKind,
    SamplingError, SamplingParams, Temperature, TopK, TopP,
};
use crate::{AllowedTokens, Candidates, SequenceRng};

/// Samplers in order, and the choice at their end: an arg-max or a seeded draw.
///
/// ```
/// use structgen_decode::{Candidates, SamplerChain, SamplingParams};
/// use structgen_vocab::TokenId;
///
/// let mut chain = SamplerChain::new(&SamplingParams::default(), 0)?;
/// let mut candidates = Candidates::from_pairs([(TokenId(1), 0.5), (TokenId(4), 2.0)]);
/// assert_eq!(chain.choose(&mut candidates).unwrap().token, TokenId(4));
/// # Ok::<(), structgen_decode::SamplingError>(())
/// ```
pub struct SamplerChain {
    samplers: Vec<Box<dyn Sampler>>,
    choice: Choice,
    /// The `k` and the temperature of a chain that begins with top-k, or with a temperature and top-k.
    leading_top_k: Option<(usize, f32)>,
}

impl SamplerChain {
    /// The chain of sequence number `sequence` with these parameters.
    ///
    /// # Errors
    /// What [`SamplingParams::validate`] finds.
    pub fn new(params: &SamplingParams, sequence: u64) -> Result<Self, SamplingError> {
        params.validate()?;
        let on = params.order.iter().filter(|&&kind| params.is_on(kind));
        let samplers = on.clone().map(|&kind| build(kind, params)).collect();
        let kinds: Vec<SamplerKind> = on.copied().collect();
        let leading_top_k = match kinds[..] {
            [SamplerKind::TopK, ..] => Some((params.top_k, 1.0)),
            [SamplerKind::Temperature, SamplerKind::TopK, ..] => {
                Some((params.top_k, params.temperature))
            }
            _ => None,
        };
        let choice = if params.temperature == 0.0 {
            Choice::Largest
        } else {
            Choice::Draw(Box::new(SequenceRng::new(params.seed, sequence)))
        };
        Ok(Self {
            samplers,
            choice,
            leading_top_k,
        })
    }

    /// Fills `candidates` with the allowed tokens, `banned` (sorted) left out, for [`choose`](SamplerChain::choose).
    ///
    /// Tokens that the chain would remove before it looks at any other may be left out at once: what is chosen, and with which
    /// probability, stays the same.
    pub fn fill(
        &self,
        candidates: &mut Candidates,
        logits: &[f32],
        allowed: &impl AllowedTokens,
        banned: &[TokenId],
    ) {
        match self.leading_top_k {
            Some((k, temperature)) => {
                candidates.fill_largest(logits, allowed, banned, k, temperature);
            }
            None => candidates.fill(logits, allowed, banned),
        }
    }

    /// Whether the chain only picks the largest logit, so that no list of candidates is needed.
    pub fn is_plain_argmax(&self) -> bool {
        self.samplers.is_empty() && matches!(self.choice, Choice::Largest)
    }

    /// Runs the samplers and chooses a candidate; none where no candidate has a logit above `-inf`.
    ///
    /// The samplers' memory is untouched until [`accept`](SamplerChain::accept).
    pub fn choose(&mut self, candidates: &mut Candidates) -> Option<Accepted> {
        for sampler in &mut self.samplers {
            sampler.apply(candidates);
        }
        self.choice.choose(candidates)
    }

    /// Tells every sampler of a token that became part of the output.
    pub fn accept(&mut self, accepted: Accepted) {
        for sampler in &mut self.samplers {
            sampler.accept(accepted);
        }
    }

    /// Starts on a new prompt. The random numbers go on where they were.
    pub fn reset(&mut self, prompt: &[TokenId]) {
        for sampler in &mut self.samplers {
            sampler.reset(prompt);
        }
    }
}

impl Clone for SamplerChain {
    fn clone(&self) -> Self {
        Self {
            samplers: self.samplers.iter().map(|s| s.clone_box()).collect(),
            choice: self.choice.clone(),
            leading_top_k: self.leading_top_k,
        }
    }
}

impl std::fmt::Debug for SamplerChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SamplerChain")
            .field("samplers", &self.samplers.len())
            .field("choice", &self.choice)
            .finish()
    }
}

fn build(kind: SamplerKind, params: &SamplingParams) -> Box<dyn Sampler> {
    match kind {
        SamplerKind::LogitBias => {
            let bias = params.logit_bias.iter();
            Box::new(LogitBias::new(
                bias.map(|(&id, &b)| (TokenId(id), b)).collect(),
            ))
        }
        SamplerKind::RepetitionPenalty => {
            Box::new(RepetitionPenalty::new(params.repetition_penalty))
        }
        SamplerKind::FrequencyPresencePenalty => Box::new(FrequencyPresencePenalty::new(
            params.frequency_penalty,
            params.presence_penalty,
        )),
        SamplerKind::Temperature => Box::new(Temperature::new(params.temperature)),
        SamplerKind::TopK => Box::new(TopK::new(params.top_k)),
        SamplerKind::TopP => Box::new(TopP::new(params.top_p, params.min_keep)),
        SamplerKind::MinP => Box::new(MinP::new(params.min_p, params.min_keep)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::candidates;
    use proptest::prelude::*;

    fn params(temperature: f32) -> SamplingParams {
        SamplingParams {
            temperature,
            ..SamplingParams::default()
        }
    }

    #[test]
    fn temperature_zero_is_an_argmax_with_ties_to_the_lowest_id() {
        let mut chain = SamplerChain::new(&params(0.0), 0).unwrap();
        assert!(chain.is_plain_argmax());
        let chosen = chain.choose(&mut candidates(&[1.0, 3.0, 3.0])).unwrap();
        assert_eq!(chosen, Accepted::certain(TokenId(1)));
        assert_eq!(chain.choose(&mut candidates(&[])), None);
    }

    #[test]
    fn penalties_count_at_temperature_zero() {
        let mut chain = SamplerChain::new(
            &SamplingParams {
                presence_penalty: 5.0,
                ..params(0.0)
            },
            0,
        )
        .unwrap();
        chain.accept(Accepted::certain(TokenId(1)));
        let chosen = chain.choose(&mut candidates(&[1.0, 3.0])).unwrap();
        assert_eq!(chosen.token, TokenId(0));
    }

    #[test]
    fn a_clone_draws_the_same_and_another_sequence_does_not() {
        let sampling = SamplingParams {
            seed: 11,
            ..params(1.0)
        };
        let draws = |mut chain: SamplerChain| -> Vec<u32> {
            (0..40)
                .map(|_| chain.choose(&mut candidates(&[0.0; 50])).unwrap().token.0)
                .collect()
        };
        let chain = SamplerChain::new(&sampling, 0).unwrap();
        assert_eq!(draws(chain.clone()), draws(chain.clone()));
        assert_ne!(
            draws(chain),
            draws(SamplerChain::new(&sampling, 1).unwrap())
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_largest_survives_every_truncation(
            logits in proptest::collection::vec(-20.0f32..20.0, 1..300),
            top_k in 0usize..20,
            top_p in 0.0f32..=1.0,
            min_p in 0.0f32..=1.0,
            temperature in 0.05f32..5.0,
        ) {
            let sampling = SamplingParams { top_k, top_p, min_p, ..params(temperature) };
            let mut chain = SamplerChain::new(&sampling, 0).unwrap();
            let mut c = candidates(&logits);
            let largest = c.largest().unwrap().0;
            chain.choose(&mut c).unwrap();
            prop_assert!(c.ids().contains(&largest));
            prop_assert!(top_k == 0 || c.len() <= top_k);
        }
    }
}
