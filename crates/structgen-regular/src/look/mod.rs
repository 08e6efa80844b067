//! Look-around.
//!
//! *Ahead.* What follows an expression is known when it is lowered: its *continuation*, the set of all that may stand
//! after it in the text. A look-ahead for `b` in front of the continuation `k` is `k & b.*`, a negative one `k &
//! !(b.*)`. So a sequence is lowered from its end, and what remains is made of sets. Only a loop that looks around
//! keeps its syntax: it is one expression with its continuation, [`Node::Loop`](super::arena::Node), and it is unfolded
//! by one round when it is derived. Its states are boolean combinations of finitely many expressions; kept in
//! disjunctive normal form, they are finitely many themselves. (Miyazaki and Minamide, "Derivatives of Regular
//! Expressions with Lookahead", 2019, have the same combinations.)
//!
//! *Behind.* A look-behind for `b` is an expression of its own, `.*b`, that is derived along with the set: its
//! *tracker*. It holds at a place where its tracker accepts what was read so far. A set that looks behind is a term
//! with the states of its trackers, [`Node::Tracked`](super::arena::Node); once no tracker can change its mind any
//! more, it is a plain expression again. The start of a text is a look-behind whose tracker is the empty string.

mod continuation;
mod parts;
mod tracked;

use rustc_hash::FxHashMap;

pub(super) use self::parts::{Part, PartId};
use super::arena::NodeId;

/// A look-behind, by its place in the list of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Tracker(u8);

impl Tracker {
    /// The most different look-behinds in one machine.
    pub(super) const MOST: usize = 64;

    pub(super) fn bit(self) -> u64 {
        1 << self.0
    }
}

/// The syntax that looks around, and what was worked out of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Looks {
    parts: Vec<Part>,
    facts: Vec<parts::PartFacts>,
    ids: FxHashMap<Part, PartId>,
    /// Where the trackers start. Those that a tracker asks come before it.
    trackers: Vec<NodeId>,
    /// A part with a continuation, as a set; the flag says that the part has to consume something.
    sets: FxHashMap<(PartId, NodeId, bool), NodeId>,
    /// Where a part matches the empty string: what has to be still to come.
    empty: FxHashMap<PartId, NodeId>,
    unfolded: FxHashMap<NodeId, NodeId>,
}

impl Looks {
    pub(super) fn len(&self) -> usize {
        self.parts.len() + self.sets.len()
    }
}
