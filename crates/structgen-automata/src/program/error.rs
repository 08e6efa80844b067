//! Why a grammar has no program.

use structgen_grammar::Relation;

use super::GuideRefused;
use crate::LimitExceeded;

/// Why a grammar has no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// No text matches the grammar.
    #[error("no text matches: {} {} nothing", named(rules), if rules.len() == 1 { "derives" } else { "derive" })]
    Unsatisfiable {
        /// The rules that derive nothing, the root among them.
        rules: Vec<String>,
    },
    /// A capture stands where its span is not looked for.
    #[error(
        "the capture `{name}` stands within a JSON object or array, where spans are not looked for"
    )]
    CaptureInShape {
        /// Its name.
        name: String,
    },
    /// A guide stands where it cannot be kept.
    #[error("{guide} {why}")]
    Guide {
        /// The guide, as GBNF writes it.
        guide: String,
        /// Why it cannot be kept.
        why: GuideRefused,
    },
    /// Some value that a relation refers to would leave no value in a place that has to be filled.
    #[error(
        "{pointer}: `{relation}` cannot be kept: for some value that it refers to, nothing would be left to write"
    )]
    Relation {
        /// The JSON Pointer of the keyword that asks for the relation.
        pointer: Box<str>,
        /// The relation.
        relation: Relation,
    },
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
}

/// The first of some rules, for a message.
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
