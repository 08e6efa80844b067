//! How probable spans of an output are.

use std::ops::Range;

use serde::Serialize;

use super::FieldConfidence;
use crate::events::JsonKind;
use crate::{GeneratedToken, Generation};

/// How probable a span of an output is, under the model alone and under the model with the constraint.
///
/// A token counts for every span that has one of its bytes, and counts there as a whole: it is a single choice, of
/// which only the total probability is known. So a token such as `","` between two strings counts for both, since it
/// ended one and began the other, and adjacent spans may count a token twice. Tokens of the prefill do not count.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct SpanScore {
    /// The number of generated tokens with a byte in the span.
    pub tokens: usize,
    /// How many of them were forced.
    pub forced: usize,
    /// Under the model alone. Forced tokens count with the probability that the model gave them.
    pub model: Score,
    /// Under the model and the constraint. Forced tokens have probability 1, and are excluded from the mean.
    pub allowed: Score,
}

/// The natural log probability of some tokens, at temperature 1 and before all samplers. It is zero for no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Score {
    /// The sum over all tokens.
    pub log_prob: f64,
    /// The mean per token.
    pub mean: f64,
    /// That of the least probable token.
    pub lowest: f64,
}

impl Score {
    /// Returns the probability of all tokens together, from 0 to 1.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.log_prob.exp()
    }
}

impl SpanScore {
    /// Returns the logarithm of the probability mass that the masks kept, multiplied over all steps; 0 if they removed
    /// nothing.
    #[must_use]
    pub fn log_kept_mass(&self) -> f64 {
        self.model.log_prob - self.allowed.log_prob
    }
}

impl Generation {
    /// Returns how probable the whole output is, including its end if the model chose it; `None` without [log
    /// probabilities](crate::GenerateOptions::log_probs).
    #[must_use]
    pub fn score(&self) -> Option<SpanScore> {
        let tokens = self.tokens.iter().chain(&self.end);
        let sums: Option<Vec<Sum>> = tokens.map(Sum::of).collect();
        let sum = sums?.into_iter().fold(Sum::default(), Sum::and);
        Some(sum.score())
    }

    /// Returns how probable some bytes of the text are, such as the span of a capture; `None` without [log
    /// probabilities](crate::GenerateOptions::log_probs).
    #[must_use]
    pub fn span_score(&self, span: Range<usize>) -> Option<SpanScore> {
        let tokens = &self.tokens[overlapping(&self.tokens, &span)];
        let sums: Option<Vec<Sum>> = tokens.iter().map(Sum::of).collect();
        let sum = sums?.into_iter().fold(Sum::default(), Sum::and);
        Some(sum.score())
    }

    /// Returns how probable a field of this output is. For a number this includes the token after it, which decided
    /// that no digit follows.
    #[must_use]
    pub fn field_score(&self, field: &FieldConfidence) -> SpanScore {
        let with_its_end = match field.kind {
            JsonKind::Number => self.span_score(field.span.start..field.span.end + 1),
            _ => None,
        };
        with_its_end.unwrap_or(field.score)
    }
}

/// Returns the tokens with a byte in a span.
fn overlapping(tokens: &[GeneratedToken], span: &Range<usize>) -> Range<usize> {
    let first = tokens.partition_point(|token| token.span.end <= span.start);
    let last = tokens.partition_point(|token| token.span.start < span.end);
    first..last.max(first)
}

/// The running sums over tokens.
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

/// The sums of all ranges of tokens: a binary tree of sums, so that a deeply nested value costs a logarithm.
pub(super) struct Sums<'t> {
    tokens: &'t [GeneratedToken],
    /// Node `i` is the sum of nodes `2 i` and `2 i + 1`; the tokens themselves are the second half.
    tree: Vec<Sum>,
}

impl<'t> Sums<'t> {
    /// Returns `None` if a token has no log probabilities.
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
