//! Compiles a grammar to a program, including what takes a network to compute.
//!
//! Whether an array has enough distinct items depends on texts, so it takes a network of the program. If it has not,
//! the array derives nothing, which may make more of the grammar empty; then the grammar is lowered again without it.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use structgen_grammar::{Expr, ExprId, Grammar, passes};

use crate::network::Network;
use crate::program::{ArrayProgram, Lowered, Program, ProgramError, lower};
use crate::{CancelToken, Input, LimitExceeded, Limits, TokenLengths};

impl Program {
    /// Compiles a grammar. Captures are ignored; [`CaptureProgram`](crate::CaptureProgram) finds them.
    ///
    /// # Errors
    /// If no text matches the grammar, or a limit is exceeded.
    pub fn new(grammar: Grammar, limits: Limits) -> Result<Self, ProgramError> {
        Self::lowered(grammar, limits, None)
    }

    /// Returns the program of a grammar, bound to the input if there is one.
    pub(crate) fn lowered(
        mut grammar: Grammar,
        limits: Limits,
        input: Option<&Arc<Input>>,
    ) -> Result<Self, ProgramError> {
        loop {
            check(&limits)?;
            let (narrowed, report) = passes::run(grammar);
            if report.productive.root_is_never {
                return Err(ProgramError::Unsatisfiable {
                    rules: report.productive.never,
                });
            }
            let (narrowed, empty) = match lower(narrowed, &limits, input)? {
                Lowered::Empty(narrowed, empty) => (narrowed, empty),
                Lowered::Program(program, array_exprs) => {
                    let (mut program, empty) = with_distinct_items(*program, &array_exprs)?;
                    if empty.is_empty() {
                        program.check_guides()?;
                        // After a cancellation, the program may be incomplete.
                        check(&limits)?;
                        program.limits.cancel = None;
                        return Ok(program);
                    }
                    (program.into_grammar(), empty)
                }
            };
            // What requires something empty is empty as well; the passes find this.
            grammar = narrowed.replace(|id, _| empty.contains(&id).then_some(Expr::Never));
        }
    }
}

fn check(limits: &Limits) -> Result<(), LimitExceeded> {
    limits.cancel.as_ref().map_or(Ok(()), CancelToken::check)
}

/// Returns the program with the costs of its arrays of several distinct items, and the expressions of the arrays that
/// have too few values.
fn with_distinct_items(
    program: Program,
    array_exprs: &[ExprId],
) -> Result<(Program, FxHashSet<ExprId>), ProgramError> {
    let mut empty = FxHashSet::default();
    if !program.arrays.iter().any(ArrayProgram::needs_distinct) {
        return Ok((program, empty));
    }
    program.check_levels().map_err(|(array, limit)| {
        ProgramError::limit_of(program.grammar(), array_exprs[array as usize], limit)
    })?;
    let program = Arc::new(program);
    let mut costs = vec![None; program.arrays.len()];
    let network = Network::empty(program.clone(), 0, TokenLengths::UNKNOWN);
    for ((array, cost), (id, &expr)) in
        { program.arrays.iter().zip(&mut costs) }.zip((0..).zip(array_exprs))
    {
        if array.needs_distinct() {
            *cost = { network.call().distinct_cost(id) }
                .map_err(|limit| ProgramError::limit_of(program.grammar(), expr, limit))?;
            if cost.is_none() {
                empty.insert(expr);
            }
        }
    }
    drop(network);
    let Some(mut program) = Arc::into_inner(program) else {
        unreachable!("the network that shared the program is gone")
    };
    program.set_distinct_costs(costs.into());
    Ok((program, empty))
}
