//! Copying a grammar from one arena to another.

use crate::{Expr, ExprId, GrammarBuilder};

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
            let mut shape = (**shape).clone();
            for property in &mut shape.properties {
                property.value = property.value.map(&mut map);
            }
            for pattern in &mut shape.patterns {
                pattern.value = pattern.value.map(&mut map);
            }
            shape.additional = shape.additional.map(|slot| slot.map(&mut map));
            builder.expr(Expr::Object(Box::new(shape)))
        }
        Expr::Array(shape) => {
            let mut shape = (**shape).clone();
            for slot in &mut shape.prefix {
                *slot = slot.map(&mut map);
            }
            shape.rest = shape.rest.map(|slot| slot.map(&mut map));
            builder.expr(Expr::Array(Box::new(shape)))
        }
        leaf => builder.expr(leaf.clone()),
    }
}
