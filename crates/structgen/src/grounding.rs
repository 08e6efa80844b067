//! Constraints that are bound to a text.

use std::sync::Arc;

use structgen_constraint::{BoundConstraint, CompiledConstraint, Input};
use structgen_grammar::Expr;

use crate::recognized_input;

/// Whether values of a constraint are to come from an input.
pub(crate) fn is_grounded(constraint: &CompiledConstraint) -> bool {
    let grammar = constraint.program().grammar();
    { grammar.exprs().iter() }.any(|expr| matches!(expr, Expr::Grounded { .. }))
}

/// What a constraint leaves of a text's values.
pub(crate) struct Grounding {
    pub(crate) input: Arc<Input>,
    pub(crate) constraint: CompiledConstraint,
    /// JSON Pointers into the schema: required values that the text does not have.
    pub(crate) ungrounded: Vec<String>,
}

impl Grounding {
    pub(crate) fn of(constraint: &CompiledConstraint, text: &str) -> crate::Result<Self> {
        let input = Arc::new(recognized_input(text)?);
        let bound = constraint.bind(&input)?;
        Ok(Self {
            input,
            ungrounded: ungrounded_pointers(&bound),
            constraint: bound.constraint,
        })
    }
}

/// The values that had to come from the text and could not: JSON Pointers into the schema.
pub(crate) fn ungrounded_pointers(bound: &BoundConstraint) -> Vec<String> {
    { bound.ungrounded.iter() }
        .map(|pointer| pointer.trim_start_matches('#').to_owned())
        .collect()
}
