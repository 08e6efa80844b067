//! An implementation of Jinja for chat templates, with two features that other engines lack: every operation counts
//! against a budget, and every string tracks which of its bytes come from the template.
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
