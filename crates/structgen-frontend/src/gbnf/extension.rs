//! Extensions of llama.cpp's GBNF: patterns, operators on sets, texts up to a stop, schemas, and other grammars.

use pest::iterators::Pair;
use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{CharSet, Expr, ExprId, Grammar, Regular, RuleId};

use super::sources::Source;
use super::syntax::Rule;
use super::{GbnfError, GbnfErrorKind};
use crate::regex::{RegexOptions, parse};

/// An operator on sets, whose operands are known once all rules are.
#[derive(Clone, Debug)]
pub(super) struct Operator {
    /// The index of its text.
    pub(super) source: usize,
    /// Its position in that text.
    pub(super) position: usize,
    /// Its rule, which has a placeholder as its body until the operands are known.
    pub(super) rule: RuleId,
    /// The reference to the rule.
    pub(super) reference: ExprId,
    pub(super) operands: Vec<ExprId>,
    pub(super) operation: Operation,
}

/// The kind of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// The intersection of its operands.
    Intersection,
    /// The complement of its operand.
    Complement,
    /// The texts of its operand with a number of characters.
    Length { min: u32, max: Option<u32> },
}

impl Operation {
    /// The description of an operand, for messages.
    fn operand(self) -> &'static str {
        match self {
            Self::Intersection | Self::Complement => "an operand of `&` or `~`",
            Self::Length { .. } => "what `%chars` limits",
        }
    }
}

/// The maximum number of nodes of an operator's set, counting shared ones every time they occur.
const MAX_SIZE: usize = 100_000;
/// The maximum depth of such a set, which some functions traverse recursively.
const MAX_DEPTH: usize = 400;

/// The body of an operator's rule until its operands are known. Nothing else in GBNF equals it, since literals are not
/// sets.
pub(super) fn mark(number: usize) -> Expr {
    Expr::Regular(Regular::Bytes(number.to_le_bytes().into()))
}

/// The set of a pattern between slashes.
pub(super) fn pattern(text: &str, at: usize, pair: Pair<'_, Rule>) -> Result<Regular, GbnfError> {
    let (mut pattern, mut flags, mut start) = ("", "", at);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::pattern => {
                pattern = part.as_str();
                start = at + 1;
            }
            _ => flags = part.as_str(),
        }
    }
    let prefix = if flags.is_empty() {
        String::new()
    } else {
        format!("(?{flags})")
    };
    parse(&format!("{prefix}{pattern}"), RegexOptions::rust()).map_err(|error| {
        let position = start + error.position.saturating_sub(prefix.len());
        GbnfError::at(text, position, GbnfErrorKind::Regex(error.kind))
    })
}

/// All texts that end with the first occurrence of `stop`.
pub(super) fn until(stop: &str) -> Regular {
    let found =
        |behind: Regular| Regular::concat([Regular::any_text(), Regular::literal(stop), behind]);
    let some = Regular::repeat(Regular::Chars(CharSet::all()), 1, None);
    let early = Regular::Complement(found(some).into());
    Regular::Intersection([found(Regular::Empty), early].into())
}

/// Replaces the placeholders by the sets of the operators.
pub(super) fn resolve(
    sources: &[Source<'_>],
    grammar: Grammar,
    operators: &[Operator],
) -> Result<Grammar, GbnfError> {
    if operators.is_empty() {
        return Ok(grammar);
    }
    let mut sets = ExtensionSets {
        grammar: &grammar,
        operators: operators.iter().map(|it| (it.rule, it)).collect(),
        known: FxHashMap::default(),
    };
    let mut found = FxHashMap::default();
    for (number, operator) in operators.iter().enumerate() {
        let reference = operator.reference;
        let set = sets.of(reference).map_err(|refused| {
            let kind = match refused {
                NoSet::NotRegular(it) => GbnfErrorKind::NotRegular {
                    operand: operator.operation.operand(),
                    it,
                },
                NoSet::Limit(what, limit) => GbnfErrorKind::Limit {
                    what,
                    limit: limit as u32,
                },
            };
            let is_regular = matches!(kind, GbnfErrorKind::Limit { .. });
            let source = &sources[operator.source];
            GbnfError::at(&source.text, operator.position, kind)
                .with_hint((!is_regular).then(|| NOT_REGULAR.to_owned()))
                .in_file(source.path.as_deref())
        })?;
        found.insert(mark(number), Expr::Regular(set.regular));
    }
    Ok(grammar.replace(|_, expr| found.get(expr).cloned()))
}

/// The grammar with each operator replaced by its operands, which shows which rules are used; `None` if there are no
/// operators.
pub(super) fn outline(grammar: &Grammar, operators: &[Operator]) -> Option<Grammar> {
    if operators.is_empty() {
        return None;
    }
    let marks: FxHashMap<Expr, &Operator> = (0..).map(mark).zip(operators).collect();
    Some(grammar.clone().replace(|_, expr| {
        let operator = marks.get(expr)?;
        Some(if operator.operation == Operation::Complement {
            // The operand of a complement may derive nothing.
            Expr::Repeat {
                body: operator.operands[0],
                min: 0,
                max: None,
            }
        } else {
            Expr::Sequence(operator.operands.clone().into())
        })
    }))
}

const NOT_REGULAR: &str = "operands are made of literals, classes, patterns and rules that do not come back to themselves";

/// Why an expression is not a set.
enum NoSet {
    NotRegular(&'static str),
    Limit(&'static str, usize),
}

/// A set with the number of its nodes and its depth.
#[derive(Clone)]
struct MeasuredSet {
    regular: Regular,
    size: usize,
    depth: usize,
}

/// The sets of expressions, computed on demand.
struct ExtensionSets<'g> {
    grammar: &'g Grammar,
    operators: FxHashMap<RuleId, &'g Operator>,
    known: FxHashMap<ExprId, MeasuredSet>,
}

impl ExtensionSets<'_> {
    /// An explicit stack: the path from the root, each with its operands and the number of those that are known.
    fn of(&mut self, root: ExprId) -> Result<MeasuredSet, NoSet> {
        let mut way = vec![(root, self.parts(root), 0)];
        let mut open = FxHashSet::from_iter([root]);
        let mut begun: usize = 0;
        while let Some((id, parts, known)) = way.last_mut() {
            let id = *id;
            let Some(&part) = parts.get(*known) else {
                let set = self.make(id, parts)?;
                self.known.insert(id, set);
                open.remove(&id);
                way.pop();
                continue;
            };
            *known += 1;
            if self.known.contains_key(&part) {
                continue;
            }
            if !open.insert(part) {
                return Err(NoSet::NotRegular("comes back to itself"));
            }
            // Each of them is a node of the root's set.
            begun += 1;
            if begun > MAX_SIZE {
                return Err(too_large());
            }
            way.push((part, self.parts(part), 0));
        }
        self.known
            .get(&root)
            .cloned()
            .ok_or(NoSet::NotRegular("is not known"))
    }

    /// The operands that must be known first.
    fn parts(&self, id: ExprId) -> Vec<ExprId> {
        match self.grammar.expr(id) {
            Expr::Rule(rule) => match self.operators.get(rule) {
                Some(operator) => operator.operands.clone(),
                None => vec![self.grammar.rule(*rule).body],
            },
            expr => expr.children().collect(),
        }
    }

    fn make(&self, id: ExprId, parts: &[ExprId]) -> Result<MeasuredSet, NoSet> {
        let parts: Vec<&MeasuredSet> = parts
            .iter()
            .filter_map(|part| self.known.get(part))
            .collect();
        let size = parts
            .iter()
            .fold(1, |sum: usize, part| sum.saturating_add(part.size));
        let depth = 1 + parts.iter().map(|part| part.depth).max().unwrap_or(0);
        let mut sets = parts.iter().map(|part| part.regular.clone());
        let regular = match self.grammar.expr(id) {
            Expr::Never => Regular::Never,
            Expr::Empty => Regular::Empty,
            Expr::Bytes(bytes) => Regular::Bytes((**bytes).into()),
            Expr::Regular(regular) => return measured(regular),
            Expr::Sequence(_) => Regular::concat(sets),
            Expr::Choice(_) => Regular::union(sets),
            Expr::Repeat { min, max, .. } => {
                Regular::repeat(sets.next().unwrap_or(Regular::Never), *min, *max)
            }
            Expr::Rule(rule) => match self.operators.get(rule) {
                Some(operator) => match operator.operation {
                    Operation::Complement => Regular::Complement(Regular::union(sets).into()),
                    Operation::Intersection => Regular::Intersection(sets.collect()),
                    // A counter with any bounds.
                    Operation::Length { min, max } => {
                        let length = Regular::repeat(Regular::Chars(CharSet::all()), min, max);
                        Regular::Intersection(sets.chain([length]).collect())
                    }
                },
                None => sets.next().unwrap_or(Regular::Never),
            },
            Expr::Capture { .. } => {
                return Err(NoSet::NotRegular("names a part of the output"));
            }
            Expr::Guided { .. } => {
                return Err(NoSet::NotRegular("says how a part is written"));
            }
            _ => return Err(NoSet::NotRegular("names tokens or has JSON in it")),
        };
        within_limits(MeasuredSet {
            regular,
            size,
            depth,
        })
    }
}

fn too_large() -> NoSet {
    NoSet::Limit("nodes of a set that is operated on", MAX_SIZE)
}

fn within_limits(set: MeasuredSet) -> Result<MeasuredSet, NoSet> {
    if set.size > MAX_SIZE {
        Err(too_large())
    } else if set.depth > MAX_DEPTH {
        Err(NoSet::Limit(
            "levels of a set that is operated on",
            MAX_DEPTH,
        ))
    } else {
        Ok(set)
    }
}

/// A set that is known already.
fn measured(regular: &Regular) -> Result<MeasuredSet, NoSet> {
    let mut set = MeasuredSet {
        regular: regular.clone(),
        size: 0,
        depth: 1,
    };
    let mut stack = vec![(regular, 1)];
    while let Some((part, depth)) = stack.pop() {
        set.size += 1;
        set.depth = set.depth.max(depth);
        stack.extend(part.parts().iter().map(|part| (part, depth + 1)));
        if set.size > MAX_SIZE {
            break;
        }
    }
    within_limits(set)
}
