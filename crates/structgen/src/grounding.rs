//! Constraints that are bound to a text.

use std::sync::Arc;

use structgen_constraint::{CompiledConstraint, Input};
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
            constraint: bound.constraint,
            ungrounded: { bound.ungrounded.iter() }
                .map(|pointer| pointer.trim_start_matches('#').to_owned())
                .collect(),
        })
    }
}
