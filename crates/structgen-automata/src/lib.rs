//! From the grammar IR to byte automata: terminals as DFAs, rules as a recursive transition network with registers.

mod bytes;
mod json;
mod limit;
mod literal;
mod machine;
mod network;
pub mod number;
mod program;
pub mod regular;
mod span;
mod terminal;

pub use bytes::{ByteClasses, ByteSet, Ends, Span};
pub use json::{Utf8, any_string};
pub use limit::{LimitExceeded, Limits, StepError};
pub use machine::{Machine, Uniform};
pub use network::{Element, Frame, Memory, Network, SetId};
pub use program::{Program, ProgramError};
pub use terminal::{DEAD, START, Terminal, TerminalState};
