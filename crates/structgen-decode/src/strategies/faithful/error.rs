use crate::Outputs;

/// Why a faithful sampler has no samples, or too few.
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
    /// A number outside its range.
    #[error("{name} is {value}, and must be {range}")]
    OutOfRange {
        /// The field.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The valid range.
        range: &'static str,
    },
    /// The learned bounds are for another prompt, number of tokens or end.
    #[error(
        "what was learned is about another prompt, number of new tokens or end: learn anew for this one"
    )]
    OtherSituation,
    /// A logit is infinite, so that no probability can be computed.
    #[error("at step {step} a logit is infinite: the model is broken")]
    InfiniteLogit {
        /// The number of tokens generated before.
        step: usize,
    },
    /// No attempt led to an output.
    #[error(
        "{} of {wanted} outputs were found, and the next not in {attempts} attempts: the model hardly ever writes one within the limit of tokens",
        found.outputs.len()
    )]
    Attempts {
        /// Attempts at the output that was not found.
        attempts: u64,
        /// The number of outputs requested.
        wanted: usize,
        /// The outputs found before.
        found: Box<Outputs>,
    },
    /// The time limit passed.
    #[error("{} of {wanted} outputs were found in time", found.outputs.len())]
    TimeLimit {
        /// The number of outputs requested.
        wanted: usize,
        /// The outputs found before.
        found: Box<Outputs>,
    },
    /// The request was cancelled.
    #[error("{} of {wanted} outputs were found before the request was cancelled", found.outputs.len())]
    Cancelled {
        /// The number of outputs requested.
        wanted: usize,
        /// The outputs found before.
        found: Box<Outputs>,
    },
    /// Every particle reached a position where no token has a probability, or was not complete in time.
    #[error(
        "none of {particles} particles became a complete output; allow more particles, more new tokens or more time"
    )]
    NoParticle {
        /// The number of particles.
        particles: usize,
    },
}
