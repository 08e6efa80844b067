//! Warnings about valid grammars that probably contain a mistake.

use structgen_grammar::passes::{productive, reachable};

use super::lines::Lines;
use super::parser::Parsed;
use crate::json_schema::SchemaWarning;

/// A probable mistake in a grammar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}line {line}, column {column}: {kind}", .file.as_ref().map_or_else(String::new, |file| format!("{file}, ")))]
pub struct GbnfWarning {
    /// The file, if it is in an imported one.
    pub file: Option<String>,
    /// The line of the rule's definition, counted from one.
    pub line: usize,
    /// The column, in code points, counted from one.
    pub column: usize,
    /// What is odd.
    pub kind: GbnfWarningKind,
}

/// What is odd about a grammar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GbnfWarningKind {
    /// No alternative of the rule terminates. If the root needs it, the grammar has no text at all.
    #[error("the rule `{0}` derives no text: it has no alternative that ends")]
    DerivesNothing(String),
    /// The rule cannot be reached from the root.
    #[error("nothing that starts from the root leads to the rule `{0}`")]
    Unreachable(String),
    /// An assertion of a JSON Schema was dropped, because
    /// [`SchemaOptions::lenient`](crate::json_schema::SchemaOptions::lenient) is set: the output need not be valid.
    #[error("the schema's assertion at {0} is not supported, and was dropped")]
    Dropped(String),
    /// A JSON Schema most likely does not mean what it states.
    #[error("in the schema: {0}")]
    Schema(SchemaWarning),
}

/// The warnings for a grammar, in the order of its rules, followed by those for schemas.
pub(super) fn find(text: &str, parsed: &Parsed) -> Vec<GbnfWarning> {
    let grammar = parsed.outline.as_ref().unwrap_or(&parsed.grammar);
    let (_, unreachable) = reachable::run(grammar.clone());
    let (_, unproductive) = productive::run(grammar.clone());
    let unreachable = unreachable.dropped.into_iter().map(|rule| (rule, false));
    let never = unproductive.never.into_iter().map(|rule| (rule, true));
    let mut found: Vec<(usize, GbnfWarningKind)> = unreachable
        .chain(never)
        .filter_map(|(rule, is_never)| {
            // Rules created for deep groups have no position.
            let position = *parsed.places.get(rule.as_str())?;
            let kind = if is_never {
                GbnfWarningKind::DerivesNothing(rule)
            } else {
                GbnfWarningKind::Unreachable(rule)
            };
            Some((position, kind))
        })
        .collect();
    found.sort_by_key(|&(position, _)| position);
    located(text, None, found)
        .chain(parsed.of_schemas.iter().cloned())
        .collect()
}

/// Warnings about one text by their positions, which are in order.
pub(super) fn located(
    text: &str,
    file: Option<&str>,
    found: Vec<(usize, GbnfWarningKind)>,
) -> impl Iterator<Item = GbnfWarning> {
    let mut lines = Lines::new(text);
    found.into_iter().map(move |(position, kind)| {
        let (line, column) = lines.find(position);
        GbnfWarning {
            file: file.map(str::to_owned),
            line,
            column,
            kind,
        }
    })
}
