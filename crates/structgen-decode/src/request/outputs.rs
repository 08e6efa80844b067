use structgen_vocab::TokenId;

use super::choice::ChoiceProbability;
use super::strategy::{AttemptCounts, SmcEstimates, SpeculationStats};
use super::{GenerateError, GeneratedToken, Generation};

/// The result of a request.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Outputs {
    /// The outputs: as many as requested, in order, or best first if the strategy ranks them. Each may fail on its own.
    pub outputs: Vec<Result<Output, GenerateError>>,
    /// The strategy's report on the whole request.
    pub report: Report,
}

/// An output, with the strategy's data about it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// The output.
    pub generation: Generation,
    /// The rank of the output: for beams, `log_prob` divided by the length to the power of the length penalty.
    pub score: Option<f64>,
    /// The sum of the tokens' log probabilities, as the strategy computes it.
    pub log_prob: Option<f64>,
    /// The share of the probability that this output represents; the weights of a request sum to 1.
    pub weight: Option<f64>,
    /// For faithful samplers: the natural logarithm of the probability mass that the mask kept, for each token, and
    /// last for the end.
    ///
    /// The removed mass is 1 minus its exponential. If the end is [free](crate::strategies::ForcedEnd::Free) and
    /// forced, it has no entry.
    pub log_kept: Option<Vec<f64>>,
}

impl Output {
    /// For faithful samplers: the natural logarithm of the probability with which masked sampling would have drawn this
    /// output at temperature 1.
    ///
    /// If it is far above [`log_prob`](Output::log_prob), masking favours this output because of what the masks removed
    /// elsewhere.
    #[must_use]
    pub fn masked_log_prob(&self) -> Option<f64> {
        let log_kept = self.log_kept.as_ref()?;
        Some(self.log_prob? - log_kept.iter().sum::<f64>())
    }
}

/// A strategy's report on a whole request.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Report {
    /// Nothing.
    #[default]
    None,
    /// The acceptance of drafts, over all outputs.
    Speculation(SpeculationStats),
    /// For [ASAp](crate::Strategy::Asap) and [rejection](crate::Strategy::Rejection): the number of attempts that the
    /// outputs took.
    Attempts(AttemptCounts),
    /// For [SMC](crate::Strategy::Smc): estimates from all particles.
    Smc(SmcEstimates),
    /// The probabilities of the choices of a [`ChoiceRequest`](crate::strategies::ChoiceRequest), in order.
    Choices(Vec<ChoiceProbability>),
}

impl Report {
    /// Adds the report of another task of the same request.
    pub(crate) fn add(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Speculation(stats), Self::Speculation(other)) => stats.add(&other),
            (Self::None, other) => *self = other,
            _ => {}
        }
    }
}

impl From<Generation> for Output {
    fn from(generation: Generation) -> Self {
        Self {
            generation,
            score: None,
            log_prob: None,
            weight: None,
            log_kept: None,
        }
    }
}

impl Outputs {
    /// Creates the outputs of a strategy without a report.
    pub(crate) fn new(outputs: Vec<Result<Output, GenerateError>>) -> Self {
        let report = Report::None;
        Self { outputs, report }
    }

    /// Returns the first output.
    ///
    /// # Errors
    /// If it failed; [`GenerateError::NoOutput`] if there is none.
    pub fn single(self) -> Result<Generation, GenerateError> {
        let first = self.outputs.into_iter().next();
        first
            .unwrap_or(Err(GenerateError::NoOutput))
            .map(|output| output.generation)
    }

    /// Returns the probabilities of a [`ChoiceRequest`](crate::strategies::ChoiceRequest)'s choices, in order.
    ///
    /// # Errors
    /// [`GenerateError::NoOutput`] if the request was of another kind.
    pub fn choices(self) -> Result<Vec<ChoiceProbability>, GenerateError> {
        match self.report {
            Report::Choices(choices) => Ok(choices),
            _ => Err(GenerateError::NoOutput),
        }
    }

    /// Returns all outputs.
    ///
    /// # Errors
    /// The error of the first output that failed.
    pub fn all(self) -> Result<Vec<Output>, GenerateError> {
        self.outputs.into_iter().collect()
    }
}

/// A piece of an output, as it is generated.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Delta<'a> {
    /// Text that is final, cut at character borders. It may be empty if a token ends inside a character.
    pub text: &'a str,
    /// Tokens generated so far.
    pub tokens: usize,
    /// These tokens, with what is known of them so far.
    pub generated: &'a [GeneratedToken],
    /// The tokens of the whole output so far: the prefill, and those generated.
    pub output: &'a [TokenId],
}
