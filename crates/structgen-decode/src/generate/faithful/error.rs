use super::FaithfulSamples;
use crate::GenerateError;

/// Why a faithful sampler has no sample, or not all of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FaithfulError {
    /// An option would change the distribution that is sampled.
    #[error(
        "faithful samplers draw from the model's own distribution at temperature 1, which {what} would change"
    )]
    OtherTarget {
        /// The option.
        what: &'static str,
    },
    /// An option asks for what is not kept, since most tokens that are drawn are thrown away.
    #[error("faithful samplers do not tell {what}")]
    NotTold {
        /// What was asked for.
        what: &'static str,
    },
    /// A number outside its range.
    #[error("{name} is {value}, and must be {range}")]
    OutOfRange {
        /// The field.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What would be right.
        range: &'static str,
    },
    /// What was learned is about another prompt, another number of tokens or another end.
    #[error(
        "what was learned is about another prompt, number of new tokens or end: learn anew for this one"
    )]
    OtherSituation,
    /// A logit is infinite, and no probability can be told.
    #[error("at step {step} a logit is infinite: the model is broken")]
    InfiniteLogit {
        /// Tokens generated before.
        step: usize,
    },
    /// No attempt gave an output.
    #[error(
        "{} of {wanted} outputs were found, and the next not in {attempts} attempts: the model hardly ever writes one within the limit of tokens",
        found.outputs.len()
    )]
    Attempts {
        /// Attempts at the output that was not found.
        attempts: u64,
        /// Outputs asked for.
        wanted: usize,
        /// What was found before.
        found: Box<FaithfulSamples>,
    },
    /// The time limit passed.
    #[error("{} of {wanted} outputs were found in time", found.outputs.len())]
    TimeLimit {
        /// Outputs asked for.
        wanted: usize,
        /// What was found before.
        found: Box<FaithfulSamples>,
    },
    /// Every particle came to where no token has a probability, or was not complete in time.
    #[error(
        "none of {particles} particles became a complete output; allow more particles, more new tokens or more time"
    )]
    NoParticle {
        /// Particles.
        particles: usize,
    },
}

impl From<FaithfulError> for GenerateError {
    fn from(error: FaithfulError) -> Self {
        Self::Faithful(error)
    }
}
