//! Plain grammars: literals, characters and rules alone.

mod sets;
mod shapes;

use rustc_hash::FxHashMap;
use structgen_grammar::{Expr, ExprId, Grammar, GrammarBuilder, RuleId, UniqueNames, passes};

use crate::error::over;
use crate::work::WorkCount;
use crate::{AlgebraError, AlgebraLimits};

/// A grammar of literals, characters, sequences, choices, repetitions, rules and tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The grammar.
    pub grammar: Grammar,
    /// The nesting of JSON in the original grammar, if the plain one nests deeper, because it does not count its depth.
    /// Up to this nesting both have the same texts.
    pub deeper_than: Option<u32>,
}

/// Converts a grammar to a plain grammar with the same texts.
///
/// JSON shapes become the sequences of their parts. Regular sets that use intersections, complements or look-around
/// become the rules of their automata.
///
/// # Errors
/// [`AlgebraError::Memory`] if a shape requires a memory: keys in any order, undeclared keys, distinct items, tallies,
/// indentation. [`AlgebraError::Empty`] if no text matches, [`AlgebraError::NoCharacters`] if texts are not UTF-8, and
/// if a limit is exceeded.
pub fn plain(grammar: &Grammar, limits: &AlgebraLimits) -> Result<Plain, AlgebraError> {
    let (grammar, report) = passes::productive::run(grammar.clone());
    if report.root_is_never {
        return Err(AlgebraError::Empty);
    }
    let (grammar, _) = passes::reachable::run(grammar);
    let mut maker = Maker {
        grammar: &grammar,
        builder: GrammarBuilder::new(),
        names: UniqueNames::new(grammar.rules().iter().map(|rule| rule.name.clone())),
        leaves: FxHashMap::default(),
        copies: FxHashMap::default(),
        limits,
        work: WorkCount::unlimited(limits),
    };
    for rule in grammar.rules() {
        maker.builder.declare(rule.name.clone());
    }
    for (index, rule) in grammar.rules().iter().enumerate() {
        let body = maker.copy(rule.body)?;
        maker.builder.define(RuleId(index as u32), body);
    }
    let made = maker.builder.finish(grammar.root(), grammar.form().clone());
    let grammar_of_all = trimmed(made)?;
    Ok(Plain {
        deeper_than: goes_deeper(&grammar).then(|| grammar.form().max_depth),
        grammar: grammar_of_all,
    })
}

/// Removes unproductive and unreachable parts of a grammar.
pub(crate) fn trimmed(grammar: Grammar) -> Result<Grammar, AlgebraError> {
    let (grammar, report) = passes::productive::run(grammar);
    if report.root_is_never {
        return Err(AlgebraError::Empty);
    }
    Ok(passes::reachable::run(grammar).0)
}

/// Builds the plain grammar.
struct Maker<'g> {
    grammar: &'g Grammar,
    builder: GrammarBuilder,
    names: UniqueNames,
    /// The expressions of leaves that become rules of their own.
    leaves: FxHashMap<Expr, ExprId>,
    copies: FxHashMap<ExprId, ExprId>,
    limits: &'g AlgebraLimits,
    work: WorkCount,
}

impl Maker<'_> {
    /// Copies an expression and everything in it, with an explicit stack: expressions may nest deeper than the call
    /// stack allows.
    fn copy(&mut self, root: ExprId) -> Result<ExprId, AlgebraError> {
        let mut stack = vec![(root, false)];
        while let Some((id, children_are_done)) = stack.pop() {
            if self.copies.contains_key(&id) {
                continue;
            }
            self.work.spend(1)?;
            let grammar = self.grammar;
            let expr = grammar.expr(id);
            if !children_are_done {
                stack.push((id, true));
                stack.extend(expr.children().map(|child| (child, false)));
                continue;
            }
            let of = |copies: &FxHashMap<ExprId, ExprId>, ids: &[ExprId]| -> Vec<ExprId> {
                ids.iter().map(|id| copies[id]).collect()
            };
            let copy = match expr {
                Expr::Sequence(parts) => {
                    let parts = of(&self.copies, parts);
                    self.sequence(parts)
                }
                Expr::Choice(arms) => {
                    let arms = of(&self.copies, arms);
                    self.builder.choice(arms)
                }
                Expr::Repeat { body, min, max } => {
                    let body = self.copies[body];
                    self.builder.repeat(body, *min, *max)
                }
                // These do not change which texts match.
                Expr::Capture { body, .. }
                | Expr::Guided { body, .. }
                | Expr::Grounded { body, .. }
                | Expr::Referent { body, .. } => self.copies[body],
                Expr::Related { .. } => {
                    return Err(AlgebraError::Memory("a relation between values"));
                }
                Expr::Object(shape) => self.object(shape)?,
                Expr::Array(shape) => self.array(shape)?,
                Expr::String(_) | Expr::Number(_) => self.leaf(expr)?,
                Expr::Regular(regular) => self.regular(regular)?,
                Expr::Literals(set) => {
                    if set.count() > self.limits.expressions as u64 {
                        return Err(over("texts of a list", self.limits.expressions));
                    }
                    let texts: Vec<Vec<u8>> = set.iter().collect();
                    if texts.iter().any(|text| std::str::from_utf8(text).is_err()) {
                        return Err(AlgebraError::NoCharacters);
                    }
                    let arms: Vec<ExprId> =
                        texts.iter().map(|text| self.builder.bytes(text)).collect();
                    self.builder.choice(arms)
                }
                Expr::Bytes(bytes) if std::str::from_utf8(bytes).is_err() => {
                    return Err(AlgebraError::NoCharacters);
                }
                Expr::Never | Expr::Empty | Expr::Bytes(_) | Expr::Rule(_) | Expr::Token(_) => {
                    self.builder.expr(expr.clone())
                }
            };
            self.copies.insert(id, copy);
            self.check_size()?;
        }
        Ok(self.copies[&root])
    }

    fn check_size(&self) -> Result<(), AlgebraError> {
        match self.builder.len() <= self.limits.expressions {
            true => Ok(()),
            false => Err(over(
                "expressions of a plain grammar",
                self.limits.expressions,
            )),
        }
    }

    /// A concatenation, with adjacent literals joined.
    fn sequence(&mut self, parts: impl IntoIterator<Item = ExprId>) -> ExprId {
        joined(&mut self.builder, parts)
    }

    /// A new rule with this name, or with a number appended if it is taken.
    fn rule(&mut self, name: &str) -> RuleId {
        let unique = self.names.take(name);
        self.builder.declare(unique)
    }

    /// Wraps an expression in a rule.
    fn shared(&mut self, name: &str, body: ExprId) -> ExprId {
        let rule = self.rule(name);
        self.builder.define(rule, body);
        self.builder.rule(rule)
    }
}

/// Whether an expression is too long to be copied into every sequence that ends with it: together, the ends of a
/// sequence would be quadratic.
pub(crate) fn is_long(builder: &GrammarBuilder, id: ExprId) -> bool {
    const PARTS: usize = 64;
    const BYTES: usize = 256;
    let is_long_text = |id| matches!(builder.get(id), Expr::Bytes(bytes) if bytes.len() > BYTES);
    match builder.get(id) {
        Expr::Sequence(parts) => parts.len() > PARTS || is_long_text(parts[0]),
        _ => is_long_text(id),
    }
}

/// A concatenation, with adjacent literals joined.
pub(crate) fn joined(
    builder: &mut GrammarBuilder,
    parts: impl IntoIterator<Item = ExprId>,
) -> ExprId {
    let mut flat = Vec::new();
    for part in parts {
        match builder.get(part) {
            Expr::Sequence(inner) => flat.extend_from_slice(inner),
            _ => flat.push(part),
        }
    }
    let mut merged: Vec<ExprId> = Vec::with_capacity(flat.len());
    let mut text: Vec<u8> = Vec::new();
    for part in flat {
        if let Expr::Bytes(bytes) = builder.get(part) {
            text.extend_from_slice(bytes);
            continue;
        }
        if !text.is_empty() {
            merged.push(builder.bytes(std::mem::take(&mut text)));
        }
        merged.push(part);
    }
    merged.push(builder.bytes(text));
    builder.sequence(merged)
}

/// Whether JSON nests deeper in the expressions than the form allows.
fn goes_deeper(grammar: &Grammar) -> bool {
    /// A grammar that nests deeper than this is taken to nest without bound.
    const DEEP: u32 = 200;
    let most = grammar.form().max_depth.min(DEEP);
    let exprs = grammar.exprs();
    let mut parents: Vec<Vec<u32>> = vec![Vec::new(); exprs.len()];
    for (index, expr) in exprs.iter().enumerate() {
        let body = match expr {
            Expr::Rule(rule) => Some(grammar.rule(*rule).body),
            _ => None,
        };
        for child in expr.children().chain(body) {
            parents[child.index()].push(index as u32);
        }
    }
    let mut depths = vec![0_u32; exprs.len()];
    let mut stack: Vec<usize> = (0..exprs.len()).collect();
    while let Some(index) = stack.pop() {
        for &parent in &parents[index] {
            let parent = parent as usize;
            let nests = matches!(exprs[parent], Expr::Object(_) | Expr::Array(_));
            let depth = depths[index] + u32::from(nests);
            if depth > most {
                return true;
            }
            if depth > depths[parent] {
                depths[parent] = depth;
                stack.push(parent);
            }
        }
    }
    false
}
