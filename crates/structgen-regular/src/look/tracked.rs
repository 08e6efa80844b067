//! Sets that look behind, and the trackers that run beside them.

use rustc_hash::FxHashMap;

use super::{Part, PartId, Tracker};
use crate::LimitExceeded;
use crate::arena::{Arena, Node, NodeId};
use crate::derivative::Scratch;

impl Arena {
    /// Returns the set of a whole text: the part with nothing after it, and the trackers that it depends on at their
    /// start.
    pub(crate) fn whole_text(&mut self, part: PartId) -> NodeId {
        let term = self.set_of(part, Self::EMPTY);
        let trackers = self
            .looks
            .trackers
            .iter()
            .enumerate()
            .map(|(index, &start)| (Tracker(index as u8), start))
            .collect();
        self.tracked(term, trackers)
    }

    /// Returns the trackers that hold, as bits: those that accept what was read so far.
    pub(crate) fn holding(&self, trackers: &[(Tracker, NodeId)]) -> u64 {
        let mut holds = 0;
        for &(tracker, state) in trackers {
            // The trackers that it depends on come before it.
            if self.nullable_where(state, holds) {
                holds |= tracker.bit();
            }
        }
        holds
    }

    /// Returns whether the expression contains the empty string, given the trackers that hold.
    pub(crate) fn nullable_where(&self, root: NodeId, holds: u64) -> bool {
        if self.asks(root) == 0 {
            return self.nullable(root);
        }
        let mut known: FxHashMap<NodeId, bool> = FxHashMap::default();
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            let waiting = stack.len();
            let mut ask = |part: NodeId| {
                if self.asks(part) == 0 {
                    return self.nullable(part);
                }
                known.get(&part).copied().unwrap_or_else(|| {
                    stack.push(part);
                    false
                })
            };
            let found = match self.node(id) {
                Node::Concat(first, rest) => self.nullable(*first) && ask(*rest),
                Node::Union(arms) => arms.iter().fold(false, |any, &arm| ask(arm) | any),
                Node::Intersection(arms) => arms.iter().fold(true, |all, &arm| ask(arm) & all),
                Node::Not(body) => !ask(*body),
                Node::Behind {
                    tracker,
                    negated,
                    rest,
                } => (holds & tracker.bit() != 0) != *negated && ask(*rest),
                Node::Loop {
                    min, rest, empty, ..
                } => (*min == 0 || ask(*empty)) & ask(*rest),
                _ => self.nullable(id),
            };
            if stack.len() == waiting {
                known.insert(id, found);
                stack.pop();
            }
        }
        known.get(&root).copied().unwrap_or(false)
    }

    /// Returns the derivative of a tracked set.
    pub(crate) fn derive_tracked(
        &mut self,
        id: NodeId,
        byte: u8,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Result<NodeId, LimitExceeded> {
        let Node::Tracked { term, trackers } = self.node(id).clone() else {
            return Ok(Self::NEVER);
        };
        let holds = self.holding(&trackers);
        // Reused, since its size is that of the arena: a new one for every step would make a search quadratic.
        let mut inner = scratch.inner.take().unwrap_or_default();
        let term = self.derivative_where(term, byte, holds, limit, &mut inner)?;
        let mut next = Vec::with_capacity(trackers.len());
        for &(tracker, state) in trackers.iter() {
            let state = self.derivative_where(state, byte, holds, limit, &mut inner)?;
            next.push((tracker, state));
        }
        scratch.inner = Some(inner);
        Ok(self.tracked(term, next))
    }

    /// Returns the term with those trackers that it still depends on and that may still change.
    fn tracked(&mut self, mut term: NodeId, mut trackers: Vec<(Tracker, NodeId)>) -> NodeId {
        let any = self.any_text();
        let constant =
            |state: NodeId| state == Self::NEVER || state == Self::ALL_BYTES || Some(state) == any;
        let (mut fixed, mut holds) = (0_u64, 0_u64);
        for (tracker, state) in &mut trackers {
            *state = self.settle(*state, fixed, holds);
            if constant(*state) {
                fixed |= tracker.bit();
                if *state != Self::NEVER {
                    holds |= tracker.bit();
                }
            }
        }
        term = self.settle(term, fixed, holds);
        let mut asked = self.asks(term);
        let mut kept = Vec::new();
        for &(tracker, state) in trackers.iter().rev() {
            if asked & tracker.bit() != 0 {
                asked |= self.asks(state);
                kept.push((tracker, state));
            }
        }
        if kept.is_empty() {
            return term;
        }
        kept.reverse();
        self.intern(Node::Tracked {
            term,
            trackers: kept.into(),
        })
    }

    /// Returns the expression, given that the trackers in `fixed` stay as they are in `holds`.
    fn settle(&mut self, root: NodeId, fixed: u64, holds: u64) -> NodeId {
        let mut known: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let mut parts: FxHashMap<PartId, PartId> = FxHashMap::default();
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            let waiting = stack.len();
            let mut ask = |arena: &Self, part: NodeId| {
                if arena.asks(part) & fixed == 0 {
                    return part;
                }
                known.get(&part).copied().unwrap_or_else(|| {
                    stack.push(part);
                    part
                })
            };
            if self.asks(id) & fixed == 0 {
                known.insert(id, id);
                stack.pop();
                continue;
            }
            let node = self.node(id).clone();
            let found = match &node {
                Node::Concat(_, rest) | Node::Behind { rest, .. } | Node::Loop { rest, .. } => {
                    vec![ask(self, *rest)]
                }
                Node::Union(arms) | Node::Intersection(arms) => {
                    arms.iter().map(|&arm| ask(self, arm)).collect()
                }
                Node::Not(body) => vec![ask(self, *body)],
                _ => Vec::new(),
            };
            if stack.len() > waiting {
                continue;
            }
            let settled = match node {
                Node::Concat(first, _) => self.concat(first, found[0]),
                Node::Union(_) => self.union(found),
                Node::Intersection(_) => self.intersection(found),
                Node::Not(_) => self.not(found[0]),
                Node::Behind {
                    tracker, negated, ..
                } => {
                    if fixed & tracker.bit() == 0 {
                        match found[0] {
                            Self::NEVER => Self::NEVER,
                            rest => self.intern(Node::Behind {
                                tracker,
                                negated,
                                rest,
                            }),
                        }
                    } else if (holds & tracker.bit() != 0) != negated {
                        found[0]
                    } else {
                        Self::NEVER
                    }
                }
                Node::Loop { body, min, max, .. } => {
                    let body = self.settle_part(body, fixed, holds, &mut parts);
                    self.looping(body, min, max, found[0])
                }
                _ => id,
            };
            known.insert(id, settled);
            stack.pop();
        }
        known.get(&root).copied().unwrap_or(root)
    }

    /// Recursive; the depth of parts is limited.
    fn settle_part(
        &mut self,
        id: PartId,
        fixed: u64,
        holds: u64,
        known: &mut FxHashMap<PartId, PartId>,
    ) -> PartId {
        if self.looks.asks(id) & fixed == 0 {
            return id;
        }
        if let Some(&known) = known.get(&id) {
            return known;
        }
        let mut all = |arena: &mut Self, parts: &[PartId]| {
            parts
                .iter()
                .map(|&part| arena.settle_part(part, fixed, holds, known))
                .collect()
        };
        let part = match self.looks.part(id).clone() {
            Part::Concat(parts) => Part::Concat(all(self, &parts)),
            Part::Union(arms) => Part::Union(all(self, &arms)),
            Part::Repeat { body, min, max } => Part::Repeat {
                body: self.settle_part(body, fixed, holds, known),
                min,
                max,
            },
            Part::Ahead { body, negated } => Part::Ahead {
                body: self.settle_part(body, fixed, holds, known),
                negated,
            },
            Part::Behind { tracker, negated } => {
                let matches = (holds & tracker.bit() != 0) != negated;
                Part::Set(if matches { Self::EMPTY } else { Self::NEVER })
            }
            set @ Part::Set(_) => set,
        };
        // It nests no deeper than before, so it is within the limit.
        let facts = self.looks.facts(id);
        let facts = facts.asking(self.looks.asks(id) & !fixed);
        let settled = self.intern_part(part, facts);
        known.insert(id, settled);
        settled
    }
}
