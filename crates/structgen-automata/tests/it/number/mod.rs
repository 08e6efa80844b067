//! The number automata compared with arbitrary-precision arithmetic and with bounded exhaustion.

mod exhaustion;
mod oracle;
mod random;
mod sets;
mod support;
