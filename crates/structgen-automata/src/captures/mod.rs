//! Captures: which parts of an output the named expressions of its grammar have matched.
//!
//! Masks know nothing of captures: a state is the same whatever its parts are called. Spans are found by a pass of
//! their own over the text, which is made anew whenever somebody asks, so that they are those of the text and nothing
//! else.
//!
//! Where a text can be read in several ways, one of them counts:
//!
//! - from left to right, every part of a sequence and every round of a repetition takes as many bytes as the whole
//!   allows;
//! - of alternatives for the same bytes, the first one of the grammar is taken;
//! - a repetition has no round without bytes, but for those that it must have; and no rule is read as itself over the
//!   same bytes.
//!
//! A sequence within a sequence is no part of its own. A text that is not complete is read as the beginning of one that
//! goes on, so that a part that may go on counts as longer than one that ends.
//!
//! Only what is around captures is read here, by a table of which expression matches from where to where (as Earley's
//! and the tabling of logic programs do, so that left recursion and ambiguity are no matter); all other parts of the
//! grammar are networks of their own.

mod table;

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{Expr, ExprId, Grammar, RuleId, TokenTerminal};

use crate::components::cyclic_components;
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

/// A token of an output, for who looks for captures in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturePiece<'t> {
    /// Its text; special tokens have none.
    pub bytes: &'t [u8],
    /// The token terminals that it may be, whatever its text, by their places in [`Program::token_terminals`].
    pub terminals: Vec<u32>,
}

impl<'t> CapturePiece<'t> {
    /// A text, of which no token terminal is a part.
    #[must_use]
    pub fn text(bytes: &'t [u8]) -> Self {
        Self {
            bytes,
            terminals: Vec::new(),
        }
    }
}

/// The part of a grammar that is around its captures.
#[derive(Debug)]
pub struct CaptureProgram {
    grammar: Grammar,
    /// By expression, for those around a capture or beside one.
    nodes: FxHashMap<ExprId, CaptureNode>,
    /// The component of each expression that is a part of itself, by way of rules.
    circles: FxHashMap<ExprId, u32>,
}

/// An expression that has a capture in it, or stands beside one.
#[derive(Debug)]
enum CaptureNode {
    /// Has no text.
    Never,
    /// Nothing in it is captured.
    Leaf(Arc<Program>),
    Sequence(Box<[ExprId]>),
    Choice(Box<[ExprId]>),
    Repeat {
        body: ExprId,
        min: u32,
        max: Option<u32>,
    },
    Rule {
        rule: RuleId,
        body: ExprId,
    },
    Capture {
        name: Arc<str>,
        body: ExprId,
    },
}

impl CaptureNode {
    fn children(&self) -> &[ExprId] {
        match self {
            Self::Never | Self::Leaf(_) => &[],
            Self::Sequence(parts) | Self::Choice(parts) => parts,
            Self::Repeat { body, .. } | Self::Rule { body, .. } | Self::Capture { body, .. } => {
                std::slice::from_ref(body)
            }
        }
    }

    /// Whether it has a text, where those expressions have one for which `has_text` holds.
    fn has_text(&self, has_text: impl Fn(&ExprId) -> bool) -> bool {
        match self {
            Self::Never => false,
            Self::Leaf(_) | Self::Repeat { min: 0, .. } => true,
            Self::Choice(arms) => arms.iter().any(has_text),
            _ => self.children().iter().all(has_text),
        }
    }
}

/// How many expressions the grammars of all leaves may have together.
const MAX_LEAVES: usize = 20_000_000;

impl CaptureProgram {
    /// What finds the captures of a grammar; `None` where it has none that can be reached.
    ///
    /// # Errors
    /// When a capture stands where its span cannot be found, or a limit is exceeded.
    pub fn new(grammar: &Grammar, limits: &Limits) -> Result<Option<Self>, ProgramError> {
        let captured = captured(grammar);
        let root = grammar.rule(grammar.root()).body;
        if !captured.contains(&root) {
            return Ok(None);
        }
        let mut nodes: FxHashMap<ExprId, CaptureNode> = FxHashMap::default();
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
            open.extend(node.children());
            nodes.insert(id, node);
        }
        forget_what_never_ends(&mut nodes);
        Ok(Some(Self {
            grammar: grammar.clone(),
            circles: circles(grammar, &nodes),
            nodes,
        }))
    }

    /// The grammar with its captures.
    #[must_use]
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// The captures of an output, in the order in which they begin, outer ones before those in them; the same name may
    /// come often.
    ///
    /// `terminals` are the token terminals that pieces refer to. `None` where the text is no output or, if it is not
    /// `is_complete`, no beginning of one that goes on.
    ///
    /// # Errors
    /// When a limit is exceeded: the table may grow with the square of the text where rounds of a repetition have
    /// captures in them and are of any length.
    pub fn find(
        &self,
        pieces: &[CapturePiece<'_>],
        terminals: &[TokenTerminal],
        is_complete: bool,
    ) -> Result<Option<Vec<CaptureSpan>>, LimitExceeded> {
        let text = Text::new(pieces)?;
        let mut table = Table::new(self, &text, terminals);
        let Some(found) = table.read(is_complete)? else {
            return Ok(None);
        };
        let spans = found.into_iter().filter_map(|found| {
            let is_open = found.end.is_none();
            let end = text.offset(found.end.unwrap_or(text.end()));
            let start = text.offset(found.start);
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

/// An output as places: one in front of each byte, one in front of each token without bytes, and the end.
struct Text<'p, 't> {
    pieces: &'p [CapturePiece<'t>],
    /// By place, the byte there and how many bytes there are before it.
    bytes: Vec<(Option<u8>, usize)>,
    /// The tokens that may be terminals: by the place at which they begin, where they end and which piece they are.
    tokens: FxHashMap<u32, (u32, usize)>,
    length: usize,
}

impl<'p, 't> Text<'p, 't> {
    fn new(pieces: &'p [CapturePiece<'t>]) -> Result<Self, LimitExceeded> {
        let mut text = Self {
            pieces,
            bytes: Vec::new(),
            tokens: FxHashMap::default(),
            length: 0,
        };
        for (index, piece) in pieces.iter().enumerate() {
            let start = text.bytes.len();
            if start + piece.bytes.len() >= u32::MAX as usize {
                return Err(LimitExceeded {
                    what: "bytes of a text with captures",
                    limit: u32::MAX.into(),
                });
            }
            for &byte in piece.bytes {
                text.bytes.push((Some(byte), text.length));
                text.length += 1;
            }
            if piece.bytes.is_empty() && !piece.terminals.is_empty() {
                text.bytes.push((None, text.length));
            }
            if !piece.terminals.is_empty() {
                let end = text.bytes.len() as u32;
                text.tokens.insert(start as u32, (end, index));
            }
        }
        Ok(text)
    }

    /// The last place.
    fn end(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn byte(&self, place: u32) -> Option<u8> {
        self.bytes.get(place as usize)?.0
    }

    /// The token that begins at a place: where it ends, and which terminals it may be.
    fn token(&self, place: u32) -> Option<(u32, &'p [u32])> {
        let &(end, piece) = self.tokens.get(&place)?;
        Some((end, &self.pieces[piece].terminals))
    }

    /// How many bytes there are before a place.
    fn offset(&self, place: u32) -> usize {
        let known = self.bytes.get(place as usize);
        known.map_or(self.length, |&(_, offset)| offset)
    }
}

/// The expressions with a capture in them, those of the rules that they refer to included.
fn captured(grammar: &Grammar) -> FxHashSet<ExprId> {
    let is_capture = |expr: &Expr| matches!(expr, Expr::Capture { .. });
    if !grammar.exprs().iter().any(is_capture) {
        return FxHashSet::default();
    }
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
) -> Result<CaptureNode, ProgramError> {
    Ok(match grammar.expr(id) {
        Expr::Sequence(parts) => CaptureNode::Sequence(parts.clone()),
        Expr::Choice(arms) => CaptureNode::Choice(arms.clone()),
        Expr::Repeat { body, min, max } => CaptureNode::Repeat {
            body: *body,
            min: *min,
            max: *max,
        },
        Expr::Rule(rule) => CaptureNode::Rule {
            rule: *rule,
            body: grammar.rule(*rule).body,
        },
        // How a text was written says nothing about what is in it.
        Expr::Guided { body, .. }
        | Expr::Grounded { body, .. }
        | Expr::Referent { body, .. }
        | Expr::Related { body, .. } => CaptureNode::Sequence([*body].into()),
        Expr::Capture { name, body } => CaptureNode::Capture {
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

fn leaf(grammar: &Grammar, id: ExprId, limits: &Limits) -> Result<CaptureNode, ProgramError> {
    match Program::new(grammar.rooted_at(id), limits.clone()) {
        Ok(program) => Ok(CaptureNode::Leaf(Arc::new(program))),
        Err(ProgramError::Unsatisfiable { .. }) => Ok(CaptureNode::Never),
        Err(error) => Err(error),
    }
}

/// What has no text has no beginning of one either.
fn forget_what_never_ends(nodes: &mut FxHashMap<ExprId, CaptureNode>) {
    let mut users: FxHashMap<ExprId, Vec<ExprId>> = FxHashMap::default();
    for (&id, node) in nodes.iter() {
        { node.children().iter() }.for_each(|&child| users.entry(child).or_default().push(id));
    }
    let mut has_text = FxHashSet::default();
    let mut open: Vec<ExprId> = nodes.keys().copied().collect();
    while let Some(id) = open.pop() {
        if !has_text.contains(&id) && nodes[&id].has_text(|child| has_text.contains(child)) {
            has_text.insert(id);
            open.extend(users.get(&id).into_iter().flatten());
        }
    }
    for (id, node) in nodes {
        if !has_text.contains(id) {
            *node = CaptureNode::Never;
        }
    }
}

fn circles(grammar: &Grammar, nodes: &FxHashMap<ExprId, CaptureNode>) -> FxHashMap<ExprId, u32> {
    let mut edges = vec![Vec::new(); grammar.exprs().len()];
    for (id, node) in nodes {
        edges[id.index()] = node.children().iter().map(|child| child.0).collect();
    }
    let (components, _) = cyclic_components(&edges);
    let circles = { (0..).map(ExprId) }.zip(components);
    circles
        .filter_map(|(id, circle)| Some((id, circle?)))
        .collect()
}
