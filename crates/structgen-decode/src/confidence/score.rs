//! How probable stretches of an output are.

use std::ops::Range;

use serde::Serialize;

use crate::{GeneratedToken, Generation};

/// How probable a stretch of an output is, under the model alone and under the model and the constraint.
///
/// A token counts in every span of which it has a byte, and counts there as a whole: it is one choice, of which no more
/// is known than its probability. So a token such as `","` between two strings counts in both, for it ended one and
/// began the other, and stretches side by side may count a token twice. What was given as a prefill counts nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct SpanScore {
    /// How many generated tokens have a byte of it.
    pub tokens: usize,
    /// How many of them were forced.
    pub forced: usize,
    /// Under the model alone. Forced tokens count with the probability that the model gave them.
    pub model: Score,
    /// Under the model and the constraint. Forced tokens have probability one, and are left out of the mean.
    pub allowed: Score,
}

/// The log probability of some tokens, natural, at temperature one and before every sampler. Of no tokens it is zero.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Score {
    /// Of all of them together: the sum.
    pub log_prob: f64,
    /// On average.
    pub mean: f64,
    /// Of the least probable one.
    pub lowest: f64,
}

impl Score {
    /// The probability of all tokens together, from 0 to 1.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.log_prob.exp()
    }
}

impl SpanScore {
    /// The logarithm of what the masks left of the probability, all steps multiplied: 0 where they took nothing away.
    #[must_use]
    pub fn log_kept_mass(&self) -> f64 {
        self.model.log_prob - self.allowed.log_prob
    }
}

impl Generation {
    /// How probable the whole output is, its end included where the model chose one; none without
    /// [log probabilities](crate::GenerateOptions::log_probs).
    #[must_use]
    pub fn score(&self) -> Option<SpanScore> {
        let tokens = self.tokens.iter().chain(&self.end);
        let sums: Option<Vec<Sum>> = tokens.map(Sum::of).collect();
        let sum = sums?.into_iter().fold(Sum::default(), Sum::and);
        Some(sum.score())
    }

    /// How probable some bytes of the text are; none without [log probabilities](crate::GenerateOptions::log_probs).
    ///
    /// It fits the spans of captures, too.
    #[must_use]
    pub fn span_score(&self, span: Range<usize>) -> Option<SpanScore> {
        let tokens = &self.tokens[overlapping(&self.tokens, &span)];
        let sums: Option<Vec<Sum>> = tokens.iter().map(Sum::of).collect();
        let sum = sums?.into_iter().fold(Sum::default(), Sum::and);
        Some(sum.score())
    }
}

/// The tokens that have a byte of a span.
fn overlapping(tokens: &[GeneratedToken], span: &Range<usize>) -> Range<usize> {
    let first = tokens.partition_point(|token| token.span.end <= span.start);
    let last = tokens.partition_point(|token| token.span.start < span.end);
    first..last.max(first)
}

/// What tokens add up to.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    tokens: usize,
    forced: usize,
    model: Part,
    allowed: Part,
}

#[derive(Debug, Clone, Copy, Default)]
struct Part {
    sum: f64,
    lowest: f64,
}

impl Part {
    fn of(log_prob: f32) -> Self {
        let sum = f64::from(log_prob);
        Self { sum, lowest: sum }
    }

    fn and(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            lowest: self.lowest.min(other.lowest),
        }
    }

    fn score(self, tokens: usize) -> Score {
        Score {
            log_prob: self.sum,
            mean: match tokens {
                0 => 0.0,
                _ => self.sum / tokens as f64,
            },
            lowest: self.lowest,
        }
    }
}

impl Sum {
    fn of(token: &GeneratedToken) -> Option<Self> {
        let log_probs = token.log_probs?;
        Some(Self {
            tokens: 1,
            forced: usize::from(token.forced),
            model: Part::of(log_probs.model),
            allowed: Part::of(log_probs.allowed),
        })
    }

    fn and(self, other: Self) -> Self {
        Self {
            tokens: self.tokens + other.tokens,
            forced: self.forced + other.forced,
            model: self.model.and(other.model),
            allowed: self.allowed.and(other.allowed),
        }
    }

    fn score(self) -> SpanScore {
        SpanScore {
            tokens: self.tokens,
            forced: self.forced,
            model: self.model.score(self.tokens),
            allowed: self.allowed.score(self.tokens - self.forced),
        }
    }
}

/// The sums of all stretches of tokens: a binary tree of sums, so that values nested deep in others cost a logarithm
/// each.
pub(super) struct Sums<'t> {
    tokens: &'t [GeneratedToken],
    /// Of node `i` those of the nodes `2 i` and `2 i + 1`; the tokens' own are the second half.
    tree: Vec<Sum>,
}

impl<'t> Sums<'t> {
    /// None where a token has no log probabilities.
    pub(super) fn new(tokens: &'t [GeneratedToken]) -> Option<Self> {
        let n = tokens.len();
        let mut tree = vec![Sum::default(); n];
        for token in tokens {
            tree.push(Sum::of(token)?);
        }
        for node in (1..n).rev() {
            tree[node] = tree[2 * node].and(tree[2 * node + 1]);
        }
        Some(Self { tokens, tree })
    }

    pub(super) fn span(&self, span: &Range<usize>) -> SpanScore {
        let n = self.tokens.len();
        let range = overlapping(self.tokens, span);
        let (mut low, mut high) = (range.start + n, range.end + n);
        let (mut left, mut right) = (Sum::default(), Sum::default());
        while low < high {
            if low % 2 == 1 {
                left = left.and(self.tree[low]);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                right = self.tree[high].and(right);
            }
            low /= 2;
            high /= 2;
        }
        left.and(right).score()
    }
}
