//! Which expressions take the empty text.

use structgen_grammar::{Expr, Grammar, Regular};

/// For each expression of the grammar, whether it takes the empty text: the least fixpoint.
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
            Expr::Repeat { body, .. } => users[body.index()].push(i),
            _ => {}
        }
    }
    for (rule, mut callers) in grammar.rules().iter().zip(rule_users) {
        users[rule.body.index()].append(&mut callers);
    }
    let mut queue: Vec<usize> = (0..exprs.len()).collect();
    while let Some(i) = queue.pop() {
        if known[i] {
            continue;
        }
        let is_nullable = match &exprs[i] {
            Expr::Empty => true,
            Expr::Bytes(bytes) => bytes.is_empty(),
            Expr::Regular(regular) => takes_empty(regular),
            Expr::Sequence(parts) => parts.iter().all(|part| known[part.index()]),
            Expr::Choice(arms) => arms.iter().any(|arm| known[arm.index()]),
            Expr::Repeat { body, min, .. } => *min == 0 || known[body.index()],
            Expr::Rule(rule) => known[grammar.rule(*rule).body.index()],
            Expr::Never
            | Expr::Token(_)
            | Expr::String(_)
            | Expr::Number(_)
            | Expr::Object(_)
            | Expr::Array(_) => false,
        };
        if is_nullable {
            known[i] = true;
            queue.extend(&users[i]);
        }
    }
    known
}

/// Whether a regular set has the empty string in it.
fn takes_empty(regular: &Regular) -> bool {
    match regular {
        Regular::Empty => true,
        Regular::Bytes(bytes) => bytes.is_empty(),
        Regular::Never | Regular::Chars(_) | Regular::ByteRange(..) => false,
        Regular::Concat(parts) | Regular::Intersection(parts) => parts.iter().all(takes_empty),
        Regular::Union(arms) => arms.iter().any(takes_empty),
        Regular::Complement(body) => !takes_empty(body),
        Regular::Repeat { body, min, .. } => *min == 0 || takes_empty(body),
        // In an empty text there is nothing else to see, ahead or behind.
        Regular::Look { negated, body, .. } => takes_empty(body) != *negated,
    }
}
