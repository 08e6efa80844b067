//! What is known of an expression by its parts.

use super::arena::{Arena, Node, NodeId};
use crate::Lookahead;

/// Data derived from the parts of an expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFacts {
    /// Whether it contains the empty string; if that depends on trackers, whether it does in any case.
    pub(super) nullable: bool,
    /// Whether it is known to contain only UTF-8 texts.
    pub(super) utf8: bool,
    /// The length of a string in the set, if the structure shows one. Without complements and intersections it is
    /// exact; otherwise it is that of a string of the parts without them. Sums saturate.
    pub(super) witness: Option<u32>,
    /// A lower and an upper bound on the length of its strings; `u32::MAX` if there is no upper bound.
    pub(super) least: u32,
    pub(super) most: u32,
    /// The approximate distance to the end of everything that must be matched, a heuristic for searches for a
    /// completion.
    pub(super) distance: u32,
    /// The trackers on which its strings depend, as bits.
    pub(super) asks: u64,
    /// Whether it contains a loop that looks around. Then the normal form is the disjunctive one.
    pub(super) loops: bool,
    /// Whether it contains a counter that no short token exhausts.
    pub(super) counts: bool,
    /// A lower bound on the number of characters of its strings.
    pub(super) fewest: u32,
    /// An upper bound on the length of some completion after any prefix; `u32::MAX` if none is known.
    pub(super) tail: u32,
    /// Whether it contains a counter whose rounds may be longer than a character.
    pub(super) rounds: bool,
    /// Whether some string may begin with whitespace, and whether some string may have none; see [`super::gaps`].
    pub(super) may_begin_with_gap: bool,
    pub(super) may_lack_gap: bool,
}

/// The maximum number of bytes of a character.
const MAX_UTF8: u32 = 4;

impl NodeFacts {
    pub(super) const NOTHING: Self = Self {
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
        may_begin_with_gap: true,
        may_lack_gap: true,
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

impl Arena {
    /// The facts of a node whose parts are in the arena.
    pub(super) fn facts_of(&self, node: &Node) -> NodeFacts {
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
                may_begin_with_gap: false,
                ..NodeFacts::NOTHING
            },
            Node::AllBytes => NodeFacts {
                nullable: true,
                witness: Some(0),
                tail: 0,
                ..NodeFacts::NOTHING
            },
            Node::Literal { literal, offset } => {
                let rest = self.literal_bytes(literal, offset);
                let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
                NodeFacts {
                    // A continuation byte at the front is within a character.
                    utf8: self.is_utf8_literal(literal) && rest[0] & 0xC0 != 0x80,
                    most: length,
                    fewest: rest.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u32,
                    tail: length,
                    ..self.gaps_of_text(rest).long(length)
                }
            }
            Node::Finite(state) => NodeFacts {
                nullable: self.finite.accepts(state),
                utf8: self.finite.is_utf8(state),
                most: self.finite.longest(state),
                fewest: u32::from(self.finite.is_utf8(state) && !self.finite.accepts(state)),
                tail: self.finite.longest(state),
                ..self.gaps_of_class(state).long(self.finite.shortest(state))
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
                may_begin_with_gap: self.may_begin_with_gap(first)
                    || self.nullable(first) && self.may_begin_with_gap(rest),
                may_lack_gap: self.may_lack_gap(first) && self.may_lack_gap(rest),
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
                may_begin_with_gap: arms.iter().any(|&arm| self.may_begin_with_gap(arm)),
                may_lack_gap: arms.iter().any(|&arm| self.may_lack_gap(arm)),
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
                    || self.is_beyond(body, min.saturating_sub(1), Lookahead::SHORT)
                    || max.is_some_and(|max| self.is_beyond(body, max, Lookahead::SHORT)),
                tail: self.tail_before(
                    body,
                    self.witness(body).map(|body| body.saturating_mul(min)),
                ),
                rounds: self.counts_rounds(body)
                    || max.unwrap_or(min) > 1 && !self.is_one_character(body),
                may_begin_with_gap: self.may_begin_with_gap(body),
                may_lack_gap: min == 0 || self.may_lack_gap(body),
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
