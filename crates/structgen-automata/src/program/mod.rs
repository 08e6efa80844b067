//! A grammar as a recursive transition network: nodes with terminals on them, and procedures that nodes call.
//!
//! A program is immutable and knows no state; [`Network`](crate::Network) runs it.

mod build;
mod left_recursion;
mod measure;
mod nullable;

use std::sync::{Arc, OnceLock};

use structgen_grammar::{Grammar, JsonForm, NumberSet, Regular, StringShape, TokenTerminal};

use crate::Limits;
pub use build::ProgramError;
pub(crate) use left_recursion::LeftRecursion;
pub(crate) use measure::Measures;

/// A node of the network.
pub(crate) type NodeId = u32;
/// A procedure: what a rule, or the body of a counted repetition, became.
pub(crate) type ProcId = u32;

/// What happens at a place of the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// The procedure is done.
    End,
    /// Reads a text of the terminal.
    Terminal { terminal: u32, next: NodeId },
    /// Takes one token of the vocabulary.
    Token { token: u32, next: NodeId },
    /// Goes on at any of these; at none, nothing goes on.
    Split(Box<[NodeId]>),
    /// Runs a procedure.
    Call { proc: ProcId, next: NodeId },
    /// Runs a procedure so many times.
    Repeat {
        proc: ProcId,
        min: u32,
        max: Option<u32>,
        next: NodeId,
    },
    /// Reads an object.
    Object { object: u32, next: NodeId },
    /// Reads an array.
    Array { array: u32, next: NodeId },
}

/// A piece of a grammar that is entered at one node and left at `End`.
#[derive(Clone, Debug)]
pub(crate) struct Proc {
    pub(crate) entry: NodeId,
    pub(crate) nullable: bool,
}

/// What a terminal of the program reads; equal ones are stored once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TerminalSpec {
    Bytes(Box<[u8]>),
    Regular(Regular),
    Number(NumberSet),
    String(StringShape),
}

/// An object: where the values of its keys are, and its keys sorted.
#[derive(Debug)]
pub(crate) struct ObjectProgram {
    /// The properties as declared.
    pub(crate) properties: Box<[PropertyProgram]>,
    /// The value of an undeclared key.
    pub(crate) additional: Option<NodeId>,
    /// The declared keys, sorted.
    pub(crate) keys: Arc<[Box<str>]>,
    /// Which property each sorted key is.
    pub(crate) labels: Arc<[u32]>,
    /// The place of each property among the sorted keys.
    pub(crate) places: Box<[u32]>,
}

#[derive(Debug)]
pub(crate) struct PropertyProgram {
    pub(crate) key: Box<str>,
    pub(crate) value: NodeId,
    pub(crate) required: bool,
    /// Whether no value is possible: the key may not come, also where others may.
    pub(crate) is_forbidden: bool,
}

/// An array: where its items are.
#[derive(Debug)]
pub(crate) struct ArrayProgram {
    pub(crate) prefix: Box<[NodeId]>,
    pub(crate) rest: Option<NodeId>,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
}

/// A compiled grammar.
#[derive(Debug)]
pub struct Program {
    pub(crate) nodes: Vec<Node>,
    pub(crate) procs: Vec<Proc>,
    pub(crate) root: ProcId,
    pub(crate) terminals: Vec<TerminalSpec>,
    pub(crate) tokens: Vec<TokenTerminal>,
    pub(crate) objects: Vec<ObjectProgram>,
    pub(crate) arrays: Vec<ArrayProgram>,
    pub(crate) form: JsonForm,
    pub(crate) limits: Limits,
    pub(crate) left_recursion: LeftRecursion,
    measures: OnceLock<Measures>,
    heights: OnceLock<Vec<u32>>,
}

impl Program {
    /// Lowers a grammar.
    ///
    /// # Errors
    /// When no text matches the grammar, or a limit is exceeded.
    pub fn new(grammar: Grammar, limits: Limits) -> Result<Self, ProgramError> {
        build::build(grammar, limits)
    }

    /// The token terminals of the grammar; a place in this list is what [`Network::step_token`](crate::Network::step_token) takes.
    #[must_use]
    pub fn token_terminals(&self) -> &[TokenTerminal] {
        &self.tokens
    }

    /// The form of the JSON in the grammar.
    #[must_use]
    pub fn form(&self) -> &JsonForm {
        &self.form
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the program has no nodes; never so for a program that was built.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    pub(crate) fn proc(&self, id: ProcId) -> &Proc {
        &self.procs[id as usize]
    }
}
