//! Runs a program: sets of stacks, created on demand and cached.
//!
//! A state of the network is a **set of stacks** ([`SetId`]). A set is a list of [`Element`]s: a frame on top, and
//! another set below it. Equal sets are stored once, so a state is a number, comparing states compares numbers, and a
//! fork copies a number. Alternatives that agree on a frame share it: the set is a graph-structured stack (Tomita,
//! 1985) in canonical form.
//!
//! A frame either reads bytes (a terminal in progress) or waits for what is above it. Every frame that reads is live by
//! itself: what cannot be completed is never created.
//!
//! A [`Network`] is shared: threads extend it together and read cached data without a lock. A [`Call`] is one thread's
//! operation on it, which counts its own work. The number of a state depends on which thread came first; all other
//! results do not.

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
    TokenLengths, Uniform,
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

/// Whether states remember the texts of undeclared keys, and of items that others are compared with.
///
/// A matcher's own state is exact. Masks are computed on sketches, in which thousands of texts share one state. If a
/// step depends on the text after all, it fails with [`StepError::NeedsExact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Every text is kept.
    Exact,
    /// Texts that are read from now on are not kept.
    Sketch,
    /// Like `Sketch`, and counters out of reach of short tokens are forgotten; see [`Call::relax`].
    Short,
    /// Like `Sketch`, and counters out of reach of all tokens are forgotten.
    Tokens,
}

impl Memory {
    /// Returns the tokens for which counters are forgotten.
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
    /// Returns the cursor after one more byte, in a sketch; `None` if no text continues.
    ///
    /// # Errors
    /// If a limit is exceeded, or the step depends on what a sketch omits.
    #[inline]
    pub fn step(self, byte: u8, memory: Memory) -> Result<Option<Self>, StepError> {
        self.step_within(byte, memory.reach())
    }
}

/// The initial capacity of tables that grow with every first visit.
const ROOM: usize = 256;

/// The states of a program, as far as they were visited.
#[derive(Debug)]
pub struct Network {
    program: Arc<Program>,
    terminals: Terminals,
    registers: Registers,
    sets: Sets,
    /// The state that a waiting set continues with once the frame above it is complete, by what was written until then.
    resumed: Numbers,
    /// What follows a terminal that ends in its state.
    followed: Memo<(Frame, u32, SetId), SetId>,
    /// By state, byte, and whether texts are kept.
    stepped: Numbers,
    firsts: Memo<SetId, ByteSet>,
    /// Whether the text may end, if that takes a computation.
    accepting: Numbers,
    finals: Numbers,
    /// By the class of costs of related values.
    costs: Memo<(SetId, CostClass), u64>,
    /// The automata of single items, for arrays that compare their items: by node, and by depth where that matters.
    items: Memo<(NodeId, u32), Arc<Mutex<Item>>>,
    /// The values of items that are compared.
    values: Arc<Mutex<Values>>,
    /// The values that later ones refer to.
    relations: Relations,
    /// Replaced when more of them are found.
    fresh: Mutex<FxHashMap<(NodeId, u32, Excluded), Fresh>>,
    /// Whether a node has so many values that the others of an array do not matter.
    vast: Memo<NodeId, bool>,
    guided: Guided,
    /// The number of arrays comparing their items that this network is nested in.
    level: u32,
    start: SetId,
}

/// One caller's operation on a [`Network`]. All that it does together may visit at most
/// [`Limits::work`](crate::Limits::work) alternatives.
#[derive(Debug)]
pub struct Call<'n> {
    network: &'n Network,
    work: Work<'n>,
    /// What was written before the current position.
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
    /// Creates the network of a program.
    ///
    /// # Errors
    /// If the start exceeds a limit, or the program's texts nest deeper than its form allows.
    pub fn new(program: Arc<Program>) -> Result<Self, LimitExceeded> {
        Self::for_tokens(program, TokenLengths::UNKNOWN)
    }

    /// Creates the network of a program for tokens of these lengths: sketches forget how much whitespace was read where
    /// no token distinguishes it, and [relaxed](Call::relax) states forget counts.
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

    /// Creates the network of what begins at a node, at this depth of nesting.
    fn at(
        program: Arc<Program>,
        node: NodeId,
        depth: u32,
        level: u32,
    ) -> Result<Self, LimitExceeded> {
        // The texts that an item is compared with count whitespace, so the item does too.
        let mut network = Self::empty(program, depth, TokenLengths::UNKNOWN);
        network.level = level;
        let start = network.call().make_start_at(node);
        network.start = start.map_err(StepError::limit)?;
        Ok(network)
    }

    /// Creates a network without a start.
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

    /// Begins an operation, which counts its own work.
    #[inline]
    #[must_use]
    pub fn call(&self) -> Call<'_> {
        Call {
            network: self,
            work: Work::default(),
            written: Cell::default(),
        }
    }

    /// Returns the program.
    #[must_use]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Returns the state before the first byte.
    #[must_use]
    pub fn start(&self) -> SetId {
        self.start
    }

    /// Returns the elements of a state.
    #[must_use]
    pub fn elements(&self, set: SetId) -> &[Element] {
        self.sets.elements(set)
    }

    /// Returns the frame after one more byte of its own terminal, which is at `at`, and the cursor then.
    #[inline(always)]
    fn step_frame<'n>(
        &'n self,
        frame: Frame,
        at: TerminalCursor<'n>,
        byte: u8,
        memory: Memory,
    ) -> Result<Option<(Frame, TerminalCursor<'n>)>, StepError> {
        // An item begins as its own sketch; an exact step starts from the exact state.
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

    /// Returns a cursor for the terminal on top.
    ///
    /// # Panics
    /// If the frame does not read.
    #[inline(always)]
    #[must_use]
    pub fn cursor(&self, frame: Frame) -> TerminalCursor<'_> {
        TerminalCursor::new(self.terminals.get(frame.terminal), frame.state)
    }

    /// Returns the label under which the terminal may end in the frame's state.
    #[inline]
    #[must_use]
    pub fn accept_label(&self, frame: Frame) -> Option<u32> {
        if frame.reads() {
            self.terminals.get(frame.terminal).accept(frame.state)
        } else {
            None
        }
    }

    /// Returns whether the terminal ends in the frame's state and cannot continue.
    #[inline]
    #[must_use]
    pub fn is_end(&self, frame: Frame) -> bool {
        self.terminals.get(frame.terminal).is_end(frame.state)
    }

    /// Returns texts that are known to continue from the state of the terminal on top. If none are known, finding them
    /// takes a search, which is done only with `search`.
    pub fn span(&self, frame: Frame, search: bool) -> Option<Span> {
        if frame.reads() {
            let terminal = self.terminals.get(frame.terminal);
            terminal.span(frame.state, search)
        } else {
            None
        }
    }

    /// Returns a span of fewer characters without a maximum length, beside a [`span`](Network::span) that has one.
    pub fn endless_span(&self, frame: Frame) -> Option<Span> {
        let terminal = frame.reads().then(|| self.terminals.get(frame.terminal));
        terminal?.endless_span(frame.state)
    }

    /// Returns the position in a list of literals, if the terminal on top is one.
    #[must_use]
    pub fn literals(&self, frame: Frame) -> Option<LiteralsPlace> {
        match frame.reads() {
            true => self.terminals.get(frame.terminal).literals(frame.state),
            false => None,
        }
    }

    /// Returns whether the terminal on top may be in or before a span of an input.
    #[must_use]
    pub fn is_grounded(&self, frame: Frame) -> bool {
        frame.reads() && self.terminals.get(frame.terminal).is_grounded()
    }

    /// Returns the nodes of a token trie below `root` that continue in a span of an input, if the terminal on top is in
    /// or before one. All calls must use the same trie.
    ///
    /// # Errors
    /// If a limit is exceeded.
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

    /// Returns whether the texts of a frame's [`span`](Network::span), found by a search, lead back to the frame
    /// itself.
    #[must_use]
    pub fn is_loop(&self, frame: Frame, span: &Span) -> bool {
        let terminal = self.terminals.get(frame.terminal);
        terminal.is_loop(frame.state, span.closed)
    }

    /// Returns the number of characters for which every plain text continues in a string.
    fn free_for(&self, frame: Frame) -> Option<u32> {
        let span = self.span(frame, true)?;
        (span.closed == ByteClasses::PLAIN).then_some(span.code_points)
    }

    /// Returns the bytes that continue within the terminal on top.
    pub fn first_of(&self, frame: Frame) -> ByteSet {
        self.terminals.get(frame.terminal).first(frame.state)
    }

    /// Returns how a string that may hold any text ends, see [`Machine::uniform`](crate::Machine::uniform).
    pub fn uniform(&self, frame: Frame) -> Option<Uniform<Frame>> {
        if !frame.reads() {
            return None;
        }
        let uniform = self.terminals.get(frame.terminal).uniform(frame.state)?;
        let state = frame.with_state(uniform.state);
        Some(uniform.with_state(state))
    }

    /// Returns the approximate size of the states in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let maps = self.resumed.memory()
            + self.followed.memory()
            + self.stepped.memory()
            + self.firsts.memory()
            + self.accepting.memory()
            + self.finals.memory()
            + self.costs.memory();
        // The locks are taken one after the other: who holds that of an item may wait for that of the values.
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

    /// Returns the number of states.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Returns whether there are no states, which is never so.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sets.len() == 0
    }
}

impl<'n> Call<'n> {
    /// Returns the call with a cancellation token.
    #[must_use]
    pub fn with_cancel_token(mut self, token: Option<&'n CancelToken>) -> Self {
        self.work.cancel = token;
        self
    }

    /// Returns the call's cancellation token.
    #[must_use]
    pub fn cancel_token(&self) -> Option<&'n CancelToken> {
        self.work.cancel
    }
}

impl Call<'_> {
    /// Returns the number of alternatives visited so far.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.work.done.get()
    }

    /// Returns the state after one more byte, or [`SetId::DEAD`] if no text continues.
    ///
    /// # Errors
    /// If a limit is exceeded, or the step depends on what a sketch omits.
    #[inline]
    pub fn step(&self, set: SetId, byte: u8, memory: Memory) -> Result<SetId, StepError> {
        // A text visits a state once, and where tokens lead is remembered; only walks return to a state again and
        // again.
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

    /// Fails if it depends on texts that a sketch omits whether a terminal may end under a label. What follows an end is
    /// live otherwise, as is every terminal in progress.
    ///
    /// # Errors
    /// If it does.
    #[inline]
    pub fn check_end(&self, frame: Frame, label: u32) -> Result<(), StepError> {
        match frame.is_key() {
            true => self.check_key(frame, label),
            false => Ok(()),
        }
    }

    /// Returns the exact state after some bytes, or the offset of the first one that no text continues with. States that
    /// are only passed through within one terminal are not created.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn step_all(&self, set: SetId, bytes: &[u8]) -> Result<Result<SetId, usize>, StepError> {
        let mut state = set;
        let mut offset = 0;
        while let Some(&byte) = bytes.get(offset) {
            let within = match *self.sets.elements(state) {
                [Element { frame, below }] if frame.reads() => {
                    self.run_within(frame, below, &bytes[offset..])?
                }
                _ => None,
            };
            (state, offset) = match within {
                Some((state, read)) => (state, offset + read),
                None => (self.step(state, byte, Memory::Exact)?, offset + 1),
            };
            if state == SetId::DEAD {
                return Ok(Err(offset - 1));
            }
        }
        Ok(Ok(state))
    }

    /// Returns the exact state after those of the bytes that the terminal reads before it may end, and their number;
    /// `None` if there are none. If the terminal does not continue, the state is [`SetId::DEAD`], after the byte.
    fn run_within(
        &self,
        frame: Frame,
        below: SetId,
        bytes: &[u8],
    ) -> Result<Option<(SetId, usize)>, StepError> {
        let (mut frame, mut at) = (frame, self.cursor(frame));
        let mut read = 0;
        for &byte in bytes {
            if at.accept().is_some() {
                break;
            }
            match self.step_frame(frame, at, byte, Memory::Exact)? {
                None => return Ok(Some((SetId::DEAD, read + 1))),
                Some((_, next)) if next.is_end() => break,
                Some(next) => (frame, at) = next,
            }
            read += 1;
        }
        match read {
            0 => Ok(None),
            _ => Ok(Some((self.sets.single(Element { frame, below })?, read))),
        }
    }

    /// Returns whether some text continues with one more byte, without creating the state after it.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn continues(&self, set: SetId, byte: u8, memory: Memory) -> Result<bool, StepError> {
        if let Some(next) = self.stepped.get(step_key(set, byte, memory)) {
            return Ok(SetId(next as u32) != SetId::DEAD);
        }
        for &Element { frame, below } in self.sets.elements(set) {
            if !frame.reads() {
                continue;
            }
            let at = self.cursor(frame);
            if let Some((frame, at)) = self.step_frame(frame, at, byte, memory)? {
                if let Some(label) = at.accept() {
                    self.check_end(frame, label)?;
                }
                return Ok(true);
            }
            if at.accept().is_some() {
                let after = self.follow(frame, below)?;
                if self.continues(after, byte, memory)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Steps a state with one element whose terminal cannot end before or after the byte, which is the usual case.
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

    /// Steps a state for a caller that caches the result.
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

    /// Returns a superset of the bytes that may come next, if it is known without trying them.
    #[must_use]
    pub fn known_first(&self, set: SetId) -> Option<ByteSet> {
        if let Some(&known) = self.firsts.get(&set) {
            return Some(known);
        }
        let mut first = ByteSet::default();
        for &Element { frame, below } in self.sets.elements(set) {
            if !frame.reads() {
                continue;
            }
            let terminal = self.terminals.get(frame.terminal);
            first.union_with(*terminal.known_first(frame.state)?);
            if self.accept_label(frame).is_some() {
                let after = self.follow(frame, below).ok()?;
                first.union_with(self.known_first(after)?);
            }
        }
        Some(*self.firsts.insert(set, first))
    }

    /// Returns a superset of the bytes that may come next, without those whose step is known to be dead.
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
                    // The steps will return the error.
                    Err(_) => first = ByteSet::ALL,
                }
            }
        }
        *self.firsts.insert(set, first)
    }

    /// Returns the state with one element.
    ///
    /// # Errors
    /// If a limit is exceeded, or the step depends on what a sketch omits.
    pub fn single(&self, frame: Frame, below: SetId) -> Result<SetId, StepError> {
        if frame.reads() && self.terminals.get(frame.terminal).is_end(frame.state) {
            return self.follow(frame, below);
        }
        Ok(self.sets.single(Element { frame, below })?)
    }

    /// Returns the state with these elements.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn set_of(&self, elements: Vec<Element>) -> Result<SetId, LimitExceeded> {
        self.intern(elements)
    }

    /// Returns the union of two states.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn union(&self, a: SetId, b: SetId) -> Result<SetId, LimitExceeded> {
        let elements = [self.elements(a), self.elements(b)].concat();
        self.intern(elements)
    }

    /// Returns the state after a token terminal of the program, whatever the bytes of the token are.
    ///
    /// # Errors
    /// If a limit is exceeded.
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

    /// Returns the token terminals that may come next, sorted.
    ///
    /// # Errors
    /// If a limit is exceeded.
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

    /// Returns whether the text may end here.
    ///
    /// # Errors
    /// If a limit is exceeded.
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

    /// Returns whether the text may end here and cannot continue.
    ///
    /// # Errors
    /// If a limit is exceeded.
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

    /// Returns whether any byte or token can follow.
    fn goes_on(&self, set: SetId) -> Result<bool, StepError> {
        let elements = self.sets.elements(set);
        if elements
            .iter()
            .all(|element| element.frame == Frame::ACCEPT)
        {
            return Ok(false);
        }
        // A terminal in progress is live, so something follows. Where it may end, not every machine knows whether it
        // continues; and where it begins, the empty text may be its only one, which the frame does not show.
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
