//! The automata compared with independent implementations, and rules about modules and names.

mod names;
mod number;
mod stages;
