//! Which values can be compared with one another.

use structgen_grammar::{
    Expr, ExprId, GrammarBuilder, NumberSet, Relation, StringContent, StringShape,
};

use super::{Reason, Use};
use crate::json_schema::s3_canonical::is_date;

/// Checks that the values of a referent can be compared with those that refer to it.
pub(super) fn check_values(
    builder: &GrammarBuilder,
    uses: &[Use],
    found: &[ExprId],
) -> Result<(), (Box<str>, Reason)> {
    for own in uses {
        let bodies = { uses.iter() }.filter(|other| other.pointer == own.pointer);
        let bodies: Vec<&Expr> = bodies.map(|it| leaf(builder, it.body)).collect();
        for &id in found {
            let referent = leaf(builder, id);
            let (is_fine, reason) = match own.relation {
                Relation::In => (
                    bodies.iter().any(|body| holds_all(body, referent)),
                    Reason::OtherValues,
                ),
                Relation::AtLeast | Relation::AtMost => (
                    bodies.iter().any(|body| has_order(body, referent)),
                    Reason::NoOrder,
                ),
                Relation::NotEqual => (true, Reason::OtherValues),
            };
            if !is_fine {
                return Err((own.pointer.clone(), reason));
            }
        }
    }
    Ok(())
}

/// The string or number inside an expression, without the marks around it.
fn leaf(builder: &GrammarBuilder, mut id: ExprId) -> &Expr {
    while let Expr::Grounded { body, .. }
    | Expr::Related { body, .. }
    | Expr::Referent { body, .. } = builder.get(id)
    {
        id = *body;
    }
    builder.get(id)
}

/// Whether `own` contains every value of `other`, as far as a simple comparison shows.
fn holds_all(own: &Expr, other: &Expr) -> bool {
    if own == other {
        return true;
    }
    match (own, other) {
        (Expr::String(own), Expr::String(other)) => {
            *own == StringShape::default()
                || matches!((&own.content, &other.content),
                    (StringContent::Literals(own), StringContent::Literals(other))
                        if other.iter().all(|text| own.contains(text)))
        }
        (Expr::Number(own), Expr::Number(other)) => {
            let is_unbounded = NumberSet {
                multiples_of: Vec::new(),
                written_whole: false,
                ..own.clone()
            } == NumberSet::default();
            is_unbounded && (!own.written_whole || other.written_whole) && {
                own.multiples_of.iter()
            }
            .all(|it| other.multiples_of.contains(it))
        }
        _ => false,
    }
}

/// Whether the values of both have an order: numbers or dates.
fn has_order(own: &Expr, other: &Expr) -> bool {
    match (own, other) {
        (Expr::Number(_), Expr::Number(_)) => true,
        // `own` is known to consist of dates. So does `other` if it has the same content or lists dates only.
        (Expr::String(own), Expr::String(other)) => {
            own.content == other.content || is_listed_dates(other)
        }
        _ => false,
    }
}

fn is_listed_dates(shape: &StringShape) -> bool {
    match &shape.content {
        StringContent::Literals(texts) => texts.iter().all(|text| is_date(text)),
        _ => false,
    }
}
