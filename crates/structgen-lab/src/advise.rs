//! Finds symptoms in an output, and suggests what to change.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use structgen_vocab::TokenId;

/// Minimum number of tokens in a loop: an ending that repeats over fewer is not a loop yet.
const LOOP_TOKENS: usize = 24;

/// The longest period of a loop to look for.
const LONGEST_PERIOD: usize = 256;

/// Minimum number of tokens for a meaningful mean surprise.
const NONSENSE_TOKENS: usize = 8;

/// Minimum number of tokens per second that does not count as slow.
pub const SLOW: f64 = 5.0;

/// What is known of an output.
#[derive(Debug, Clone, Copy, Default)]
pub struct Observed<'a> {
    /// Its tokens.
    pub tokens: &'a [TokenId],
    /// Whether it ended because of the limit on new tokens.
    pub is_cut_off: bool,
    /// The mean surprise of its tokens under the model, in nats, and the size of the vocabulary, if known.
    pub surprise: Option<(f64, usize)>,
    /// Tokens per second, if known.
    pub speed: Option<f64>,
}

/// What is wrong with an output, or prevented it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Symptom {
    /// Its end repeats itself.
    Loops,
    /// Its tokens surprise the model more than text would.
    Nonsense,
    /// It reached the limit on new tokens.
    CutOff,
    /// It was generated slowly.
    Slow,
    /// There was not enough memory.
    OutOfMemory,
}

impl Symptom {
    /// All symptoms.
    pub const ALL: [Self; 5] = [
        Self::Loops,
        Self::Nonsense,
        Self::CutOff,
        Self::Slow,
        Self::OutOfMemory,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loops => "loops",
            Self::Nonsense => "nonsense",
            Self::CutOff => "cut-off",
            Self::Slow => "slow",
            Self::OutOfMemory => "out-of-memory",
        }
    }

    /// Explains it, and what to change, in a line.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Loops => {
                "the output repeats itself: sample (--temperature 0.7), or add --set repetition_guard=on"
            }
            Self::Nonsense => {
                "the output is improbable under the model: lower --temperature, or add --top-p 0.9"
            }
            Self::CutOff => {
                "the output was cut off: raise --max-tokens, or let the model end it (a stop text, an end in the prompt's format)"
            }
            Self::Slow => {
                "few tokens a second: keep what prompts have in common (--set model.prefix_cache=256), and draft what is forced (--strategy speculate)"
            }
            Self::OutOfMemory => {
                "memory is not enough: use a smaller batch, a shorter context or quantised weights"
            }
        }
    }

    /// Returns the symptoms of an output.
    ///
    /// - It loops if at least its last 24 tokens are a sequence of at most 256 tokens repeated three times.
    /// - It is nonsense if the mean surprise of at least eight tokens exceeds half of that of uniformly random tokens,
    ///   `½ ln(vocabulary)`.
    /// - It is slow below five tokens per second.
    ///
    /// ```
    /// use structgen_lab::advise::{Observed, Symptom};
    /// use structgen_vocab::TokenId;
    ///
    /// let tokens = [1, 2, 3].map(TokenId).repeat(10);
    /// let observed = Observed { tokens: &tokens, ..Observed::default() };
    /// assert_eq!(Symptom::of(&observed), [Symptom::Loops]);
    /// ```
    pub fn of(observed: &Observed<'_>) -> Vec<Self> {
        let is_nonsense = observed.surprise.is_some_and(|(surprise, vocabulary)| {
            let threshold = (vocabulary.max(2) as f64).ln() / 2.0;
            observed.tokens.len() >= NONSENSE_TOKENS && surprise > threshold
        });
        let shown = |symptom: &Self| match symptom {
            Self::Loops => period_at_end(observed.tokens).is_some(),
            Self::Nonsense => is_nonsense,
            Self::CutOff => observed.is_cut_off,
            Self::Slow => observed.speed.is_some_and(|speed| speed < SLOW),
            Self::OutOfMemory => false,
        };
        Self::ALL.into_iter().filter(shown).collect()
    }
}

impl fmt::Display for Symptom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a symptom's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of the symptoms loops, nonsense, cut-off, slow and out-of-memory")]
pub struct UnknownSymptom(pub String);

impl FromStr for Symptom {
    type Err = UnknownSymptom;

    fn from_str(name: &str) -> Result<Self, UnknownSymptom> {
        let found = Self::ALL.into_iter().find(|symptom| symptom.name() == name);
        found.ok_or_else(|| UnknownSymptom(name.to_owned()))
    }
}

/// Returns the length of the shortest sequence that the tokens end with three times in a row, over at least 24 tokens.
pub fn period_at_end(tokens: &[TokenId]) -> Option<usize> {
    (1..=LONGEST_PERIOD).find(|&period| {
        let needed = (3 * period).max(LOOP_TOKENS);
        let Some(start) = tokens.len().checked_sub(needed) else {
            return false;
        };
        let end = &tokens[start..];
        end[period..] == end[..needed - period]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(tokens: impl IntoIterator<Item = u32>) -> Vec<TokenId> {
        tokens.into_iter().map(TokenId).collect()
    }

    #[test]
    fn loops_are_found_at_the_end_and_nowhere_else() {
        let mut tokens = ids(0..30);
        assert_eq!(period_at_end(&tokens), None);
        tokens.extend(ids([7, 8, 9]).repeat(8));
        assert_eq!(period_at_end(&tokens), Some(3));
        tokens.push(TokenId(1));
        assert_eq!(period_at_end(&tokens), None);
        assert_eq!(period_at_end(&ids([4; 23])), None);
        assert_eq!(period_at_end(&ids([4; 24])), Some(1));
        // A list of similar objects repeats its keys, but is not a loop.
        let list: Vec<TokenId> = (0..20).flat_map(|i| ids([1, 2, 3, 100 + i, 4])).collect();
        assert_eq!(period_at_end(&list), None);
    }

    #[test]
    fn each_symptom_has_its_sign_and_its_advice() {
        let tokens = ids(0..40);
        let observed = Observed {
            tokens: &tokens,
            is_cut_off: true,
            surprise: Some((6.0, 50_000)),
            speed: Some(1.0),
        };
        let found = Symptom::of(&observed);
        assert_eq!(found, [Symptom::Nonsense, Symptom::CutOff, Symptom::Slow]);
        let fine = Observed {
            surprise: Some((3.0, 50_000)),
            speed: Some(100.0),
            is_cut_off: false,
            ..observed
        };
        assert!(Symptom::of(&fine).is_empty());
        for symptom in Symptom::ALL {
            assert_eq!(symptom.name().parse(), Ok(symptom));
            assert!(!symptom.advice().contains('\n'));
        }
    }
}
