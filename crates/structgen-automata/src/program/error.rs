//! Errors of compiling a grammar.

use structgen_grammar::{ExprId, Grammar, Relation};

use super::GuideRefused;
use crate::LimitExceeded;

/// Why a grammar could not be compiled to a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// No text matches the grammar.
    #[error("no text matches: {} {} nothing", named(rules), if rules.len() == 1 { "derives" } else { "derive" })]
    Unsatisfiable {
        /// The rules that derive nothing, including the root.
        rules: Vec<String>,
    },
    /// A capture is in a place where spans are not found.
    #[error(
        "the capture `{name}` stands within a JSON object or array, where spans are not looked for"
    )]
    CaptureInShape {
        /// Its name.
        name: String,
    },
    /// A guide is in a place where it cannot be enforced.
    #[error("{guide} {why}")]
    Guide {
        /// The guide, as GBNF writes it.
        guide: String,
        /// Why it cannot be enforced.
        why: GuideRefused,
    },
    /// Some value of the referent of a relation would leave no value for a required place.
    #[error(
        "{pointer}: `{relation}` cannot be kept: for some value that it refers to, nothing would be left to write"
    )]
    Relation {
        /// The JSON Pointer of the keyword of the relation.
        pointer: Box<str>,
        /// The relation.
        relation: Relation,
    },
    /// A limit was exceeded by one rule.
    #[error("{rule}: {limit}")]
    RuleLimit {
        /// The rule; in the grammar of a JSON Schema, the JSON Pointer of a schema.
        rule: String,
        /// The limit.
        limit: LimitExceeded,
    },
    /// A limit was exceeded by the grammar as a whole, or the compilation was cancelled.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
}

impl ProgramError {
    /// Returns the error of a limit that an expression of the grammar exceeds.
    pub(crate) fn limit_of(grammar: &Grammar, expr: ExprId, limit: LimitExceeded) -> Self {
        let is_of_expr = !limit.is_cancelled() && !limit.is_timeout();
        match rule_of(grammar, expr).filter(|_| is_of_expr) {
            Some(rule) => Self::RuleLimit {
                rule: rule.to_owned(),
                limit,
            },
            None => Self::Limit(limit),
        }
    }
}

/// Returns the name of the first rule that contains an expression.
fn rule_of(grammar: &Grammar, expr: ExprId) -> Option<&str> {
    let mut seen = vec![false; grammar.exprs().len()];
    let mut open = Vec::new();
    for rule in grammar.rules() {
        open.push(rule.body);
        while let Some(id) = open.pop() {
            if id == expr {
                return Some(&rule.name);
            }
            if !std::mem::replace(&mut seen[id.index()], true) {
                open.extend(grammar.expr(id).children());
            }
        }
    }
    None
}

/// Returns the first of some rules, for a message.
fn named(rules: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut names = rules
        .iter()
        .take(SHOWN)
        .map(|rule| format!("`{rule}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if rules.len() > SHOWN {
        names += &format!(" and {} more rules", rules.len() - SHOWN);
    }
    names
}
