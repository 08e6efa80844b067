//! Copies expressions from one arena to another.

use crate::{Expr, ExprId, GrammarBuilder};

/// Adds `expr` with other children: `map` returns the new child for each old one.
pub(crate) fn copy(
    builder: &mut GrammarBuilder,
    expr: Expr,
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
            let body = map(body);
            builder.repeat(body, min, max)
        }
        Expr::Capture { name, body } => {
            let body = map(body);
            builder.capture(name, body)
        }
        Expr::Guided { guide, body } => {
            let body = map(body);
            builder.guided(guide, body)
        }
        Expr::Grounded {
            pointer,
            format,
            body,
        } => {
            let body = map(body);
            builder.grounded(pointer, format, body)
        }
        Expr::Referent { name, body } => {
            let body = map(body);
            builder.referent(name, body)
        }
        Expr::Related {
            pointer,
            relation,
            referent,
            body,
        } => {
            let body = map(body);
            builder.related(pointer, relation, referent, body)
        }
        Expr::Object(mut shape) => {
            for property in &mut shape.properties {
                property.value = std::mem::take(&mut property.value).map(&mut map);
            }
            for pattern in &mut shape.patterns {
                pattern.value = std::mem::take(&mut pattern.value).map(&mut map);
            }
            shape.additional = shape.additional.take().map(|slot| slot.map(&mut map));
            builder.expr(Expr::Object(shape))
        }
        Expr::Array(mut shape) => {
            for slot in &mut shape.prefix {
                *slot = std::mem::take(slot).map(&mut map);
            }
            shape.rest = shape.rest.take().map(|slot| slot.map(&mut map));
            builder.expr(Expr::Array(shape))
        }
        leaf => builder.expr(leaf),
    }
}
