//! Deterministic automata over bytes whose states are created on demand; terminals are made of them.

use std::hash::Hash;
use std::sync::Arc;

use structgen_grammar::LiteralSet;

use crate::{ByteSet, LimitExceeded, Listing, Lookahead, Span, StepError};

/// The continuation of a string that may hold any text, see [`Machine::uniform`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uniform<S> {
    /// A state after text, in which the string may end.
    pub state: S,
    /// The first bytes of texts after which the string ends differently, or may not end; a quote for the empty text.
    pub except: Vec<u8>,
    /// The string may not end after texts of fewer characters; all others lead to `state`...
    pub at_least: u32,
    /// ...unless there is a maximum, above which no text continues. Then they lead to states that end like it.
    pub at_most: u32,
}

impl<S> Uniform<S> {
    /// Returns whether text of any length leads to the same state, the empty text aside.
    pub fn is_one_state(&self) -> bool {
        self.at_least <= 1 && self.at_most == u32::MAX
    }

    /// Returns the uniform continuation with its state replaced.
    pub fn with_state<T>(self, state: T) -> Uniform<T> {
        Uniform {
            state,
            except: self.except,
            at_least: self.at_least,
            at_most: self.at_most,
        }
    }
}

/// Returns the child of a node of a token trie for a byte.
pub type Children<'t> = dyn Fn(u32, u8) -> Option<u32> + 't;

/// How the continuation after a value depends on its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterEnd {
    /// It does not depend on it.
    #[default]
    Same,
    /// The next item must be a different one, but begins the same way after every value.
    Distinct,
    /// It depends on it.
    Depends,
}

/// The nodes of a token trie that continue from a state in a span of an input.
#[derive(Clone, Debug, Default)]
pub struct Continuations {
    /// The nodes within the string.
    pub nodes: Vec<u32>,
    /// The nodes directly after a closing quote, each with the number of bytes that lead to it.
    pub ends: Vec<(u32, usize)>,
    /// The nodes directly after a backslash, likewise.
    pub escapes: Vec<(u32, usize)>,
    /// The nodes and ends, sorted, that begin texts which the value must not have, so that it is unknown whether they
    /// continue.
    pub compared: Vec<u32>,
    /// The continuation after an end.
    pub after_end: AfterEnd,
}

/// A position in a list of literals. It lets a walk visit many continuations without creating states for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiteralsPlace {
    /// The literals.
    pub set: LiteralSet,
    /// A node of the set if nothing was `read`, otherwise an edge.
    pub at: u32,
    /// The number of bytes read of the edge's label.
    pub read: u32,
}

/// Costs are capped here: the sum of a few still fits into 32 bits, and no budget is as large.
pub(crate) const MAX_COST: u32 = u32::MAX / 8;

/// A deterministic automaton over bytes, given by functions instead of a table.
///
/// Every state that a machine returns is **live**: some continuation leads to a final state. A dead state is `None`.
/// This rule alone keeps masks free of dead ends. A machine that cannot decide it within its limits returns
/// [`LimitExceeded`].
///
/// States are values that are compared to find equal ones; a `Terminal` numbers them and caches the steps. `&mut self`
/// lets a machine keep tables of its own (interned expressions, proven liveness).
pub trait Machine {
    /// A state; small, and cheap to compare.
    type State: Clone + Eq + Hash;

    /// The error of a step: [`LimitExceeded`] for most machines.
    type Error: Into<StepError>;

    /// Returns the state before the first byte, or `None` if the machine accepts nothing.
    ///
    /// # Errors
    /// If a limit does not suffice to decide that.
    fn start(&mut self) -> Result<Option<Self::State>, LimitExceeded>;

    /// Returns the state before the first byte with the texts of some values excluded, which the machine knows by this
    /// number; `None` if it accepts no others. Most machines exclude nothing.
    ///
    /// # Errors
    /// If a limit does not suffice to decide that.
    fn start_without(&mut self, _excluded: u32) -> Result<Option<Self::State>, Self::Error> {
        Ok(None)
    }

    /// Returns the state after one more byte, or `None` if no continuation is accepted.
    ///
    /// # Errors
    /// If a limit does not suffice to decide that, or the step depends on what a sketch omits.
    fn step(&mut self, state: &Self::State, byte: u8) -> Result<Option<Self::State>, Self::Error>;

    /// Returns the label of a final state, or `None`. A label distinguishes what was matched; most machines have only
    /// the label 0.
    fn accept(&self, state: &Self::State) -> Option<u32>;

    /// Returns whether the state is final and no byte can follow. This is a hint: `false` is always correct.
    fn is_end(&self, _state: &Self::State) -> bool {
        false
    }

    /// Returns the first and last byte of a run around this one that all lead to the same state, as far as that is
    /// cheap to find. One step answers for all of them.
    fn equivalent_bytes(&mut self, _state: &Self::State, byte: u8) -> (u8, u8) {
        (byte, byte)
    }

    /// Returns a superset of the bytes that lead to live states, if it is known without trying them.
    fn first(&mut self, _state: &Self::State) -> Option<ByteSet> {
        None
    }

    /// Returns texts that are known to continue from here, if the machine knows them without trying.
    fn span(&mut self, _state: &Self::State) -> Option<Span> {
        None
    }

    /// Returns the position in a list of literals, if the machine is one.
    fn literals(&self, _state: &Self::State) -> Option<LiteralsPlace> {
        None
    }

    /// Returns whether some state has a [listing](Machine::listing).
    fn is_listed(&self) -> bool {
        false
    }

    /// Returns the listed texts with which a JSON string may go on, if the state is within one that has to be listed.
    fn listing(&self, _state: &Self::State) -> Option<Listing> {
        None
    }

    /// Returns whether the machine reads a JSON string with its quotes. Its steps never depend on what a sketch omits.
    fn is_string(&self) -> bool {
        false
    }

    /// Returns whether some state is within a span of an input and has [continuations](Machine::continuations).
    fn is_grounded(&self) -> bool {
        false
    }

    /// Returns the nodes of a token trie below `root` that continue from a state in or before a span of an input, if it
    /// is such a state. A walk over many continuations then needs no state for each. All calls must use the same trie.
    ///
    /// # Errors
    /// If a limit is exceeded.
    fn continuations(
        &mut self,
        _state: &Self::State,
        _root: u32,
        _child: &Children<'_>,
    ) -> Result<Option<Arc<Continuations>>, Self::Error> {
        Ok(None)
    }

    /// Returns whether large classes of characters may lead from the state to one other, so that searching for a
    /// [`Span`] pays off.
    fn has_classes(&self, _state: &Self::State) -> bool {
        false
    }

    /// For a state within a JSON string that any text may follow, up to a maximum length: returns how it ends, which is
    /// the same for all texts, or for all but a few. `None` for other states.
    fn uniform(&mut self, _state: &Self::State) -> Option<Uniform<Self::State>> {
        None
    }

    /// Returns the sketch of the state: an abstraction that omits texts in progress. Most machines keep no texts, so
    /// every state is its own sketch.
    ///
    /// # Errors
    /// If a limit is exceeded.
    fn sketch(&mut self, state: &Self::State) -> Result<Option<Self::State>, Self::Error> {
        Ok(Some(state.clone()))
    }

    /// Returns a state that continues with the same texts as this one, as long as these have at most `longest`
    /// whitespace characters in a row. It forgets the whitespace so far where that does not matter. `None` if it is the
    /// state itself.
    fn abstract_whitespace(&self, _state: &Self::State, _longest: u16) -> Option<Self::State> {
        None
    }

    /// Returns a state that continues with the same texts within `lookahead` as this one, without the counters that no
    /// such text exhausts. It may lack continuations of longer texts, so its cost and completions are meaningless.
    /// `None` if it is the state itself.
    fn abstract_counters(
        &mut self,
        _state: &Self::State,
        _lookahead: Lookahead,
    ) -> Option<Self::State> {
        None
    }

    /// Returns whether the machine has a counter that no short text exhausts, so that some state may have an
    /// [abstraction](Machine::abstract_counters).
    fn has_long_counters(&self) -> bool {
        false
    }

    /// Within text that the form prescribes completely: returns the number of bytes left, and the label at the end.
    /// `None` elsewhere.
    fn forced(&self, _state: &Self::State) -> Option<(u32, u32)> {
        None
    }

    /// Returns the number of bytes that a state owns, besides those of the type.
    fn owned_bytes(_state: &Self::State) -> usize {
        0
    }

    /// Returns the number of expressions that the machine has looked at, where steps differ much in their work.
    fn work(&self) -> u64 {
        0
    }

    /// Returns the approximate size in bytes of the machine's own tables.
    fn memory(&self) -> usize {
        0
    }

    /// Returns the length in bytes of a known completion: 0 in a final state, and from every other state some byte
    /// leads to a state of lower cost. It need not be the shortest completion.
    fn cost(&mut self, state: &Self::State) -> u32;
}
