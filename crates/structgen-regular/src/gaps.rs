//! Which expressions are words with whitespace between them, so that a token has only a few of their rounds.
//!
//! `(\S+\s+){0,99}\S+` allows a hundred words. Each of its rounds begins with something else than whitespace and has
//! some, so a token with two gaps between words completes at most two rounds of it, however long it is, and may begin a
//! third.

use structgen_grammar::ecma_space;

use super::arena::{Arena, NodeId};
use super::facts::NodeFacts;
use super::finite::FiniteState;

/// Returns whether a character is white space, as ECMA-262 defines it.
///
/// ```
/// assert!(structgen_regular::is_gap('\n') && !structgen_regular::is_gap('a'));
/// ```
#[must_use]
pub fn is_gap(c: char) -> bool {
    ecma_space().any(|(low, high)| low <= c && c <= high)
}

impl Arena {
    /// Returns whether each round of a body begins with something else than whitespace, and has some.
    pub(super) fn has_gaps(&self, body: NodeId) -> bool {
        !self.may_begin_with_gap(body) && !self.may_lack_gap(body)
    }

    pub(super) fn gaps_of_text(&self, bytes: &[u8]) -> NodeFacts {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return NodeFacts::NOTHING;
        };
        NodeFacts {
            may_begin_with_gap: text.starts_with(is_gap),
            may_lack_gap: !text.contains(is_gap),
            ..NodeFacts::NOTHING
        }
    }

    /// The same for a class of characters; other finite sets are not looked into.
    pub(super) fn gaps_of_class(&self, state: FiniteState) -> NodeFacts {
        let Some(class) = self.classes.get(&state) else {
            return NodeFacts::NOTHING;
        };
        let is_gap = |&(low, high): &(char, char)| {
            ecma_space().any(|(first, last)| first <= low && high <= last)
        };
        let has_gap = |&(low, high): &(char, char)| {
            ecma_space().any(|(first, last)| first <= high && low <= last)
        };
        NodeFacts {
            may_begin_with_gap: class.ranges().iter().any(has_gap),
            may_lack_gap: !class.ranges().iter().all(is_gap),
            ..NodeFacts::NOTHING
        }
    }
}
