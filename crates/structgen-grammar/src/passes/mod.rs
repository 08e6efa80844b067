//! Passes over a grammar, in the order in which they run.
//!
//! Every pass takes a grammar and returns a grammar with the same texts, and a report of what it changed:
//!
//! 1. [`captures`] removes captures, which do not change what matches;
//! 2. [`productive`] removes what derives no text;
//! 3. [`literals`] turns long lists of literals into terminals;
//! 4. [`regularise`] joins what needs no stack into regular terminals, and drops rules that are not needed.
//!
//! For those who run single passes, [`reachable`] does only the last of this, and [`guides`] removes guides, which do
//! not change what matches either.
//!
//! No pass recurses on the call stack, and each takes time roughly linear in the size of the grammar.

pub mod captures;
pub mod guides;
pub mod literals;
pub mod productive;
pub mod reachable;
pub(crate) mod rebuild;
pub mod regularise;

use crate::Grammar;

/// The changes of all passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The removed captures.
    pub captures: captures::CapturesReport,
    /// What derives no text.
    pub productive: productive::ProductiveReport,
    /// The long lists of literals.
    pub literals: literals::LiteralsReport,
    /// What became regular terminals, and what was not needed.
    pub regularise: regularise::RegulariseReport,
}

/// Runs all passes in order.
///
/// ```
/// use structgen_grammar::{passes, Expr, GrammarBuilder, JsonForm};
///
/// // root ::= digits "x"*, digits ::= "0" | "1"
/// let mut builder = GrammarBuilder::new();
/// let [root, digits] = ["root", "digits"].map(|name| builder.declare(name));
/// let [zero, one, x] = ["0", "1", "x"].map(|text| builder.bytes(text));
/// let digit = builder.choice([zero, one]);
/// builder.define(digits, digit);
/// let (head, tail) = (builder.rule(digits), builder.repeat(x, 0, None));
/// let body = builder.sequence([head, tail]);
/// builder.define(root, body);
///
/// let (grammar, report) = passes::run(builder.finish(root, JsonForm::generate()));
/// assert_eq!(grammar.to_string(), "root ::= regular((\"0\" | \"1\") \"x\"*)\n");
/// assert_eq!(report.regularise.dropped, ["digits"]);
/// ```
#[must_use]
pub fn run(grammar: Grammar) -> (Grammar, Report) {
    let (grammar, captures) = captures::run(grammar);
    let (grammar, productive) = productive::run(grammar);
    let (grammar, literals) = literals::run(grammar);
    let (grammar, regularise) = regularise::run(grammar);
    let report = Report {
        captures,
        productive,
        literals,
        regularise,
    };
    (grammar, report)
}

#[cfg(test)]
mod tests;
