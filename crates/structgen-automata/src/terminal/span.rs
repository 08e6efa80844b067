//! Stretches of text that a terminal takes whatever they are made of, found by looking at its states.
//!
//! Patterns loop or count over a class of characters: `[a-z0-9-]+`, `[0-9a-f]{8}`. From such a state all characters of
//! a class lead to one state, from there they lead to one state again, and so on: then every text of the class goes on,
//! as far as that chain reaches. Where a pattern has few states, `(\S+\s+)*\S+`, they may be left and entered by more
//! characters and all go on: then every text of all of these goes on.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::json::Utf8;
use crate::terminal::{DEAD, Terminal, TerminalState};
use crate::{ByteClasses, Ends, Span, StepError};

/// A class with fewer members is not worth a stretch: few tokens are made of it. Whitespace is, of which there are long
/// tokens.
const FEWEST: u32 = 8;

/// How far a chain of counting states is followed. Tokens that are longer are few.
const LONGEST: u32 = 16;

/// How many states may go on side by side under the same characters.
const MOST_STATES: usize = 32;

/// How far a stretch over several states is followed.
const LONGEST_WIDE: u32 = crate::SHORT_TEXT;

/// A stretch over several states that ends sooner is not worth it by itself: too many tokens are longer.
const SHORTEST: u32 = 8;

/// A stretch, and an endless one beside it.
type Found = (Span, Option<Span>);

/// Where the characters of a state lead.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// The state to which most of them lead.
    target: TerminalState,
    /// The classes of which every character leads there.
    closed: ByteClasses,
    /// The classes that lead anywhere.
    live: ByteClasses,
    /// The classes of which every character leads somewhere.
    complete: ByteClasses,
    /// Where the characters of these classes lead; a class may be there several times.
    targets: Vec<(ByteClasses, TerminalState)>,
}

impl Link {
    /// Whether all characters of the classes lead to the state.
    pub(crate) fn leads_to(&self, state: TerminalState, classes: ByteClasses) -> bool {
        self.target == state && classes.is_subset(self.closed)
    }
}

impl Terminal {
    /// The stretch that begins at a state; `None` where no large class of bytes leads to one state. Beside one that
    /// ends there may be one that does not, of fewer characters.
    pub(crate) fn find_span(&self, state: TerminalState) -> Result<Option<Found>, StepError> {
        let link = self.link(state)?;
        if link.closed.len() < FEWEST && !link.closed.contains(b' ') {
            return Ok(None);
        }
        // The characters after which those that lead to one state go on.
        let mut wide = link.complete;
        for &(classes, target) in &link.targets {
            let goes_on = target == link.target
                || self.has_classes(target) && link.closed.is_subset(self.link(target)?.complete);
            if !goes_on {
                wide = wide & !classes;
            }
        }
        if wide.is_subset(link.closed) {
            return Ok(Some((self.find_chain(state, &link)?, None)));
        }
        let endless = self.find_wide_span(state, &link, wide)?;
        if let Some(span) = endless.filter(|span| span.closed == wide) {
            return Ok(Some((span, None)));
        }
        let chain = self.find_wide_chain(state, wide)?;
        if chain.code_points == LONGEST_WIDE {
            return Ok(Some((chain, None)));
        }
        let other = match endless {
            Some(endless) => endless,
            None => self.find_chain(state, &link)?,
        };
        let is_endless = other.code_points == u32::MAX;
        // Few words are as short as that, but most of what is not in ASCII is.
        let not_ascii = ByteClasses::of_bytes(0xC2..=0xF4);
        let adds = chain.closed & !other.closed & not_ascii;
        let is_worth_it = is_endless && chain.code_points > 0 && !adds.is_empty();
        if chain.code_points < SHORTEST && !is_worth_it {
            return Ok(Some((other, None)));
        }
        Ok(Some((chain, is_endless.then_some(other))))
    }

    /// The stretch of the characters that lead from one state to one other, and so on.
    fn find_chain(&self, state: TerminalState, link: &Link) -> Result<Span, StepError> {
        let closed = link.closed;
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
                return Ok(span);
            }
            span.code_points += 1;
            (from, at) = (at, link.target);
        }
        span.code_points = u32::MAX;
        Ok(span)
    }

    /// The endless stretch of characters that lead to states from which all of them go on, most of these and not only
    /// those of the link; `None` where there are no others.
    fn find_wide_span(
        &self,
        state: TerminalState,
        link: &Link,
        mut closed: ByteClasses,
    ) -> Result<Option<Span>, StepError> {
        // Fewer characters lead to fewer states, all of which have to take them.
        while !closed.is_subset(link.closed) && link.closed.is_subset(closed) {
            let mut span = Span {
                closed,
                code_points: u32::MAX,
                exits: ByteClasses::IRREGULAR,
                goes_on: false,
                ends: Ends::Never,
            };
            let mut states = vec![state];
            let mut at = 0;
            while at < states.len() && states.len() <= MOST_STATES && closed == span.closed {
                let state = states[at];
                let link = self.link(state)?;
                closed = closed & link.complete;
                span.exits |= link.live & !closed;
                span.ends = span.ends.and(self.accept(state));
                for &(classes, target) in &link.targets {
                    if !classes.is_disjoint(closed) && !states.contains(&target) {
                        states.push(target);
                    }
                }
                at += 1;
            }
            if states.len() > MOST_STATES {
                return Ok(None);
            }
            if closed == span.closed {
                return Ok(Some(span));
            }
        }
        Ok(None)
    }

    /// The stretch of these characters, which go on from a state, as far as all of them go on from every state to which
    /// they lead.
    fn find_wide_chain(
        &self,
        state: TerminalState,
        closed: ByteClasses,
    ) -> Result<Span, StepError> {
        let mut span = Span {
            closed,
            code_points: 0,
            exits: ByteClasses::IRREGULAR,
            goes_on: true,
            ends: Ends::Never,
        };
        // Those after that many characters; all others among the states that were met have been looked at.
        let mut level = vec![state];
        let mut states = level.clone();
        loop {
            let mut next = Vec::new();
            let mut goes_on = span.code_points < LONGEST_WIDE;
            for &state in &level {
                let link = self.link(state)?;
                goes_on &= closed.is_subset(link.complete);
                span.exits |= link.live & !closed;
                span.ends = span.ends.and(self.accept(state));
                for &(classes, target) in &link.targets {
                    if !classes.is_disjoint(closed) && !states.contains(&target) {
                        states.push(target);
                        next.push(target);
                    }
                }
            }
            if !goes_on || states.len() > MOST_STATES {
                break;
            }
            span.code_points += 1;
            level = next;
        }
        Ok(span)
    }

    fn link(&self, state: TerminalState) -> Result<Arc<Link>, StepError> {
        if let Some(known) = self.rare().links.get(&state) {
            return Ok(known.clone());
        }
        let runs = self.runs_of(state, Utf8::Boundary)?;
        let target = common_target(&runs);
        let mut live = ByteClasses::NONE;
        let mut targets: Vec<(ByteClasses, TerminalState)> = Vec::new();
        let mut found = Vec::new();
        // A class of several bytes is complete where all of them are, and closed where all of them lead to one state.
        let (mut open, mut incomplete) = (ByteClasses::IRREGULAR, ByteClasses::IRREGULAR);
        for &(low, high, next) in &runs {
            let classes = ByteClasses::of_bytes(low..=high);
            found.clear();
            if next != DEAD {
                live |= classes;
            }
            if next == DEAD || !self.collect(next, Utf8::Boundary.step(low), &mut found)? {
                incomplete |= classes;
                continue;
            }
            if found != [target] {
                open |= classes;
            }
            for &to in &found {
                match targets.iter_mut().find(|(_, target)| *target == to) {
                    Some((known, _)) => *known |= classes,
                    None => targets.push((classes, to)),
                }
            }
        }
        let complete = live & !incomplete;
        for (classes, _) in &mut targets {
            *classes = *classes & complete;
        }
        targets.retain(|(classes, _)| !classes.is_empty());
        let link = Arc::new(Link {
            target,
            closed: complete & !open,
            live,
            complete,
            targets,
        });
        self.rare().links.insert(state, link.clone());
        Ok(link)
    }

    /// The runs of bytes that lead to the same states, in order, cut where UTF-8 tells bytes apart.
    fn runs_of(&self, state: TerminalState, utf8: Utf8) -> Result<Vec<Run>, StepError> {
        let range = match utf8 {
            Utf8::Boundary => 0..=u8::MAX,
            _ => 0x80..=0xBF,
        };
        self.runs(state, range, Utf8::equivalent_bytes)
    }

    /// Collects where the rests of a character lead, given the state of UTF-8 after the bytes so far; returns whether
    /// all of them go on.
    fn collect(
        &self,
        state: TerminalState,
        utf8: Option<Utf8>,
        found: &mut Vec<TerminalState>,
    ) -> Result<bool, StepError> {
        let Some(utf8) = utf8 else {
            return Ok(false);
        };
        if utf8 == Utf8::Boundary {
            if !found.contains(&state) {
                found.push(state);
            }
            return Ok(true);
        }
        for (low, _, next) in self.runs_of(state, utf8)? {
            let behind = utf8.step(low);
            if behind.is_some() && (next == DEAD || !self.collect(next, behind, found)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The first and the last byte of a run, and where they lead.
pub(super) type Run = (u8, u8, TerminalState);

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
