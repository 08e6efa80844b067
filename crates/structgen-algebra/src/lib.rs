//! What can be worked out of a grammar without a tokenizer or a model: some of its texts, how many there are, how two
//! compare, what two have in common, and the same language in GBNF.
//!
//! Two views of a grammar carry all of it. As an *automaton*, states made on demand by [`structgen_automata::Network`],
//! every one of them live: texts, counts and comparisons walk through it, for every grammar, and stop with an answer or
//! at a limit. As a *plain grammar*, of literals, characters and rules alone ([`plain()`]): GBNF is written from it,
//! and intersections are made on it. What takes a memory that rules do not have, such as keys in any order or distinct
//! items, has no plain grammar and is refused by name.

mod automaton;
mod compare;
mod count;
mod dfa;
mod error;
mod gbnf;
mod intersect;
mod plain;
mod sets;
mod texts;

pub use compare::{Side, Witness, difference, only_in};
pub use count::{Count, count};
pub use error::{AlgebraError, AlgebraLimits};
pub use gbnf::to_gbnf;
pub use intersect::intersect;
pub use plain::{Plain, plain};
pub use sets::{ascii_only, at_most, without};
pub use texts::{Sampler, Shortest, is_empty, shortest};
