//! GBNF, the grammar notation of llama.cpp, to the grammar IR.
//!
//! Everything of the notation is read: rules, alternatives, groups, `.`, the quantifiers `*`, `+`, `?`, `{m}`, `{m,}` and `{m,n}`, classes and negated
//! classes, every escape, comments, and token terminals such as `<[1000]>` and `<think>`. Line ends mean what they mean in
//! llama.cpp. A negated token terminal (`!<think>`) is refused.

mod error;
mod lower;
mod nesting;
mod syntax;

use structgen_grammar::Grammar;

pub use error::{GbnfError, GbnfErrorKind};

/// How a grammar is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GbnfOptions {
    /// The rule that a whole text has to match.
    pub root: String,
    /// How deep parentheses may nest. Values above 200 count as 200.
    pub max_nesting: u32,
}

impl Default for GbnfOptions {
    /// The root `root`, and 100 nested parentheses.
    fn default() -> Self {
        Self {
            root: "root".to_owned(),
            max_nesting: 100,
        }
    }
}

/// Reads a grammar.
///
/// Rules stay rules and counters stay counters; classes become regular terminals. Rules may be left-recursive.
///
/// ```
/// use structgen_frontend::gbnf::{GbnfOptions, parse};
///
/// let grammar = parse("root ::= \"yes\" | answer{2,3}\nanswer ::= [a-z]+ # any word", &GbnfOptions::default())?;
/// assert_eq!(grammar.rules().len(), 2);
///
/// let error = parse("root ::= answer", &GbnfOptions::default()).unwrap_err();
/// assert_eq!((error.line, error.column), (1, 10));
/// # Ok::<(), structgen_frontend::gbnf::GbnfError>(())
/// ```
///
/// # Errors
/// When the text is no GBNF, names a rule that is not defined, defines one twice, has no root, or says something that is not supported.
pub fn parse(text: &str, options: &GbnfOptions) -> Result<Grammar, GbnfError> {
    nesting::check(text, options.max_nesting.min(200))?;
    let grammar = syntax::parse(text)?;
    lower::lower(text, grammar, options)
}

#[cfg(test)]
mod tests;
