//! Queries on a grammar that need neither a tokenizer nor a model: some of its texts, their number, how two grammars
//! compare, their intersection, and the same language in GBNF.
//!
//! They use two views of a grammar. As an *automaton* with states created on demand by [`structgen_automata::Network`],
//! all of them live: texts, counts and comparisons search it, for every grammar, and end with an answer or at a limit.
//! As a *plain grammar*, made of literals, characters and rules alone ([`plain()`]): it is written as GBNF and
//! intersected. What requires a memory that rules do not have, such as keys in any order or distinct items, has no
//! plain grammar and is refused by name.

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
mod work;

pub use compare::{Side, Witness, difference, only_in};
pub use count::{Count, count};
pub use error::{AlgebraError, AlgebraLimits};
pub use gbnf::to_gbnf;
pub use intersect::intersect;
pub use plain::{Plain, plain};
pub use sets::{ascii_only, at_most, without};
pub use texts::{Sampler, Shortest, is_empty, shortest};
