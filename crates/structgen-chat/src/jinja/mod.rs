//! Jinja, as chat templates use it, with two things that other engines lack: every operation is counted against a
//! budget, and every string knows which of its bytes the template wrote.
//!
//! ```text
//! source -> lexer -> tokens -> parser -> Template -> Interpreter -> text with origins
//! ```

mod arguments;
mod ast;
mod budget;
mod evaluate;
mod filters;
mod filters_of_lists;
mod functions;
mod interpreter;
mod json;
mod lexer;
mod methods;
mod operators;
mod parser;
mod parser_expressions;
mod print;
mod printf;
mod tests_of_values;
mod text;
mod value;

pub(crate) use ast::Template;
pub use budget::ChatLimits;
pub(crate) use budget::{Budget, Failure, Result};
pub(crate) use interpreter::Interpreter;
pub(crate) use parser::parse;
pub(crate) use value::Value;
