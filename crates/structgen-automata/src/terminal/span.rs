//! Finds the spans of a terminal's states: texts that continue whatever they consist of.
//!
//! Patterns loop or count over a class of characters: `[a-z0-9-]+`, `[0-9a-f]{8}`. From such a state, all characters of
//! a class lead to one state, from there again to one state, and so on; then every text of the class continues, as far
//! as that chain reaches. Or a pattern has a few states that more characters leave and enter and that all continue, as
//! in `(\S+\s+)*\S+`; then every text of all of these characters continues.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::json::Utf8;
use crate::terminal::state::{NO_SPAN, NOT_ASKED, NOT_SEARCHED, State};
use crate::terminal::{DEAD, Terminal, TerminalState};
use crate::{ByteClasses, Ends, Span, StepError};

/// A class with fewer members is not worth a span, since few tokens consist of it. Whitespace is the exception: it has
/// long tokens.
const FEWEST: u32 = 8;

/// How far a chain of counting states is followed. Few tokens are longer.
const LONGEST: u32 = 16;

/// The maximum number of states of a span without a maximum length. A class in a pattern has one for each letter, since
/// a range may begin with it.
const MOST_STATES: usize = 96;

/// The maximum number of states of a span with a maximum length over several states.
const MOST_IN_CHAIN: usize = 32;

/// With fewer states to which characters lead, a search is always worth it.
const FEW_TARGETS: usize = 32;

/// About how many steps of a trie take as long as finding out where the characters of a state lead.
const STEPS: u32 = 128;

/// How far a span over several states is followed.
const LONGEST_WIDE: u32 = crate::SHORT_TEXT;

/// The minimum length of a span over several states to be worth it by itself: otherwise too many tokens are longer.
const SHORTEST: u32 = 8;

/// A span, and one without a maximum length beside it.
type Found = (Span, Option<Span>);

/// Where the characters of a state lead.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// The state to which most of them lead.
    target: TerminalState,
    /// The classes of which every character leads there.
    closed: ByteClasses,
    /// The classes of which some character leads somewhere.
    live: ByteClasses,
    /// The classes of which every character leads somewhere.
    complete: ByteClasses,
    /// Where the characters of these classes lead; a class may occur several times.
    targets: Vec<(ByteClasses, TerminalState)>,
}

impl Link {
    /// Returns whether too few characters lead to one state.
    fn is_small(&self) -> bool {
        self.closed.len() < FEWEST && !self.closed.contains(b' ')
    }

    /// Returns whether all characters of the classes lead to the state.
    pub(crate) fn leads_to(&self, state: TerminalState, classes: ByteClasses) -> bool {
        self.target == state && classes.is_subset(self.closed)
    }
}

impl Terminal {
    /// Returns texts that are known to continue from here, if they are worth a span. A span that the machine does not
    /// know takes a search, which is made only if it is worth it for the steps of a walk that a span may save: `saved`.
    #[inline]
    pub fn span(&self, state: TerminalState, saved: u32) -> Option<Span> {
        self.span_of(state, &self.known[state as usize], saved)
    }

    #[inline]
    pub(super) fn span_of(&self, state: TerminalState, known: &State, saved: u32) -> Option<Span> {
        match known.span.load(Ordering::Acquire) {
            NOT_ASKED => self.ask_for_span(state, saved),
            NO_SPAN => None,
            NOT_SEARCHED if saved == 0 || !self.is_worth_searching(state, saved) => None,
            NOT_SEARCHED => self.ask_for_span(state, saved),
            place => self.found_spans[place as usize].get().copied(),
        }
    }

    #[cold]
    fn ask_for_span(&self, state: TerminalState, saved: u32) -> Option<Span> {
        let known = self.source().numbered.span(state);
        let span = match known {
            Some(span) => Some(span),
            None if self.has_classes(state) => {
                if saved == 0 || !self.is_worth_searching(state, saved) {
                    let known = &self.known[state as usize].span;
                    // Another thread may have searched in the meantime.
                    let _ = known.compare_exchange(
                        NOT_ASKED,
                        NOT_SEARCHED,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    return None;
                }
                let found = self.find_span(state).unwrap_or(None);
                found.map(|(span, endless)| {
                    if let Some(endless) = endless {
                        self.rare().endless.insert(state, endless);
                    }
                    span
                })
            }
            None => None,
        };
        let mut source = self.source();
        let known = &self.known[state as usize].span;
        // Another thread may have found it as well.
        if matches!(known.load(Ordering::Relaxed), NOT_ASKED | NOT_SEARCHED) {
            let place = match span {
                Some(span) => {
                    let place = source.spans;
                    source.spans += 1;
                    self.found_spans.make(place as usize).get_or_init(|| span);
                    place
                }
                None => NO_SPAN,
            };
            known.store(place, Ordering::Release);
        }
        span
    }

    /// Returns whether a search takes fewer steps than are saved: one by about every byte from each state to which
    /// characters lead. If these are few, that is always worth it; if they are too many, there is no such search, and
    /// what was found for another state is known.
    fn is_worth_searching(&self, state: TerminalState, saved: u32) -> bool {
        let Ok(link) = self.link(state) else {
            return true;
        };
        let targets = link.targets.len();
        link.is_small()
            || !(FEW_TARGETS..=MOST_STATES).contains(&targets)
            || targets as u32 * STEPS <= saved
            || self.rare().wide.contains_key(&state)
    }

    /// Returns a span of fewer characters without a maximum length, beside one that has a maximum.
    pub(crate) fn endless_span(&self, state: TerminalState) -> Option<Span> {
        self.rare().endless.get(&state).copied()
    }

    /// Returns whether text of these classes is known to lead from the state back to itself.
    pub(crate) fn is_loop(&self, state: TerminalState, classes: ByteClasses) -> bool {
        let rare = self.rare();
        let link = rare.links.get(&state);
        link.is_some_and(|link| link.leads_to(state, classes))
    }

    /// Returns the span that begins at a state; `None` if no large class of bytes leads to one state. Beside a span
    /// with a maximum length, there may be one of fewer characters without.
    pub(crate) fn find_span(&self, state: TerminalState) -> Result<Option<Found>, StepError> {
        let link = self.link(state)?;
        if link.is_small() {
            return Ok(None);
        }
        // Each target's link takes a step by every byte, and no span is followed over that many.
        if link.targets.len() > MOST_STATES {
            return Ok(Some((self.find_chain(state, &link)?, None)));
        }
        let wide = self.wide(&link)?;
        if wide.is_subset(link.closed) {
            return Ok(Some((self.find_chain(state, &link)?, None)));
        }
        let mut endless = self.find_wide_span(state, &link, wide)?;
        if endless.is_none() && link.target != state {
            // Some characters may lead elsewhere than most: without them, this state may share the next one's span.
            let next = self.link(link.target)?;
            if next.targets.len() <= MOST_STATES
                && let Some(span) = self.find_wide_span(link.target, &next, self.wide(&next)?)?
            {
                endless = self.find_wide_span(state, &link, wide & span.closed)?;
            }
        }
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
        // Few words are as short, but most non-ASCII tokens are.
        let not_ascii = ByteClasses::of_bytes(0xC2..=0xF4);
        let adds = chain.closed & !other.closed & not_ascii;
        let is_worth_it = is_endless && chain.code_points > 0 && !adds.is_empty();
        if chain.code_points < SHORTEST && !is_worth_it {
            return Ok(Some((other, None)));
        }
        Ok(Some((chain, is_endless.then_some(other))))
    }

    /// Returns the characters after which those that lead to one state continue.
    fn wide(&self, link: &Link) -> Result<ByteClasses, StepError> {
        let mut wide = link.complete;
        for &(classes, target) in &link.targets {
            let goes_on = target == link.target
                || self.has_classes(target) && link.closed.is_subset(self.link(target)?.complete);
            if !goes_on {
                wide = wide & !classes;
            }
        }
        Ok(wide)
    }

    /// Returns the span of the characters that lead from one state to one other, and so on.
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

    /// Returns an unlimited span of characters that lead to states from which all of them continue, if these are not
    /// too many and it has more classes than lead to one state; `None` otherwise.
    fn find_wide_span(
        &self,
        state: TerminalState,
        link: &Link,
        classes: ByteClasses,
    ) -> Result<Option<Span>, StepError> {
        let known = self.rare().wide.get(&state).copied();
        if let Some((searched, found)) = known
            && searched == classes
        {
            return Ok(found);
        }
        let found = self.search_wide_span(state, link, classes)?;
        let mut rare = self.rare();
        if let Some((span, states)) = &found {
            // Each of the states leads only to others of them, so the span holds for all.
            let shared = { states.iter() }.map(|&state| (state, (span.closed, Some(*span))));
            rare.wide.extend(shared);
        }
        let found = found.map(|(span, _)| span);
        rare.wide.insert(state, (classes, found));
        Ok(found)
    }

    /// Like [`find_wide_span`](Self::find_wide_span), with the states.
    fn search_wide_span(
        &self,
        state: TerminalState,
        link: &Link,
        mut closed: ByteClasses,
    ) -> Result<Option<(Span, Vec<TerminalState>)>, StepError> {
        // Fewer characters lead to fewer states, all of which must accept them.
        while closed.len() > link.closed.len() {
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
                return Ok(Some((span, states)));
            }
        }
        Ok(None)
    }

    /// Returns the span of these characters, which continue from a state, as far as all of them continue from every
    /// state that they lead to.
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
        // The states after that many characters; all others that were met have been visited.
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
            if !goes_on || states.len() > MOST_IN_CHAIN {
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
        // A class of several bytes is complete if all of them are, and closed if all of them lead to one state.
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
        let mut rare = self.rare();
        // Another thread may have found it as well.
        if rare.links.insert(state, link.clone()).is_none() {
            rare.link_bytes += size_of::<Link>() + size_of_val(&*link.targets);
        }
        Ok(link)
    }

    /// Returns the runs of bytes that lead to the same states, in order, split where UTF-8 distinguishes bytes.
    fn runs_of(&self, state: TerminalState, utf8: Utf8) -> Result<Vec<Run>, StepError> {
        let range = match utf8 {
            Utf8::Boundary => 0..=u8::MAX,
            _ => 0x80..=0xBF,
        };
        self.runs(state, range, Utf8::equivalent_bytes)
    }

    /// Collects where the rests of a character lead, given the UTF-8 state after the bytes so far; returns whether all
    /// of them continue.
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

/// The first and last byte of a run, and where they lead.
pub(super) type Run = (u8, u8, TerminalState);

/// Returns the state to which most printable ASCII characters lead; [`DEAD`] if none leads anywhere.
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
    // Ties are broken by the smaller state, so that the choice depends on nothing else.
    let most = targets
        .into_iter()
        .max_by_key(|&(target, count)| (count, Reverse(target)));
    most.map_or(DEAD, |(target, _)| target)
}
