//! How much outputs differ from one another and within themselves.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use structgen_vocab::TokenId;

/// Returns the share of outputs that differ from all before them, from 0 to 1.
pub fn unique_share(outputs: &[Vec<TokenId>]) -> f64 {
    let different: HashSet<&Vec<TokenId>> = outputs.iter().collect();
    share(different.len(), outputs.len())
}

/// Returns distinct-n (Li et al. 2016): the number of different n-grams of tokens in all outputs, divided by the number
/// of all n-grams.
///
/// ```
/// use structgen_lab::diversity::distinct;
/// use structgen_vocab::TokenId;
///
/// let outputs = [vec![TokenId(1), TokenId(2)], vec![TokenId(1), TokenId(3)]];
/// assert_eq!((distinct(&outputs, 1), distinct(&outputs, 2)), (0.75, 1.0));
/// ```
pub fn distinct(outputs: &[Vec<TokenId>], n: usize) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let all = || outputs.iter().flat_map(|output| output.windows(n));
    let different: HashSet<&[TokenId]> = all().collect();
    share(different.len(), all().count())
}

/// Returns the type-token ratio: the number of different tokens of an output divided by the number of all its tokens,
/// averaged over the outputs.
pub fn type_token_ratio(outputs: &[Vec<TokenId>]) -> f64 {
    let ratio = |output: &Vec<TokenId>| {
        let different: HashSet<&TokenId> = output.iter().collect();
        share(different.len(), output.len())
    };
    mean(outputs.iter().map(ratio))
}

/// Returns the mean difference of two outputs: the share of positions at which they have different tokens, or only one
/// has any. The mean is over all pairs; 0 if all outputs are equal.
pub fn mean_pairwise_difference(outputs: &[Vec<TokenId>]) -> f64 {
    let pairs = outputs.iter().enumerate().flat_map(|(i, a)| {
        { outputs[..i].iter() }.map(move |b| {
            let same = a.iter().zip(b).filter(|(a, b)| a == b).count();
            let longest = a.len().max(b.len());
            share(longest - same, longest)
        })
    });
    mean(pairs)
}

/// Returns the most common tokens with counts and shares, most common first. Among equals, lower ids come first.
pub fn most_common(tokens: &[TokenId], most: usize) -> Vec<Common> {
    let mut counts: HashMap<TokenId, usize> = HashMap::new();
    for &token in tokens {
        *counts.entry(token).or_default() += 1;
    }
    let mut common: Vec<(TokenId, usize)> = counts.into_iter().collect();
    common.sort_unstable_by_key(|&(token, count)| (std::cmp::Reverse(count), token));
    common.truncate(most);
    let with_share = |(token, count): (TokenId, usize)| Common {
        id: token.0,
        count,
        share: share(count, tokens.len()),
    };
    common.into_iter().map(with_share).collect()
}

/// A token, and how often it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Common {
    /// The token.
    pub id: u32,
    /// The number of occurrences.
    pub count: usize,
    /// Its share of all tokens.
    pub share: f64,
}

/// Metrics of the outputs under one setting, as compared by a sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diversity {
    /// The number of outputs.
    pub outputs: usize,
    /// The share of outputs that are different.
    pub unique: f64,
    /// Distinct-1, distinct-2 and distinct-3.
    pub distinct: [f64; 3],
    /// The type-token ratio.
    pub type_token_ratio: f64,
    /// The mean difference of two outputs.
    pub difference: f64,
    /// Their fluency: the geometric mean of their tokens' probabilities under the model at temperature 1.
    pub fluency: f64,
}

impl Diversity {
    /// Computes the metrics of outputs with known log probabilities under the model.
    pub fn of(outputs: &[Vec<TokenId>], log_probs: &[f64]) -> Self {
        let fluency = match log_probs {
            [] => 0.0,
            _ => mean(log_probs.iter().copied()).exp(),
        };
        Self {
            outputs: outputs.len(),
            unique: unique_share(outputs),
            distinct: [1, 2, 3].map(|n| distinct(outputs, n)),
            type_token_ratio: type_token_ratio(outputs),
            difference: mean_pairwise_difference(outputs),
            fluency,
        }
    }

    /// Returns the objective of a sweep: distinct-2 times fluency. Equal outputs have little of the former, and noise
    /// has little of the latter.
    pub fn sweetness(&self) -> f64 {
        self.distinct[1] * self.fluency
    }
}

/// Returns the index of the setting with the largest [`sweetness`](Diversity::sweetness), the first among equals.
pub fn sweet_spot(sweep: &[Diversity]) -> Option<usize> {
    { (0..sweep.len()).rev() }
        .max_by(|&a, &b| sweep[a].sweetness().total_cmp(&sweep[b].sweetness()))
}

fn share(part: usize, all: usize) -> f64 {
    match all {
        0 => 0.0,
        _ => part as f64 / all as f64,
    }
}

/// Returns the mean of some numbers; zero if there are none.
pub fn mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = numbers.fold((0.0, 0_usize), |(sum, count), n| (sum + n, count + 1));
    match count {
        0 => 0.0,
        _ => sum / count as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(lists: &[&[u32]]) -> Vec<Vec<TokenId>> {
        let ids = |list: &&[u32]| list.iter().copied().map(TokenId).collect();
        lists.iter().map(ids).collect()
    }

    #[test]
    fn equal_outputs_have_no_diversity_between_them() {
        let same = outputs(&[&[1, 2, 3], &[1, 2, 3], &[1, 2, 3], &[1, 2, 3]]);
        assert_eq!(unique_share(&same), 0.25);
        assert_eq!(mean_pairwise_difference(&same), 0.0);
        assert_eq!([1, 2, 3].map(|n| distinct(&same, n)), [0.25, 0.25, 0.25]);
        assert_eq!(type_token_ratio(&same), 1.0);
    }

    #[test]
    fn lengths_and_positions_count_as_differences() {
        let two = outputs(&[&[1, 2, 3, 4], &[1, 9]]);
        assert_eq!(mean_pairwise_difference(&two), 0.75);
        assert_eq!(mean_pairwise_difference(&outputs(&[&[1]])), 0.0);
        assert_eq!(distinct(&outputs(&[&[1]]), 2), 0.0);
        assert_eq!(distinct(&two, 0), 0.0);
    }

    #[test]
    fn the_most_common_come_first() {
        let tokens = [7, 5, 7, 5, 9].map(TokenId);
        let found = most_common(&tokens, 2);
        assert_eq!(
            found[0],
            Common {
                id: 5,
                count: 2,
                share: 0.4
            }
        );
        assert_eq!(found[1].id, 7);
    }

    #[test]
    fn the_sweet_spot_is_neither_the_same_nor_noise() {
        let same = outputs(&[&[1, 1, 1, 1], &[1, 1, 1, 1]]);
        let good = outputs(&[&[1, 2, 3, 4], &[1, 2, 5, 6]]);
        let noise = outputs(&[&[91, 17, 33, 40], &[15, 82, 57, 61]]);
        let sweep = [
            Diversity::of(&same, &[-0.1]),
            Diversity::of(&good, &[-0.7]),
            Diversity::of(&noise, &[-6.0]),
        ];
        assert_eq!(sweet_spot(&sweep), Some(1));
        assert_eq!(sweet_spot(&[]), None);
    }
}
