//! Look-around.
//!
//! *Look-ahead.* What follows an expression is known when it is lowered: its *continuation*, the set of all that may
//! come after it in the text. A look-ahead for `b` before the continuation `k` is `k & b.*`, a negative one `k &
//! !(b.*)`. So a sequence is lowered from its end, and the result consists of sets. Only a loop that looks around keeps
//! its syntax: it is one expression with its continuation, [`Node::Loop`](super::arena::Node), and is unfolded by one
//! round when it is derived. Its states are boolean combinations of finitely many expressions; in disjunctive normal
//! form, there are finitely many. (Miyazaki and Minamide, "Derivatives of Regular Expressions with Lookahead", 2019,
//! have the same combinations.)
//!
//! *Look-behind.* A look-behind for `b` is an expression of its own, `.*b`, its *tracker*, which is derived along with
//! the set. The look-behind holds at a position if its tracker accepts what was read so far. A set that looks behind is
//! a term with the states of its trackers, [`Node::Tracked`](super::arena::Node); once no tracker can change any more,
//! it is a plain expression again. The start of a text is a look-behind whose tracker is the empty string.

mod continuation;
mod parts;
mod tracked;

use rustc_hash::FxHashMap;

pub(super) use self::parts::{Part, PartId};
use super::arena::NodeId;

/// A look-behind: its index in the list of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Tracker(u8);

impl Tracker {
    /// The maximum number of different look-behinds in one machine.
    pub(super) const MOST: usize = 64;

    pub(super) fn bit(self) -> u64 {
        1 << self.0
    }
}

/// The syntax of look-around, and what was computed from it.
#[derive(Clone, Debug, Default)]
pub(super) struct Looks {
    parts: Vec<Part>,
    facts: Vec<parts::PartFacts>,
    ids: FxHashMap<Part, PartId>,
    /// The start states of trackers. Those that a tracker depends on come before it.
    trackers: Vec<NodeId>,
    /// The set of a part with a continuation; the flag is whether the part has to consume something.
    sets: FxHashMap<(PartId, NodeId, bool), NodeId>,
    /// The set of continuations with which a part matches the empty string.
    empty: FxHashMap<PartId, NodeId>,
    unfolded: FxHashMap<NodeId, NodeId>,
}

impl Looks {
    pub(super) fn len(&self) -> usize {
        self.parts.len() + self.sets.len()
    }
}
