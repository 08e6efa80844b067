//! How probable each of some texts is behind a prompt.
//!
//! A text is written as tokens in many ways. [`canonical`] asks for the one way in which the tokenizer writes it, and is exact; [`all`] sums over
//! all ways, the most probable first, and says how much it may have left out.

mod all;
mod canonical;
#[cfg(test)]
mod tests;

use structgen_vocab::TokenId;

use crate::{Forward, KeyValueCache, LanguageModel, ModelError};
pub use all::{AllLimits, all};
pub use canonical::canonical;

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
pub enum ChooseError {
    /// There is no token to run the model on.
    #[error("the prompt is empty: the model needs at least one token, such as its start token")]
    EmptyPrompt,
    /// There is nothing to choose from.
    #[error("there is no choice to choose from")]
    NoChoices,
    /// The model's logits are no distribution: none of them is a number above minus infinity.
    #[error("behind {tokens} tokens the model gives no token any probability")]
    NoDistribution {
        /// How many tokens it had seen, those of the prompt among them.
        tokens: usize,
    },
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
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
    /// `None` where no logit is a number above minus infinity. Logits of plus infinity share everything.
    fn new(logits: &'l [f32]) -> Option<Self> {
        let numbers = logits.iter().copied().filter(|logit| !logit.is_nan());
        let max = f64::from(numbers.fold(f32::NEG_INFINITY, f32::max));
        if max == f64::NEG_INFINITY {
            return None;
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
        Some(distribution)
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

/// A model with a cache, brought behind one sequence of tokens after another.
struct Runner<'m, M: LanguageModel> {
    model: &'m mut M,
    cache: M::Cache,
    /// The tokens in the cache.
    tokens: Vec<TokenId>,
}

impl<'m, M: LanguageModel> Runner<'m, M> {
    fn new(model: &'m mut M) -> Result<Self, ModelError> {
        let cache = model.new_cache(&[0])?;
        Ok(Self {
            model,
            cache,
            tokens: Vec::new(),
        })
    }

    /// Forgets all but the first tokens.
    fn truncate(&mut self, len: usize) -> Result<(), ModelError> {
        if len < self.tokens.len() {
            self.cache.truncate(len)?;
            self.tokens.truncate(len);
        }
        Ok(())
    }

    /// Runs tokens, and hands out the distribution behind each of them.
    fn run(
        &mut self,
        tokens: &[TokenId],
        mut each: impl FnMut(usize, Distribution<'_>),
    ) -> Result<(), ChooseError> {
        /// Of how many positions logits are asked for at once.
        const POSITIONS: usize = 32;
        let mut done = 0;
        for tokens in tokens.chunks(POSITIONS) {
            let input = Forward::new(tokens, tokens.len());
            let logits = self.model.forward(input, &mut self.cache)?;
            let begun = self.tokens.len();
            self.tokens.extend_from_slice(tokens);
            for position in 0..tokens.len() {
                let distribution = Distribution::new(logits.row(0, position));
                let tokens = begun + position + 1;
                each(
                    done + position,
                    distribution.ok_or(ChooseError::NoDistribution { tokens })?,
                );
            }
            done += tokens.len();
        }
        Ok(())
    }

    /// Brings the model behind some tokens, of which it runs those that the cache does not have; hands out the distribution there.
    fn behind<T>(
        &mut self,
        tokens: &[TokenId],
        last: impl FnOnce(Distribution<'_>) -> T,
    ) -> Result<T, ChooseError> {
        let pairs = self.tokens.iter().zip(tokens);
        let known = pairs.take_while(|(own, other)| own == other).count();
        // The last one is run again, for its logits.
        let known = known.min(tokens.len().saturating_sub(1));
        self.truncate(known)?;
        let input = Forward::last(&tokens[known..]);
        let logits = self.model.forward(input, &mut self.cache)?;
        self.tokens.extend_from_slice(&tokens[known..]);
        let distribution = Distribution::new(logits.row(0, 0));
        let tokens = self.tokens.len();
        Ok(last(
            distribution.ok_or(ChooseError::NoDistribution { tokens })?,
        ))
    }
}

/// What the logarithms of the probabilities of different choices come to, each with how much it left out.
fn shares(found: &[(f64, f64)]) -> Vec<ChoiceProbability> {
    let all = log_sum(found.iter().map(|&(log, _)| log));
    let found = found
        .iter()
        .map(|&(log_probability, left_out)| ChoiceProbability {
            log_probability,
            left_out,
            share: if all == f64::NEG_INFINITY {
                0.0
            } else {
                (log_probability - all).exp()
            },
        });
    found.collect()
}

/// Sorts things without duplicates; by thing, its place among the sorted ones.
fn distinct<T: Ord>(things: &[T]) -> (Vec<&T>, Vec<usize>) {
    let mut sorted: Vec<&T> = things.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let places = things.iter().map(|thing| {
        let place = sorted.binary_search(&thing);
        place.unwrap_or_else(|place| place)
    });
    let places = places.collect();
    (sorted, places)
}
