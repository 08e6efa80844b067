//! How probable each of some choices is after a prompt.

mod all;
mod canonical;
#[cfg(test)]
mod tests;

pub use all::AllLimits;

use structgen_vocab::TokenId;

use crate::request::Resources;
use crate::task::Task;
use crate::{FinishReason, GenerateError, ModelError, Outputs, request::Report};
use all::All;
use canonical::Canonical;

/// How probable is it that each of some choices follows a prompt: under the model as it is, without temperature or
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
    /// What is chosen from.
    pub choices: Choices,
    /// End-of-sequence ids, any of which has to come after the choice. Without them, a choice that begins another is
    /// the event that includes the other.
    pub ends: Vec<TokenId>,
    /// Requests with a larger number are admitted first; of equal ones, the earlier.
    pub priority: i32,
}

/// What is chosen from, and which ways of writing it as tokens count.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Choices {
    /// Sequences of tokens, such as a tokenizer writes each text: exact.
    ///
    /// A choice's probability is the product of its tokens'. What choices begin with in common is run once, and what
    /// has no branch is run at once.
    Tokens(Vec<Vec<TokenId>>),
    /// Texts in any tokens: sums over all sequences of tokens that spell them, the most probable first.
    ///
    /// Beginnings are continued in the order of their probability. What is open when a limit is met bounds what was
    /// left out: no text can have more than the beginnings that it has in common with what is open.
    Texts {
        /// The texts.
        texts: Vec<String>,
        /// When it is enough.
        limits: AllLimits,
    },
}

impl ChoiceRequest {
    /// A request without an end.
    pub fn new(prompt: impl Into<Vec<TokenId>>, choices: Choices) -> Self {
        Self {
            prompt: prompt.into(),
            choices,
            ends: Vec::new(),
            priority: 0,
        }
    }

    /// Sets the end-of-sequence ids, any of which has to come after the choice.
    #[must_use]
    pub fn with_ends(mut self, ends: impl Into<Vec<TokenId>>) -> Self {
        self.ends = ends.into();
        self
    }

    /// Sets which requests it is admitted before.
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
        let context_length = resources.target.context_length;
        match choices {
            Choices::Tokens(choices) if choices.is_empty() => Err(ChoiceError::NoChoices.into()),
            Choices::Texts { texts, .. } if texts.is_empty() => Err(ChoiceError::NoChoices.into()),
            Choices::Tokens(choices) => {
                let task = Canonical::new(prompt, &choices, ends);
                let needed = task.most_tokens();
                match needed <= context_length {
                    true => Ok(Box::new(task)),
                    false => Err(ModelError::ContextOverflow {
                        needed,
                        context_length,
                    }
                    .into()),
                }
            }
            Choices::Texts { texts, limits } => Ok(Box::new(All::new(
                prompt,
                &texts,
                ends,
                limits,
                context_length,
            ))),
        }
    }
}

impl Choices {
    /// Texts in any tokens, within the limits of the default.
    pub fn texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::Texts {
            texts: texts.into_iter().map(Into::into).collect(),
            limits: AllLimits::default(),
        }
    }
}

/// How probable a choice is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ChoiceProbability {
    /// The natural logarithm of the probability, as far as it was summed: `-inf` for 0.
    pub log_probability: f64,
    /// How much may have been left out of the probability, at most: 0 for tokenizations that are all counted.
    pub left_out: f64,
    /// The probability divided by that of all choices together, different ones counted once; 0 where all of them are 0.
    pub share: f64,
}

impl ChoiceProbability {
    /// The probability, as far as it was summed; the true one is between this and this plus `left_out`.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.log_probability.exp()
    }
}

/// Why there are no probabilities.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// There is nothing to choose from.
    #[error("there is no choice to choose from")]
    NoChoices,
    /// The model's logits are no distribution: none of them is a number above minus infinity.
    #[error("after {tokens} tokens the model gives no token any probability")]
    NoDistribution {
        /// The number of tokens that it had seen, those of the prompt among them.
        tokens: usize,
    },
    /// The request was ended before all probabilities were known.
    #[error("the choices were not all looked at ({reason})")]
    Stopped {
        /// What ended it.
        reason: FinishReason,
    },
}

/// `ln(exp(a) + exp(b))`, without leaving the range of numbers.
fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY {
        high
    } else {
        high + (low - high).exp().ln_1p()
    }
}

/// The logarithm of a sum of numbers given by their logarithms.
fn log_sum(logs: impl IntoIterator<Item = f64>) -> f64 {
    logs.into_iter().fold(f64::NEG_INFINITY, log_add)
}

/// Logits of one position as a distribution.
struct Distribution<'l> {
    logits: &'l [f32],
    max: f64,
    /// The logarithm of what the exponentials of the logits above the largest come to.
    log_total: f64,
}

impl<'l> Distribution<'l> {
    /// The distribution after `tokens` tokens. Logits of plus infinity share everything.
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

    /// A logit less the largest; `-inf` where it is none.
    fn above(&self, id: usize) -> f64 {
        match self.logits.get(id) {
            Some(&logit) if logit.is_nan() => f64::NEG_INFINITY,
            // Infinity less infinity is no number.
            Some(&logit) if f64::from(logit) == self.max => 0.0,
            Some(&logit) => f64::from(logit) - self.max,
            None => f64::NEG_INFINITY,
        }
    }

    /// The logarithm of a token's probability.
    fn log(&self, token: TokenId) -> f64 {
        self.above(token.index()) - self.log_total
    }

    /// The logarithm of the probability that one of some tokens comes.
    fn log_of_any(&self, tokens: &[TokenId]) -> f64 {
        log_sum(tokens.iter().map(|&token| self.log(token)))
    }
}

/// Different choices, sorted, and which of them each choice of the request is.
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

    /// The report of what was found of the sorted choices: the logarithm of each probability, and how much it left out.
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
