//! The number of texts of a grammar.

use std::fmt;

use num_bigint::BigUint;
use rustc_hash::{FxHashMap, FxHashSet};
use structgen_automata::SetId;
use structgen_grammar::lists::Lists;
use structgen_grammar::{Expr, ExprId, Grammar, Regular};

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
/// If the grammar has token terminals or cannot be compiled, or a limit is exceeded.
pub fn count(grammar: &Grammar, limits: &AlgebraLimits) -> Result<Count, AlgebraError> {
    let mut automaton = match Automaton::new(grammar, limits) {
        Err(AlgebraError::Empty) => return Ok(Count::Finite(BigUint::ZERO)),
        other => other?,
    };
    if nests_without_end(automaton.grammar()) {
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
/// without bound. JSON shapes are ignored, since the form bounds their nesting. Everything in the grammar derives a
/// text and can be reached.
fn nests_without_end(grammar: &Grammar) -> bool {
    let calls = calls(grammar);
    let cycles = cycles(grammar.rules().len(), &calls);
    let mut calls = calls.iter();
    calls.any(|call| call.is_beside && cycles[call.from as usize] == cycles[call.to as usize])
}

/// A reference from a rule to a rule.
struct RuleCall {
    from: u32,
    to: u32,
    /// Whether something next to it is certainly not empty.
    is_beside: bool,
}

fn calls(grammar: &Grammar) -> Vec<RuleCall> {
    let mut calls = Vec::new();
    for (from, rule) in (0..).zip(grammar.rules()) {
        let mut stack = vec![(rule.body, false)];
        let mut seen = FxHashSet::default();
        while let Some((id, is_beside)) = stack.pop() {
            if !seen.insert((id, is_beside)) {
                continue;
            }
            match grammar.expr(id) {
                Expr::Rule(rule) => calls.push(RuleCall {
                    from,
                    to: rule.0,
                    is_beside,
                }),
                Expr::Sequence(parts) => {
                    let solid: Vec<bool> = parts.iter().map(|&id| is_solid(grammar, id)).collect();
                    let all = solid.iter().filter(|&&solid| solid).count();
                    for (&part, own) in parts.iter().zip(solid) {
                        stack.push((part, is_beside || all > usize::from(own)));
                    }
                }
                expr => stack.extend(grammar.parts(expr).map(|part| (part, is_beside))),
            }
        }
    }
    calls
}

/// A number for each rule, equal for rules that lead to each other (Kosaraju and Sharir, 1981).
fn cycles(rules: usize, calls: &[RuleCall]) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    let forward: Vec<(u32, u32)> = calls.iter().map(|call| (call.from, call.to)).collect();
    let backward: Vec<(u32, u32)> = calls.iter().map(|call| (call.to, call.from)).collect();
    let finished = finished(&Lists::new(rules, &forward));
    let callers = Lists::new(rules, &backward);
    let mut cycles = vec![UNSEEN; rules];
    for &root in finished.iter().rev() {
        let mut stack = vec![root];
        while let Some(rule) = stack.pop() {
            if cycles[rule as usize] == UNSEEN {
                cycles[rule as usize] = root;
                stack.extend(callers.of(rule as usize));
            }
        }
    }
    cycles
}

/// All vertices, in the order in which a depth-first search finishes them.
fn finished(edges: &Lists) -> Vec<u32> {
    let mut seen = vec![false; edges.len()];
    let mut finished = Vec::with_capacity(edges.len());
    let mut stack: Vec<(u32, bool)> = (0..edges.len() as u32).map(|root| (root, false)).collect();
    while let Some((vertex, is_done)) = stack.pop() {
        if is_done {
            finished.push(vertex);
        } else if !std::mem::replace(&mut seen[vertex as usize], true) {
            stack.push((vertex, true));
            stack.extend(edges.of(vertex as usize).iter().map(|&next| (next, false)));
        }
    }
    finished
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
