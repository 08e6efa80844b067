//! Finds the expressions that match the empty text.

use structgen_grammar::lists::Lists;
use structgen_grammar::{Expr, Grammar};

/// Returns for each expression of the grammar whether it matches the empty text: the least fixpoint.
pub(super) fn nullable(grammar: &Grammar) -> Vec<bool> {
    let exprs = grammar.exprs();
    let mut known = vec![false; exprs.len()];
    // Children precede their parents, so one pass over the arena decides all but what waits for a rule defined later.
    let mut is_settled = vec![false; exprs.len()];
    let mut rest: Vec<usize> = Vec::new();
    for (i, expr) in exprs.iter().enumerate() {
        let mut missing = needed(expr);
        let mut is_open = false;
        if missing > 0 {
            for part in grammar.parts(expr) {
                missing = missing.saturating_sub(usize::from(known[part.index()]));
                is_open |= !is_settled[part.index()];
            }
        }
        known[i] = missing == 0;
        is_settled[i] = missing == 0 || !is_open;
        if !is_settled[i] {
            rest.push(i);
        }
    }
    if !rest.is_empty() {
        settle(grammar, &rest, &mut known);
    }
    known
}

/// Finds which of the remaining expressions match the empty text.
fn settle(grammar: &Grammar, rest: &[usize], known: &mut [bool]) {
    let mut users = Vec::new();
    // The number of parts that each expression waits for. Visiting a whole sequence for every part would be quadratic.
    let mut missing: Vec<usize> = Vec::with_capacity(rest.len());
    for (place, &i) in rest.iter().enumerate() {
        let expr = &grammar.exprs()[i];
        let mut count = needed(expr);
        for part in grammar.parts(expr) {
            if known[part.index()] {
                count = count.saturating_sub(1);
            } else {
                users.push((part.0, place as u32));
            }
        }
        missing.push(count);
    }
    let users = Lists::new(known.len(), &users);
    let mut queue: Vec<usize> = (0..rest.len()).filter(|&it| missing[it] == 0).collect();
    while let Some(place) = queue.pop() {
        if std::mem::replace(&mut known[rest[place]], true) {
            continue;
        }
        for &user in users.of(rest[place]) {
            let user = user as usize;
            missing[user] = missing[user].saturating_sub(1);
            if missing[user] == 0 {
                queue.push(user);
            }
        }
    }
}

/// Returns how many parts must match the empty text for the expression to match it.
fn needed(expr: &Expr) -> usize {
    let takes_empty = match expr {
        Expr::Sequence(parts) => return parts.len(),
        Expr::Empty => true,
        Expr::Bytes(bytes) => bytes.is_empty(),
        Expr::Literals(set) => set.takes_empty(),
        Expr::Regular(regular) => regular.takes_empty(),
        Expr::Repeat { min, .. } => *min == 0,
        // Those with parts need one of them; the others are never nullable.
        Expr::Choice(_)
        | Expr::Capture { .. }
        | Expr::Guided { .. }
        | Expr::Grounded { .. }
        | Expr::Referent { .. }
        | Expr::Related { .. }
        | Expr::Rule(_)
        | Expr::Never
        | Expr::Token(_)
        | Expr::String(_)
        | Expr::Number(_)
        | Expr::Object(_)
        | Expr::Array(_) => false,
    };
    usize::from(!takes_empty)
}
