//! Running a program: sets of stacks, made on demand and kept.
//!
//! A state of the network is a **set of stacks** ([`SetId`]). A set is a list of [`Element`]s: a frame on top, and below it
//! another set. Equal sets are stored once, so a state is a number, two states are equal where their numbers are, and a fork is a
//! copy of a number. Alternatives that agree on a frame share it: the set is a graph-structured stack (Tomita, 1985) in canonical form.
//!
//! A frame either reads bytes (a terminal in progress) or waits for what is above it. Every frame that reads is live by itself:
//! what cannot be completed is never made.
//!
//! A [`Network`] is shared: threads find out together what it is, and read what is known without a lock. What a thread does with
//! it is a [`Call`], which counts its own work. The number of a state depends on who came first; whatever else is asked of a state does not.

mod cost;
mod covered;
mod distinct;
mod enter;
mod fresh;
mod guides;
mod items;
mod members;
mod register;
mod sets;
mod sketch;
mod terminals;
mod values;
mod written;

use std::cell::Cell;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use structgen_memo::{Memo, Numbers};
use structgen_regular::CancelToken;

use crate::program::{NodeId, Program};
use crate::terminal::{Reach, START, TerminalCursor};
use crate::{
    ByteClasses, ByteSet, Children, Continuations, LimitExceeded, LiteralsPlace, Span, StepError,
    TokenLengths,
};

use distinct::Item;
pub use guides::Begun;
use guides::Guided;
use register::Registers;
pub use sets::{Element, Frame, SetId};
use sets::{LOST, NOT_BEGUN, Sets, Work};
use terminals::Terminals;
use values::{Excluded, ValueId, Values};
use written::{CostClass, Relations, Written};

/// Whether states remember the text of undeclared keys, and of items that others are compared with.
///
/// A matcher's own state is exact. Masks are computed on sketches, where thousands of texts that differ in nothing else are one state; where
/// a step depends on the text after all, it fails with [`StepError::NeedsExact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Every text is kept.
    Exact,
    /// The texts that are read from now on are not kept.
    Sketch,
    /// The same, and counters are forgotten that are out of reach of short tokens; see [`Call::relax`].
    Short,
    /// The same, and counters are forgotten that are out of reach of all tokens.
    Tokens,
}

impl Memory {
    /// For which tokens counters are forgotten.
    #[inline]
    fn reach(self) -> Option<Reach> {
        match self {
            Self::Exact | Self::Sketch => None,
            Self::Short => Some(Reach::Short),
            Self::Tokens => Some(Reach::Tokens),
        }
    }
}

impl TerminalCursor<'_> {
    /// The place after one more byte, in a sketch; `None` where no text goes on.
    ///
    /// # Errors
    /// When a limit is exceeded, or a sketch does not suffice.
    #[inline]
    pub fn step(self, byte: u8, memory: Memory) -> Result<Option<Self>, StepError> {
        self.step_within(byte, memory.reach())
    }
}

/// For how many entries the tables that grow with every first visit have room from the start.
const ROOM: usize = 256;

/// The states of a program, as far as they have been visited.
#[derive(Debug)]
pub struct Network {
    program: Arc<Program>,
    terminals: Terminals,
    registers: Registers,
    sets: Sets,
    /// What a waiting set goes on with once the frame above it is done, by what has been written then.
    resumed: Numbers,
    /// What follows a terminal that ends in its state.
    followed: Memo<(Frame, u32, SetId), SetId>,
    /// By the state, the byte, and whether texts are kept.
    stepped: Numbers,
    firsts: Memo<SetId, ByteSet>,
    /// Whether the text may end, where that is not plain to see.
    accepting: Numbers,
    finals: Numbers,
    /// By what is known of the costs of related values.
    costs: Memo<(SetId, CostClass), u64>,
    /// What reads a single item, for arrays that compare their items: by where it begins, and its depth where that matters.
    items: Memo<(NodeId, u32), Arc<Mutex<Item>>>,
    /// The values of items that are compared.
    values: Arc<Mutex<Values>>,
    /// The values that later ones refer to.
    relations: Relations,
    /// Replaced where more of them are found.
    fresh: Mutex<FxHashMap<(NodeId, u32, Excluded), Fresh>>,
    /// Whether so many values begin at a node that no number of others matters.
    vast: Memo<NodeId, bool>,
    guided: Guided,
    /// In how many arrays that compare their items the network stands.
    level: u32,
    start: SetId,
}

/// What one caller does with a [`Network`]: steps and all else together may look at as many alternatives as
/// [`Limits::work`](crate::Limits::work) says.
#[derive(Debug)]
pub struct Call<'n> {
    network: &'n Network,
    work: Work<'n>,
    /// What has been written before the place that is looked at.
    written: Cell<Written>,
}

impl Deref for Call<'_> {
    type Target = Network;

    #[inline]
    fn deref(&self) -> &Network {
        self.network
    }
}

#[inline]
fn step_key(set: SetId, byte: u8, memory: Memory) -> u64 {
    u64::from(set.0) << 16 | u64::from(byte) << 8 | memory as u64
}

/// Values that are not among some others, and whether these are all.
type Fresh = (bool, Arc<[(u64, ValueId)]>);

impl Network {
    /// The start of a program.
    ///
    /// # Errors
    /// When the start exceeds a limit, or the program's texts nest deeper than its form allows.
    pub fn new(program: Arc<Program>) -> Result<Self, LimitExceeded> {
        Self::for_tokens(program, TokenLengths::UNKNOWN)
    }

    /// The start of a program, for such tokens: sketches of states forget how much whitespace was read where none of them tells the
    /// difference, and [relaxed](Call::relax) ones how far they have counted.
    ///
    /// # Errors
    /// As [`Network::new`].
    pub fn for_tokens(program: Arc<Program>, tokens: TokenLengths) -> Result<Self, LimitExceeded> {
        let mut network = Self::empty(program, 0, tokens);
        network.sets.make_room(ROOM);
        network.followed = Memo::with_room(ROOM);
        network.start = network.call().make_start()?;
        Ok(network)
    }

    /// The start of what begins at a node, within so many levels of nesting.
    fn at(
        program: Arc<Program>,
        node: NodeId,
        depth: u32,
        level: u32,
    ) -> Result<Self, LimitExceeded> {
        // What an item is compared with counts its whitespace: so does the item.
        let mut network = Self::empty(program, depth, TokenLengths::UNKNOWN);
        network.level = level;
        let start = network.call().make_start_at(node);
        network.start = start.map_err(StepError::limit)?;
        Ok(network)
    }

    /// A network without a start.
    pub(crate) fn empty(program: Arc<Program>, depth: u32, tokens: TokenLengths) -> Self {
        Self {
            terminals: Terminals::new(&program, tokens),
            registers: Registers::default(),
            sets: Sets::new(program.clone(), depth),
            resumed: Numbers::default(),
            followed: Memo::default(),
            stepped: Numbers::default(),
            firsts: Memo::default(),
            accepting: Numbers::default(),
            finals: Numbers::default(),
            costs: Memo::default(),
            items: Memo::default(),
            values: Arc::new(Mutex::new(Values::new(program.form.clone()))),
            relations: Relations::default(),
            fresh: Mutex::default(),
            vast: Memo::default(),
            guided: Guided::default(),
            level: 0,
            start: SetId::DEAD,
            program,
        }
    }

    /// Begins to count a caller's work.
    #[inline]
    #[must_use]
    pub fn call(&self) -> Call<'_> {
        Call {
            network: self,
            work: Work::default(),
            written: Cell::default(),
        }
    }

    /// The program that is run.
    #[must_use]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The state before the first byte.
    #[must_use]
    pub fn start(&self) -> SetId {
        self.start
    }

    /// The elements of a state.
    #[must_use]
    pub fn elements(&self, set: SetId) -> &[Element] {
        self.sets.elements(set)
    }

    /// The frame after one more byte of its own terminal, in which it is `at`; and where it is then.
    #[inline(always)]
    fn step_frame<'n>(
        &'n self,
        frame: Frame,
        at: TerminalCursor<'n>,
        byte: u8,
        memory: Memory,
    ) -> Result<Option<(Frame, TerminalCursor<'n>)>, StepError> {
        // An item begins as a sketch of itself; an exact state takes its very start.
        let at = match frame.extra {
            NOT_BEGUN if memory == Memory::Exact => at.moved_to(self.terminals.exact_start(frame)),
            _ => at,
        };
        let next = match memory {
            Memory::Exact => at.step_exactly(byte)?,
            _ => at.step(byte, memory)?,
        };
        let Some(next) = next else {
            return Ok(None);
        };
        let extra = match frame.extra {
            text if !frame.keeps_text() => text,
            LOST => LOST,
            _ if memory != Memory::Exact => LOST,
            NOT_BEGUN => self.registers.push_text(0, byte),
            text => self.registers.push_text(text, byte),
        };
        let state = next.state();
        let frame = Frame {
            state,
            extra,
            ..frame
        };
        Ok(Some((frame, next)))
    }

    /// The place in the terminal on top.
    ///
    /// # Panics
    /// When the frame does not read.
    #[inline(always)]
    #[must_use]
    pub fn cursor(&self, frame: Frame) -> TerminalCursor<'_> {
        TerminalCursor::new(self.terminals.get(frame.terminal), frame.state)
    }

    /// The label under which the terminal may end in the frame's state.
    #[inline]
    #[must_use]
    pub fn accept_label(&self, frame: Frame) -> Option<u32> {
        if frame.reads() {
            self.terminals.get(frame.terminal).accept(frame.state)
        } else {
            None
        }
    }

    /// Whether the terminal ends in the frame's state and cannot go on.
    #[inline]
    #[must_use]
    pub fn is_end(&self, frame: Frame) -> bool {
        self.terminals.get(frame.terminal).is_end(frame.state)
    }

    /// A stretch of text that goes on from the state of the terminal on top. Where none is known, it takes some work to find one, which
    /// is done only if `search` says that it is worth it.
    pub fn span(&self, frame: Frame, search: bool) -> Option<Span> {
        if frame.reads() {
            let terminal = self.terminals.get(frame.terminal);
            terminal.span(frame.state, search)
        } else {
            None
        }
    }

    /// Beside a frame's [`span`](Network::span) that ends: a stretch of fewer characters that does not.
    pub fn endless_span(&self, frame: Frame) -> Option<Span> {
        let terminal = frame.reads().then(|| self.terminals.get(frame.terminal));
        terminal?.endless_span(frame.state)
    }

    /// The place in a list of literals where the terminal on top stands, if it is one.
    #[must_use]
    pub fn literals(&self, frame: Frame) -> Option<LiteralsPlace> {
        match frame.reads() {
            true => self.terminals.get(frame.terminal).literals(frame.state),
            false => None,
        }
    }

    /// Whether the terminal on top may be in or before a span of an input.
    #[must_use]
    pub fn is_grounded(&self, frame: Frame) -> bool {
        frame.reads() && self.terminals.get(frame.terminal).is_grounded()
    }

    /// The nodes of a tree of tokens below `root` that go on in a span of an input, where the terminal on top is in or before
    /// one. A network is asked about one tree only.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn continuations(
        &self,
        frame: Frame,
        root: u32,
        child: &Children<'_>,
    ) -> Result<Option<Arc<Continuations>>, StepError> {
        match frame.reads() {
            true => self
                .terminals
                .get(frame.terminal)
                .continuations(frame.state, root, child),
            false => Ok(None),
        }
    }

    /// Whether the text of a frame's [`span`](Network::span) that was searched for leads back to the frame itself.
    #[must_use]
    pub fn is_loop(&self, frame: Frame, span: &Span) -> bool {
        let terminal = self.terminals.get(frame.terminal);
        terminal.is_loop(frame.state, span.closed)
    }

    /// For how many characters every plain text goes on in a string.
    fn free_for(&self, frame: Frame) -> Option<u32> {
        let span = self.span(frame, true)?;
        (span.closed == ByteClasses::PLAIN).then_some(span.code_points)
    }

    /// The bytes that go on within the terminal on top.
    pub fn first_of(&self, frame: Frame) -> ByteSet {
        self.terminals.get(frame.terminal).first(frame.state)
    }

    /// The frame after any plain text, where that is the same for all; see
    /// [`Machine::uniform`](crate::Machine::uniform). The second part is the first bytes of text of which it is not so.
    pub fn uniform(&self, frame: Frame) -> Option<(Frame, Vec<u8>)> {
        if !frame.reads() {
            return None;
        }
        let uniform = self.terminals.get(frame.terminal).uniform(frame.state)?;
        Some((frame.with_state(uniform.state), uniform.except))
    }

    /// About how many bytes the states take.
    #[must_use]
    pub fn memory(&self) -> usize {
        let maps = self.resumed.memory()
            + self.followed.memory()
            + self.stepped.memory()
            + self.firsts.memory()
            + self.accepting.memory()
            + self.finals.memory()
            + self.costs.memory();
        // One lock after the other: an item's is held by who waits for that of the values.
        let items = self.items.values().map(|item| {
            let item = item.lock().unwrap_or_else(PoisonError::into_inner);
            item.memory()
        });
        let items: usize = items.sum();
        let fresh = self
            .fresh
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .capacity()
            * 40;
        let values = self
            .values
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .memory();
        self.sets.memory()
            + self.registers.memory()
            + values
            + fresh
            + self.guided.memory()
            + self.relations.memory()
            + self.terminals.memory()
            + maps
            + items
    }

    /// How many states have been made.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Whether there are no states; never so.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sets.len() == 0
    }
}

impl<'n> Call<'n> {
    /// The same caller, whose work the token ends.
    #[must_use]
    pub fn with_cancel_token(mut self, token: Option<&'n CancelToken>) -> Self {
        self.work.cancel = token;
        self
    }

    /// The token that ends the caller's work.
    #[must_use]
    pub fn cancel_token(&self) -> Option<&'n CancelToken> {
        self.work.cancel
    }
}

impl Call<'_> {
    /// How many alternatives have been looked at so far.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.work.done.get()
    }

    /// The state after one more byte; [`SetId::DEAD`] where no text goes on.
    ///
    /// # Errors
    /// When a limit is exceeded, or a sketch does not suffice.
    #[inline]
    pub fn step(&self, set: SetId, byte: u8, memory: Memory) -> Result<SetId, StepError> {
        // A text goes through a state once, and where a token led is remembered. Walks come back to a state again and again.
        if memory == Memory::Exact
            && let Some(next) = self.step_within(set, byte, memory)?
        {
            return Ok(next);
        }
        let key = step_key(set, byte, memory);
        if let Some(next) = self.stepped.get(key) {
            return Ok(SetId(next as u32));
        }
        let next = self.step_uncached(set, byte, memory)?;
        self.stepped.insert(key, next.0.into());
        Ok(next)
    }

    /// The step of a state with one element whose terminal cannot end before or after the byte: mostly it is that.
    #[inline]
    fn step_within(
        &self,
        set: SetId,
        byte: u8,
        memory: Memory,
    ) -> Result<Option<SetId>, StepError> {
        let &[Element { frame, below }] = self.sets.elements(set) else {
            return Ok(None);
        };
        if !frame.reads() {
            return Ok(None);
        }
        let at = self.cursor(frame);
        if at.accept().is_some() {
            return Ok(None);
        }
        match self.step_frame(frame, at, byte, memory)? {
            None => Ok(Some(SetId::DEAD)),
            Some((_, at)) if at.is_end() => Ok(None),
            Some((frame, _)) => Ok(Some(self.sets.single(Element { frame, below })?)),
        }
    }

    /// The same for a caller that keeps the result.
    fn step_once(&self, set: SetId, byte: u8, memory: Memory) -> Result<SetId, StepError> {
        match self.stepped.get(step_key(set, byte, memory)) {
            Some(next) => Ok(SetId(next as u32)),
            None => self.step_uncached(set, byte, memory),
        }
    }

    fn step_uncached(&self, set: SetId, byte: u8, memory: Memory) -> Result<SetId, StepError> {
        if memory != Memory::Exact
            && let Some(next) = self.step_within(set, byte, memory)?
        {
            return Ok(next);
        }
        let mut found = Vec::new();
        for &Element { frame, below } in self.sets.elements(set) {
            if !frame.reads() {
                continue;
            }
            let at = self.cursor(frame);
            if let Some((next, at)) = self.step_frame(frame, at, byte, memory)? {
                if at.is_end() {
                    let after = self.follow(next, below)?;
                    found.extend_from_slice(self.sets.elements(after));
                } else {
                    found.push(Element { frame: next, below });
                }
            }
            if at.accept().is_some() {
                let after = self.follow(frame, below)?;
                let next = self.step(after, byte, memory)?;
                found.extend_from_slice(self.sets.elements(next));
            }
        }
        Ok(self.intern(found)?)
    }

    /// The bytes that may come next, at most: those of which a step is known to be dead are not among them.
    pub fn first(&self, set: SetId) -> ByteSet {
        if let Some(&known) = self.firsts.get(&set) {
            return known;
        }
        let mut first = ByteSet::default();
        for &Element { frame, below } in self.sets.elements(set) {
            if !frame.reads() {
                continue;
            }
            first.union_with(self.terminals.get(frame.terminal).first(frame.state));
            if self.accept_label(frame).is_some() {
                match self.follow(frame, below) {
                    Ok(after) => first.union_with(self.first(after)),
                    // The steps will say so.
                    Err(_) => first = ByteSet::ALL,
                }
            }
        }
        *self.firsts.insert(set, first)
    }

    /// The state with this one element.
    ///
    /// # Errors
    /// When a limit is exceeded, or a sketch does not suffice.
    pub fn single(&self, frame: Frame, below: SetId) -> Result<SetId, StepError> {
        if frame.reads() && self.terminals.get(frame.terminal).is_end(frame.state) {
            return self.follow(frame, below);
        }
        Ok(self.sets.single(Element { frame, below })?)
    }

    /// The state with these elements.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn set_of(&self, elements: Vec<Element>) -> Result<SetId, LimitExceeded> {
        self.intern(elements)
    }

    /// The state that goes on as either of two does.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn union(&self, a: SetId, b: SetId) -> Result<SetId, LimitExceeded> {
        let elements = [self.elements(a), self.elements(b)].concat();
        self.intern(elements)
    }

    /// The state behind a token terminal of the program, whatever that token's bytes are.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn step_token(&self, set: SetId, token: u32) -> Result<SetId, StepError> {
        let mut found = Vec::new();
        for &Element { frame, below } in self.sets.elements(set) {
            if let Some((own, next)) = self.token_of(frame) {
                if own == token {
                    self.with_written(frame.written, || {
                        self.enter_into(next, below, false, &mut found)
                    })?;
                }
            } else if self.accept_label(frame).is_some() {
                let after = self.follow(frame, below)?;
                let next = self.step_token(after, token)?;
                found.extend_from_slice(self.sets.elements(next));
            }
        }
        Ok(self.intern(found)?)
    }

    /// The token terminals that may come next, sorted.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn next_tokens(&self, set: SetId) -> Result<Vec<u32>, StepError> {
        let mut tokens = Vec::new();
        for &Element { frame, below } in self.sets.elements(set) {
            if let Some((token, _)) = self.token_of(frame) {
                tokens.push(token);
            } else if self.accept_label(frame).is_some() {
                let after = self.follow(frame, below)?;
                tokens.extend(self.next_tokens(after)?);
            }
        }
        tokens.sort_unstable();
        tokens.dedup();
        Ok(tokens)
    }

    /// Whether the text may end here.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn is_accepting(&self, set: SetId) -> Result<bool, StepError> {
        let elements = self.sets.elements(set);
        if elements
            .iter()
            .any(|element| element.frame == Frame::ACCEPT)
        {
            return Ok(true);
        }
        let ends = |element: &&Element| self.accept_label(element.frame).is_some();
        let mut ending = elements.iter().filter(ends).peekable();
        if ending.peek().is_none() {
            return Ok(false);
        }
        if let Some(known) = self.accepting.get(u64::from(set.0)) {
            return Ok(known != 0);
        }
        let mut accepting = false;
        while !accepting && let Some(&Element { frame, below }) = ending.next() {
            let after = self.follow(frame, below)?;
            accepting = self.is_accepting(after)?;
        }
        self.accepting.insert(u64::from(set.0), accepting.into());
        Ok(accepting)
    }

    /// Whether the text may end here and cannot go on.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn is_final(&self, set: SetId) -> Result<bool, StepError> {
        if !self.is_accepting(set)? {
            return Ok(false);
        }
        if let Some(known) = self.finals.get(u64::from(set.0)) {
            return Ok(known != 0);
        }
        let is_final = !self.goes_on(set)?;
        self.finals.insert(u64::from(set.0), is_final.into());
        Ok(is_final)
    }

    /// Whether any byte or token can follow.
    fn goes_on(&self, set: SetId) -> Result<bool, StepError> {
        let elements = self.sets.elements(set);
        if elements
            .iter()
            .all(|element| element.frame == Frame::ACCEPT)
        {
            return Ok(false);
        }
        // What is in the middle of a terminal is live, so that something follows. Where it may end, not every machine can tell; and where it
        // begins, no text may be all that it has, which is not its own to say.
        let in_the_middle = |element: &Element| {
            let frame = element.frame;
            frame.reads() && frame.state != START && self.accept_label(frame).is_none()
        };
        if elements.iter().any(in_the_middle) || !self.next_tokens(set)?.is_empty() {
            return Ok(true);
        }
        for byte in 0..=u8::MAX {
            if self.step(set, byte, Memory::Exact)? != SetId::DEAD {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
