use structgen_vocab::TokenId;

use super::{GenerateError, GeneratedToken, Generation};
use crate::strategies::{AttemptCounts, ChoiceProbability, SmcEstimates, SpeculationStats};

/// What a request came to.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Outputs {
    /// The outputs: as many as were asked for, in their order, or the best first where the strategy ranks them. Each
    /// may have failed alone.
    pub outputs: Vec<Result<Output, GenerateError>>,
    /// What the strategy reports of the whole request.
    pub report: Report,
}

/// An output with what its strategy knows of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// The output.
    pub generation: Generation,
    /// What outputs are ranked by: of beams, `log_prob` over the length to the power of the length penalty.
    pub score: Option<f64>,
    /// The sum of the tokens' log probabilities as the strategy counts them.
    pub log_prob: Option<f64>,
    /// The share of all outputs that this one stands for; the weights of a request add up to one.
    pub weight: Option<f64>,
    /// Of faithful samplers: for each token, and last for the end, the natural logarithm of the probability that the
    /// mask let through.
    ///
    /// What it removed is one less the exponential. Where the end is [free](crate::strategies::ForcedEnd::Free) and forced, it has
    /// no entry.
    pub log_kept: Option<Vec<f64>>,
}

impl Output {
    /// Of faithful samplers: the natural logarithm of the probability with which masks alone would have drawn this
    /// output at temperature one.
    ///
    /// Where it is far above [`log_prob`](Output::log_prob), masks prefer the output for what they removed.
    #[must_use]
    pub fn masked_log_prob(&self) -> Option<f64> {
        let log_kept = self.log_kept.as_ref()?;
        Some(self.log_prob? - log_kept.iter().sum::<f64>())
    }
}

/// What a strategy reports of a whole request.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Report {
    /// Nothing.
    #[default]
    None,
    /// What became of drafts, over all outputs.
    Speculation(SpeculationStats),
    /// Of [ASAp](crate::Strategy::Asap) and [rejection](crate::Strategy::Rejection): how many attempts the outputs
    /// took.
    Attempts(AttemptCounts),
    /// Of [SMC](crate::Strategy::Smc): what the particles come to as a whole.
    Smc(SmcEstimates),
    /// The probabilities of the choices of a [`ChoiceRequest`](crate::strategies::ChoiceRequest), in their order.
    Choices(Vec<ChoiceProbability>),
}

impl Report {
    /// Adds what another task of the same request reports.
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
    /// The outputs of a strategy that reports nothing else.
    pub(crate) fn new(outputs: Vec<Result<Output, GenerateError>>) -> Self {
        let report = Report::None;
        Self { outputs, report }
    }

    /// The first output.
    ///
    /// # Errors
    /// Why it failed; [`GenerateError::NoOutput`] where there is none.
    pub fn single(self) -> Result<Generation, GenerateError> {
        let first = self.outputs.into_iter().next();
        first
            .unwrap_or(Err(GenerateError::NoOutput))
            .map(|output| output.generation)
    }

    /// The probabilities of a [`ChoiceRequest`](crate::strategies::ChoiceRequest)'s choices, in their order.
    ///
    /// # Errors
    /// [`GenerateError::NoOutput`] where the request was another one.
    pub fn choices(self) -> Result<Vec<ChoiceProbability>, GenerateError> {
        match self.report {
            Report::Choices(choices) => Ok(choices),
            _ => Err(GenerateError::NoOutput),
        }
    }

    /// All outputs.
    ///
    /// # Errors
    /// Why the first that failed did.
    pub fn all(self) -> Result<Vec<Output>, GenerateError> {
        self.outputs.into_iter().collect()
    }
}

/// A piece of an output, as it comes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Delta<'a> {
    /// Text that is certain to stay, at character borders. It may be empty, when a token ends inside a character.
    pub text: &'a str,
    /// Tokens generated so far.
    pub tokens: usize,
    /// These tokens, with what is known of them by now.
    pub generated: &'a [GeneratedToken],
    /// The tokens of the whole output so far: the prefill, and what was generated.
    pub output: &'a [TokenId],
}
