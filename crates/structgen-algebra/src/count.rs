//! The number of texts of a grammar.

use std::fmt;

use num_bigint::BigUint;
use rustc_hash::{FxHashMap, FxHashSet};
use structgen_automata::SetId;
use structgen_grammar::{Expr, ExprId, Grammar, Regular, passes};

use crate::automaton::{Automaton, Step};
use crate::error::over;
use crate::{AlgebraError, AlgebraLimits};

/// A number of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// Finitely many.
    Finite(BigUint),
    /// Infinitely many.
    Infinite,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finite(number) => number.fmt(f),
            Self::Infinite => f.write_str("infinite"),
        }
    }
}

/// Counts the texts that match a grammar, each once, however many derivations it has.
///
/// The automaton is deterministic, so texts are its paths: a cycle makes them infinitely many, and without cycles they
/// are summed from the ends.
///
/// ```
/// use structgen_algebra::{AlgebraLimits, Count, count};
/// use structgen_frontend::gbnf::{GbnfOptions, parse};
///
/// let count = |text: &str| {
///     let grammar = parse(text, &GbnfOptions::default()).unwrap();
///     count(&grammar, &AlgebraLimits::default()).unwrap()
/// };
/// // "a" and "aa" in three ways, and any three letters.
/// assert_eq!(count(r#"root ::= "a" "a"? | "aa" | [a-z]{3}"#), Count::Finite(17_578_u32.into()));
/// assert_eq!(count(r#"root ::= "(" root ")" | "x""#), Count::Infinite);
/// ```
///
/// # Errors
/// If the grammar has token terminals, or a limit is exceeded.
pub fn count(grammar: &Grammar, limits: &AlgebraLimits) -> Result<Count, AlgebraError> {
    let mut automaton = match Automaton::new(grammar, limits) {
        Err(AlgebraError::Empty) => return Ok(Count::Finite(BigUint::ZERO)),
        other => other?,
    };
    if nests_without_end(grammar) {
        return Ok(Count::Infinite);
    }
    let start = automaton.start();
    let mut counts: FxHashMap<SetId, BigUint> = FxHashMap::default();
    // The states on the path to the current one, each with its remaining transitions and the sum so far.
    let mut open: FxHashSet<SetId> = FxHashSet::from_iter([start]);
    let mut path = vec![Visit::of(&mut automaton, start)?];
    let mut bytes = 0;
    while let Some(visit) = path.last_mut() {
        let Some(&Step { low, high, next }) = visit.steps.last() else {
            open.remove(&visit.state);
            bytes += visit.count.bits() / 8;
            if bytes > limits.bytes as u64 {
                return Err(over("bytes of numbers of texts", limits.bytes));
            }
            counts.insert(visit.state, std::mem::take(&mut visit.count));
            path.pop();
            continue;
        };
        if let Some(known) = counts.get(&next) {
            automaton.spend(known.bits() / BITS_PER_STEP)?;
            visit.count += known * BigUint::from(u32::from(high - low) + 1);
            visit.steps.pop();
            continue;
        }
        if !open.insert(next) {
            return Ok(Count::Infinite);
        }
        if counts.len() + open.len() > limits.states {
            return Err(over("states visited to count texts", limits.states));
        }
        path.push(Visit::of(&mut automaton, next)?);
    }
    Ok(counts.remove(&start).map_or(Count::Infinite, Count::Finite))
}

/// The number of bits of a number that are added in about the time of a step.
const BITS_PER_STEP: u64 = 1 << 12;

struct Visit {
    state: SetId,
    steps: Vec<Step>,
    count: BigUint,
}

impl Visit {
    fn of(automaton: &mut Automaton, state: SetId) -> Result<Self, AlgebraError> {
        Ok(Self {
            state,
            steps: automaton.steps(state)?,
            count: BigUint::from(u8::from(automaton.accepts(state)?)),
        })
    }
}

/// Whether a rule contains itself next to something that is never empty: the texts, and so the states, then nest
/// without bound. JSON shapes are ignored, since the form bounds their nesting.
fn nests_without_end(grammar: &Grammar) -> bool {
    let (grammar, _) = passes::productive::run(grammar.clone());
    let (grammar, _) = passes::reachable::run(grammar);
    let rules = grammar.rules().len();
    // For every rule, the rules it contains, each with whether something next to it is certainly not empty.
    let mut calls: Vec<Vec<(usize, bool)>> = Vec::with_capacity(rules);
    for rule in grammar.rules() {
        let mut found = Vec::new();
        let mut stack = vec![(rule.body, false)];
        let mut seen = FxHashSet::default();
        while let Some((id, beside)) = stack.pop() {
            if !seen.insert((id, beside)) {
                continue;
            }
            match grammar.expr(id) {
                Expr::Rule(rule) => found.push((rule.index(), beside)),
                Expr::Sequence(parts) => {
                    let solid: Vec<bool> = parts.iter().map(|&id| is_solid(&grammar, id)).collect();
                    let all = solid.iter().filter(|&&solid| solid).count();
                    for (&part, own) in parts.iter().zip(solid) {
                        stack.push((part, beside || all > usize::from(own)));
                    }
                }
                Expr::Choice(arms) => stack.extend(arms.iter().map(|&arm| (arm, beside))),
                Expr::Repeat { body, .. }
                | Expr::Capture { body, .. }
                | Expr::Guided { body, .. }
                | Expr::Grounded { body, .. }
                | Expr::Referent { body, .. }
                | Expr::Related { body, .. } => {
                    stack.push((*body, beside));
                }
                _ => {}
            }
        }
        calls.push(found);
    }
    // Find a recursive call next to something that is not empty.
    (0..rules).any(|rule| {
        calls[rule]
            .iter()
            .any(|&(called, beside)| beside && leads_to(&calls, called, rule))
    })
}

/// Whether the expression obviously does not match the empty text.
fn is_solid(grammar: &Grammar, id: ExprId) -> bool {
    match grammar.expr(id) {
        Expr::Bytes(_) | Expr::Regular(Regular::Chars(_)) => true,
        Expr::Regular(regular) => !regular.takes_empty(),
        Expr::Literals(set) => !set.takes_empty(),
        Expr::String(_) | Expr::Number(_) | Expr::Object(_) | Expr::Array(_) => true,
        _ => false,
    }
}

fn leads_to(calls: &[Vec<(usize, bool)>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; calls.len()];
    let mut stack = vec![from];
    while let Some(rule) = stack.pop() {
        if rule == to {
            return true;
        }
        if !std::mem::replace(&mut seen[rule], true) {
            stack.extend(calls[rule].iter().map(|&(called, _)| called));
        }
    }
    false
}
