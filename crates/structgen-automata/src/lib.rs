//! From the grammar IR to byte automata: terminals as DFAs, rules as a recursive transition network with registers.

mod limit;
mod machine;
pub mod number;
pub mod regular;

pub use limit::LimitExceeded;
pub use machine::Machine;
