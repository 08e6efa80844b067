//! The syntax of look-around: parts that become sets only once their continuation is known.

use std::sync::Arc;

use super::{Looks, Tracker};
use crate::LimitExceeded;
use crate::arena::{Arena, NodeId};

/// The id of a part: its index in the list of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PartId(u32);

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// A set without look-around.
    Set(NodeId),
    Concat(Arc<[PartId]>),
    Union(Arc<[PartId]>),
    Repeat {
        body: PartId,
        min: u32,
        max: Option<u32>,
    },
    Ahead {
        body: PartId,
        negated: bool,
    },
    Behind {
        tracker: Tracker,
        negated: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PartFacts {
    /// The trackers that it depends on, as bits.
    asks: u64,
    /// Whether it is known to consume only whole UTF-8 texts.
    utf8: bool,
    /// Whether it contains a look-ahead.
    ahead: bool,
    depth: u16,
}

/// The maximum nesting of parts that look around, since they are lowered by recursion.
const MAX_DEPTH: u16 = 400;

impl Looks {
    pub(crate) fn part(&self, id: PartId) -> &Part {
        &self.parts[id.0 as usize]
    }

    pub(crate) fn asks(&self, id: PartId) -> u64 {
        self.facts[id.0 as usize].asks
    }

    pub(crate) fn utf8(&self, id: PartId) -> bool {
        self.facts[id.0 as usize].utf8
    }
}

impl Arena {
    /// Adds a part.
    pub(crate) fn part(&mut self, part: Part) -> Result<PartId, LimitExceeded> {
        let children: &[PartId] = match &part {
            Part::Concat(parts) | Part::Union(parts) => parts,
            Part::Repeat { body, .. } | Part::Ahead { body, .. } => std::slice::from_ref(body),
            Part::Set(_) | Part::Behind { .. } => &[],
        };
        let mut facts = PartFacts {
            asks: 0,
            utf8: true,
            ahead: false,
            depth: 1,
        };
        for child in children {
            let child = self.looks.facts[child.0 as usize];
            facts.asks |= child.asks;
            facts.utf8 &= child.utf8;
            facts.ahead |= child.ahead;
            facts.depth = facts.depth.max(child.depth + 1);
        }
        match &part {
            Part::Set(set) => facts.utf8 = self.utf8(*set),
            Part::Behind { tracker, .. } => facts.asks |= tracker.bit(),
            Part::Ahead { .. } => {
                facts.ahead = true;
                facts.utf8 = true;
            }
            _ => {}
        }
        if facts.depth > MAX_DEPTH {
            return Err(LimitExceeded {
                what: "parts nested around a look-around",
                limit: MAX_DEPTH.into(),
            });
        }
        Ok(self.intern_part(part, facts))
    }

    pub(super) fn intern_part(&mut self, part: Part, facts: PartFacts) -> PartId {
        let looks = &mut self.looks;
        *looks.ids.entry(part).or_insert_with_key(|part| {
            let id = PartId(u32::try_from(looks.parts.len()).unwrap_or(u32::MAX));
            looks.parts.push(part.clone());
            looks.facts.push(facts);
            id
        })
    }

    /// Creates a look-behind for the body.
    pub(crate) fn behind(&mut self, body: PartId, negated: bool) -> Result<PartId, LimitExceeded> {
        let part = |arena: &mut Self, set| arena.part(Part::Set(set));
        if self.looks.facts[body.0 as usize].ahead {
            // It would depend on what follows the position of the look-behind.
            return Err(LimitExceeded {
                what: "look-aheads inside a look-behind",
                limit: 0,
            });
        }
        let any = self.every_text();
        let one = self.every_char();
        let (start, negated) = if *self.looks.part(body) == Part::Set(one) {
            // No character before: the start of the text.
            (Self::EMPTY, !negated)
        } else {
            let body = self.set_of(body, Self::EMPTY);
            (self.concat(any, body), negated)
        };
        if start == Self::NEVER || start == any {
            let holds = (start == any) != negated;
            return part(self, if holds { Self::EMPTY } else { Self::NEVER });
        }
        let known = self.looks.trackers.iter().position(|&known| known == start);
        let tracker = match known {
            Some(known) => known,
            None if self.looks.trackers.len() < Tracker::MOST => {
                self.looks.trackers.push(start);
                self.looks.trackers.len() - 1
            }
            None => {
                return Err(LimitExceeded {
                    what: "look-behinds of a regular set",
                    limit: Tracker::MOST as u64,
                });
            }
        };
        self.part(Part::Behind {
            // There are at most 64.
            tracker: Tracker(tracker as u8),
            negated,
        })
    }
}

impl Looks {
    pub(super) fn facts(&self, id: PartId) -> PartFacts {
        self.facts[id.0 as usize]
    }
}

impl PartFacts {
    pub(super) fn asking(self, asks: u64) -> Self {
        Self { asks, ..self }
    }
}
