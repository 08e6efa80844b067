//! Binds a program to an input.
//!
//! The grammar is lowered again, with terminals of the input in place of its grounded values. A value without
//! candidates in the input is left out where the grammar allows that; where it is required, it stays ungrounded.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use structgen_grammar::passes::productive::productive;
use structgen_grammar::{Expr, ExprId, Grammar};

use crate::program::{Program, ProgramError, is_in_input};
use crate::{Input, Limits};

/// A program bound to an input.
#[derive(Debug)]
pub struct BoundProgram {
    /// The program.
    pub program: Program,
    /// JSON Pointers into the schema, sorted, of the values that are written as if they were not grounded: required
    /// ones that the input does not contain, and further ones if nothing could be written with only these ungrounded.
    pub ungrounded: Vec<Box<str>>,
}

impl Program {
    /// Returns the program with its grounded values restricted to those of the input.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn bind(&self, input: &Arc<Input>) -> Result<BoundProgram, ProgramError> {
        let (grammar, limits) = (self.grammar(), self.limits());
        match Self::lowered(grammar.clone(), limits.clone(), Some(input)) {
            Err(ProgramError::Unsatisfiable { .. }) => {}
            program => {
                return Ok(BoundProgram {
                    program: program?,
                    ungrounded: Vec::new(),
                });
            }
        }
        let missing = missing(grammar, input, limits)?;
        let needed = needed(grammar, &missing);
        let all = grounded(grammar);
        let most = all.len();
        let mut compared = compared(grammar);
        compared.extend(&needed);
        // An array may lack distinct values rather than have none. Which values are then required is not worked out.
        for ungrounded in [needed, compared, missing, all] {
            let lifted = lift(grammar, &ungrounded);
            match Self::lowered(lifted, limits.clone(), Some(input)) {
                Err(ProgramError::Unsatisfiable { .. }) if ungrounded.len() < most => {}
                program => {
                    return Ok(BoundProgram {
                        program: program?,
                        ungrounded: pointers(grammar, &ungrounded),
                    });
                }
            }
        }
        unreachable!("the last try is as large as all")
    }
}

/// Returns the grounded values that the input does not contain.
fn missing(
    grammar: &Grammar,
    input: &Arc<Input>,
    limits: &Limits,
) -> Result<FxHashSet<ExprId>, ProgramError> {
    let mut missing = FxHashSet::default();
    for (id, expr) in (0..).map(ExprId).zip(grammar.exprs()) {
        if !is_in_input(grammar, expr, input, limits)? {
            missing.insert(id);
        }
    }
    Ok(missing)
}

/// Returns the missing values that are required, because nothing can replace them.
fn needed(grammar: &Grammar, missing: &FxHashSet<ExprId>) -> FxHashSet<ExprId> {
    let without = grammar
        .clone()
        .replace(|id, _| missing.contains(&id).then_some(Expr::Never));
    let productive = productive(&without);
    let mut needed = FxHashSet::default();
    let mut seen = FxHashSet::default();
    let mut todo = vec![grammar.rule(grammar.root()).body];
    while let Some(id) = todo.pop() {
        if productive[id.index()] || !seen.insert(id) {
            continue;
        }
        if missing.contains(&id) {
            needed.insert(id);
            continue;
        }
        match grammar.expr(id) {
            Expr::Rule(rule) => todo.push(grammar.rule(*rule).body),
            Expr::Object(shape) => {
                for property in shape.properties.iter().filter(|it| it.required) {
                    let lives = |value: ExprId| productive[value.index()];
                    if !property.value.values().any(lives) {
                        todo.extend(property.value.values());
                    }
                }
            }
            expr => todo.extend(expr.children()),
        }
    }
    needed
}

fn grounded(grammar: &Grammar) -> FxHashSet<ExprId> {
    let exprs = (0..).map(ExprId).zip(grammar.exprs());
    let grounded = exprs.filter(|(_, expr)| matches!(expr, Expr::Grounded { .. }));
    grounded.map(|(id, _)| id).collect()
}

/// Returns the grounded values that are compared with others.
fn compared(grammar: &Grammar) -> FxHashSet<ExprId> {
    let compared = grammar.exprs().iter().filter_map(|expr| match expr {
        Expr::Related { body, .. } => Some(*body),
        _ => None,
    });
    let is_grounded = |id: &ExprId| matches!(grammar.expr(*id), Expr::Grounded { .. });
    compared.filter(is_grounded).collect()
}

/// Returns the grammar with these values ungrounded.
fn lift(grammar: &Grammar, ungrounded: &FxHashSet<ExprId>) -> Grammar {
    grammar.clone().replace(|id, expr| match expr {
        Expr::Grounded { body, .. } if ungrounded.contains(&id) => {
            Some(grammar.expr(*body).clone())
        }
        _ => None,
    })
}

fn pointers(grammar: &Grammar, values: &FxHashSet<ExprId>) -> Vec<Box<str>> {
    let pointer = |&id: &ExprId| match grammar.expr(id) {
        Expr::Grounded { pointer, .. } => Some(pointer.clone()),
        _ => None,
    };
    let mut pointers: Vec<Box<str>> = values.iter().filter_map(pointer).collect();
    pointers.sort_unstable();
    pointers.dedup();
    pointers
}
