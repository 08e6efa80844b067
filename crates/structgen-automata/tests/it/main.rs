//! The automata against other ways to say the same, and the order of their modules.

mod number;
mod stages;
