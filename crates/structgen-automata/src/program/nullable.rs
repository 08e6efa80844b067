//! Which expressions take the empty text.

use structgen_grammar::{Expr, Grammar};

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
            Expr::Repeat { body, .. } | Expr::Capture { body, .. } => users[body.index()].push(i),
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
            Expr::Literals(set) => set.takes_empty(),
            Expr::Regular(regular) => regular.takes_empty(),
            Expr::Sequence(parts) => parts.iter().all(|part| known[part.index()]),
            Expr::Choice(arms) => arms.iter().any(|arm| known[arm.index()]),
            Expr::Repeat { body, min, .. } => *min == 0 || known[body.index()],
            Expr::Capture { body, .. } => known[body.index()],
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
