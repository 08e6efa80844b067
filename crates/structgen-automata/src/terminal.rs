//! A terminal: a machine with numbered states and cached steps.
//!
//! Cached data is read without a lock; the machine itself is locked for each step that is not cached. A state is
//! described before its number is stored anywhere, so every thread that finds the number finds the description.

mod cursor;
mod first;
mod numbering;
mod span;
mod state;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use rustc_hash::FxHashMap;
use structgen_memo::Segments;

pub use self::cursor::TerminalCursor;
use self::numbering::{Numbered, Numbering};
use self::span::{Link, Run};
use self::state::{NOT_FINAL, Row, State, Steps, UNKNOWN, fill};
use crate::bytes::{ByteClasses, common_run};
use crate::meter;
use crate::{
    ByteSet, Children, Continuations, LimitExceeded, Listing, LiteralsPlace, Lookahead, Machine,
    SHORT_TEXT, Span, StepError, TokenLengths, Uniform,
};

/// The number of a state within its terminal. [`DEAD`] and [`START`] are the same in every terminal.
pub type TerminalState = u32;

/// No text continues from here.
pub const DEAD: TerminalState = 0;

/// Before the first byte. Never final, even if the terminal accepts the empty text; see [`Terminal::is_nullable`].
pub const START: TerminalState = 1;

/// The tokens for which a state is relaxed, that is, replaced by an abstraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Tokens of at most [`SHORT_TEXT`] characters.
    Short,
    /// All tokens.
    Tokens,
}

/// The initial capacity in states.
const FEW_STATES: usize = 16;

/// The capacity in rows when the first is added.
const FEW_ROWS: usize = 4;

/// A lazily built deterministic automaton: what a [`Machine`] computes once is a table lookup from then on.
pub struct Terminal {
    known: Segments<State>,
    /// The rows of states with steps by many bytes.
    table: Segments<OnceLock<Box<Row>>>,
    /// The maximum lengths of tokens.
    tokens: TokenLengths,
    found_spans: Segments<OnceLock<Span>>,
    firsts: Segments<OnceLock<ByteSet>>,
    nullable: Option<u32>,
    counts: bool,
    is_listed: bool,
    is_string: bool,
    is_grounded: bool,
    is_live: bool,
    source: Mutex<Source>,
    rare: Mutex<Rare>,
}

/// Data that is requested seldom: a lock costs less than lock-free tables.
#[derive(Default)]
struct Rare {
    /// For states whose span is limited: a span of fewer characters that is not.
    endless: FxHashMap<TerminalState, Span>,
    links: FxHashMap<TerminalState, Arc<Link>>,
    /// The number of bytes of the links.
    link_bytes: usize,
    /// Of spans over several states, by each of these states: the characters for which one was searched, and what was
    /// found.
    wide: FxHashMap<TerminalState, (ByteClasses, Option<Span>)>,
}

/// The part that is locked for a step that is not cached.
struct Source {
    numbered: Box<dyn Numbered + Send>,
    /// The number of states that were described.
    states: u32,
    rows: u32,
    spans: u32,
    firsts: u32,
}

impl Source {
    fn memory(&self) -> usize {
        self.rows as usize * size_of::<Row>() + self.numbered.memory()
    }
}

impl Terminal {
    /// Creates a terminal from a machine; only the start is built.
    ///
    /// # Errors
    /// If the machine cannot decide within its limits whether it accepts anything.
    pub fn new<M>(mut machine: M) -> Result<Self, LimitExceeded>
    where
        M: Machine + Send + 'static,
        M::State: Send,
    {
        let start = machine.start()?;
        let counts = machine.has_long_counters();
        let is_listed = machine.is_listed();
        let is_string = machine.is_string();
        let is_grounded = machine.is_grounded();
        let nullable = start.as_ref().and_then(|state| machine.accept(state));
        let is_live = start.is_some();
        let known: Segments<State> = Segments::with_room(FEW_STATES);
        for reach in &known.make(DEAD as usize).relaxed {
            reach.store(DEAD, Ordering::Relaxed);
        }
        known
            .make(START as usize)
            .loose
            .store(START, Ordering::Relaxed);
        Ok(Self {
            known,
            table: Segments::with_room(FEW_ROWS),
            tokens: TokenLengths::UNKNOWN,
            found_spans: Segments::with_room(2),
            firsts: Segments::with_room(FEW_ROWS),
            nullable,
            counts,
            is_listed,
            is_string,
            is_grounded,
            is_live,
            source: Mutex::new(Source {
                numbered: Box::new(Numbering::new(machine, start)),
                states: START + 1,
                rows: 0,
                spans: 0,
                firsts: 0,
            }),
            rare: Mutex::default(),
        })
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rare(&self) -> MutexGuard<'_, Rare> {
        self.rare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the maximum lengths of tokens: what none of them reaches may be forgotten.
    pub(crate) fn for_tokens(mut self, tokens: TokenLengths) -> Self {
        self.tokens = tokens;
        // A nullable start is not replaced by another state, which would be final.
        if self.nullable.is_none() {
            let mut source = self.source();
            if let Some(loose) = source.numbered.loosen(START, tokens.longest_gap) {
                self.describe(&mut source, loose);
                self.known[START as usize]
                    .loose
                    .store(loose, Ordering::Release);
            }
        }
        self
    }

    /// Returns the state that accepts the same tokens and forgets whitespace that does not matter (its abstraction).
    #[inline]
    pub(crate) fn loosened(&self, state: TerminalState) -> TerminalState {
        self.known[state as usize].loose.load(Ordering::Acquire)
    }

    /// Returns the state that accepts the same tokens, or the same short ones, and forgets counters out of their reach.
    #[inline]
    pub(crate) fn relaxed(&self, state: TerminalState, reach: Reach) -> TerminalState {
        match self.known[state as usize].relaxed[reach as usize].load(Ordering::Acquire) {
            UNKNOWN => self.relax(state, reach),
            known => known,
        }
    }

    #[cold]
    fn relax(&self, state: TerminalState, reach: Reach) -> TerminalState {
        let characters = match reach {
            Reach::Short => SHORT_TEXT,
            Reach::Tokens => self.tokens.most_characters,
        };
        let lookahead = Lookahead {
            characters,
            gaps: self.tokens.most_gaps,
        };
        let mut source = self.source();
        // A nullable start is not replaced by another state, which would be final.
        let is_nullable_start = state == START && self.nullable.is_some();
        let relaxed = if is_nullable_start {
            state
        } else {
            let relaxed = source.numbered.relax(state, lookahead);
            relaxed.unwrap_or(state)
        };
        self.describe(&mut source, relaxed);
        self.known[state as usize].relaxed[reach as usize].store(relaxed, Ordering::Release);
        relaxed
    }

    /// Returns whether some state may be relaxed, see [`Machine::has_long_counters`].
    pub(crate) fn counts(&self) -> bool {
        self.counts
    }

    /// Returns whether it is a JSON string, see [`Machine::is_string`].
    #[inline]
    #[must_use]
    pub fn is_string(&self) -> bool {
        self.is_string
    }

    /// Returns whether the terminal accepts no text at all.
    #[must_use]
    pub fn is_never(&self) -> bool {
        !self.is_live
    }

    /// Returns the label under which the empty text is accepted. [`START`] itself is never final, so the user of the
    /// terminal decides once whether it is skipped.
    #[must_use]
    pub fn is_nullable(&self) -> Option<u32> {
        self.nullable
    }

    /// Returns the state after one more byte, or [`DEAD`] if no text continues.
    ///
    /// # Errors
    /// If the machine exceeds a limit, or the step depends on what a sketch omits.
    #[inline]
    pub fn step(&self, state: TerminalState, byte: u8) -> Result<TerminalState, StepError> {
        match self.known_step(&self.known[state as usize], byte) {
            Some(next) => Ok(next),
            None => self.resolve(state, byte),
        }
    }

    /// Returns the state after one more byte, if it is cached.
    #[inline(always)]
    fn known_step(&self, known: &State, byte: u8) -> Option<TerminalState> {
        let row = known.row.load(Ordering::Acquire);
        if row != UNKNOWN {
            let Row(row) = &**self.table[row as usize].get()?;
            let next = row[usize::from(byte)].load(Ordering::Acquire);
            return (next != UNKNOWN).then_some(next);
        }
        let mut few = known.few.iter();
        few.find_map(|steps| Steps::next(steps.load(Ordering::Acquire), byte))
    }

    #[cold]
    fn resolve(&self, state: TerminalState, byte: u8) -> Result<TerminalState, StepError> {
        if state == DEAD {
            return Ok(DEAD);
        }
        let mut source = self.source();
        // Another thread may just have computed it.
        match self.known_step(&self.known[state as usize], byte) {
            Some(next) => Ok(next),
            None => Ok(self.make_steps(&mut source, state, byte)?.next),
        }
    }

    /// Computes the steps by the bytes around one that is not cached.
    fn make_steps(
        &self,
        source: &mut Source,
        state: TerminalState,
        byte: u8,
    ) -> Result<Steps, StepError> {
        let before = source.numbered.work();
        let next = source.numbered.step(state, byte)?;
        self.describe(source, next);
        meter::add(source.numbered.work() - before)?;
        let (low, high) = source.numbered.alike(state, byte);
        let steps = Steps { low, high, next };
        let known = &self.known[state as usize];
        let row = known.row.load(Ordering::Relaxed);
        if row != UNKNOWN {
            if let Some(row) = self.table[row as usize].get() {
                fill(row, steps);
            }
            return Ok(steps);
        }
        let mut few = known.few.iter();
        if let Some(free) = few.find(|few| few.load(Ordering::Relaxed) == 0) {
            free.store(steps.pack(), Ordering::Release);
            return Ok(steps);
        }
        let row = source.rows;
        source.rows += 1;
        self.table.make(row as usize).get_or_init(|| {
            let row = Box::default();
            let few = known.few.iter().map(|few| few.load(Ordering::Relaxed));
            few.filter_map(Steps::unpack)
                .for_each(|steps| fill(&row, steps));
            fill(&row, steps);
            row
        });
        known.row.store(row, Ordering::Release);
        Ok(steps)
    }

    /// Returns where the bytes of a range lead, run by run, each limited to what `alike` returns for its first byte;
    /// all under one lock.
    pub(crate) fn runs(
        &self,
        state: TerminalState,
        range: RangeInclusive<u8>,
        alike: impl Fn(u8) -> (u8, u8),
    ) -> Result<Vec<Run>, StepError> {
        let mut source = self.source();
        let first = source.numbered.first(state).unwrap_or(ByteSet::ALL);
        let mut runs = Vec::with_capacity(16);
        let (mut low, last) = range.into_inner();
        loop {
            let known = self.known_step(&self.known[state as usize], low);
            let (next, run) = match known {
                Some(next) => (next, source.numbered.alike(state, low)),
                None if state != DEAD && first.contains(low) => {
                    let steps = self.make_steps(&mut source, state, low)?;
                    (steps.next, (steps.low, steps.high))
                }
                None => (DEAD, source.numbered.alike(state, low)),
            };
            let (_, high) = common_run(run, alike(low));
            runs.push((low, high, next));
            if high >= last {
                return Ok(runs);
            }
            low = high + 1;
        }
    }

    /// Describes a state if it is new.
    fn describe(&self, source: &mut Source, state: TerminalState) {
        if state == source.states {
            source.states += 1;
            let known = self.known.make(state as usize);
            let accept = source.numbered.accept(state).unwrap_or(NOT_FINAL);
            known.accept.store(accept, Ordering::Relaxed);
            known
                .is_end
                .store(source.numbered.is_end(state), Ordering::Relaxed);
            known.loose.store(state, Ordering::Relaxed);
            if let Some(loose) = source.numbered.loosen(state, self.tokens.longest_gap) {
                self.describe(source, loose);
                known.loose.store(loose, Ordering::Relaxed);
            }
        }
    }

    /// Returns how a string that may hold any text ends, see [`Machine::uniform`].
    pub fn uniform(&self, state: TerminalState) -> Option<Uniform<TerminalState>> {
        let mut source = self.source();
        let uniform = source.numbered.uniform(state)?;
        self.describe(&mut source, uniform.state);
        Some(uniform)
    }

    /// Returns the state before the first byte with some texts excluded, or [`DEAD`] if there are no others; see
    /// [`Machine::start_without`].
    ///
    /// # Errors
    /// If the machine exceeds a limit.
    pub(crate) fn start_without(&self, excluded: u32) -> Result<TerminalState, StepError> {
        let mut source = self.source();
        let start = source.numbered.start_without(excluded)?;
        self.describe(&mut source, start);
        Ok(start)
    }

    /// Returns the state without the texts that a sketch omits, see [`Machine::sketch`].
    ///
    /// # Errors
    /// If the machine exceeds a limit.
    pub fn sketch(&self, state: TerminalState) -> Result<TerminalState, StepError> {
        let mut source = self.source();
        let sketch = source.numbered.sketch(state)?;
        self.describe(&mut source, sketch);
        Ok(sketch)
    }

    /// Returns the label of a final state.
    #[inline]
    #[must_use]
    pub fn accept(&self, state: TerminalState) -> Option<u32> {
        let label = self.known[state as usize].accept.load(Ordering::Relaxed);
        (label != NOT_FINAL).then_some(label)
    }

    /// Returns whether the state is known to be final and nothing can follow.
    #[inline]
    #[must_use]
    pub fn is_end(&self, state: TerminalState) -> bool {
        self.known[state as usize].is_end.load(Ordering::Relaxed)
    }

    /// Returns the bytes around this one that lead to the same state, as far as that is cheap to find.
    pub(crate) fn alike(&self, state: TerminalState, byte: u8) -> (u8, u8) {
        self.source().numbered.alike(state, byte)
    }

    /// Returns the position in a list of literals, see [`Machine::literals`].
    pub(crate) fn literals(&self, state: TerminalState) -> Option<LiteralsPlace> {
        self.source().numbered.literals(state)
    }

    /// See [`Machine::listing`].
    #[inline]
    pub(crate) fn listing(&self, state: TerminalState) -> Option<Listing> {
        match self.is_listed {
            true => self.source().numbered.listing(state),
            false => None,
        }
    }

    /// See [`Machine::is_grounded`].
    #[inline]
    pub(crate) fn is_grounded(&self) -> bool {
        self.is_grounded
    }

    /// Returns the continuations in a span of an input, see [`Machine::continuations`].
    pub(crate) fn continuations(
        &self,
        state: TerminalState,
        root: u32,
        child: &Children<'_>,
    ) -> Result<Option<Arc<Continuations>>, StepError> {
        match self.is_grounded {
            true => self.source().numbered.continuations(state, root, child),
            false => Ok(None),
        }
    }

    /// Returns whether large classes of characters may lead from the state to others, see [`Machine::has_classes`].
    pub(crate) fn has_classes(&self, state: TerminalState) -> bool {
        self.source().numbered.has_classes(state)
    }

    /// Returns the length of the rest that the form prescribes, and its label; see [`Machine::forced`].
    #[must_use]
    pub fn forced(&self, state: TerminalState) -> Option<(u32, u32)> {
        self.source().numbered.forced(state)
    }

    /// Returns the length of a known completion in bytes, see [`Machine::cost`].
    pub fn cost(&self, state: TerminalState) -> u32 {
        self.source().numbered.cost(state)
    }

    /// Returns the approximate size of the tables in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let of_source = self.source().memory();
        of_source + self.memory_of_tables()
    }

    /// Like [`memory`](Self::memory), but `None` while a step is being computed.
    pub(crate) fn memory_if_free(&self) -> Option<usize> {
        let of_source = match self.source.try_lock() {
            Ok(source) => source.memory(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().memory(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(of_source + self.memory_of_tables())
    }

    fn memory_of_tables(&self) -> usize {
        let known = self.known.memory() + self.table.memory();
        let found = self.found_spans.memory() + self.firsts.memory();
        let rare = self.rare();
        size_of::<Self>()
            + known
            + found
            + rare.endless.capacity() * size_of::<(TerminalState, Span)>()
            + rare.links.capacity() * size_of::<(TerminalState, Arc<Link>)>()
            + rare.link_bytes
            + rare.wide.capacity() * size_of::<(TerminalState, ByteClasses, Option<Span>)>()
    }

    /// Returns the number of states built.
    #[must_use]
    pub fn len(&self) -> usize {
        self.source().states as usize
    }

    /// Returns whether only the start was built.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() <= 2
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal")
            .field("states", &self.len())
            .finish_non_exhaustive()
    }
}
