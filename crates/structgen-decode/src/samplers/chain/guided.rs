use super::super::{Sampler, SamplerKind, SamplingParams, Temperature};

/// The temperature of a chain, as a grammar changes it from token to token.
pub(super) struct Guided {
    /// The index of the temperature among the samplers.
    at: usize,
    /// The chain's own temperature, and its sampler.
    own: f32,
    sampler: Box<dyn Sampler>,
    /// Whether each sampler is on at temperature 0.
    at_zero: Vec<bool>,
    /// The temperature that the grammar requests.
    asked: Option<f32>,
}

impl Guided {
    /// Creates it for a chain of these kinds; `None` if there is no temperature among them.
    pub(super) fn new(
        kinds: &[SamplerKind],
        samplers: &[Box<dyn Sampler>],
        params: &SamplingParams,
    ) -> Option<Self> {
        let at = kinds
            .iter()
            .position(|&it| it == SamplerKind::Temperature)?;
        let cold = SamplingParams {
            temperature: 0.0,
            ..params.clone()
        };
        Some(Self {
            at,
            own: params.temperature,
            sampler: samplers.get(at)?.clone_box(),
            at_zero: kinds.iter().map(|&kind| cold.is_on(kind)).collect(),
            asked: None,
        })
    }

    /// Sets the temperature for the next choice; `None` restores the chain's own.
    pub(super) fn set(&mut self, temperature: Option<f32>, samplers: &mut [Box<dyn Sampler>]) {
        if temperature == self.asked {
            return;
        }
        self.asked = temperature;
        samplers[self.at] = match temperature {
            None => self.sampler.clone_box(),
            Some(temperature) => Box::new(Temperature::new(temperature)),
        };
    }

    /// Returns whether the next choice is the largest logit.
    pub(super) fn is_greedy(&self) -> bool {
        self.asked.unwrap_or(self.own) == 0.0
    }

    /// Returns whether the sampler with this index is on.
    pub(super) fn is_on(&self, sampler: usize) -> bool {
        !self.is_greedy() || self.at_zero[sampler]
    }
}

impl Clone for Guided {
    fn clone(&self) -> Self {
        Self {
            sampler: self.sampler.clone_box(),
            at_zero: self.at_zero.clone(),
            ..*self
        }
    }
}
