//! An output as a path: its positions, and the tokens between them.

use std::collections::BTreeMap;

use structgen_decode::SamplingParams;
use structgen_decode::constraint::AllowedTokens;
use structgen_decode::samplers::{
    Accepted, Candidates, SamplerChain, SamplingError, SequenceStart,
};
use structgen_lab::step::{Draw, Step, StepError};
use structgen_vocab::TokenId;

use crate::subject::{Begun, Look};

/// Number of positions whose logits are kept: 160 MB of them with a vocabulary of 150,000 tokens.
pub(crate) const LOOKS: usize = 256;

/// The tokens of an output, the current position, and the logits around it.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    begun: Begun,
    /// The logits and mask before each token, of at most [`LOOKS`] positions.
    looks: BTreeMap<usize, Look>,
    /// The tokens between them.
    taken: Vec<Accepted>,
    /// The number of tokens before the current position.
    at: usize,
}

/// What moving to a position requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// Nothing: its logits are kept, or the output has ended there.
    Seen,
    /// A run of the model.
    Unseen,
}

impl Walk {
    pub(crate) fn new(begun: Begun) -> Self {
        Self {
            begun,
            ..Self::default()
        }
    }

    pub(crate) fn begun(&self) -> &Begun {
        &self.begun
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Returns the number of tokens of the output, including those after the position.
    pub(crate) fn len(&self) -> usize {
        self.taken.len()
    }

    /// Returns the tokens up to the position.
    pub(crate) fn tokens(&self) -> Vec<TokenId> {
        self.taken[..self.at]
            .iter()
            .map(|accepted| accepted.token)
            .collect()
    }

    /// Returns the number of positions whose logits are kept.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.looks.len()
    }

    pub(crate) fn look(&self) -> Option<&Look> {
        self.looks.get(&self.at)
    }

    /// Returns whether the output ends at the position.
    pub(crate) fn has_ended(&self) -> bool {
        let last = self.at.checked_sub(1).map(|last| self.taken[last].token);
        last.is_some_and(|token| self.begun.eos.contains(&token))
    }

    /// Adds the logits and mask after this number of tokens. It evicts those farthest from the position.
    pub(crate) fn add(&mut self, tokens: usize, look: Look) {
        if tokens > self.taken.len() {
            return;
        }
        self.looks.insert(tokens, look);
        while self.looks.len() > LOOKS {
            let before = { self.looks.first_key_value() }
                .map_or(0, |(&first, _)| self.at.saturating_sub(first));
            let after = { self.looks.last_key_value() }
                .map_or(0, |(&last, _)| last.saturating_sub(self.at));
            match before >= after {
                true => self.looks.pop_first(),
                false => self.looks.pop_last(),
            };
        }
    }

    /// Takes a token. If it differs from the one taken before, what followed that is dropped.
    pub(crate) fn forward(&mut self, accepted: Accepted) -> Moved {
        if self
            .taken
            .get(self.at)
            .is_none_or(|known| known.token != accepted.token)
        {
            self.taken.truncate(self.at);
            drop(self.looks.split_off(&(self.at + 1)));
            self.taken.push(accepted);
        }
        self.moved_to(self.at + 1)
    }

    /// Moves to a position within the output.
    pub(crate) fn go_to(&mut self, at: usize) -> Moved {
        self.moved_to(at.min(self.taken.len()))
    }

    fn moved_to(&mut self, at: usize) -> Moved {
        self.at = at;
        match self.has_ended() || self.look().is_some() {
            true => Moved::Seen,
            false => Moved::Unseen,
        }
    }

    /// Returns the drawn token of a step at the position, as samplers learn of it: one without an alternative, and the
    /// largest at temperature zero, have no probability.
    pub(crate) fn accepted(&self, drawn: Draw, params: &SamplingParams) -> Accepted {
        let token = TokenId(drawn.id);
        let is_certain = self.look().is_some_and(|look| {
            look.allowed.count() == 1 || look.temperature.unwrap_or(params.temperature) == 0.0
        });
        match is_certain {
            true => Accepted::certain(token),
            false => Accepted::drawn(token, drawn.probability as f32),
        }
    }

    /// Returns the step at the position, or `None` if the model has not been run there, or after the end.
    ///
    /// Its random number depends only on the seed and the position. So changing a parameter changes the kept tokens but
    /// not the random number, and recomputing a step gives the same draw.
    pub(crate) fn step(&self, params: &SamplingParams) -> Option<Result<Step, StepError>> {
        let look = self.look().filter(|_| !self.has_ended())?;
        let step = || {
            let mut chain = self.chain(params)?;
            chain.set_temperature(look.temperature);
            Step::of(&look.logits, &*look.allowed, &mut chain)
        };
        Some(step())
    }

    /// Returns the sampler chain after the tokens up to the position.
    fn chain(&self, params: &SamplingParams) -> Result<SamplerChain, SamplingError> {
        let begun = &self.begun;
        let (own, position) = (&begun.samplers, self.at as u64);
        let mut chain = SamplerChain::of_sequence(params, own, begun.sets_temperatures, position)?;
        chain.reset(SequenceStart {
            prompt: &begun.prompt,
            prefilled: 0,
            eos: &begun.eos,
        });
        let mut candidates = Candidates::default();
        for (at, &accepted) in self.taken[..self.at].iter().enumerate() {
            // Adaptive-p alone learns from the candidates of earlier steps. It forgets those that are long past, so it
            // may do without those that are not kept.
            if params.adaptive_p.is_some()
                && accepted.probability.is_some()
                && let Some(look) = self.looks.get(&at)
            {
                chain.set_temperature(look.temperature);
                candidates.fill(&look.logits, &*look.allowed, &[]);
                chain.apply(&mut candidates);
            }
            chain.accept(accepted);
        }
        Ok(chain)
    }
}
