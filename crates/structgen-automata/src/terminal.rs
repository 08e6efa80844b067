//! A terminal: a machine whose states are numbered and whose steps are remembered.

mod numbering;
mod span;

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use self::numbering::{Numbered, Numbering};
use self::span::Link;
use crate::{
    ByteClasses, ByteSet, LimitExceeded, LiteralsPlace, Machine, SHORT_TEXT, Span, StepError,
    TokenLengths, Uniform,
};

/// The number of a state within its terminal. [`DEAD`] and [`START`] are the same in every terminal.
pub type TerminalState = u32;

/// No text goes on from here.
pub const DEAD: TerminalState = 0;

/// Before the first byte. Not final even where the terminal takes the empty text: see [`Terminal::is_nullable`].
pub const START: TerminalState = 1;

const UNKNOWN: TerminalState = u32::MAX;
const NOT_FINAL: u32 = u32::MAX;

/// For which tokens a state is relaxed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those of at most [`SHORT_TEXT`] characters.
    Short,
    /// All.
    Tokens,
}

/// For how many rows there is room once there is one.
const FEW_ROWS: usize = 4;

/// For how many runs of bytes a state's steps are kept without a row: most states are stepped from by no more.
const FEW_STEPS: usize = 4;

/// Where the bytes of a run lead.
#[derive(Clone, Copy, Debug)]
struct Steps {
    low: u8,
    high: u8,
    next: TerminalState,
}

impl Steps {
    /// A run without bytes.
    const NONE: Self = Self {
        low: 1,
        high: 0,
        next: DEAD,
    };

    #[inline]
    fn has(&self, byte: u8) -> bool {
        self.low <= byte && byte <= self.high
    }

    fn is_none(&self) -> bool {
        self.low > self.high
    }
}

/// What is known of a state: a line of the processor's cache, since whoever steps to it asks for more than one of these.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct State {
    /// Its steps, as long as they are few.
    few: [Steps; FEW_STEPS],
    /// Where its steps begin in the table; [`UNKNOWN`] where it has none there.
    row: u32,
    /// The label; [`NOT_FINAL`] where it is none.
    accept: u32,
    /// One that takes the same tokens; see [`Machine::abstract_whitespace`].
    loose: TerminalState,
    /// One that takes the same short tokens, and one that takes the same tokens; see [`Machine::abstract_counters`]. [`UNKNOWN`] where nobody has
    /// asked.
    relaxed: [TerminalState; 2],
    /// Where its span is.
    span: Known,
    is_end: bool,
}

impl State {
    /// A state that is not final.
    fn new(state: TerminalState) -> Self {
        Self {
            few: [Steps::NONE; FEW_STEPS],
            row: UNKNOWN,
            accept: NOT_FINAL,
            loose: state,
            relaxed: [UNKNOWN; 2],
            span: Known::NotAsked,
            is_end: false,
        }
    }
}

/// What is known of a state's span.
#[derive(Clone, Copy, Debug)]
enum Known {
    NotAsked,
    None,
    /// Its place in the list of all spans.
    Span(u32),
}

/// A lazily built deterministic automaton: what a [`Machine`] computes once is a table look-up from then on.
pub struct Terminal {
    known: Vec<State>,
    /// The steps of states that many bytes have been asked of, 256 each.
    table: Vec<TerminalState>,
    /// What tokens are like.
    tokens: TokenLengths,
    found_spans: Vec<Span>,
    /// For states whose span ends: another one that does not, of fewer characters.
    endless: FxHashMap<TerminalState, Span>,
    pub(crate) links: FxHashMap<TerminalState, Arc<Link>>,
    firsts: FxHashMap<TerminalState, ByteSet>,
    nullable: Option<u32>,
    counts: bool,
    source: Box<dyn Numbered + Send>,
}

impl Terminal {
    /// A terminal over a machine; nothing is built but the start.
    ///
    /// # Errors
    /// When the machine cannot tell within its limits whether it accepts anything.
    pub fn new<M>(mut machine: M) -> Result<Self, LimitExceeded>
    where
        M: Machine + Send + 'static,
        M::State: Send,
    {
        let start = machine.start()?;
        let counts = machine.has_long_counters();
        let nullable = start.as_ref().and_then(|state| machine.accept(state));
        let source = Numbering::new(machine, start);
        let dead = State {
            relaxed: [DEAD; 2],
            ..State::new(DEAD)
        };
        Ok(Self {
            known: vec![dead, State::new(START)],
            table: Vec::new(),
            tokens: TokenLengths::UNKNOWN,
            found_spans: Vec::new(),
            endless: FxHashMap::default(),
            links: FxHashMap::default(),
            firsts: FxHashMap::default(),
            nullable,
            counts,
            source: Box::new(source),
        })
    }

    /// The terminal for such tokens: what none of them reaches may be forgotten.
    pub(crate) fn for_tokens(mut self, tokens: TokenLengths) -> Self {
        self.tokens = tokens;
        // A start that may take nothing is no other state: those are final.
        if self.nullable.is_none()
            && let Some(loose) = self.source.loosen(START, tokens.longest_gap)
        {
            self.describe(loose);
            self.known[START as usize].loose = loose;
        }
        self
    }

    /// The state that takes the same tokens and knows no more than is needed for it.
    #[inline]
    pub(crate) fn loosened(&self, state: TerminalState) -> TerminalState {
        self.known[state as usize].loose
    }

    /// The state that takes the same tokens, or the same short ones, and knows no more than is needed for it.
    #[inline]
    pub(crate) fn relaxed(&mut self, state: TerminalState, reach: Reach) -> TerminalState {
        match self.known[state as usize].relaxed[reach as usize] {
            UNKNOWN => self.relax(state, reach),
            known => known,
        }
    }

    #[cold]
    fn relax(&mut self, state: TerminalState, reach: Reach) -> TerminalState {
        let characters = match reach {
            Reach::Short => SHORT_TEXT,
            Reach::Tokens => self.tokens.most_characters,
        };
        // A start that may take nothing is no other state: those are final.
        let is_nullable_start = state == START && self.nullable.is_some();
        let relaxed = if is_nullable_start {
            state
        } else {
            self.source.relax(state, characters).unwrap_or(state)
        };
        self.describe(relaxed);
        self.known[state as usize].relaxed[reach as usize] = relaxed;
        relaxed
    }

    /// Whether some state may be relaxed; see [`Machine::has_long_counters`].
    pub(crate) fn counts(&self) -> bool {
        self.counts
    }

    /// Whether the terminal takes no text at all.
    #[must_use]
    pub fn is_never(&self) -> bool {
        !self.source.is_live()
    }

    /// The label under which the empty text is taken. [`START`] itself is never final, so that taking nothing is decided by whoever
    /// uses the terminal, once.
    #[must_use]
    pub fn is_nullable(&self) -> Option<u32> {
        self.nullable
    }

    /// The state behind one more byte, [`DEAD`] where no text goes on.
    ///
    /// # Errors
    /// When the machine runs over a limit, or a sketch does not suffice.
    #[inline]
    pub fn step(&mut self, state: TerminalState, byte: u8) -> Result<TerminalState, StepError> {
        let known = &self.known[state as usize];
        if known.row != UNKNOWN {
            let next = self.table[known.row as usize + usize::from(byte)];
            if next != UNKNOWN {
                return Ok(next);
            }
        } else if let Some(steps) = known.few.iter().find(|few| few.has(byte)) {
            return Ok(steps.next);
        }
        self.resolve(state, byte)
    }

    #[cold]
    fn resolve(&mut self, state: TerminalState, byte: u8) -> Result<TerminalState, StepError> {
        if state == DEAD {
            return Ok(DEAD);
        }
        let next = self.source.step(state, byte)?;
        self.describe(next);
        let (low, high) = self.source.alike(state, byte);
        let steps = Steps { low, high, next };
        let known = &mut self.known[state as usize];
        if known.row == UNKNOWN {
            let mut few = known.few.iter_mut();
            if let Some(free) = few.find(|few| few.is_none()) {
                *free = steps;
                return Ok(next);
            }
            self.spread(state);
        }
        self.fill(state, steps);
        Ok(next)
    }

    /// Gives a state a row of the table.
    fn spread(&mut self, state: TerminalState) {
        if self.table.capacity() == 0 {
            self.table.reserve(FEW_ROWS * 256);
        }
        let known = &mut self.known[state as usize];
        known.row = self.table.len() as u32;
        let few = known.few;
        self.table.resize(self.table.len() + 256, UNKNOWN);
        for steps in few {
            self.fill(state, steps);
        }
    }

    fn fill(&mut self, state: TerminalState, Steps { low, high, next }: Steps) {
        let row = self.known[state as usize].row as usize;
        let row = &mut self.table[row..][..256];
        row[usize::from(low)..=usize::from(high)].fill(next);
    }

    /// Notes what is to be known of a state that may be new.
    fn describe(&mut self, state: TerminalState) {
        if state as usize == self.known.len() {
            self.known.push(State {
                accept: self.source.accept(state).unwrap_or(NOT_FINAL),
                is_end: self.source.is_end(state),
                ..State::new(state)
            });
            if let Some(loose) = self.source.loosen(state, self.tokens.longest_gap) {
                self.describe(loose);
                self.known[state as usize].loose = loose;
            }
        }
    }

    /// The state behind any plain text; see [`Machine::uniform`].
    pub fn uniform(&mut self, state: TerminalState) -> Option<Uniform<TerminalState>> {
        let uniform = self.source.uniform(state)?;
        self.describe(uniform.state);
        Some(uniform)
    }

    /// The state before the first byte where some texts are left out, [`DEAD`] where there are no others; see [`Machine::start_without`].
    ///
    /// # Errors
    /// When the machine runs over a limit.
    pub(crate) fn start_without(&mut self, excluded: u32) -> Result<TerminalState, StepError> {
        let start = self.source.start_without(excluded)?;
        self.describe(start);
        Ok(start)
    }

    /// The state without texts that a sketch does not keep; see [`Machine::sketch`].
    ///
    /// # Errors
    /// When the machine runs over a limit.
    pub fn sketch(&mut self, state: TerminalState) -> Result<TerminalState, StepError> {
        let sketch = self.source.sketch(state)?;
        self.describe(sketch);
        Ok(sketch)
    }

    /// The label of a final state.
    #[inline]
    #[must_use]
    pub fn accept(&self, state: TerminalState) -> Option<u32> {
        let label = self.known[state as usize].accept;
        (label != NOT_FINAL).then_some(label)
    }

    /// Whether the state is known to be final with nothing behind it.
    #[inline]
    #[must_use]
    pub fn is_end(&self, state: TerminalState) -> bool {
        self.known[state as usize].is_end
    }

    /// The bytes around this one that lead to the same state, as far as that is cheap to tell.
    pub(crate) fn alike(&mut self, state: TerminalState, byte: u8) -> (u8, u8) {
        self.source.alike(state, byte)
    }

    /// The bytes that may come next, at most, where the machine can tell without trying.
    pub(crate) fn known_first(&mut self, state: TerminalState) -> Option<ByteSet> {
        self.source.first(state)
    }

    /// The bytes that may come next, at most; all of them where a step fails.
    pub fn first(&mut self, state: TerminalState) -> ByteSet {
        if let Some(&known) = self.firsts.get(&state) {
            return known;
        }
        if let Some(first) = self.source.first(state) {
            self.firsts.insert(state, first);
            return first;
        }
        let mut first = ByteSet::default();
        let mut byte = 0;
        loop {
            let (_, last) = self.source.alike(state, byte);
            match self.step(state, byte) {
                Ok(DEAD) => {}
                Ok(_) => (byte..=last).for_each(|byte| first.insert(byte)),
                Err(_) => {
                    first = ByteSet::ALL;
                    break;
                }
            }
            match last.checked_add(1) {
                Some(next) => byte = next,
                None => break,
            }
        }
        self.firsts.insert(state, first);
        first
    }

    /// A stretch of text that goes on from here whatever it is made of, if there is one worth the name. To find one that the machine does
    /// not know is some work; without `search` that is left undone.
    pub fn span(&mut self, state: TerminalState, search: bool) -> Option<Span> {
        match self.known[state as usize].span {
            Known::Span(at) => return Some(self.found_spans[at as usize]),
            Known::None => return None,
            Known::NotAsked => {}
        }
        let span = match self.source.span(state) {
            Some(span) => Some(span),
            None if self.source.has_classes(state) => {
                if !search {
                    return None;
                }
                let found = self.find_span(state).unwrap_or(None);
                found.map(|(span, endless)| {
                    if let Some(endless) = endless {
                        self.endless.insert(state, endless);
                    }
                    span
                })
            }
            None => None,
        };
        self.known[state as usize].span = match span {
            Some(span) => {
                self.found_spans.push(span);
                Known::Span(self.found_spans.len() as u32 - 1)
            }
            None => Known::None,
        };
        span
    }

    /// Beside the state's span, if that is known and ends: one that does not, of fewer characters.
    pub(crate) fn endless_span(&self, state: TerminalState) -> Option<Span> {
        self.endless.get(&state).copied()
    }

    /// The place in a list of literals that the state is; see [`Machine::literals`].
    pub(crate) fn literals(&self, state: TerminalState) -> Option<LiteralsPlace> {
        self.source.literals(state)
    }

    /// Whether large classes of characters may lead from the state to others; see [`Machine::has_classes`].
    pub(crate) fn has_classes(&self, state: TerminalState) -> bool {
        self.source.has_classes(state)
    }

    /// Whether text of these classes is known to lead from the state back to itself.
    pub(crate) fn is_loop(&self, state: TerminalState, classes: ByteClasses) -> bool {
        self.links
            .get(&state)
            .is_some_and(|link| link.leads_to(state, classes))
    }

    /// What is left of text that the form demands, and its label; see [`Machine::forced`].
    #[must_use]
    pub fn forced(&self, state: TerminalState) -> Option<(u32, u32)> {
        self.source.forced(state)
    }

    /// How many bytes a known completion takes; see [`Machine::cost`].
    pub fn cost(&mut self, state: TerminalState) -> u32 {
        self.source.cost(state)
    }

    /// About how many bytes the tables take.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.table.capacity() * size_of::<TerminalState>()
            + self.known.capacity() * size_of::<State>()
            + self.found_spans.capacity() * size_of::<Span>()
            + self.endless.capacity() * 64
            + self.links.capacity() * 160
            + self.firsts.capacity() * 40
    }

    /// How many states have been built.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether nothing but the start has been built.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.len() <= 2
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal")
            .field("states", &self.known.len())
            .finish_non_exhaustive()
    }
}
