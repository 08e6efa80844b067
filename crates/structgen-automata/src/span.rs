//! Stretches of text that a terminal takes whatever they are made of, found by looking at its states.
//!
//! Patterns loop or count over a class of characters: `[a-z0-9-]+`, `[0-9a-f]{8}`. From such a state all characters of a class lead to
//! one state, from there they lead to one state again, and so on: then every text of the class goes on, as far as that chain reaches.

use crate::json::Utf8;
use crate::terminal::{DEAD, Terminal, TerminalState};
use crate::{ByteClasses, Span, StepError};

/// A class with fewer members is not worth a stretch: few tokens are made of it.
const FEWEST: u32 = 8;

/// How far a chain of counting states is followed. Tokens that are longer are few.
const LONGEST: u32 = 40;

/// Where the characters of a state lead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// The state to which most of them lead.
    target: TerminalState,
    /// The classes of which every character leads there.
    closed: ByteClasses,
    /// The classes that lead anywhere.
    live: ByteClasses,
}

impl Terminal {
    /// The stretch that begins at a state; `None` where no large class of bytes leads to one state.
    pub(crate) fn find_span(&mut self, state: TerminalState) -> Result<Option<Span>, StepError> {
        let link = self.link(state)?;
        let closed = link.closed;
        if closed.len() < FEWEST {
            return Ok(None);
        }
        let mut span = Span {
            closed,
            code_points: 1,
            exits: ByteClasses::IRREGULAR | (link.live & !closed),
            goes_on: false,
            ends: self.accept(state).is_some(),
        };
        let (mut from, mut at) = (state, link.target);
        while at != from {
            let link = self.link(at)?;
            span.exits |= link.live & !closed;
            span.ends |= self.accept(at).is_some();
            if !closed.is_subset(link.closed) || span.code_points == LONGEST {
                span.goes_on = !link.live.is_disjoint(closed);
                return Ok(Some(span));
            }
            span.code_points += 1;
            (from, at) = (at, link.target);
        }
        span.code_points = u32::MAX;
        Ok(Some(span))
    }

    fn link(&mut self, state: TerminalState) -> Result<Link, StepError> {
        if let Some(&known) = self.links.get(&state) {
            return Ok(known);
        }
        let target = self.common_target(state)?.unwrap_or(DEAD);
        let closed = match target {
            DEAD => ByteClasses::NONE,
            target => self.classes_to(state, target)?,
        };
        let mut live = ByteClasses::NONE;
        for byte in 0..=u8::MAX {
            if self.step(state, byte)? != DEAD {
                live |= ByteClasses::of_bytes([byte]);
            }
        }
        let link = Link {
            target,
            closed,
            live,
        };
        self.links.insert(state, link);
        Ok(link)
    }

    /// The state to which most of the printable characters of ASCII lead that lead anywhere.
    fn common_target(&mut self, state: TerminalState) -> Result<Option<TerminalState>, StepError> {
        let mut targets: Vec<(TerminalState, u32)> = Vec::new();
        for byte in 0x20..0x7F {
            let next = self.step(state, byte)?;
            match targets.iter_mut().find(|(target, _)| *target == next) {
                Some((_, count)) => *count += 1,
                None => targets.push((next, 1)),
            }
        }
        let live = targets.into_iter().filter(|&(target, _)| target != DEAD);
        // Of equally many the smaller state: the choice does not depend on anything else.
        let most = live.max_by_key(|&(target, count)| (count, std::cmp::Reverse(target)));
        Ok(most.map(|(target, _)| target))
    }

    /// The classes of which every character leads from one state to the other.
    fn classes_to(
        &mut self,
        state: TerminalState,
        target: TerminalState,
    ) -> Result<ByteClasses, StepError> {
        let mut out = ByteClasses::IRREGULAR;
        for byte in 0..=u8::MAX {
            let class = ByteClasses::of_bytes([byte]);
            if !class.is_disjoint(out) {
                continue;
            }
            let next = self.step(state, byte)?;
            let leads = match Utf8::Boundary.step(byte) {
                None => false,
                Some(Utf8::Boundary) => next == target,
                Some(_) if next == DEAD => false,
                Some(utf8) => self.characters_lead(next, utf8, target)?,
            };
            if !leads {
                out |= class;
            }
        }
        Ok(!out)
    }

    /// Whether every rest of a character leads to the state.
    fn characters_lead(
        &mut self,
        state: TerminalState,
        utf8: Utf8,
        target: TerminalState,
    ) -> Result<bool, StepError> {
        let mut seen: Option<(TerminalState, Utf8)> = None;
        for byte in 0x80..=0xBF {
            let Some(behind) = utf8.step(byte) else {
                continue;
            };
            let next = self.step(state, byte)?;
            if seen == Some((next, behind)) {
                continue;
            }
            let leads = match behind {
                Utf8::Boundary => next == target,
                _ => next != DEAD && self.characters_lead(next, behind, target)?,
            };
            if !leads {
                return Ok(false);
            }
            seen = Some((next, behind));
        }
        Ok(true)
    }
}
