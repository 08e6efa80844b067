use super::Accepted;
use crate::samplers::{Candidates, SequenceRng};

/// The choice at the end of the chain.
#[derive(Debug, Clone)]
pub(super) enum Choice {
    /// The largest logit; among equals, the lowest id.
    Largest,
    /// A draw from the softmax.
    Draw(Box<SequenceRng>),
}

impl Choice {
    pub(super) fn choose(&mut self, candidates: &mut Candidates) -> Option<Accepted> {
        match self {
            Self::Largest => candidates
                .largest()
                .map(|(token, _)| Accepted::certain(token)),
            Self::Draw(rng) => candidates
                .draw(rng)
                .map(|(token, probability)| Accepted::drawn(token, probability)),
        }
    }
}
