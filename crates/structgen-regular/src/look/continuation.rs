//! Converts parts with their continuations to sets.

use super::{Part, PartId};
use crate::arena::{Arena, Node, NodeId};

impl Arena {
    /// Returns the texts that start with the part and continue with `rest`. Recursive; the depth of parts is limited.
    pub(crate) fn set_of(&mut self, part: PartId, rest: NodeId) -> NodeId {
        self.set(part, rest, false)
    }

    /// Like [`set_of`](Self::set_of); if `consuming`, only those texts in which the part consumes something.
    fn set(&mut self, part: PartId, rest: NodeId, consuming: bool) -> NodeId {
        if rest == Self::NEVER {
            return Self::NEVER;
        }
        if let Some(&known) = self.looks.sets.get(&(part, rest, consuming)) {
            return known;
        }
        // Parts within parts may have sets whose number is exponential in their depth.
        if self.size() > self.most_size {
            self.is_broken = true;
            return Self::NEVER;
        }
        let set = if consuming {
            self.consuming(part, rest)
        } else {
            self.sequence(part, rest)
        };
        self.looks.sets.insert((part, rest, consuming), set);
        set
    }

    fn sequence(&mut self, part: PartId, rest: NodeId) -> NodeId {
        match self.looks.part(part).clone() {
            Part::Set(set) => self.concat(set, rest),
            Part::Concat(parts) => parts
                .iter()
                .rev()
                .fold(rest, |rest, &part| self.set(part, rest, false)),
            Part::Union(arms) => {
                let arms = arms.iter().map(|&arm| self.set(arm, rest, false)).collect();
                self.union(arms)
            }
            Part::Repeat { body, min, max } => self.looping(body, min, max, rest),
            Part::Behind { tracker, negated } => self.intern(Node::Behind {
                tracker,
                negated,
                rest,
            }),
            Part::Ahead { .. } => {
                let seen = self.empty_match(part);
                self.intersection(vec![seen, rest])
            }
        }
    }

    fn consuming(&mut self, part: PartId, rest: NodeId) -> NodeId {
        match self.looks.part(part).clone() {
            Part::Set(set) => {
                let set = self.without_empty(set);
                self.concat(set, rest)
            }
            Part::Concat(parts) => {
                // Distinguishes which part is the first to consume; those before it match the empty string here.
                let mut result = Self::NEVER;
                let mut rest = rest;
                for &part in parts.iter().rev() {
                    let empty = self.empty_match(part);
                    let later = self.intersection(vec![empty, result]);
                    let now = self.set(part, rest, true);
                    result = self.union(vec![now, later]);
                    rest = self.set(part, rest, false);
                }
                result
            }
            Part::Union(arms) => {
                let arms = arms.iter().map(|&arm| self.set(arm, rest, true)).collect();
                self.union(arms)
            }
            Part::Repeat { body, min, max } => self.round(body, min, max, rest),
            Part::Behind { .. } | Part::Ahead { .. } => Self::NEVER,
        }
    }

    /// Returns `min` to `max` rounds of the body, the first of which consumes something.
    fn round(&mut self, body: PartId, min: u32, max: Option<u32>, rest: NodeId) -> NodeId {
        if max == Some(0) {
            return Self::NEVER;
        }
        let more = self.looping(body, min.saturating_sub(1), max.map(|max| max - 1), rest);
        let round = self.set(body, more, true);
        let empty = self.empty_match(body);
        if min < 2 || empty == Self::NEVER {
            return round;
        }
        // A round that matches the empty string here may repeat as often as the counter still needs.
        let free = self.looping(body, 0, max.map(|max| max - 2), rest);
        let round_then = self.set(body, free, true);
        let padded = self.intersection(vec![empty, round_then]);
        self.union(vec![round, padded])
    }

    pub(super) fn looping(
        &mut self,
        body: PartId,
        min: u32,
        max: Option<u32>,
        rest: NodeId,
    ) -> NodeId {
        if max.is_some_and(|max| max < min) || rest == Self::NEVER {
            return Self::NEVER;
        }
        if max == Some(0) {
            return rest;
        }
        if (min, max) == (1, Some(1)) {
            return self.set(body, rest, false);
        }
        let empty = self.empty_match(body);
        // If the body always matches the empty string, its minimum does not matter.
        let min = if empty == Self::ALL_BYTES { 0 } else { min };
        self.intern(Node::Loop {
            body,
            min,
            max,
            rest,
            empty,
        })
    }

    /// Unfolds the loop to a set that does not begin with it again: a round that consumes, or none.
    pub(crate) fn unfold(&mut self, id: NodeId) -> NodeId {
        let Node::Loop {
            body,
            min,
            max,
            rest,
            empty,
        } = *self.node(id)
        else {
            return id;
        };
        if let Some(&known) = self.looks.unfolded.get(&id) {
            return known;
        }
        let round = self.round(body, min, max, rest);
        let none = match min {
            0 => rest,
            _ => self.intersection(vec![empty, rest]),
        };
        let unfolded = self.union(vec![round, none]);
        self.looks.unfolded.insert(id, unfolded);
        unfolded
    }

    /// Returns the cached result of [`Arena::unfold`].
    pub(crate) fn unfolded(&self, id: NodeId) -> NodeId {
        self.looks.unfolded.get(&id).copied().unwrap_or(Self::NEVER)
    }

    /// Returns the set of continuations with which the part matches the empty string.
    fn empty_match(&mut self, part: PartId) -> NodeId {
        if let Some(&known) = self.looks.empty.get(&part) {
            return known;
        }
        let found = self.find_empty_match(part);
        self.looks.empty.insert(part, found);
        found
    }

    fn find_empty_match(&mut self, part: PartId) -> NodeId {
        match self.looks.part(part).clone() {
            Part::Set(set) if self.nullable(set) => Self::ALL_BYTES,
            Part::Set(_) => Self::NEVER,
            Part::Concat(parts) => {
                let parts = parts.iter().map(|&part| self.empty_match(part)).collect();
                self.intersection(parts)
            }
            Part::Union(arms) => {
                let arms = arms.iter().map(|&arm| self.empty_match(arm)).collect();
                self.union(arms)
            }
            Part::Repeat { min: 0, .. } => Self::ALL_BYTES,
            Part::Repeat { body, .. } => self.empty_match(body),
            Part::Behind { tracker, negated } => self.intern(Node::Behind {
                tracker,
                negated,
                rest: Self::ALL_BYTES,
            }),
            Part::Ahead { body, negated } => {
                let one = self.every_char();
                if negated && *self.looks.part(body) == Part::Set(one) {
                    return Self::EMPTY;
                }
                let any = self.every_text();
                let seen = match self.set(body, any, false) {
                    seen if seen == any => Self::ALL_BYTES,
                    seen => seen,
                };
                if negated { self.not(seen) } else { seen }
            }
        }
    }

    /// Returns a set without look-around minus the empty string.
    fn without_empty(&mut self, set: NodeId) -> NodeId {
        if !self.nullable(set) {
            return set;
        }
        match *self.node(set) {
            Node::Empty => Self::NEVER,
            Node::Repeat { body, max, .. } if !self.nullable(body) => self.repeat(body, 1, max),
            _ => {
                let some = self.not(Self::EMPTY);
                self.intersection(vec![set, some])
            }
        }
    }
}
