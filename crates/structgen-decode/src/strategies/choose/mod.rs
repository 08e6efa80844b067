//! The probabilities of choices after a prompt.

mod all;
mod canonical;
#[cfg(test)]
mod tests;

pub use crate::request::choice::{ChoiceError, ChoiceProbability};
pub use all::AllLimits;

use structgen_vocab::TokenId;

use super::start::Resources;
use crate::task::Task;
use crate::{GenerateError, ModelError, Outputs, request::Report};
use all::All;
use canonical::Canonical;

/// Requests the probability of each of several choices after a prompt, under the model alone, without temperature or
/// constraint.
///
/// ```
/// use structgen_decode::{MockModel, Scheduler, strategies::{ChoiceRequest, Choices}};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// // All single bytes, and "no" as one token: "no" can be written in two ways.
/// let tokens = (0..=255).map(|byte| vec![byte]).chain([b"no".to_vec()]);
/// let vocabulary = Vocabulary::from_tokens(tokens, &[])?;
/// let mut scheduler = Scheduler::new(MockModel::new(257, 32, []), vocabulary);
/// let prompt = [TokenId(5)];
///
/// let texts = Choices::texts(["yes", "no"]);
/// let found = scheduler.choose(ChoiceRequest::new(prompt, texts))?;
/// assert!((found[0].share + found[1].share - 1.0).abs() < 1e-12);
///
/// let canonical = Choices::Tokens(vec![vec![TokenId(121), TokenId(101), TokenId(115)], vec![TokenId(256)]]);
/// let one_way = scheduler.choose(ChoiceRequest::new(prompt, canonical))?;
/// assert_eq!(one_way[1].left_out, 0.0);
/// assert!(one_way[1].probability() < found[1].probability() + found[1].left_out);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ChoiceRequest {
    /// The tokens before the choice.
    pub prompt: Vec<TokenId>,
    /// The choices.
    pub choices: Choices,
    /// End-of-sequence ids, one of which has to come after the choice. Without them, the probability of a choice that
    /// is a prefix of another includes that of the other.
    pub ends: Vec<TokenId>,
    /// Requests with a higher priority are admitted first; among equals, the earlier.
    pub priority: i32,
}

/// The choices, and which of their tokenizations count.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Choices {
    /// Token sequences, such as a tokenizer's encoding of each text: exact.
    ///
    /// A choice's probability is the product of its tokens' probabilities. Common prefixes are run once, and sections
    /// without a branch in one run.
    Tokens(Vec<Vec<TokenId>>),
    /// Texts in any tokenization: sums over all token sequences that spell them, most probable first.
    ///
    /// Prefixes are continued in the order of their probability. The prefixes that are open when a limit is reached
    /// bound what is left out: no text can have more than the open prefixes that lead to it. Prefixes that exceed the
    /// model's context are left out as well.
    Texts {
        /// The texts.
        texts: Vec<String>,
        /// When to stop the search.
        limits: AllLimits,
    },
}

impl ChoiceRequest {
    /// Creates a request without an end.
    pub fn new(prompt: impl Into<Vec<TokenId>>, choices: Choices) -> Self {
        Self {
            prompt: prompt.into(),
            choices,
            ends: Vec::new(),
            priority: 0,
        }
    }

    /// Sets the end-of-sequence ids, one of which has to come after the choice.
    #[must_use]
    pub fn with_ends(mut self, ends: impl Into<Vec<TokenId>>) -> Self {
        self.ends = ends.into();
        self
    }

    /// Sets the priority over other requests.
    #[must_use]
    pub fn with_priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    pub(crate) fn task(self, resources: &Resources<'_>) -> Result<Box<dyn Task>, GenerateError> {
        let Self {
            prompt,
            choices,
            ends,
            ..
        } = self;
        if prompt.is_empty() {
            return Err(GenerateError::EmptyPrompt);
        }
        let context_length = resources.target.longest_text(prompt.len());
        let check = |needed| match needed <= context_length {
            true => Ok(()),
            false => Err(ModelError::ContextOverflow {
                needed,
                context_length,
            }),
        };
        match choices {
            Choices::Tokens(choices) if choices.is_empty() => Err(ChoiceError::NoChoices.into()),
            Choices::Texts { texts, .. } if texts.is_empty() => Err(ChoiceError::NoChoices.into()),
            Choices::Tokens(choices) => {
                let task = Canonical::new(prompt, &choices, ends);
                check(task.most_tokens())?;
                Ok(Box::new(task))
            }
            Choices::Texts { texts, limits } => {
                check(prompt.len())?;
                let task = All::new(prompt, &texts, ends, limits, context_length);
                Ok(Box::new(task))
            }
        }
    }
}

impl Choices {
    /// Creates choices of texts in any tokenization, within the default limits.
    pub fn texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::Texts {
            texts: texts.into_iter().map(Into::into).collect(),
            limits: AllLimits::default(),
        }
    }
}

/// Returns `ln(exp(a) + exp(b))`, without overflow.
fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY {
        high
    } else {
        high + (low - high).exp().ln_1p()
    }
}

/// Returns the logarithm of a sum of numbers given by their logarithms.
fn log_sum(logs: impl IntoIterator<Item = f64>) -> f64 {
    logs.into_iter().fold(f64::NEG_INFINITY, log_add)
}

/// The logits of one position as a distribution.
struct Distribution<'l> {
    logits: &'l [f32],
    max: f64,
    /// The logarithm of the sum of exponentials, relative to the largest logit.
    log_total: f64,
}

impl<'l> Distribution<'l> {
    /// Creates the distribution after `tokens` tokens. Logits of plus infinity share all of the probability.
    fn new(logits: &'l [f32], tokens: usize) -> Result<Self, ChoiceError> {
        let numbers = logits.iter().copied().filter(|logit| !logit.is_nan());
        let max = f64::from(numbers.fold(f32::NEG_INFINITY, f32::max));
        if max == f64::NEG_INFINITY {
            return Err(ChoiceError::NoDistribution { tokens });
        }
        let mut distribution = Self {
            logits,
            max,
            log_total: 0.0,
        };
        let total: f64 = (0..logits.len())
            .map(|id| distribution.above(id).exp())
            .sum();
        distribution.log_total = total.ln();
        Ok(distribution)
    }

    /// Returns a logit minus the largest; `-inf` if it is NaN or absent.
    fn above(&self, id: usize) -> f64 {
        match self.logits.get(id) {
            Some(&logit) if logit.is_nan() => f64::NEG_INFINITY,
            // Infinity minus infinity is NaN.
            Some(&logit) if f64::from(logit) == self.max => 0.0,
            Some(&logit) => f64::from(logit) - self.max,
            None => f64::NEG_INFINITY,
        }
    }

    /// Returns the logarithm of a token's probability.
    fn log(&self, token: TokenId) -> f64 {
        self.above(token.index()) - self.log_total
    }

    /// Returns the logarithm of the probability of any of some tokens.
    fn log_of_any(&self, tokens: &[TokenId]) -> f64 {
        log_sum(tokens.iter().map(|&token| self.log(token)))
    }
}

/// The distinct choices, sorted, and the index of each choice of the request among them.
struct Distinct<T> {
    sorted: Vec<T>,
    indices: Vec<usize>,
}

impl<T: Ord + Clone> Distinct<T> {
    fn new(choices: &[T]) -> Self {
        let mut sorted = choices.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let index = |choice: &T| sorted.binary_search(choice).unwrap_or_else(|at| at);
        let indices = choices.iter().map(index).collect();
        Self { sorted, indices }
    }

    /// Creates the report from the results of the sorted choices: the logarithm of each probability, and how much it
    /// left out.
    fn report(&self, found: &[(f64, f64)]) -> Outputs {
        let all = log_sum(found.iter().map(|&(log, _)| log));
        let choices = { self.indices.iter() }.map(|&index| {
            let (log_probability, left_out) = found[index];
            ChoiceProbability {
                log_probability,
                left_out,
                share: if all == f64::NEG_INFINITY {
                    0.0
                } else {
                    (log_probability - all).exp()
                },
            }
        });
        Outputs {
            outputs: Vec::new(),
            report: Report::Choices(choices.collect()),
        }
    }
}
