//! Compiles the grammar IR to byte automata: terminals as lazy machines, rules as a recursive transition network with
//! registers.
//!
//! The modules are stages, and data flows down the list below: a module imports only modules of the groups above its
//! own. `tests/it/stages.rs` reads this list and checks the imports.

// Tables and limits, which do not depend on grammars.
mod bytes;
mod components;
mod interned;
mod limit;
mod meter;
mod token_lengths;

// `Input`: a text that grounded values come from.
mod input;

// `Listing`: listed texts as a tree.
mod listing;

// `Machine`: an automaton over bytes, given by functions.
mod machine;

// The machines: one for each kind of text.
mod json;
mod literal;
mod literals;
pub mod number;
mod regular;

// `Terminal`: a machine with numbered states and cached steps.
mod terminal;

// JSON values, and all texts of a value.
mod value;

// `Program`: a grammar as nodes and terminals, and the costs of completions.
mod program;

// `Network`: sets of stacks of a program, created on demand.
mod network;

// `Program::new`: the passes, the program, and what takes a network to compute.
mod compile;

// `Program::bind`: a program whose grounded values come from an input.
mod bind;

// `CaptureProgram`: the parts of a text that named expressions match.
mod captures;

pub use structgen_regular::{CancelToken, LimitExceeded, Lookahead, SHORT_TEXT, is_gap};

pub use bind::BoundProgram;
pub use bytes::{ByteClasses, ByteSet, Ends, Span};
pub use captures::{CapturePiece, CaptureProgram, CaptureSpan};
pub use input::{Candidate, CandidateValue, Input};
pub use json::Utf8;
pub use limit::{Limits, StepError};
pub use listing::{Beginning, Listing};
pub use machine::{AfterEnd, Children, Continuations, LiteralsPlace, Machine, Uniform};
pub use meter::MachineMeter;
pub use network::{Begun, Call, Element, Frame, Memory, Network, SetId};
pub use program::{GuideRefused, Program, ProgramError, any_string};
pub use terminal::{DEAD, START, Terminal, TerminalCursor, TerminalState};
pub use token_lengths::TokenLengths;
