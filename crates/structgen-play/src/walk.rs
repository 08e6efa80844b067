//! An output as a path: its positions, and the tokens between them.

use structgen_decode::SamplingParams;
use structgen_decode::samplers::{Accepted, SamplerChain, SequenceStart};
use structgen_lab::step::{Step, StepError};
use structgen_vocab::TokenId;

use crate::subject::{Begun, Look};

/// The positions of an output that were computed, and the current one.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    begun: Begun,
    /// The logits and mask before each token.
    looks: Vec<Look>,
    /// The tokens between them.
    taken: Vec<Accepted>,
    /// The number of tokens before the current position.
    at: usize,
}

/// What moving to a position requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// Nothing: it was computed before.
    Seen,
    /// A run of the model.
    Unseen,
    /// The output has ended there.
    Ended,
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

    pub(crate) fn look(&self) -> Option<&Look> {
        self.looks.get(self.at)
    }

    /// Returns whether the output ends at the position.
    pub(crate) fn has_ended(&self) -> bool {
        let last = self.at.checked_sub(1).map(|last| self.taken[last].token);
        last.is_some_and(|token| self.begun.eos.contains(&token))
    }

    /// Adds the logits and mask after this number of tokens.
    pub(crate) fn add(&mut self, tokens: usize, look: Look) {
        if tokens == self.looks.len() {
            self.looks.push(look);
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
            self.looks.truncate(self.at + 1);
            self.taken.push(accepted);
        }
        self.at += 1;
        if self.has_ended() {
            Moved::Ended
        } else if self.look().is_some() {
            Moved::Seen
        } else {
            Moved::Unseen
        }
    }

    /// Moves to a position that was computed.
    pub(crate) fn go_to(&mut self, at: usize) {
        self.at = at.min(self.looks.len().saturating_sub(1));
    }

    /// Returns the step at the position, or `None` if the model has not been run there, or after the end.
    ///
    /// Its random number depends only on the seed and the position. So changing a parameter changes the kept tokens but
    /// not the random number, and recomputing a step gives the same draw.
    pub(crate) fn step(&self, params: &SamplingParams) -> Option<Result<Step, StepError>> {
        let look = self.look().filter(|_| !self.has_ended())?;
        let step = || {
            let mut chain = SamplerChain::new(params, self.at as u64)?;
            chain.reset(SequenceStart {
                prompt: &self.begun.prompt,
                prefilled: 0,
                eos: &self.begun.eos,
            });
            for &accepted in &self.taken[..self.at] {
                chain.accept(accepted);
            }
            Step::of(&look.logits, &*look.allowed, &mut chain)
        };
        Some(step())
    }
}
