//! An output as a path: its positions, and the tokens between them.

use structgen_decode::SamplingParams;
use structgen_decode::samplers::{Accepted, SamplerChain, SequenceStart};
use structgen_lab::step::{Step, StepError};
use structgen_vocab::TokenId;

use crate::subject::{Begun, Look};

/// The positions of an output that were seen, and the one that is looked at.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    begun: Begun,
    /// What was seen before each token.
    looks: Vec<Look>,
    /// The tokens between them.
    taken: Vec<Accepted>,
    /// The number of tokens before the position that is looked at.
    at: usize,
}

/// What it takes to be at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// Nothing: it was seen before.
    Seen,
    /// The model.
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

    /// The number of tokens of the output, those after the position included.
    pub(crate) fn len(&self) -> usize {
        self.taken.len()
    }

    /// The tokens up to the position.
    pub(crate) fn tokens(&self) -> Vec<TokenId> {
        self.taken[..self.at]
            .iter()
            .map(|accepted| accepted.token)
            .collect()
    }

    pub(crate) fn look(&self) -> Option<&Look> {
        self.looks.get(self.at)
    }

    /// Whether the output ends at the position.
    pub(crate) fn has_ended(&self) -> bool {
        let last = self.at.checked_sub(1).map(|last| self.taken[last].token);
        last.is_some_and(|token| self.begun.eos.contains(&token))
    }

    /// Adds what was seen after this number of tokens.
    pub(crate) fn add(&mut self, tokens: usize, look: Look) {
        if tokens == self.looks.len() {
            self.looks.push(look);
        }
    }

    /// Takes a token. What came after another one in its place is forgotten.
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

    /// Goes to a position that was seen.
    pub(crate) fn go_to(&mut self, at: usize) {
        self.at = at.min(self.looks.len().saturating_sub(1));
    }

    /// The step at the position; none before the model was there, and after the end.
    ///
    /// Its random number is of the seed and the position alone, so another parameter changes what a step leaves but not
    /// its luck, and a step that is made again draws the same.
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
