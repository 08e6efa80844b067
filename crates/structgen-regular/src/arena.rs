//! The arena of expressions: equal expressions are one node, with its derived data.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use structgen_grammar::CharSet;
use structgen_grammar::keyed::KeyedMap;

use super::counted::Skeleton;
use super::facts::NodeFacts;
use super::finite::{FiniteState, FiniteStates};
use super::look::{Looks, PartId, Tracker};
use crate::Lookahead;
use crate::limit::MOST_WORK;

/// The id of an expression: its index in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NodeId(pub(super) u32);

/// An expression: a set of byte strings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// No string.
    Never,
    /// The empty string.
    Empty,
    /// Every byte string, UTF-8 or not.
    AllBytes,
    /// Some text that starts only after more characters than an abstraction looks ahead; see [`super::abstraction`].
    Beyond,
    /// A literal from byte `offset` on; never empty.
    Literal { literal: u32, offset: u32 },
    /// A state of the automaton of finite sets, other than that of the empty string.
    Finite(FiniteState),
    /// A concatenation; the first part is not a concatenation itself.
    Concat(NodeId, NodeId),
    /// Sorted, without duplicates, at least two, none of them a union.
    Union(Arc<[NodeId]>),
    /// Sorted, without duplicates, at least two, none of them an intersection.
    Intersection(Arc<[NodeId]>),
    /// Every byte string that is not in the body.
    Not(NodeId),
    /// A counter. If the body contains the empty string, `min` is zero.
    Repeat {
        body: NodeId,
        min: u32,
        max: Option<u32>,
    },
    /// The rest, if a tracker accepts (or, if negated, does not accept) its look-behind here. Its strings depend on the
    /// position, see [`super::look`].
    Behind {
        tracker: Tracker,
        negated: bool,
        rest: NodeId,
    },
    /// A counter whose body looks around, and everything after it.
    Loop {
        body: PartId,
        min: u32,
        max: Option<u32>,
        rest: NodeId,
        /// The set of continuations with which the body matches the empty string.
        empty: NodeId,
    },
    /// A set that looks behind, with the states of the trackers that it depends on, sorted.
    Tracked {
        term: NodeId,
        trackers: Arc<[(Tracker, NodeId)]>,
    },
}

/// All expressions of a machine.
#[derive(Clone, Debug)]
pub(super) struct Arena {
    nodes: Vec<Node>,
    facts: Vec<NodeFacts>,
    skeletons: Vec<Skeleton>,
    /// By what the first factor repeats, and the skeleton of what follows.
    skeleton_ids: FxHashMap<(NodeId, Option<Skeleton>), Skeleton>,
    ids: FxHashMap<Node, NodeId>,
    pub(super) finite: FiniteStates,
    /// The sets of characters so far.
    pub(super) characters: FxHashMap<CharSet, FiniteState>,
    /// The same, by state.
    pub(super) classes: FxHashMap<FiniteState, CharSet>,
    literals: Vec<Literal>,
    literal_ids: KeyedMap<Arc<[u8]>, u32>,
    /// The set of all UTF-8 texts, once it is known.
    any_text: Option<NodeId>,
    /// The set of all characters, once it is known.
    every_char: Option<NodeId>,
    /// The abstractions so far, by expression and lookahead; see [`super::abstraction`].
    pub(super) abstracted: FxHashMap<(NodeId, Lookahead), NodeId>,
    /// The supersets without counters so far, by expression; see [`super::relaxed`].
    pub(super) relaxed: FxHashMap<NodeId, NodeId>,
    /// The number of operands of all nodes, which the limit on expressions includes.
    operands: usize,
    pub(super) looks: Looks,
    /// The work so far: expressions and operands that were looked at.
    pub(super) work: u64,
    /// The work at which an operation gives up.
    pub(super) most_work: u64,
    /// The size at which expressions are no longer unfolded.
    pub(super) most_size: usize,
    /// Whether an expression is wrong because it could not be unfolded.
    pub(super) is_broken: bool,
}

#[derive(Clone, Debug)]
struct Literal {
    bytes: Arc<[u8]>,
    utf8: bool,
}

impl Arena {
    pub(super) const NEVER: NodeId = NodeId(0);
    pub(super) const EMPTY: NodeId = NodeId(1);
    pub(super) const ALL_BYTES: NodeId = NodeId(2);
    pub(super) const BEYOND: NodeId = NodeId(3);

    pub(super) fn new() -> Self {
        let mut arena = Self {
            nodes: Vec::new(),
            facts: Vec::new(),
            skeletons: Vec::new(),
            skeleton_ids: FxHashMap::default(),
            ids: FxHashMap::default(),
            finite: FiniteStates::new(),
            characters: FxHashMap::default(),
            classes: FxHashMap::default(),
            literals: Vec::new(),
            literal_ids: KeyedMap::default(),
            any_text: None,
            every_char: None,
            abstracted: FxHashMap::default(),
            relaxed: FxHashMap::default(),
            operands: 0,
            looks: Looks::default(),
            work: 0,
            most_work: MOST_WORK,
            most_size: usize::MAX,
            is_broken: false,
        };
        arena.intern(Node::Never);
        arena.intern(Node::Empty);
        arena.intern(Node::AllBytes);
        arena.intern(Node::Beyond);
        arena
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Returns the number of nodes.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns what the limit on expressions counts: nodes, their operands and the states of finite sets.
    pub(super) fn size(&self) -> usize {
        self.nodes.len() + self.operands + self.finite.len() + self.looks.len()
    }

    pub(super) fn nullable(&self, id: NodeId) -> bool {
        self.facts[id.0 as usize].nullable
    }

    /// See [`NodeFacts::witness`].
    pub(super) fn witness(&self, id: NodeId) -> Option<u32> {
        self.facts[id.0 as usize].witness
    }

    /// Returns the trackers on which the strings of the expression depend, as bits.
    pub(super) fn asks(&self, id: NodeId) -> u64 {
        self.facts[id.0 as usize].asks
    }

    /// Returns whether the expression contains a loop that looks around.
    pub(super) fn loops(&self, id: NodeId) -> bool {
        self.facts[id.0 as usize].loops
    }

    /// Returns a lower bound on the length of its strings.
    pub(super) fn least(&self, id: NodeId) -> u32 {
        self.facts[id.0 as usize].least
    }

    /// Returns an upper bound on the length of its strings.
    pub(super) fn most(&self, id: NodeId) -> u32 {
        self.facts[id.0 as usize].most
    }

    /// See [`NodeFacts::distance`].
    pub(super) fn distance(&self, id: NodeId) -> u32 {
        self.facts[id.0 as usize].distance
    }

    /// Returns whether the expression contains a counter that no short token exhausts.
    pub(super) fn has_long_counters(&self, id: NodeId) -> bool {
        self.facts[id.0 as usize].counts
    }

    /// See [`NodeFacts::may_begin_with_gap`].
    pub(super) fn may_begin_with_gap(&self, id: NodeId) -> bool {
        self.facts[id.0 as usize].may_begin_with_gap
    }

    /// See [`NodeFacts::may_lack_gap`].
    pub(super) fn may_lack_gap(&self, id: NodeId) -> bool {
        self.facts[id.0 as usize].may_lack_gap
    }

    /// Returns a lower bound on the number of characters of its strings.
    pub(super) fn fewest(&self, id: NodeId) -> u32 {
        self.facts[id.0 as usize].fewest
    }

    /// See [`NodeFacts::tail`].
    pub(super) fn tail(&self, id: NodeId) -> u32 {
        self.facts[id.0 as usize].tail
    }

    /// Returns whether the expression contains a counter whose rounds may be longer than a character.
    pub(super) fn counts_rounds(&self, id: NodeId) -> bool {
        self.facts[id.0 as usize].rounds
    }

    /// Returns the expression without the ranges of its counters; see [`super::counted`].
    pub(super) fn skeleton(&self, id: NodeId) -> Skeleton {
        self.skeletons[id.0 as usize]
    }

    pub(super) fn utf8(&self, id: NodeId) -> bool {
        self.facts[id.0 as usize].utf8
    }

    /// Returns the rest of a literal.
    pub(super) fn literal_bytes(&self, literal: u32, offset: u32) -> &[u8] {
        &self.literals[literal as usize].bytes[offset as usize..]
    }

    /// Returns whether the whole literal is UTF-8.
    pub(super) fn is_utf8_literal(&self, literal: u32) -> bool {
        self.literals[literal as usize].utf8
    }

    /// Returns a literal from byte `offset` on.
    pub(super) fn literal_tail(&mut self, literal: u32, offset: u32) -> NodeId {
        if self.literals[literal as usize].bytes.len() <= offset as usize {
            Self::EMPTY
        } else {
            self.intern(Node::Literal { literal, offset })
        }
    }

    pub(super) fn literal(&mut self, bytes: &Arc<[u8]>) -> NodeId {
        let literal = match self.literal_ids.get(bytes) {
            Some(&literal) => literal,
            None => {
                let literal = u32::try_from(self.literals.len()).unwrap_or(u32::MAX);
                self.literals.push(Literal {
                    bytes: Arc::clone(bytes),
                    utf8: std::str::from_utf8(bytes).is_ok(),
                });
                self.literal_ids.insert(Arc::clone(bytes), literal);
                literal
            }
        };
        self.literal_tail(literal, 0)
    }

    pub(super) fn finite(&mut self, state: FiniteState) -> NodeId {
        if state == FiniteStates::EMPTY {
            Self::EMPTY
        } else {
            self.intern(Node::Finite(state))
        }
    }

    /// Sets the expression for all UTF-8 texts; unions drop their other arms if it is one of them.
    pub(super) fn set_any_text(&mut self, id: NodeId) {
        self.any_text = Some(id);
    }

    pub(super) fn set_every_char(&mut self, id: NodeId) {
        self.every_char = Some(id);
    }

    pub(super) fn known_every_char(&self) -> Option<NodeId> {
        self.every_char
    }

    pub(super) fn any_text(&self) -> Option<NodeId> {
        self.any_text
    }

    /// Returns whether anything other than a literal may follow.
    pub(super) fn has_classes(&self, id: NodeId) -> bool {
        !matches!(
            self.node(id),
            Node::Never | Node::Empty | Node::Literal { .. }
        )
    }

    /// Returns the bytes with which the strings begin as runs, where that takes no computation.
    pub(super) fn first(&self, id: NodeId) -> Option<Vec<(u8, u8)>> {
        match *self.node(id) {
            Node::Never | Node::Empty => Some(Vec::new()),
            Node::Literal { literal, offset } => {
                let byte = *self.literal_bytes(literal, offset).first()?;
                Some(vec![(byte, byte)])
            }
            Node::Finite(state) => {
                let transitions = self.finite.transitions(state).iter();
                Some(transitions.map(|it| (it.low, it.high)).collect())
            }
            Node::Concat(first, _) if !self.nullable(first) => self.first(first),
            _ => None,
        }
    }

    /// Returns whether the operation in progress has done too much work.
    pub(super) fn is_tired(&self) -> bool {
        self.work > self.most_work
    }

    pub(super) fn intern(&mut self, node: Node) -> NodeId {
        let operands = match &node {
            Node::Union(arms) | Node::Intersection(arms) => arms.len(),
            _ => 0,
        };
        self.work += 1 + operands as u64;
        if let Some(&id) = self.ids.get(&node) {
            return id;
        }
        let facts = self.facts_of(&node);
        self.operands += operands;
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.ids.insert(node.clone(), id);
        self.nodes.push(node);
        self.facts.push(facts);
        let (first, rest) = match self.node(id) {
            Node::Concat(first, rest) => (*first, Some(self.skeleton(*rest))),
            _ => (id, None),
        };
        let next = Skeleton(self.skeleton_ids.len() as u32);
        let skeleton = (self.rounds(first).0, rest);
        let skeleton = *self.skeleton_ids.entry(skeleton).or_insert(next);
        self.skeletons.push(skeleton);
        id
    }

    /// Returns whether no text within `lookahead` is longer than `rounds` rounds of the body.
    pub(super) fn is_beyond(&self, body: NodeId, rounds: u32, lookahead: Lookahead) -> bool {
        let Lookahead { characters, gaps } = lookahead;
        // Each round of words has a gap of its own.
        self.fewest(body).max(1).saturating_mul(rounds) >= characters
            || rounds > gaps && self.has_gaps(body)
    }
}
