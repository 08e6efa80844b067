//! Masks compared with those of the naive oracle, on real schemas and a real tokenizer.

use std::fmt;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use structgen_constraint::{CompiledConstraint, Matcher, MatcherError, oracle};
use structgen_vocab::{TokenId, TokenMask, Tokenizer};

use crate::{Case, encode_answer};

/// The number of tokens of each kind that are shown of a wrong mask.
const SHOWN: usize = 5;

/// The masks of one case that were compared.
#[derive(Debug, Default)]
pub struct ComparedMasks {
    /// The number of masks.
    pub count: u64,
    /// Those that are not the oracle's.
    pub wrong: Vec<WrongMask>,
    /// The limit that ended the comparison.
    pub error: Option<MatcherError>,
}

/// A mask that is not the oracle's.
#[derive(Clone, Debug)]
pub struct WrongMask {
    /// The text before the mask.
    pub text: String,
    /// Some tokens that only the mask has.
    pub excess: Vec<String>,
    /// Some tokens that only the oracle has.
    pub missing: Vec<String>,
}

/// Compares up to `most` masks of each instance of a case with those of the naive oracle, which tries every token of
/// the vocabulary byte by byte. The places depend on the file's name, the instance and its tokens alone. An instance
/// ends where it is refused.
#[must_use]
pub fn compare_masks(
    constraint: &CompiledConstraint,
    case: &Case,
    tokenizer: &Tokenizer,
    most: usize,
) -> ComparedMasks {
    let mut compared = ComparedMasks::default();
    for (number, instance) in case.instances.iter().enumerate() {
        let Ok(tokens) = encode_answer(tokenizer, &instance.text) else {
            continue;
        };
        // The last mask is the one after all tokens.
        let place = |round: usize| {
            let mut hasher = FxHasher::default();
            (&case.file, number, round).hash(&mut hasher);
            hasher.finish() as usize % (tokens.len() + 1)
        };
        let places: Vec<usize> = (0..most).map(place).collect();
        if let Err(error) = compare_at(constraint, tokenizer, &tokens, &places, &mut compared) {
            compared.error = Some(error);
            break;
        }
    }
    compared
}

/// Compares the masks before these places of an instance.
fn compare_at(
    constraint: &CompiledConstraint,
    tokenizer: &Tokenizer,
    tokens: &[TokenId],
    places: &[usize],
    compared: &mut ComparedMasks,
) -> Result<(), MatcherError> {
    let mut matcher = constraint.matcher();
    for at in 0..=tokens.len() {
        if places.contains(&at) {
            compared.count += 1;
            let wrong = compare(&mut matcher, tokenizer, &tokens[..at])?;
            compared.wrong.extend(wrong);
        }
        match tokens.get(at) {
            Some(&token) if matcher.mask()?.contains(token) => matcher.accept_token(token)?,
            _ => break,
        }
    }
    Ok(())
}

/// Compares the mask of a matcher that has read some tokens.
fn compare(
    matcher: &mut Matcher,
    tokenizer: &Tokenizer,
    read: &[TokenId],
) -> Result<Option<WrongMask>, MatcherError> {
    let mask = matcher.mask()?;
    let naive = oracle::mask(matcher)?;
    if *mask.bits() == naive {
        return Ok(None);
    }
    let text =
        |tokens: &[TokenId]| String::from_utf8_lossy(&tokenizer.decode_bytes(tokens)).into_owned();
    let only_in = |one: &TokenMask, other: &TokenMask| {
        let tokens = one.iter().filter(|&token| !other.contains(token));
        tokens.take(SHOWN).map(|token| text(&[token])).collect()
    };
    Ok(Some(WrongMask {
        text: text(read),
        excess: only_in(mask.bits(), &naive),
        missing: only_in(&naive, mask.bits()),
    }))
}

impl fmt::Display for WrongMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            text,
            excess,
            missing,
        } = self;
        write!(
            f,
            "after {text:?} the mask has {excess:?} in excess and lacks {missing:?}"
        )
    }
}
