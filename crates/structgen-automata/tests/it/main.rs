//! The automata compared with independent implementations, and a rule about names.

mod names;
mod number;
