//! From the grammar IR to byte automata: terminals as DFAs, rules as a recursive transition network with registers.

mod json;
mod limit;
mod literal;
mod machine;
mod network;
pub mod number;
mod program;
pub mod regular;
mod terminal;

pub use limit::{LimitExceeded, Limits, StepError};
pub use machine::{Machine, Uniform};
pub use network::{Element, Frame, Memory, Network, SetId};
pub use program::{Program, ProgramError};
pub use terminal::{DEAD, START, Terminal, TerminalState};
