//! Checks which guides can be enforced.

use structgen_grammar::{Expr, Grammar, Guide};

use super::{ProcId, Program, ProgramError};

/// Why a guide cannot be enforced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuideRefused {
    /// The part begins with itself.
    #[error("guides a part that begins with itself: a guide takes no part in left recursion")]
    LeftRecursion,
    /// Too few tokens are allowed.
    #[error(
        "is too low: the shortest text of the part takes {needed} bytes, and each may need a token of its own"
    )]
    TooFewTokens {
        /// The length of a shortest text in bytes.
        needed: u64,
    },
    /// The part is within an item that is compared with others.
    #[error("stands within the items of an array with distinct items")]
    DistinctItem,
}

impl Program {
    /// Checks that all guides can be enforced.
    pub(crate) fn check_guides(&self) -> Result<(), ProgramError> {
        let refused = |guide: Guide, why| ProgramError::Guide {
            guide: guide.to_string(),
            why,
        };
        let guided = self.procs.iter().zip((0..).map(ProcId::new));
        for (proc, id) in guided {
            let Some(guide) = proc.guide else {
                continue;
            };
            if self.left_recursion.contains(id) {
                return Err(refused(guide, GuideRefused::LeftRecursion));
            }
            let needed = match proc.nullable {
                true => 0,
                false => self.measures().proc_cost(self, id),
            };
            let needed = needed.saturating_mul(self.widest_byte());
            if matches!(guide, Guide::MaxTokens(most) if u64::from(most) < needed) {
                return Err(refused(guide, GuideRefused::TooFewTokens { needed }));
            }
        }
        let is_guided = self.most_tokens > 0 || self.sets_temperatures;
        match guide_in_distinct_items(&self.grammar).filter(|_| is_guided) {
            Some(guide) => Err(refused(guide, GuideRefused::DistinctItem)),
            None => Ok(()),
        }
    }
}

/// Returns a guide within an array of distinct items, which are read by networks of their own.
fn guide_in_distinct_items(grammar: &Grammar) -> Option<Guide> {
    let is_distinct = |expr: &&Expr| matches!(expr, Expr::Array(shape) if shape.unique);
    let arrays = grammar.exprs().iter().filter(is_distinct);
    let mut todo: Vec<_> = arrays.flat_map(Expr::children).collect();
    let mut seen = vec![false; grammar.exprs().len()];
    while let Some(id) = todo.pop() {
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        match grammar.expr(id) {
            Expr::Guided { guide, .. } => return Some(*guide),
            Expr::Rule(rule) => todo.push(grammar.rule(*rule).body),
            expr => todo.extend(expr.children()),
        }
    }
    None
}
