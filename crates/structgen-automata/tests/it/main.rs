//! The automata against other ways to say the same, and rules of the house about their modules and names.

mod names;
mod number;
mod stages;
