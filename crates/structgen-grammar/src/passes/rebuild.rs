//! Copying a grammar from one arena to another.

use crate::{ArrayShape, Expr, ExprId, GrammarBuilder, ObjectShape, Property};

/// Adds a copy of `expr` with other children: `map` gives the new child of each old one.
pub(super) fn copy(
    builder: &mut GrammarBuilder,
    expr: &Expr,
    mut map: impl FnMut(ExprId) -> ExprId,
) -> ExprId {
    match expr {
        Expr::Sequence(parts) => {
            let parts: Vec<ExprId> = parts.iter().map(|&part| map(part)).collect();
            builder.sequence(parts)
        }
        Expr::Choice(arms) => {
            let arms: Vec<ExprId> = arms.iter().map(|&arm| map(arm)).collect();
            builder.choice(arms)
        }
        Expr::Repeat { body, min, max } => {
            let body = map(*body);
            builder.repeat(body, *min, *max)
        }
        Expr::Object(shape) => {
            let shape = ObjectShape {
                properties: shape
                    .properties
                    .iter()
                    .map(|property| Property {
                        value: map(property.value),
                        ..property.clone()
                    })
                    .collect(),
                additional: shape.additional.map(map),
            };
            builder.expr(Expr::Object(Box::new(shape)))
        }
        Expr::Array(shape) => {
            let shape = ArrayShape {
                prefix: shape.prefix.iter().map(|&item| map(item)).collect(),
                rest: shape.rest.map(map),
                ..**shape
            };
            builder.expr(Expr::Array(Box::new(shape)))
        }
        leaf => builder.expr(leaf.clone()),
    }
}
