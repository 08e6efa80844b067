//! Sets without the counters that no short token reaches.
//!
//! In the middle of `[a-z]{0,61}`, how many letters are left says nothing about a token of a few characters as long as there are
//! more of them than the token has: all such states take the same short tokens, those of `[a-z]*`. With that set in their place
//! they share their masks, and it has a loop where they have a chain.

use super::arena::{Arena, Node, NodeId};

/// How deep an expression is looked into. What lies deeper keeps its counters, which is always right.
const DEEPEST: u32 = 64;

impl Arena {
    /// A set that holds or goes on behind a text of at most `reach` characters just where this one does.
    ///
    /// A counter that allows so many rounds allows any number of them; one that demands more is never done: behind it stands
    /// [`Node::Beyond`]. Parts of a concatenation or a union are live each for itself, so that this may be done to each of them. It may
    /// not be done to the parts of an intersection, whose counters decide together what is live; but where one of them bounds nothing
    /// but the length, and is far from it, it can be left out.
    pub(super) fn relaxed(&mut self, id: NodeId, reach: u32) -> NodeId {
        self.relaxed_at(id, reach, 0)
    }

    fn relaxed_at(&mut self, id: NodeId, reach: u32, depth: u32) -> NodeId {
        if !self.counts(id) || self.asks(id) != 0 || self.loops(id) || depth > DEEPEST {
            return id;
        }
        if let Some(&known) = self.relaxed.get(&(id, reach)) {
            return known;
        }
        let relaxed = match self.node(id).clone() {
            Node::Concat(..) => self.relaxed_chain(id, reach, depth),
            Node::Union(arms) => {
                let arms = arms
                    .iter()
                    .map(|&arm| self.relaxed_at(arm, reach, depth + 1));
                let arms = arms.collect();
                self.union(arms)
            }
            Node::Repeat { body, min, max } if self.utf8(body) => {
                let body = self.relaxed_at(body, reach, depth + 1);
                let reached = |max: &u32| !self.is_beyond(body, *max, reach);
                if min > 0 && !reached(&(min - 1)) {
                    let rounds = self.repeat(body, 0, None);
                    self.concat(rounds, Self::BEYOND)
                } else {
                    let max = max.filter(reached);
                    self.repeat(body, min, max)
                }
            }
            Node::Intersection(arms) => match self.without_length(&arms, reach) {
                Some((None, rest)) => self.relaxed_at(rest, reach, depth + 1),
                Some((Some(at_least), rest)) => {
                    let rest = self.relaxed_at(rest, reach, depth + 1);
                    self.intersection(vec![at_least, rest])
                }
                None => id,
            },
            _ => id,
        };
        self.relaxed.insert((id, reach), relaxed);
        relaxed
    }

    /// A chain may be as long as the expression: only its parts count as deeper.
    fn relaxed_chain(&mut self, id: NodeId, reach: u32, depth: u32) -> NodeId {
        let mut parts = Vec::new();
        let mut rest = id;
        loop {
            let (first, behind) = match *self.node(rest) {
                Node::Concat(first, behind) => (first, Some(behind)),
                _ => (rest, None),
            };
            let part = self.relaxed_at(first, reach, depth + 1);
            parts.push(part);
            match behind {
                // Nothing is behind what is never done.
                Some(behind) if self.least(part) < u32::MAX => rest = behind,
                _ => break,
            }
        }
        let mut chain = Self::EMPTY;
        while let Some(part) = parts.pop() {
            chain = self.concat(part, chain);
        }
        chain
    }

    /// The other part of an intersection one of whose two parts says nothing but how long a text may be, where no short token and
    /// what completes it comes near to that; with what is left of the first one, if texts have to have a length.
    fn without_length(&mut self, arms: &[NodeId], reach: u32) -> Option<(Option<NodeId>, NodeId)> {
        let &[one, other] = arms else {
            return None;
        };
        let (length, rest) = [(one, other), (other, one)]
            .into_iter()
            .find(|&(length, rest)| self.is_far_from(length, rest, reach))?;
        let Node::Repeat { body, min, .. } = *self.node(length) else {
            return None;
        };
        if min <= self.fewest(rest) {
            return Some((None, rest));
        }
        // What is too short can be made longer: then a text goes on wherever it does without a length.
        let may_grow =
            min <= reach && self.known_every_char() == Some(body) && self.is_open_ended(rest);
        may_grow.then(|| (Some(self.repeat(body, min, None)), rest))
    }

    fn is_far_from(&self, length: NodeId, rest: NodeId, reach: u32) -> bool {
        let Node::Repeat {
            body,
            min,
            max: Some(max),
        } = *self.node(length)
        else {
            return false;
        };
        // Bytes, of which there are no fewer than characters.
        let is_far = self.tail(rest).max(min).saturating_add(reach) <= max;
        let holds = || {
            (self.known_every_char() == Some(body) && self.utf8(rest))
                || self
                    .ascii_class(body)
                    .is_some_and(|class| self.is_made_of(rest, class))
        };
        is_far && holds()
    }

    /// The bytes of a class of characters, where it has no others than ASCII's.
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

    /// Whether all strings are made of these characters of ASCII. Stops at what it cannot look into.
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

/// The bits of a run of ASCII's bytes.
fn run(low: u8, high: u8) -> u128 {
    (u128::MAX >> (127 - high)) & (u128::MAX << low)
}
