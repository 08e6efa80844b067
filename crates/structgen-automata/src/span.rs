//! Stretches of text that a terminal takes whatever they are made of, found by looking at its states.
//!
//! Patterns loop or count over a class of characters: `[a-z0-9-]+`, `[0-9a-f]{8}`. From such a state all characters of a class lead to
//! one state, from there they lead to one state again, and so on: then every text of the class goes on, as far as that chain reaches.

use std::cmp::Reverse;

use crate::bytes::common_run;
use crate::json::Utf8;
use crate::terminal::{DEAD, Terminal, TerminalState};
use crate::{ByteClasses, ByteSet, Ends, Span, StepError};

/// A class with fewer members is not worth a stretch: few tokens are made of it.
const FEWEST: u32 = 8;

/// How far a chain of counting states is followed. Tokens that are longer are few.
const LONGEST: u32 = 16;

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

impl Link {
    /// Whether the closed classes lead to the state.
    pub(crate) fn leads_to(&self, state: TerminalState) -> bool {
        self.target == state
    }
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
            ends: Ends::Never.and(self.accept(state)),
        };
        let (mut from, mut at) = (state, link.target);
        while at != from {
            let link = self.link(at)?;
            span.exits |= link.live & !closed;
            span.ends = span.ends.and(self.accept(at));
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
        let runs = self.runs(state, Utf8::Boundary)?;
        let target = common_target(&runs);
        let (mut closed, mut live) = (ByteClasses::NONE, ByteClasses::NONE);
        // A class of several bytes is closed where all of them are.
        let mut open = ByteClasses::IRREGULAR;
        for &(low, high, next) in &runs {
            let classes = ByteClasses::of_bytes(low..=high);
            if next != DEAD {
                live |= classes;
            }
            if next != DEAD && self.leads(next, Utf8::Boundary.step(low), target)? {
                closed |= classes;
            } else {
                open |= classes;
            }
        }
        let link = Link {
            target,
            closed: closed & !open,
            live,
        };
        self.links.insert(state, link);
        Ok(link)
    }

    /// The runs of bytes that lead to the same states, in order, cut where UTF-8 tells bytes apart.
    fn runs(&mut self, state: TerminalState, utf8: Utf8) -> Result<Vec<Run>, StepError> {
        let first = self.known_first(state).unwrap_or(ByteSet::ALL);
        let mut runs = Vec::with_capacity(16);
        let (mut low, last) = match utf8 {
            Utf8::Boundary => (0, u8::MAX),
            _ => (0x80, 0xBF),
        };
        loop {
            let (_, high) = common_run(self.alike(state, low), Utf8::alike(low));
            // A run that leads nowhere has no byte among the first ones.
            let next = if first.contains(low) || first.contains(high) {
                self.step(state, low)?
            } else {
                DEAD
            };
            runs.push((low, high, next));
            if high >= last {
                return Ok(runs);
            }
            low = high + 1;
        }
    }

    /// Whether every rest of a character leads to the target, where UTF-8 stands so behind the bytes so far.
    fn leads(
        &mut self,
        state: TerminalState,
        utf8: Option<Utf8>,
        target: TerminalState,
    ) -> Result<bool, StepError> {
        let Some(utf8) = utf8 else {
            return Ok(false);
        };
        if utf8 == Utf8::Boundary {
            return Ok(state == target);
        }
        for (low, _, next) in self.runs(state, utf8)? {
            let behind = utf8.step(low);
            if behind.is_some() && (next == DEAD || !self.leads(next, behind, target)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The first and the last byte of a run, and where they lead.
type Run = (u8, u8, TerminalState);

/// The state to which most of the printable characters of ASCII lead that lead anywhere; [`DEAD`] where none does.
fn common_target(runs: &[Run]) -> TerminalState {
    let mut targets: Vec<(TerminalState, u32)> = Vec::new();
    for &(low, high, next) in runs {
        let (low, high) = (low.max(b' '), high.min(b'~'));
        if low > high || next == DEAD {
            continue;
        }
        let count = u32::from(high - low) + 1;
        match targets.iter_mut().find(|(target, _)| *target == next) {
            Some((_, counted)) => *counted += count,
            None => targets.push((next, count)),
        }
    }
    // Of equally many the smaller state: the choice does not depend on anything else.
    let most = targets
        .into_iter()
        .max_by_key(|&(target, count)| (count, Reverse(target)));
    most.map_or(DEAD, |(target, _)| target)
}
