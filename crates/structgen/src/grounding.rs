//! Constraints bound to a text.

use std::sync::Arc;

use structgen_constraint::{BoundConstraint, CompiledConstraint, Input};
use structgen_grammar::Expr;

use crate::recognized_input;

/// Returns whether any values of a constraint come from an input.
pub(crate) fn is_grounded(constraint: &CompiledConstraint) -> bool {
    let grammar = constraint.program().grammar();
    { grammar.exprs().iter() }.any(|expr| matches!(expr, Expr::Grounded { .. }))
}

/// The values of a text that a constraint allows.
pub(crate) struct Grounding {
    pub(crate) input: Arc<Input>,
    pub(crate) constraint: CompiledConstraint,
    /// JSON Pointers into the schema: required values that the text does not contain.
    pub(crate) ungrounded: Vec<String>,
}

impl Grounding {
    /// Binds a constraint to a text. Words that cannot be written in `room` tokens are no values; if there are any and
    /// one might be needed, values come from the longest part of the text without them.
    pub(crate) fn of(
        constraint: &CompiledConstraint,
        text: &str,
        room: usize,
    ) -> crate::Result<Self> {
        let input = Arc::new(recognized_input(text)?);
        let mut bound = constraint.bind(&input)?;
        let is_too_long = |word: &&str| word.len() > room;
        let has_long = text.split_whitespace().any(|word| is_too_long(&word));
        if has_long && bound.constraint.matcher().completion_cost()? > room as u64 {
            let long = text.split_whitespace().filter(is_too_long);
            let mut parts = Vec::new();
            let mut rest = text;
            for word in long {
                if let Some((before, after)) = rest.split_once(word) {
                    parts.push(before);
                    rest = after;
                }
            }
            parts.push(rest);
            let longest = parts.into_iter().max_by_key(|part| part.len());
            bound = constraint.bind(&Arc::new(recognized_input(longest.unwrap_or_default())?))?;
        }
        Ok(Self {
            input,
            ungrounded: ungrounded_pointers(&bound),
            constraint: bound.constraint,
        })
    }
}

/// Returns the values that should have come from the text but could not: JSON Pointers into the schema.
pub(crate) fn ungrounded_pointers(bound: &BoundConstraint) -> Vec<String> {
    { bound.ungrounded.iter() }
        .map(|pointer| pointer.trim_start_matches('#').to_owned())
        .collect()
}
