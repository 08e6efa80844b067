//! The seam between terminals and the rest: a deterministic byte automaton whose states are made on demand.

use std::hash::Hash;

use structgen_grammar::LiteralSet;

use crate::{ByteSet, LimitExceeded, Span, StepError};

/// What a string is like that may hold anything; see [`Machine::uniform`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uniform<S> {
    /// The state behind plain text.
    pub state: S,
    /// First bytes that lead elsewhere.
    pub except: Vec<u8>,
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

/// A deterministic automaton over bytes, given by functions instead of a table.
///
/// Every state that a machine hands out is **live**: some continuation leads to a final state. What is dead is `None`. That one
/// rule is what keeps masks free of dead ends; a machine that cannot decide it within its limits returns [`LimitExceeded`].
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

    /// The state before the first byte where the texts of some things are left out, of which the machine knows by this number; `None` where it
    /// accepts nothing else. Most machines know of nothing to leave out.
    ///
    /// # Errors
    /// When a limit does not suffice to decide that.
    fn start_without(&mut self, _excluded: u32) -> Result<Option<Self::State>, Self::Error> {
        Ok(None)
    }

    /// The state behind one more byte, or `None` where no continuation is accepted.
    ///
    /// # Errors
    /// When a limit does not suffice to decide that, or a sketch does not remember what it depends on.
    fn step(&mut self, state: &Self::State, byte: u8) -> Result<Option<Self::State>, Self::Error>;

    /// The label of a final state, or `None`. Most machines have the one label 0; a label says which of several things was matched.
    fn accept(&self, state: &Self::State) -> Option<u32>;

    /// Whether the state is final and no byte can follow. A hint: `false` is always right.
    fn is_end(&self, _state: &Self::State) -> bool {
        false
    }

    /// The bytes around this one that lead to the same state, as far as that is cheap to tell: one step answers for all of them.
    fn alike(&mut self, _state: &Self::State, byte: u8) -> (u8, u8) {
        (byte, byte)
    }

    /// The bytes that may lead on, at most, where that is known without trying them.
    fn first(&mut self, _state: &Self::State) -> Option<ByteSet> {
        None
    }

    /// A stretch of text that is known to go on from here whatever it is made of, where the machine can tell without trying.
    fn span(&mut self, _state: &Self::State) -> Option<Span> {
        None
    }

    /// The place in a list of literals that the state is, where the machine is one.
    fn literals(&self, _state: &Self::State) -> Option<LiteralsPlace> {
        None
    }

    /// Whether large classes of characters may lead from the state to one other, so that it is worth looking for a stretch of them.
    fn has_classes(&self, _state: &Self::State) -> bool {
        false
    }

    /// For a state within a JSON string that any text may follow for ever: the state behind plain text, whichever it is, and the
    /// first bytes of text of which that is not so, closing quote included where it matters. `None` where there is no such state.
    fn uniform(&mut self, _state: &Self::State) -> Option<Uniform<Self::State>> {
        None
    }

    /// The state without texts that a sketch does not keep; most machines keep none, and every state is its own sketch.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn sketch(&mut self, state: &Self::State) -> Result<Option<Self::State>, Self::Error> {
        Ok(Some(state.clone()))
    }

    /// A state that takes the same texts as this one, as far as they have at most `longest` characters of whitespace in a row: where
    /// the whitespace that was read so far does not matter. `None` where there is no other.
    fn loosen(&self, _state: &Self::State, _longest: u16) -> Option<Self::State> {
        None
    }

    /// A state that takes the same texts as this one, as far as they have at most `reach` characters: where counters
    /// that are far from their ends do not matter. What is demanded only behind longer texts may be missing from it, but not that there
    /// is something: its cost and its completions mean nothing. `None` where there is no other.
    fn relax(&mut self, _state: &Self::State, _reach: u32) -> Option<Self::State> {
        None
    }

    /// Whether there is a counter in the machine that matters to no short token, so that some state may be [relaxed](Machine::relax).
    fn counts(&self) -> bool {
        false
    }

    /// Within text that the form demands, where every byte is known up to the end: how many bytes are left, and the label there.
    /// `None` elsewhere.
    fn forced(&self, _state: &Self::State) -> Option<(u32, u32)> {
        None
    }

    /// How many bytes a known completion takes from here: 0 in a final state, and from every other state some byte leads
    /// to a state of a smaller cost. It need not be the shortest completion.
    fn cost(&mut self, state: &Self::State) -> u32;
}
