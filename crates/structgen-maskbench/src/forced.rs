//! How many tokens of valid instances need no model, because the constraint leaves no choice.

use serde::Serialize;
use structgen_constraint::{CompiledConstraint, Matcher, MatcherError};
use structgen_vocab::{TokenId, Tokenizer};

use crate::Case;

/// The most bytes of forced text that are looked at from one position.
const MOST: usize = 4096;

/// What forcing saves over the accepted valid instances: tokens for which no model has to run.
///
/// An instance is encoded as a whole, which gives its tokens `t[0], t[1], …`; the matcher is led along these. There are
/// two kinds of forcing, counted independently of each other.
///
/// **Exact**: `t[i]` is the only token in the mask before it. Nothing a model could have written is lost.
///
/// **Canonical jump-forward**: at position `i`, starting from 0,
/// 1. `f` is the forced text after `t[..i]` ([`Matcher::forced_text`]), at most 4096 bytes of it, and without the last
///    bytes if they do not complete a character. If it is empty, nothing is saved.
/// 2. The text of `t[..i]` with `f` after it is encoded. If this does not start with `t[..i]`, nothing is saved. Let
///    `c[i], c[i + 1], …` be its further tokens.
/// 3. For `j = i, i + 1, …`: it ends if the mask after `c[..j]` has a token that is longer than what is left of `f`
///    there, because what is not known yet could then belong to the token, or if `c[j]` is longer than that or missing.
///    Else `c[j]` is **saved** if it is `t[j]`. If it is not, it **differs**, and this ends it, too: the output would
///    have had the same text in other tokens.
/// 4. It goes on at position `i + s + 1`, where `s` are the tokens saved: the token after them is the model's.
///
/// So it saves the tokens that a model would mostly write, and takes from the model the choice of another tokenisation
/// of the same text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForcedCounts {
    /// The valid instances that were accepted. No others are counted, nor is one for which a limit is exceeded. Where
    /// the tokenizer puts a space before a text (SentencePiece's), a constraint has to take that, too.
    pub instances: u64,
    /// Their tokens, end-of-sequence not counted.
    pub tokens: u64,
    /// The tokens that exact forcing saves.
    pub exact: u64,
    /// The tokens that canonical jump-forward saves.
    pub jumped: u64,
    /// The positions at which it saves at least one.
    pub jumps: u64,
    /// The positions at which it would have written a token that is not the instance's.
    pub differing: u64,
}

impl ForcedCounts {
    /// Adds the counts of other instances.
    pub fn add(&mut self, other: &Self) {
        self.instances += other.instances;
        self.tokens += other.tokens;
        self.exact += other.exact;
        self.jumped += other.jumped;
        self.jumps += other.jumps;
        self.differing += other.differing;
    }
}

/// Counts what forcing saves over the valid instances of a case that the constraint of its schema accepts.
///
/// The constraint's masks are computed and kept by this, so times are to be measured before, or on another one.
#[must_use]
pub fn count_forced(
    constraint: &CompiledConstraint,
    case: &Case,
    tokenizer: &Tokenizer,
) -> ForcedCounts {
    let mut counts = ForcedCounts::default();
    for instance in case.instances.iter().filter(|instance| instance.is_valid) {
        let Ok(tokens) = tokenizer.encode(&instance.text) else {
            continue;
        };
        let reference = Reference::new(&instance.text, &tokens, tokenizer);
        if let Ok(Some(of_instance)) = reference.count(constraint) {
            counts.add(&of_instance);
        }
    }
    counts
}

/// An instance as the tokenizer writes it.
struct Reference<'a> {
    tokenizer: &'a Tokenizer,
    tokens: &'a [TokenId],
    /// The bytes of the tokens, one after the other.
    bytes: Vec<u8>,
    /// How many bytes the tokenizer puts before a text: some put a space.
    lead: usize,
}

impl<'a> Reference<'a> {
    fn new(text: &str, tokens: &'a [TokenId], tokenizer: &'a Tokenizer) -> Self {
        let bytes = tokenizer.decode_bytes(tokens);
        let lead = if bytes.ends_with(text.as_bytes()) {
            bytes.len() - text.len()
        } else {
            0
        };
        Self {
            tokenizer,
            tokens,
            bytes,
            lead,
        }
    }

    /// `None` if it is not accepted.
    fn count(&self, constraint: &CompiledConstraint) -> Result<Option<ForcedCounts>, MatcherError> {
        let mut counts = ForcedCounts {
            instances: 1,
            tokens: self.tokens.len() as u64,
            ..ForcedCounts::default()
        };
        let mut matcher = constraint.matcher();
        let mut offset = 0;
        // Until here, the tokens are saved by a jump or the model's.
        let mut passed = 0;
        for (i, &token) in self.tokens.iter().enumerate() {
            if !matcher.mask()?.contains(token) {
                return Ok(None);
            }
            counts.exact += u64::from(matcher.forced_token()?.is_some());
            if i == passed {
                let jump = self.jump(&mut matcher, i, offset)?;
                counts.jumped += jump.saved as u64;
                counts.jumps += u64::from(jump.saved > 0);
                counts.differing += u64::from(jump.differs);
                passed += jump.saved + 1;
            }
            matcher.accept_token(token)?;
            offset += self.length(token);
        }
        Ok(matcher.is_accepting().then_some(counts))
    }

    /// What is saved at position `i`, which is `offset` bytes after the start. The matcher is there, and stays there.
    fn jump(&self, matcher: &mut Matcher, i: usize, offset: usize) -> Result<Jump, MatcherError> {
        let mut jump = Jump::default();
        let forced = matcher.forced_text(MOST)?;
        // Mostly the first mask says that nothing is certain, and encoding is spared.
        if forced.is_empty() || self.may_be_longer(matcher, forced.len())? {
            return Ok(jump);
        }
        let mut whole = self.bytes[..offset].to_vec();
        whole.extend_from_slice(&forced);
        let text = whole.get(self.lead..).unwrap_or_default();
        let text = match std::str::from_utf8(text) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default(),
        };
        let mut left = (self.lead + text.len()).saturating_sub(offset);
        let Ok(canonical) = self.tokenizer.encode(text) else {
            return Ok(jump);
        };
        if !canonical.starts_with(&self.tokens[..i]) {
            return Ok(jump);
        }
        let mut matcher = matcher.clone();
        for (j, &token) in canonical.iter().enumerate().skip(i) {
            let length = self.length(token);
            if length > left || self.may_be_longer(&mut matcher, left)? {
                break;
            }
            if self.tokens.get(j) != Some(&token) {
                jump.differs = true;
                break;
            }
            matcher.accept_token(token)?;
            jump.saved += 1;
            left -= length;
        }
        Ok(jump)
    }

    /// Whether a token longer than so many bytes may come next.
    fn may_be_longer(&self, matcher: &mut Matcher, left: usize) -> Result<bool, MatcherError> {
        if left >= self.tokenizer.vocabulary().max_token_len() {
            return Ok(false);
        }
        let mask = matcher.mask()?;
        let is_longer = |token| self.length(token) > left;
        Ok(match mask.list() {
            Some(list) => list.iter().copied().any(is_longer),
            None => mask.bits().iter().any(is_longer),
        })
    }

    fn length(&self, token: TokenId) -> usize {
        let bytes = self.tokenizer.vocabulary().token_bytes(token);
        bytes.map_or(0, <[u8]>::len)
    }
}

#[derive(Default)]
struct Jump {
    saved: usize,
    differs: bool,
}

#[cfg(test)]
mod tests;
