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
    /// Binds a constraint to a text. If all of its values are too long to be written in `room` tokens, it counts as a
    /// text without values.
    pub(crate) fn of(
        constraint: &CompiledConstraint,
        text: &str,
        room: usize,
    ) -> crate::Result<Self> {
        let input = Arc::new(recognized_input(text)?);
        let mut bound = constraint.bind(&input)?;
        let may_exceed = text.split_whitespace().any(|word| word.len() > room);
        if may_exceed && bound.constraint.matcher().completion_cost()? > room as u64 {
            bound = constraint.bind(&Arc::new(recognized_input("")?))?;
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
