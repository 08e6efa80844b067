//! The arena of expressions: equal expressions are one node, with its derived data.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use structgen_grammar::CharSet;

use super::counted::Skeleton;
use super::finite::{FiniteState, FiniteStates};
use super::look::{Looks, PartId, Tracker};
use crate::SHORT_TEXT;
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

/// Data derived from the parts of an expression.
#[derive(Clone, Copy, Debug)]
struct NodeFacts {
    /// Whether it contains the empty string; if that depends on trackers, whether it does in any case.
    nullable: bool,
    /// Whether it is known to contain only UTF-8 texts.
    utf8: bool,
    /// The length of a string in the set, if the structure shows one. Without complements and intersections it is
    /// exact; otherwise it is that of a string of the parts without them. Sums saturate.
    witness: Option<u32>,
    /// A lower and an upper bound on the length of its strings; `u32::MAX` if there is no upper bound.
    least: u32,
    most: u32,
    /// The approximate distance to the end of everything that must be matched, a heuristic for searches for a
    /// completion.
    distance: u32,
    /// The trackers on which its strings depend, as bits.
    asks: u64,
    /// Whether it contains a loop that looks around. Then the normal form is the disjunctive one.
    loops: bool,
    /// Whether it contains a counter that no short token exhausts.
    counts: bool,
    /// A lower bound on the number of characters of its strings.
    fewest: u32,
    /// An upper bound on the length of some completion after any prefix; `u32::MAX` if none is known.
    tail: u32,
    /// Whether it contains a counter whose rounds may be longer than a character.
    rounds: bool,
}

/// The maximum number of bytes of a character.
const MAX_UTF8: u32 = 4;

impl NodeFacts {
    const NOTHING: Self = Self {
        nullable: false,
        utf8: false,
        witness: None,
        least: 0,
        most: u32::MAX,
        distance: 0,
        asks: 0,
        loops: false,
        counts: false,
        fewest: 0,
        tail: u32::MAX,
        rounds: false,
    };

    /// Sets the length of all strings.
    fn long(self, length: u32) -> Self {
        Self {
            witness: Some(length),
            least: length,
            distance: length,
            ..self
        }
    }
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
    literals: Vec<Literal>,
    literal_ids: FxHashMap<Arc<[u8]>, u32>,
    /// The set of all UTF-8 texts, once it is known.
    any_text: Option<NodeId>,
    /// The set of all characters, once it is known.
    every_char: Option<NodeId>,
    /// The abstractions so far, by expression and lookahead; see [`super::abstraction`].
    pub(super) abstracted: FxHashMap<(NodeId, u32), NodeId>,
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
            literals: Vec::new(),
            literal_ids: FxHashMap::default(),
            any_text: None,
            every_char: None,
            abstracted: FxHashMap::default(),
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

    fn facts_of(&self, node: &Node) -> NodeFacts {
        match *node {
            Node::Never => NodeFacts {
                utf8: true,
                least: u32::MAX,
                most: 0,
                distance: u32::MAX,
                tail: 0,
                ..NodeFacts::NOTHING
            },
            Node::Beyond => NodeFacts {
                utf8: true,
                witness: Some(0),
                least: u32::MAX,
                fewest: u32::MAX,
                ..NodeFacts::NOTHING
            },
            Node::Empty => NodeFacts {
                nullable: true,
                utf8: true,
                witness: Some(0),
                most: 0,
                tail: 0,
                ..NodeFacts::NOTHING
            },
            Node::AllBytes => NodeFacts {
                nullable: true,
                witness: Some(0),
                tail: 0,
                ..NodeFacts::NOTHING
            },
            Node::Literal { literal, offset } => {
                let whole = &self.literals[literal as usize];
                let rest = &whole.bytes[offset as usize..];
                let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
                NodeFacts {
                    // A continuation byte at the front is within a character.
                    utf8: whole.utf8 && rest[0] & 0xC0 != 0x80,
                    most: length,
                    fewest: rest.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u32,
                    tail: length,
                    ..NodeFacts::NOTHING.long(length)
                }
            }
            Node::Finite(state) => NodeFacts {
                nullable: self.finite.accepts(state),
                utf8: self.finite.is_utf8(state),
                most: self.finite.longest(state),
                fewest: u32::from(self.finite.is_utf8(state) && !self.finite.accepts(state)),
                tail: self.finite.longest(state),
                ..NodeFacts::NOTHING.long(self.finite.shortest(state))
            },
            Node::Concat(first, rest) => NodeFacts {
                nullable: self.nullable(first) && self.nullable(rest),
                utf8: self.utf8(first) && self.utf8(rest),
                witness: self
                    .witness(first)
                    .zip(self.witness(rest))
                    .map(|(first, rest)| first.saturating_add(rest)),
                least: self.least(first).saturating_add(self.least(rest)),
                most: self.most(first).saturating_add(self.most(rest)),
                distance: self.distance(first).saturating_add(self.distance(rest)),
                asks: self.asks(first) | self.asks(rest),
                loops: self.loops(first) || self.loops(rest),
                counts: self.has_long_counters(first) || self.has_long_counters(rest),
                fewest: self.fewest(first).saturating_add(self.fewest(rest)),
                tail: self
                    .tail_before(first, self.witness(rest))
                    .max(self.tail(rest)),
                rounds: self.counts_rounds(first) || self.counts_rounds(rest),
            },
            Node::Union(ref arms) => NodeFacts {
                nullable: arms.iter().any(|&arm| self.nullable(arm)),
                utf8: arms.iter().all(|&arm| self.utf8(arm)),
                witness: arms.iter().filter_map(|&arm| self.witness(arm)).min(),
                least: arms.iter().map(|&arm| self.least(arm)).min().unwrap_or(0),
                most: arms
                    .iter()
                    .map(|&arm| self.most(arm))
                    .max()
                    .unwrap_or(u32::MAX),
                distance: arms
                    .iter()
                    .map(|&arm| self.distance(arm))
                    .min()
                    .unwrap_or(0),
                fewest: arms.iter().map(|&arm| self.fewest(arm)).min().unwrap_or(0),
                tail: arms.iter().map(|&arm| self.tail(arm)).max().unwrap_or(0),
                ..self.any_of(arms)
            },
            Node::Intersection(ref arms) => {
                let nullable = arms.iter().all(|&arm| self.nullable(arm));
                NodeFacts {
                    nullable,
                    utf8: arms.iter().any(|&arm| self.utf8(arm)),
                    witness: nullable.then_some(0),
                    least: arms.iter().map(|&arm| self.least(arm)).max().unwrap_or(0),
                    most: arms
                        .iter()
                        .map(|&arm| self.most(arm))
                        .min()
                        .unwrap_or(u32::MAX),
                    distance: arms
                        .iter()
                        .fold(0, |sum: u32, &arm| sum.saturating_add(self.distance(arm))),
                    ..self.any_of(arms)
                }
            }
            Node::Not(body) => {
                let nullable = self.asks(body) == 0 && !self.nullable(body);
                NodeFacts {
                    nullable,
                    utf8: false,
                    witness: nullable.then_some(0),
                    least: u32::from(self.nullable(body)),
                    distance: u32::from(self.nullable(body)),
                    ..self.any_of(&[body])
                }
            }
            Node::Repeat { body, min, max } => NodeFacts {
                nullable: min == 0,
                utf8: self.utf8(body),
                witness: match min {
                    0 => Some(0),
                    _ => self.witness(body).map(|body| body.saturating_mul(min)),
                },
                least: self.least(body).saturating_mul(min),
                most: max.map_or(u32::MAX, |max| self.most(body).saturating_mul(max)),
                distance: self.distance(body).saturating_mul(min),
                fewest: self.fewest(body).saturating_mul(min),
                counts: self.has_long_counters(body)
                    || self.is_beyond(body, min.saturating_sub(1), SHORT_TEXT)
                    || max.is_some_and(|max| self.is_beyond(body, max, SHORT_TEXT)),
                tail: self.tail_before(
                    body,
                    self.witness(body).map(|body| body.saturating_mul(min)),
                ),
                rounds: self.counts_rounds(body)
                    || max.unwrap_or(min) > 1 && !self.is_one_character(body),
                ..self.any_of(&[body])
            },
            Node::Behind { tracker, rest, .. } => NodeFacts {
                utf8: self.utf8(rest),
                least: self.least(rest),
                most: self.most(rest),
                distance: self.distance(rest),
                asks: tracker.bit() | self.asks(rest),
                loops: self.loops(rest),
                ..NodeFacts::NOTHING
            },
            Node::Loop {
                body,
                min,
                rest,
                empty,
                ..
            } => {
                let skipped = min == 0 || self.nullable(empty);
                NodeFacts {
                    nullable: skipped && self.nullable(rest),
                    utf8: self.looks.utf8(body) && self.utf8(rest),
                    witness: if min == 0 {
                        self.witness(rest)
                    } else {
                        (skipped && self.nullable(rest)).then_some(0)
                    },
                    least: self.least(rest),
                    distance: self.distance(rest).saturating_add(min),
                    asks: self.looks.asks(body) | self.asks(rest),
                    loops: true,
                    ..NodeFacts::NOTHING
                }
            }
            Node::Tracked { term, ref trackers } => {
                let nullable = self.nullable_where(term, self.holding(trackers));
                NodeFacts {
                    nullable,
                    utf8: self.utf8(term),
                    witness: if nullable {
                        Some(0)
                    } else {
                        self.witness(term)
                    },
                    least: self.least(term),
                    most: self.most(term),
                    distance: self.distance(term),
                    ..NodeFacts::NOTHING
                }
            }
        }
    }

    /// Returns whether no text of at most `lookahead` characters is longer than `rounds` rounds of the body.
    pub(super) fn is_beyond(&self, body: NodeId, rounds: u32, lookahead: u32) -> bool {
        self.fewest(body).max(1).saturating_mul(rounds) >= lookahead
    }

    fn is_one_character(&self, id: NodeId) -> bool {
        matches!(self.node(id), Node::Literal { .. } | Node::Finite(_)) && self.most(id) <= MAX_UTF8
    }

    /// Returns the tail of a part followed by a completion of this length.
    fn tail_before(&self, part: NodeId, rest: Option<u32>) -> u32 {
        rest.map_or(u32::MAX, |rest| self.tail(part).saturating_add(rest))
    }

    fn any_of(&self, parts: &[NodeId]) -> NodeFacts {
        NodeFacts {
            counts: parts.iter().any(|&part| self.has_long_counters(part)),
            rounds: parts.iter().any(|&part| self.counts_rounds(part)),
            asks: parts.iter().fold(0, |asks, &part| asks | self.asks(part)),
            loops: parts.iter().any(|&part| self.loops(part)),
            ..NodeFacts::NOTHING
        }
    }
}
