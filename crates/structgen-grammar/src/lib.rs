//! The grammar IR: the single representation that JSON Schema, regular expressions and GBNF are lowered to.
//!
//! A [`Grammar`] is an arena of expressions and a list of named rules. It has three kinds of leaves:
//!
//! - **byte literals**, long lists of them ([`LiteralSet`]) and **regular terminals** ([`Regular`]): sets of strings
//!   over Unicode scalar values or raw bytes;
//! - **JSON shapes** ([`StringShape`], [`NumberSet`], [`ObjectShape`], [`ArrayShape`]): sets of JSON *values*. How a
//!   value may be written (escapes, number forms, whitespace) is stated once, in [`JsonForm`], and not in the shapes;
//! - **token terminals**: a special token of the vocabulary, by name or id.
//!
//! | names | for |
//! |---|---|
//! | [`Grammar`], [`Expr`], [`Rule`], [`TokenTerminal`] | grammars; [`GrammarBuilder`] makes them |
//! | [`Regular`], [`CharSet`], [`LiteralSet`] | sets of strings |
//! | [`ObjectShape`], [`ArrayShape`], [`StringShape`], [`NumberSet`], [`Alternative`] | sets of JSON values |
//! | [`Slot`], [`Property`], [`KeyPattern`], [`Tally`], [`Relation`], [`Decimal`] | what these consist of |
//! | [`JsonForm`], [`NumberForm`], [`EscapeForm`], [`Whitespace`] | how JSON values may be written |
//! | [`Guide`], [`Temperature`] | token limits and temperatures of parts |
//! | [`passes`], [`notation`], [`json_pointer`], [`decimal`] | rewriting grammars, writing GBNF, pointers, numbers |
//!
//! The IR knows no tokenizer and no source syntax. It is built with [`GrammarBuilder`], simplified by [`passes`],
//! printed with `Display`, encoded by [`Grammar::to_bytes`], and lowered to automata by `structgen-automata`.

mod builder;
mod bytes;
pub mod decimal;
mod expr;
mod form;
mod guide;
mod json;
pub mod json_pointer;
mod json_text;
#[doc(hidden)]
pub mod keyed;
#[doc(hidden)]
pub mod lists;
mod literals;
mod names;
pub mod notation;
pub mod passes;
mod print;
mod regular;
mod relation;
mod shared;
mod space;

pub use builder::GrammarBuilder;
pub use bytes::BytesError;
pub use decimal::Decimal;
pub use expr::{Expr, ExprId, Grammar, Rule, RuleId, TokenTerminal};
pub use form::{EscapeForm, Indent, JsonForm, NumberForm, Whitespace};
pub use guide::{Guide, Temperature};
pub use json::{
    Alternative, ArrayShape, KeyPattern, MAX_TALLIES, NumberBound, NumberSet, ObjectShape,
    Property, Slot, StringContent, StringShape, Tally,
};
pub use literals::{LiteralSet, LiteralsTooLarge};
pub use regular::{CharSet, Regular};
pub use relation::Relation;

// For the other crates of the workspace.
#[doc(hidden)]
pub use names::UniqueNames;
#[doc(hidden)]
pub use shared::Shared;
#[doc(hidden)]
pub use space::{ASCII_SPACE, WIDE_SPACE, ecma_space};
