//! The intersection of a grammar and a regular set, as a grammar.
//!
//! This is the construction of Bar-Hillel, Perles and Shamir (1961): each expression and pair of states of the set's
//! automaton has an expression for the texts that lead from one state to the other. The reachable pairs are computed
//! first, from the root down, so that only needed expressions are built.

mod reach;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use structgen_grammar::{
    CharSet, Expr, ExprId, Grammar, GrammarBuilder, JsonForm, Regular, RuleId,
};

use self::reach::Reach;
use crate::dfa::Dfa;
use crate::error::over;
use crate::plain::{is_long, joined, trimmed};
use crate::work::WorkCount;
use crate::{AlgebraError, AlgebraLimits, Plain, plain};

/// Intersects a grammar with a regular set. The result is an ordinary grammar, whose constraint has exact masks.
///
/// ```
/// use structgen_algebra::{AlgebraLimits, intersect, only_in, without};
/// use structgen_frontend::gbnf::{GbnfOptions, parse};
/// use structgen_grammar::Grammar;
///
/// let grammar = parse(r#"root ::= "(" root ")" | [a-z]+"#, &GbnfOptions::default())?;
/// let clean = intersect(&grammar, &without(["darn"]), &AlgebraLimits::default())?.grammar;
/// let darned = parse(r#"root ::= "(" [a-z]* "darn" [a-z]* ")""#, &GbnfOptions::default())?;
/// # let limits = AlgebraLimits::default();
/// # assert!(only_in(&darned, &clean, &limits)?.is_some());
/// let fine = parse(r#"root ::= "(" "da" [a-q]? "rn" ")""#, &GbnfOptions::default())?;
/// assert_eq!(only_in(&fine, &clean, &limits)?, Some(b"(darn)".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`AlgebraError::Empty`] if the intersection is empty, [`AlgebraError::Token`] if the grammar has token terminals,
/// the errors of [`plain`](crate::plain()), and if a limit is exceeded.
pub fn intersect(
    grammar: &Grammar,
    with: &Regular,
    limits: &AlgebraLimits,
) -> Result<Plain, AlgebraError> {
    let Plain {
        grammar,
        deeper_than,
    } = plain(grammar, limits)?;
    let dfa = Dfa::of_leaf(Expr::Regular(with.clone()), &JsonForm::generate(), limits)?;
    let mut reach = Reach::new(&grammar, &dfa, limits);
    let root = grammar.rule(grammar.root()).body;
    reach.demand(root, 0)?;
    let mut product = Product {
        grammar: &grammar,
        dfa: &dfa,
        reach,
        builder: GrammarBuilder::new(),
        made: FxHashMap::default(),
        rules: FxHashMap::default(),
        parts: 0,
        queue: VecDeque::new(),
        limits,
        work: WorkCount::unlimited(limits),
    };
    let whole = product
        .builder
        .declare(grammar.rule(grammar.root()).name.clone());
    let mut arms = Vec::new();
    for end in product.reach.ends(root, 0) {
        if dfa.states[end as usize].accepts {
            arms.push(product.rule(grammar.root(), 0, end));
        }
    }
    let body = product.builder.choice(arms);
    product.builder.define(whole, body);
    while let Some((task, id)) = product.queue.pop_front() {
        let body = match task {
            Task::Rule(rule, from, to) => {
                let body = grammar.rule(rule).body;
                product.expr(body, from, to, 0)?
            }
            Task::Loop(body, from, to) => product.repetition(body, from, to)?,
        };
        product.builder.define(id, body);
    }
    let made = product.builder.finish(whole, grammar.form().clone());
    Ok(Plain {
        grammar: trimmed(made)?,
        deeper_than,
    })
}

/// A rule of the product.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Task {
    /// A rule between two states.
    Rule(RuleId, u32, u32),
    /// An unbounded repetition of an expression between two states.
    Loop(ExprId, u32, u32),
}

/// The maximum nesting of the expressions of one rule.
const MAX_NESTING: u32 = 1_000;

struct Product<'g> {
    grammar: &'g Grammar,
    dfa: &'g Dfa,
    reach: Reach<'g>,
    builder: GrammarBuilder,
    made: FxHashMap<(ExprId, u32, u32), ExprId>,
    rules: FxHashMap<Task, RuleId>,
    /// The number of rules created for parts of expressions.
    parts: usize,
    /// Rules that are declared but have no body yet.
    queue: VecDeque<(Task, RuleId)>,
    limits: &'g AlgebraLimits,
    work: WorkCount,
}

impl Product<'_> {
    fn rule(&mut self, rule: RuleId, from: u32, to: u32) -> ExprId {
        let name = format!("{}-{from}-{to}", self.grammar.rule(rule).name);
        self.task(Task::Rule(rule, from, to), name)
    }

    fn task(&mut self, task: Task, name: String) -> ExprId {
        let id = match self.rules.get(&task) {
            Some(&id) => id,
            None => {
                let id = self.builder.declare(name);
                self.rules.insert(task, id);
                self.queue.push_back((task, id));
                id
            }
        };
        self.builder.rule(id)
    }

    /// The texts of an expression that lead from one state to another. Recursive: the depth is bounded.
    fn expr(&mut self, id: ExprId, from: u32, to: u32, depth: u32) -> Result<ExprId, AlgebraError> {
        self.work.spend(1)?;
        if self.builder.len() > self.limits.expressions {
            return Err(over(
                "expressions of an intersection",
                self.limits.expressions,
            ));
        }
        if let Some(&made) = self.made.get(&(id, from, to)) {
            return Ok(made);
        }
        if depth > MAX_NESTING {
            return Err(over("nested expressions", MAX_NESTING as usize));
        }
        let grammar = self.grammar;
        let made = match grammar.expr(id) {
            Expr::Regular(Regular::Chars(set)) => {
                let set = self
                    .reach
                    .characters(from, to)?
                    .map(|steps| common(set, &steps));
                match set {
                    Some(set) if !set.is_empty() => {
                        self.builder.expr(Expr::Regular(Regular::Chars(set)))
                    }
                    _ => self.builder.never(),
                }
            }
            Expr::Bytes(bytes) if self.dfa.run(from, bytes) == Some(to) => {
                self.builder.bytes(bytes)
            }
            Expr::Empty if from == to => self.builder.bytes([]),
            Expr::Choice(arms) => {
                let mut made = Vec::new();
                for &arm in arms {
                    if self.reach.leads(arm, from, to) {
                        made.push(self.expr(arm, from, to, depth + 1)?);
                    }
                }
                self.builder.choice(made)
            }
            Expr::Sequence(parts) => self.sequence(parts, from, to, depth)?,
            Expr::Rule(rule) if self.reach.leads(id, from, to) => self.rule(*rule, from, to),
            Expr::Repeat { body, min, max } => self.repeat(*body, (*min, *max), from, to, depth)?,
            _ => self.builder.never(),
        };
        // With several states, an expression is used in many places, so it is shared.
        let made = if depth > 0 && self.dfa.states.len() > 1 {
            self.shared(made)
        } else {
            made
        };
        self.made.insert((id, from, to), made);
        Ok(made)
    }

    /// Wraps an expression in a rule, unless it is as short as a reference.
    fn shared(&mut self, id: ExprId) -> ExprId {
        match self.builder.get(id) {
            Expr::Sequence(_) | Expr::Choice(_) | Expr::Repeat { .. } => self.part(id),
            _ => id,
        }
    }

    /// Wraps an expression in a rule.
    fn part(&mut self, id: ExprId) -> ExprId {
        self.parts += 1;
        let rule = self.builder.declare(format!("part-{}", self.parts));
        self.builder.define(rule, id);
        self.builder.rule(rule)
    }

    /// A part of a sequence and the rest.
    fn followed(&mut self, part: ExprId, rest: ExprId) -> ExprId {
        let rest = match is_long(&self.builder, rest) {
            true => self.part(rest),
            false => rest,
        };
        joined(&mut self.builder, [part, rest])
    }

    /// A sequence, through all possible states between its parts.
    fn sequence(
        &mut self,
        parts: &[ExprId],
        from: u32,
        to: u32,
        depth: u32,
    ) -> Result<ExprId, AlgebraError> {
        // For each state, the rest of the sequence up to the end, computed from the last part to the first.
        let layers = self.reach.layers(parts, from);
        let mut rests: FxHashMap<u32, ExprId> = FxHashMap::default();
        rests.insert(to, self.builder.bytes([]));
        for (index, &part) in parts.iter().enumerate().rev() {
            let mut before = FxHashMap::default();
            for &state in &layers[index] {
                let mut arms = Vec::new();
                for next in self.reach.ends(part, state) {
                    if let Some(&rest) = rests.get(&next) {
                        let one = self.expr(part, state, next, depth + 1)?;
                        arms.push(self.followed(one, rest));
                    }
                }
                if !arms.is_empty() {
                    let rest = self.builder.choice(arms);
                    // Several earlier states may lead here.
                    let is_shared = index > 0 && layers[index - 1].len() > 1;
                    before.insert(state, if is_shared { self.shared(rest) } else { rest });
                }
            }
            rests = before;
        }
        Ok(match rests.get(&from) {
            Some(&whole) => whole,
            None => self.builder.never(),
        })
    }

    fn repeat(
        &mut self,
        body: ExprId,
        (min, max): (u32, Option<u32>),
        from: u32,
        to: u32,
        depth: u32,
    ) -> Result<ExprId, AlgebraError> {
        // If the body never leaves the state, a counter stays a counter.
        if self.reach.ends(body, from) == [from] {
            if from != to {
                return Ok(self.builder.never());
            }
            let one = self.expr(body, from, from, depth + 1)?;
            return Ok(self.builder.repeat(one, min, max));
        }
        let unbounded = max.is_none();
        let counted = max.unwrap_or(min);
        // The states after each number of repetitions.
        let mut layers = vec![vec![from]];
        let mut total = 1;
        for _ in 0..counted {
            self.work.spend(1)?;
            let last = layers.last().map(Vec::as_slice).unwrap_or_default();
            let next = self.reach.behind(body, last);
            if next.is_empty() {
                break;
            }
            total += next.len();
            layers.push(next);
            if total > self.limits.states {
                return Err(over(
                    "states behind the items of a counter",
                    self.limits.states,
                ));
            }
        }
        // From the last repetition to the first.
        let mut rests: FxHashMap<u32, ExprId> = FxHashMap::default();
        for (times, states) in layers.iter().enumerate().rev() {
            let mut before = FxHashMap::default();
            for &state in states {
                let mut arms = Vec::new();
                if times as u32 >= min && !unbounded && state == to {
                    arms.push(self.builder.bytes([]));
                }
                if times as u32 == min && unbounded {
                    arms.push(self.task(
                        Task::Loop(body, state, to),
                        format!("loop-{}-{state}-{to}", body.0),
                    ));
                }
                if (times as u32) < counted {
                    for next in self.reach.ends(body, state) {
                        if let Some(&rest) = rests.get(&next) {
                            let one = self.expr(body, state, next, depth + 1)?;
                            arms.push(self.followed(one, rest));
                        }
                    }
                }
                if !arms.is_empty() {
                    let rest = self.builder.choice(arms);
                    // Several earlier states may lead here, and a long counter would nest as deep.
                    let is_shared = times > 0 && (layers[times - 1].len() > 1 || times % 8 == 0);
                    let all = if is_shared { self.shared(rest) } else { rest };
                    before.insert(state, all);
                }
            }
            rests = before;
        }
        Ok(match rests.get(&from) {
            Some(&whole) => whole,
            None => self.builder.never(),
        })
    }

    /// An unbounded repetition of the body.
    fn repetition(&mut self, body: ExprId, from: u32, to: u32) -> Result<ExprId, AlgebraError> {
        let mut arms = Vec::new();
        if from == to {
            arms.push(self.builder.bytes([]));
        }
        for next in self.reach.ends(body, from) {
            let one = self.expr(body, from, next, 0)?;
            let rest = self.task(
                Task::Loop(body, next, to),
                format!("loop-{}-{next}-{to}", body.0),
            );
            arms.push(self.followed(one, rest));
        }
        Ok(self.builder.choice(arms))
    }
}

/// The intersection of two sets of characters.
fn common(one: &CharSet, other: &CharSet) -> CharSet {
    let outside = one.complement();
    let mut ranges: Vec<(char, char)> = outside.ranges().to_vec();
    ranges.extend_from_slice(other.complement().ranges());
    CharSet::new(ranges).complement()
}
