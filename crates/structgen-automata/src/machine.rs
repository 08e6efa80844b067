//! A deterministic automaton over bytes whose states are made on demand: what a terminal is made of.

use std::hash::Hash;
use std::sync::Arc;

use structgen_grammar::LiteralSet;

use crate::{ByteSet, LimitExceeded, Span, StepError};

/// How a string goes on that may hold any text; see [`Machine::uniform`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uniform<S> {
    /// The state after plain text.
    pub state: S,
    /// First bytes that lead elsewhere.
    pub except: Vec<u8>,
}

/// The child of a node of a tree of tokens for a byte.
pub type Children<'t> = dyn Fn(u32, u8) -> Option<u32> + 't;

/// How what follows the end of a value depends on its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterEnd {
    /// It does not.
    #[default]
    Same,
    /// The next item must be another one: that begins the same way after every value.
    Distinct,
    /// It does.
    Depends,
}

/// The nodes of a tree of tokens that go on from a state in a span of an input.
#[derive(Clone, Debug, Default)]
pub struct Continuations {
    /// Those within the string.
    pub nodes: Vec<u32>,
    /// Those just after a closing quote, each with the number of bytes that lead to it.
    pub ends: Vec<(u32, usize)>,
    /// Those just after a backslash, likewise.
    pub escapes: Vec<(u32, usize)>,
    /// Those of the nodes and ends, sorted, of which it is not known whether they go on: they begin texts that the value must
    /// not have.
    pub compared: Vec<u32>,
    /// What follows an end.
    pub after_end: AfterEnd,
}

/// Where in a list of literals a text stands. A walk over many continuations needs no state of a machine for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiteralsPlace {
    /// The literals.
    pub set: LiteralSet,
    /// A node of the set where nothing was `read`; else an edge.
    pub at: u32,
    /// How many bytes of the edge's label have been read.
    pub read: u32,
}

/// Costs are cut off here: the sum of a few still fits into 32 bits, and no budget is as large.
pub(crate) const MAX_COST: u32 = u32::MAX / 8;

/// A deterministic automaton over bytes, given by functions instead of a table.
///
/// Every state that a machine returns is **live**: some continuation leads to a final state. A dead state is `None`.
/// That one rule keeps masks free of dead ends; a machine that cannot decide it within its limits returns
/// [`LimitExceeded`].
///
/// States are values, so that equal states are found again; `Terminal` numbers them and remembers the steps.
/// `&mut self` lets a machine keep tables of its own (interned expressions, liveness already proven).
pub trait Machine {
    /// A state; small, and cheap to compare.
    type State: Clone + Eq + Hash;

    /// Why a step cannot be made: [`LimitExceeded`] for most machines.
    type Error: Into<StepError>;

    /// The state before the first byte, or `None` where the machine accepts nothing.
    ///
    /// # Errors
    /// When a limit does not suffice to decide that.
    fn start(&mut self) -> Result<Option<Self::State>, LimitExceeded>;

    /// The state before the first byte without the texts of some values, which the machine knows by this number; `None`
    /// where it accepts no others. Most machines know of no values to leave out.
    ///
    /// # Errors
    /// When a limit does not suffice to decide that.
    fn start_without(&mut self, _excluded: u32) -> Result<Option<Self::State>, Self::Error> {
        Ok(None)
    }

    /// The state after one more byte, or `None` where no continuation is accepted.
    ///
    /// # Errors
    /// When a limit does not suffice to decide that, or a sketch does not remember what it depends on.
    fn step(&mut self, state: &Self::State, byte: u8) -> Result<Option<Self::State>, Self::Error>;

    /// The label of a final state, or `None`. Most machines have the one label 0; a label distinguishes what was
    /// matched.
    fn accept(&self, state: &Self::State) -> Option<u32>;

    /// Whether the state is final and no byte can follow. A hint: `false` is always right.
    fn is_end(&self, _state: &Self::State) -> bool {
        false
    }

    /// The first and the last byte of a run around this one that all lead to the same state, as far as that is cheap to
    /// find: one step answers for all of them.
    fn equivalent_bytes(&mut self, _state: &Self::State, byte: u8) -> (u8, u8) {
        (byte, byte)
    }

    /// A superset of the bytes that lead to live states, where it is known without trying them.
    fn first(&mut self, _state: &Self::State) -> Option<ByteSet> {
        None
    }

    /// The texts that are known to go on from here whatever they consist of, where the machine knows without trying
    /// them.
    fn span(&mut self, _state: &Self::State) -> Option<Span> {
        None
    }

    /// The place in a list of literals that the state is, where the machine is one.
    fn literals(&self, _state: &Self::State) -> Option<LiteralsPlace> {
        None
    }

    /// Whether some state is within a span of an input and has [continuations](Machine::continuations).
    fn is_grounded(&self) -> bool {
        false
    }

    /// The nodes of a tree of tokens below `root` that go on from a state in or before a span of an input, where the
    /// machine is of these: a walk over many continuations then needs no state for each. A machine is asked about one tree only.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn continuations(
        &mut self,
        _state: &Self::State,
        _root: u32,
        _child: &Children<'_>,
    ) -> Result<Option<Arc<Continuations>>, Self::Error> {
        Ok(None)
    }

    /// Whether large classes of characters may lead from the state to one other, so that a search for a [`Span`] pays.
    fn has_classes(&self, _state: &Self::State) -> bool {
        false
    }

    /// For a state within a JSON string that any text may follow without end: the state after plain text, whichever it
    /// is, and the first bytes after which it is another, the closing quote included where it matters. `None` for other
    /// states.
    fn uniform(&mut self, _state: &Self::State) -> Option<Uniform<Self::State>> {
        None
    }

    /// The sketch of the state: an abstraction without the texts in progress. Most machines keep none, and every state
    /// is its own sketch.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn sketch(&mut self, state: &Self::State) -> Result<Option<Self::State>, Self::Error> {
        Ok(Some(state.clone()))
    }

    /// A state that goes on with the same texts as this one, as long as they have at most `longest` characters of
    /// whitespace in a row: the whitespace so far is forgotten where it does not matter. `None` where that is the state
    /// itself.
    fn abstract_whitespace(&self, _state: &Self::State, _longest: u16) -> Option<Self::State> {
        None
    }

    /// A state that goes on with the same texts of at most `lookahead` characters as this one, with the counters gone
    /// that no such text exhausts. What only longer texts meet may be missing from it, so its cost and its completions
    /// mean nothing. `None` where that is the state itself.
    fn abstract_counters(&mut self, _state: &Self::State, _lookahead: u32) -> Option<Self::State> {
        None
    }

    /// Whether the machine has a counter that no short text exhausts, so that some state may have an
    /// [abstraction](Machine::abstract_counters).
    fn has_long_counters(&self) -> bool {
        false
    }

    /// Within text that the form prescribes to the last byte: how many bytes are left, and the label at the end.
    /// `None` elsewhere.
    fn forced(&self, _state: &Self::State) -> Option<(u32, u32)> {
        None
    }

    /// How many bytes a state owns, beside those of the type.
    fn owned_bytes(_state: &Self::State) -> usize {
        0
    }

    /// About how many bytes the machine's own tables take.
    fn memory(&self) -> usize {
        0
    }

    /// The length in bytes of a known completion: 0 in a final state, and from every other state some byte leads
    /// to a state of a smaller cost. It need not be the shortest completion.
    fn cost(&mut self, state: &Self::State) -> u32;
}
