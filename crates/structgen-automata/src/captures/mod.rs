//! Captures: which parts of an output the named expressions of its grammar have matched.
//!
//! Masks know nothing of captures: a state is the same whatever its parts are called. Spans are found by a pass of their own over the text, which is
//! made anew whenever somebody asks, so that they are those of the text and nothing else.
//!
//! Where a text can be read in several ways, one of them counts:
//!
//! - from left to right, every part of a sequence and every round of a repetition takes as many bytes as the whole allows;
//! - of alternatives for the same bytes, the first one of the grammar is taken;
//! - a repetition has no round without bytes, but for those that it must have; and no rule is read as itself over the same bytes.
//!
//! A text that is not complete is read as the beginning of one that goes on, so that a part that may go on counts as longer than one that ends.
//!
//! Only what is around captures is read here, by a table of which expression matches from where to where (as Earley's and the tabling of logic
//! programs do, so that left recursion and ambiguity are no matter); all other parts of the grammar are networks of their own.

mod table;

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{Expr, ExprId, Grammar, TokenTerminal};

use crate::{LimitExceeded, Limits, Program, ProgramError};
use table::Table;

/// A part of an output that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSpan {
    /// The name.
    pub name: Arc<str>,
    /// The bytes of the output.
    pub span: Range<usize>,
    /// Whether the part may go on: the output is not complete, and the span reaches its end.
    pub is_open: bool,
}

/// What an output consists of, for who looks for captures in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A byte of text.
    Byte(u8),
    /// A token that the grammar names, by its place in [`Program::token_terminals`]; it has no bytes.
    Token(u32),
}

/// The part of a grammar that is around its captures.
#[derive(Debug)]
pub struct CaptureProgram {
    grammar: Grammar,
    /// By expression; `None` for what is not around a capture.
    nodes: FxHashMap<ExprId, Node>,
    root: ExprId,
}

/// An expression that has a capture in it, or stands beside one.
#[derive(Debug)]
enum Node {
    /// Nothing in it is captured. Without a program it has no text.
    Leaf(Option<Arc<Program>>),
    Sequence(Box<[ExprId]>),
    Choice(Box<[ExprId]>),
    Repeat {
        body: ExprId,
        min: u32,
        max: Option<u32>,
    },
    /// A reference to a rule with this body.
    Rule(ExprId),
    Capture {
        name: Arc<str>,
        body: ExprId,
    },
}

/// How many expressions the grammars of all leaves may have together.
const MAX_LEAVES: usize = 20_000_000;

impl CaptureProgram {
    /// What finds the captures of a grammar; `None` where it has none that can be reached.
    pub(crate) fn new(grammar: &Grammar, limits: &Limits) -> Result<Option<Self>, ProgramError> {
        let captured = captured(grammar);
        let root = grammar.rule(grammar.root()).body;
        if !captured.contains(&root) {
            return Ok(None);
        }
        let mut nodes: FxHashMap<ExprId, Node> = FxHashMap::default();
        let mut open = vec![root];
        let mut work = 0_usize;
        while let Some(id) = open.pop() {
            if nodes.contains_key(&id) {
                continue;
            }
            let node = if captured.contains(&id) {
                spine(grammar, id, &captured)?
            } else {
                work = work.saturating_add(grammar.exprs().len());
                if work > MAX_LEAVES {
                    return Err(ProgramError::Limit(LimitExceeded {
                        what: "expressions beside captures",
                        limit: MAX_LEAVES as u64,
                    }));
                }
                leaf(grammar, id, limits)?
            };
            match &node {
                Node::Leaf(_) => {}
                Node::Sequence(parts) | Node::Choice(parts) => open.extend(parts),
                Node::Repeat { body, .. } | Node::Rule(body) | Node::Capture { body, .. } => {
                    open.push(*body);
                }
            }
            nodes.insert(id, node);
        }
        Ok(Some(Self {
            grammar: grammar.clone(),
            nodes,
            root,
        }))
    }

    /// The grammar with its captures.
    #[must_use]
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// The captures of an output, in the order in which they begin, outer ones before those in them; the same name may come often.
    ///
    /// `tokens` are the token terminals that units of the output refer to. `None` where the text is no output or, if it is not `is_complete`, no
    /// beginning of one that goes on.
    ///
    /// # Errors
    /// When a limit is exceeded: the table grows with the square of the text where captures repeat.
    pub fn find(
        &self,
        units: &[Unit],
        tokens: &[TokenTerminal],
        is_complete: bool,
    ) -> Result<Option<Vec<CaptureSpan>>, LimitExceeded> {
        let mut table = Table::new(self, units, tokens);
        let Some(found) = table.read(is_complete)? else {
            return Ok(None);
        };
        let mut offsets = Vec::with_capacity(units.len() + 1);
        let mut bytes = 0;
        offsets.push(0);
        for unit in units {
            bytes += usize::from(matches!(unit, Unit::Byte(_)));
            offsets.push(bytes);
        }
        let spans = found.into_iter().filter_map(|found| {
            let is_open = found.end.is_none();
            let end = found.end.map_or(bytes, |end| offsets[end as usize]);
            let start = offsets[found.start as usize];
            // What is about to begin is not there yet.
            (!is_open || start < end).then_some(CaptureSpan {
                name: found.name,
                span: start..end,
                is_open,
            })
        });
        Ok(Some(spans.collect()))
    }
}

/// The expressions with a capture in them, those of the rules that they refer to included.
fn captured(grammar: &Grammar) -> FxHashSet<ExprId> {
    let mut users: Vec<Vec<ExprId>> = vec![Vec::new(); grammar.exprs().len()];
    let mut open = Vec::new();
    for (index, expr) in grammar.exprs().iter().enumerate() {
        let id = ExprId(index as u32);
        { expr.children() }.for_each(|child| users[child.index()].push(id));
        match expr {
            Expr::Rule(rule) => users[grammar.rule(*rule).body.index()].push(id),
            Expr::Capture { .. } => open.push(id),
            _ => {}
        }
    }
    let mut captured = FxHashSet::default();
    while let Some(id) = open.pop() {
        if captured.insert(id) {
            open.extend(&users[id.index()]);
        }
    }
    captured
}

fn spine(
    grammar: &Grammar,
    id: ExprId,
    captured: &FxHashSet<ExprId>,
) -> Result<Node, ProgramError> {
    Ok(match grammar.expr(id) {
        Expr::Sequence(parts) => Node::Sequence(parts.clone()),
        Expr::Choice(arms) => Node::Choice(arms.clone()),
        Expr::Repeat { body, min, max } => Node::Repeat {
            body: *body,
            min: *min,
            max: *max,
        },
        Expr::Rule(rule) => Node::Rule(grammar.rule(*rule).body),
        Expr::Capture { name, body } => Node::Capture {
            name: (&**name).into(),
            body: *body,
        },
        _ => {
            let name = name_within(grammar, id, captured);
            return Err(ProgramError::CaptureInShape { name });
        }
    })
}

/// The name of some capture in an expression.
fn name_within(grammar: &Grammar, id: ExprId, captured: &FxHashSet<ExprId>) -> String {
    let mut open = vec![id];
    let mut seen = FxHashSet::default();
    while let Some(id) = open.pop() {
        if !captured.contains(&id) || !seen.insert(id) {
            continue;
        }
        match grammar.expr(id) {
            Expr::Capture { name, .. } => return name.to_string(),
            Expr::Rule(rule) => open.push(grammar.rule(*rule).body),
            expr => open.extend(expr.children()),
        }
    }
    String::new()
}

fn leaf(grammar: &Grammar, id: ExprId, limits: &Limits) -> Result<Node, ProgramError> {
    match Program::new(grammar.rooted_at(id), limits.clone()) {
        Ok(program) => Ok(Node::Leaf(Some(Arc::new(program)))),
        Err(ProgramError::Unsatisfiable { .. }) => Ok(Node::Leaf(None)),
        Err(error) => Err(error),
    }
}
