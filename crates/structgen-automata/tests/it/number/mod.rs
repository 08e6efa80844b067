//! The number automata against arbitrary-precision arithmetic and against bounded exhaustion.

mod exhaustion;
mod oracle;
mod random;
mod sets;
mod support;
