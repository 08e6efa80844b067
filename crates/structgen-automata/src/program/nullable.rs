//! Finds the expressions that match the empty text.

use structgen_grammar::{Expr, Grammar};

/// Returns for each expression of the grammar whether it matches the empty text: the least fixpoint.
pub(super) fn nullable(grammar: &Grammar) -> Vec<bool> {
    let exprs = grammar.exprs();
    let mut known = vec![false; exprs.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); exprs.len()];
    let mut rule_users: Vec<Vec<usize>> = vec![Vec::new(); grammar.rules().len()];
    for (i, expr) in exprs.iter().enumerate() {
        match expr {
            Expr::Rule(rule) => rule_users[rule.index()].push(i),
            Expr::Sequence(parts) | Expr::Choice(parts) => {
                parts.iter().for_each(|part| users[part.index()].push(i))
            }
            Expr::Repeat { body, .. }
            | Expr::Capture { body, .. }
            | Expr::Guided { body, .. }
            | Expr::Grounded { body, .. }
            | Expr::Referent { body, .. }
            | Expr::Related { body, .. } => users[body.index()].push(i),
            _ => {}
        }
    }
    for (rule, mut callers) in grammar.rules().iter().zip(rule_users) {
        users[rule.body.index()].append(&mut callers);
    }
    // The number of parts that each expression waits for. Visiting a whole sequence for every part would be quadratic.
    let mut missing: Vec<usize> = exprs.iter().map(needed).collect();
    let mut queue: Vec<usize> = (0..exprs.len()).filter(|&i| missing[i] == 0).collect();
    while let Some(i) = queue.pop() {
        if std::mem::replace(&mut known[i], true) {
            continue;
        }
        for &user in &users[i] {
            missing[user] = missing[user].saturating_sub(1);
            if missing[user] == 0 {
                queue.push(user);
            }
        }
    }
    known
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
