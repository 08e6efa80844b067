//! Compiles the grammar IR to byte automata: terminals as lazy machines, rules as a recursive transition network with
//! registers.
//!
//! | names | for |
//! |---|---|
//! | [`Program`], [`Limits`], [`ProgramError`] | compiling a grammar |
//! | [`Network`], [`Call`], [`SetId`], [`StepError`], [`Memory`] | stepping through texts |
//! | [`Input`], [`Candidate`], [`BoundProgram`] | values that come from an input |
//! | [`CaptureProgram`], [`CaptureSpan`], [`CapturePiece`] | the parts of a text that named expressions match |
//!
//! What only `structgen-constraint` uses, to compute masks from machines and terminals, is exported but hidden from
//! this documentation.
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
#[doc(hidden)]
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

pub use structgen_regular::{CancelToken, LimitExceeded};

pub use bind::BoundProgram;
pub use captures::{CapturePiece, CaptureProgram, CaptureSpan};
pub use input::{Candidate, CandidateValue, Input};
pub use limit::{Limits, StepError};
pub use network::{Call, Memory, Network, SetId};
pub use program::{GuideRefused, Program, ProgramError};

// What masks are computed from, for `structgen-constraint` alone, and what it shares with `structgen-regular`.
#[doc(hidden)]
pub use structgen_regular::{Lookahead, SHORT_TEXT, is_gap};

#[doc(hidden)]
pub use bytes::{ByteClasses, ByteSet, Ends, Span};
#[doc(hidden)]
pub use json::Utf8;
#[doc(hidden)]
pub use listing::{Beginning, Listing};
#[doc(hidden)]
pub use machine::{AfterEnd, Children, Continuations, LiteralsPlace, Machine, Uniform};
#[doc(hidden)]
pub use meter::MachineMeter;
#[doc(hidden)]
pub use network::{Begun, Element, Frame};
#[doc(hidden)]
pub use program::any_string;
#[doc(hidden)]
pub use terminal::{DEAD, START, Terminal, TerminalCursor, TerminalState};
#[doc(hidden)]
pub use token_lengths::TokenLengths;
