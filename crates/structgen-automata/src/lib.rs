//! From the grammar IR to byte automata: terminals as lazy machines, rules as a recursive transition network with
//! registers.
//!
//! The modules are stages, and data flows down the list below: a module imports only modules of the groups above its
//! own. `tests/it/stages.rs` reads this list and fails where one does not.

// Tables and limits, which know nothing of grammars.
mod bytes;
mod components;
mod interned;
mod limit;
mod token_lengths;

// `Input`: a text that values come from.
mod input;

// `Machine`: an automaton over bytes, given by functions.
mod machine;

// The machines: one for each kind of text.
mod json;
mod literal;
mod literals;
pub mod number;
mod regular;

// `Terminal`: a machine with its states numbered and its steps remembered.
mod terminal;

// JSON values, and the texts of one.
mod value;

// `Program`: a grammar as nodes with terminals on them, and what completions cost.
mod program;

// `Network`: a program's sets of stacks, made on demand.
mod network;

// `Program::new`: the passes, the program, and what takes a network to find out.
mod compile;

// `Program::bind`: a program whose grounded values are in an input.
mod bind;

// `CaptureProgram`: which parts of a text named expressions match.
mod captures;

pub use structgen_regular::{CancelToken, LimitExceeded, SHORT_TEXT};

pub use bind::BoundProgram;
pub use bytes::{ByteClasses, ByteSet, Ends, Span};
pub use captures::{CapturePiece, CaptureProgram, CaptureSpan};
pub use input::{Candidate, CandidateValue, Input};
pub use json::Utf8;
pub use limit::{Limits, StepError};
pub use machine::{AfterEnd, Children, Continuations, LiteralsPlace, Machine, Uniform};
pub use network::{Begun, Call, Element, Frame, Memory, Network, SetId};
pub use program::{GuideRefused, Program, ProgramError, any_string};
pub use terminal::{DEAD, START, Terminal, TerminalCursor, TerminalState};
pub use token_lengths::TokenLengths;
