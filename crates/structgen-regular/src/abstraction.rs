//! Abstractions of sets: without the counters that no short text exhausts.
//!
//! In the middle of `[a-z]{0,61}`, the number of letters left makes no difference to a shorter text: all such states
//! continue with the same short texts as `[a-z]*`. With that set in their place they share their masks, and they are a
//! loop instead of a chain.

use super::arena::{Arena, Node, NodeId};
use crate::Lookahead;

/// The recursion limit. Expressions below it keep their counters, which is always correct.
const MAX_DEPTH: u32 = 64;

impl Arena {
    /// Returns a set that accepts the same texts within `lookahead` as this one, and continues after the same ones.
    ///
    /// A counter that allows more rounds than such a text has allows any number of them. One that requires more never
    /// completes: [`Node::Beyond`] follows it instead of what does, so this has to be live. The parts of an
    /// intersection decide together what is live, and keep their counters; but a part that bounds only the length, and
    /// is far from its bound, can be left out.
    pub(super) fn abstracted(&mut self, id: NodeId, lookahead: Lookahead) -> NodeId {
        self.abstracted_at(id, lookahead, 0)
    }

    fn abstracted_at(&mut self, id: NodeId, lookahead: Lookahead, depth: u32) -> NodeId {
        if !self.has_long_counters(id) || self.asks(id) != 0 || self.loops(id) || depth > MAX_DEPTH
        {
            return id;
        }
        if let Some(&known) = self.abstracted.get(&(id, lookahead)) {
            return known;
        }
        let abstracted = match self.node(id).clone() {
            Node::Concat(..) => self.abstracted_chain(id, lookahead, depth),
            Node::Union(arms) => {
                let arms = arms
                    .iter()
                    .map(|&arm| self.abstracted_at(arm, lookahead, depth + 1));
                let arms = arms.collect();
                self.union(arms)
            }
            Node::Repeat { body, min, max } if self.utf8(body) => {
                let is_live = self.witness(body).is_some();
                let body = self.abstracted_at(body, lookahead, depth + 1);
                let reached = |max: &u32| !self.is_beyond(body, *max, lookahead);
                if min > 0 && is_live && !reached(&(min - 1)) {
                    let rounds = self.repeat(body, 0, None);
                    self.concat(rounds, Self::BEYOND)
                } else {
                    let max = max.filter(reached);
                    self.repeat(body, min, max)
                }
            }
            Node::Intersection(arms) => match self.without_length(&arms, lookahead) {
                Some((None, rest)) => self.abstracted_at(rest, lookahead, depth + 1),
                Some((Some(at_least), rest)) => {
                    let rest = self.abstracted_at(rest, lookahead, depth + 1);
                    self.intersection(vec![at_least, rest])
                }
                None => id,
            },
            _ => id,
        };
        self.abstracted.insert((id, lookahead), abstracted);
        abstracted
    }

    /// A chain may be as long as the expression, so it is followed without recursion; only its parts count as deeper.
    fn abstracted_chain(&mut self, id: NodeId, lookahead: Lookahead, depth: u32) -> NodeId {
        let mut parts = Vec::new();
        let mut rest = id;
        loop {
            let (first, behind) = match *self.node(rest) {
                Node::Concat(first, behind) => (first, Some(behind)),
                _ => (rest, None),
            };
            let part = self.abstracted_at(first, lookahead, depth + 1);
            let completes = self.least(part) < u32::MAX;
            match behind {
                Some(behind) if completes => {
                    parts.push(part);
                    rest = behind;
                }
                // What follows may be dead, so the text must reach it.
                Some(behind) if self.witness(behind).is_none() => {
                    parts.push(first);
                    rest = behind;
                }
                _ => {
                    parts.push(part);
                    break;
                }
            }
        }
        let mut chain = Self::EMPTY;
        while let Some(part) = parts.pop() {
            chain = self.concat(part, chain);
        }
        chain
    }

    /// For an intersection of two parts, one of which bounds only the length, where no short text with its completion
    /// comes near the upper bound: returns the lower bound if it matters, and the other part.
    fn without_length(
        &mut self,
        arms: &[NodeId],
        lookahead: Lookahead,
    ) -> Option<(Option<NodeId>, NodeId)> {
        let &[one, other] = arms else {
            return None;
        };
        let (length, rest) = [(one, other), (other, one)]
            .into_iter()
            .find(|&(length, rest)| self.is_far_from(length, rest, lookahead))?;
        let Node::Repeat { body, min, .. } = *self.node(length) else {
            return None;
        };
        if min <= self.fewest(rest) {
            return Some((None, rest));
        }
        // A text that is too short can be lengthened, so it continues exactly where it would without a lower bound.
        let may_grow = min <= lookahead.characters
            && self.known_every_char() == Some(body)
            && self.is_open_ended(rest);
        may_grow.then(|| (Some(self.repeat(body, min, None)), rest))
    }

    fn is_far_from(&self, length: NodeId, rest: NodeId, lookahead: Lookahead) -> bool {
        let Node::Repeat {
            body,
            min,
            max: Some(max),
        } = *self.node(length)
        else {
            return false;
        };
        // In bytes, of which there are at least as many as characters.
        let is_far = self
            .tail(rest)
            .max(min)
            .saturating_add(lookahead.characters)
            <= max;
        let holds = || {
            (self.known_every_char() == Some(body) && self.utf8(rest))
                || self
                    .ascii_class(body)
                    .is_some_and(|class| self.is_made_of(rest, class))
        };
        is_far && holds()
    }

    /// Returns the bytes of a class of characters that are all ASCII.
    fn ascii_class(&self, id: NodeId) -> Option<u128> {
        let Node::Finite(state) = *self.node(id) else {
            return None;
        };
        let is_one = self.finite.shortest(state) == 1 && self.finite.longest(state) == 1;
        is_one.then(|| self.ascii_first(state))?
    }

    fn ascii_first(&self, state: super::finite::FiniteState) -> Option<u128> {
        let transitions = self.finite.transitions(state).iter();
        transitions
            .map(|to| (to.high < 0x80).then(|| run(to.low, to.high)))
            .try_fold(0, |all, run| Some(all | run?))
    }

    /// Returns whether all strings consist of these ASCII characters; `false` if the structure of the expression does
    /// not show it.
    fn is_made_of(&self, id: NodeId, class: u128) -> bool {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut states = rustc_hash::FxHashSet::default();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match *self.node(id) {
                Node::Empty | Node::Never => {}
                Node::Literal { literal, offset } => {
                    let mut bytes = self.literal_bytes(literal, offset).iter();
                    if !bytes.all(|&byte| byte < 0x80 && class >> byte & 1 == 1) {
                        return false;
                    }
                }
                Node::Finite(state) => {
                    let mut waiting = vec![state];
                    while let Some(state) = waiting.pop() {
                        if !states.insert(state) {
                            continue;
                        }
                        match self.ascii_first(state) {
                            Some(first) if first & !class == 0 => {}
                            _ => return false,
                        }
                        let transitions = self.finite.transitions(state).iter();
                        waiting.extend(transitions.map(|transition| transition.next));
                    }
                }
                Node::Concat(first, rest) => open.extend([first, rest]),
                Node::Union(ref arms) => open.extend(arms.iter()),
                Node::Repeat { body, .. } => open.push(body),
                _ => return false,
            }
        }
        true
    }
}

/// Returns the bits of a run of ASCII bytes.
fn run(low: u8, high: u8) -> u128 {
    (u128::MAX >> (127 - high)) & (u128::MAX << low)
}
