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
mod frames;
mod fresh;
mod guides;
mod items;
mod many_values;
mod members;
mod next;
mod places;
mod register;
mod sets;
mod sketch;
mod steps;
mod terminals;
mod values;
mod written;

use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use structgen_memo::{Memo, Numbers};
use structgen_regular::CancelToken;

use crate::program::{Counts, NodeId, Program};
use crate::{ByteSet, LimitExceeded, StepError, TokenLengths};

use distinct::Item;
pub use guides::Begun;
use guides::Guided;
use register::Registers;
pub use sets::{Element, Frame, SetId};
use sets::{Sets, Work};
pub use steps::Memory;
use terminals::Terminals;
use values::{Excluded, ValueId, Values};
use written::{CostClass, Relations, Written};

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
    /// The cost of the members that counted objects still need: by object, depth where that matters, and what it
    /// depends on.
    members_left: Memo<MembersPlace, Option<u64>>,
    /// The same for items, by array.
    items_left: Memo<ItemsPlace, Option<u64>>,
    /// The number of bytes that these places own.
    owned_bytes: AtomicUsize,
    /// The automata of single items, for arrays that compare their items: by node, and by depth where that matters.
    items: Memo<(NodeId, u32), Arc<Mutex<Item>>>,
    /// The values of items that are compared.
    values: Arc<Mutex<Values>>,
    /// The values that later ones refer to.
    relations: Relations,
    /// Replaced when more of them are found.
    fresh: Mutex<FxHashMap<(NodeId, u32, Excluded), Fresh>>,
    /// Whether more values begin at a node than an array can have items: by the depth where that matters, and by
    /// whether objects whose members are counted are considered.
    many_values: Memo<(NodeId, u32, bool), bool>,
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

/// An object, its depth where that matters, the class of costs of related values, its counts, and the properties that
/// may still come.
type MembersPlace = (u32, u32, CostClass, Box<[u32]>);

/// An array, its depth where that matters, the class of costs of related values, and its counts.
type ItemsPlace = (u32, u32, CostClass, Counts);

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

    /// Creates the network of what begins at a node, at this depth of nesting, for tokens of these lengths.
    fn at(
        program: Arc<Program>,
        node: NodeId,
        depth: u32,
        level: u32,
        tokens: TokenLengths,
    ) -> Result<Self, LimitExceeded> {
        let mut network = Self::empty(program, depth, tokens);
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
            members_left: Memo::default(),
            items_left: Memo::default(),
            owned_bytes: AtomicUsize::new(0),
            items: Memo::default(),
            values: Arc::new(Mutex::new(Values::new(program.form.clone()))),
            relations: Relations::default(),
            fresh: Mutex::default(),
            many_values: Memo::default(),
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

    /// Returns the approximate size of the states in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let maps = self.resumed.memory()
            + self.followed.memory()
            + self.stepped.memory()
            + self.firsts.memory()
            + self.accepting.memory()
            + self.finals.memory()
            + self.costs.memory()
            + self.members_left.memory()
            + self.items_left.memory()
            + self.owned_bytes.load(Ordering::Relaxed);
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
}
