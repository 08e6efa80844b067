//! Captures: the parts of an output that the named expressions of its grammar match.
//!
//! Masks ignore captures: a state does not depend on the names of its parts. Spans are found by a separate pass over
//! the text, which is repeated at each call, so that they depend on the text alone.
//!
//! If a text can be read in several ways, one of them counts:
//!
//! - from left to right, every part of a sequence and every round of a repetition takes as many bytes as the whole
//!   allows;
//! - of alternatives for the same bytes, the first one of the grammar is taken;
//! - a repetition has no round without bytes, except those that it must have; and no rule is read as itself over the
//!   same bytes.
//!
//! A sequence within a sequence is not a part of its own. An incomplete text is read as the beginning of a longer one,
//! so a part that may continue counts as longer than one that ends.
//!
//! Only what surrounds captures is read here, with a table of which expression matches from where to where (as in
//! Earley's algorithm and in the tabling of logic programs, so left recursion and ambiguity need no special care). All
//! other parts of the grammar are networks of their own.

mod table;

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::lists::Lists;
use structgen_grammar::{Expr, ExprId, Grammar, RuleId, TokenTerminal};

use crate::components::cyclic_components;
use crate::{LimitExceeded, Limits, Program, ProgramError};
use table::{MAX_STEPS, Table};

/// A named part of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSpan {
    /// The name.
    pub name: Arc<str>,
    /// Its bytes in the output.
    pub span: Range<usize>,
    /// Whether the part may continue: the output is incomplete, and the span reaches its end.
    pub is_open: bool,
}

/// A token of an output, as [`CaptureProgram::find`] reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturePiece<'t> {
    /// Its text; special tokens have none.
    pub bytes: &'t [u8],
    /// The token terminals that it matches, whatever its text is, as indices into [`Program::token_terminals`].
    pub terminals: Vec<u32>,
}

impl<'t> CapturePiece<'t> {
    /// Creates a piece of text that matches no token terminal.
    #[must_use]
    pub fn text(bytes: &'t [u8]) -> Self {
        Self {
            bytes,
            terminals: Vec::new(),
        }
    }
}

/// The part of a grammar around its captures.
#[derive(Debug)]
pub struct CaptureProgram {
    grammar: Grammar,
    /// The expressions that contain a capture or are next to one.
    nodes: FxHashMap<ExprId, CaptureNode>,
    /// The component of each expression that contains itself, through rules.
    circles: FxHashMap<ExprId, u32>,
}

/// An expression that contains a capture or is next to one.
#[derive(Debug)]
enum CaptureNode {
    /// Matches no text.
    Never,
    /// Contains no captures.
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

    /// Returns whether it matches some text, given whether each expression does.
    fn has_text(&self, has_text: impl Fn(&ExprId) -> bool) -> bool {
        match self {
            Self::Never => false,
            Self::Leaf(_) | Self::Repeat { min: 0, .. } => true,
            Self::Choice(arms) => arms.iter().any(has_text),
            _ => self.children().iter().all(has_text),
        }
    }
}

/// The maximum number of expressions in the grammars of all leaves together.
const MAX_LEAVES: usize = 20_000_000;

impl CaptureProgram {
    /// Creates the program that finds the captures of a grammar; `None` if no capture can be reached.
    ///
    /// # Errors
    /// If the span of a capture cannot be found where it stands, or a limit is exceeded.
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
                let part = grammar.rooted_at(id);
                work = work.saturating_add(part.exprs().len());
                if work > MAX_LEAVES {
                    return Err(ProgramError::Limit(LimitExceeded {
                        what: "expressions beside captures",
                        limit: MAX_LEAVES as u64,
                    }));
                }
                leaf(part, limits)?
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

    /// Returns the grammar with its captures.
    #[must_use]
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// Returns the captures of an output, ordered by start, outer ones before inner ones. A name may occur several
    /// times.
    ///
    /// `terminals` are the token terminals that pieces refer to. `None` if the text is not an output or, unless
    /// `is_complete`, not the beginning of one.
    ///
    /// # Errors
    /// If a limit is exceeded. The table may grow with the square of the text if rounds of a repetition contain
    /// captures and may have any length.
    pub fn find(
        &self,
        pieces: &[CapturePiece<'_>],
        terminals: &[TokenTerminal],
        is_complete: bool,
    ) -> Result<Option<Vec<CaptureSpan>>, LimitExceeded> {
        self.find_within(pieces, terminals, is_complete, &mut MAX_STEPS.clone())
    }

    /// As [`find`](Self::find), with a limit on steps; `steps` is left with what remains.
    ///
    /// # Errors
    /// As for [`find`](Self::find); then no steps are left.
    pub fn find_within(
        &self,
        pieces: &[CapturePiece<'_>],
        terminals: &[TokenTerminal],
        is_complete: bool,
        steps: &mut u64,
    ) -> Result<Option<Vec<CaptureSpan>>, LimitExceeded> {
        let text = Text::new(pieces)?;
        let mut table = Table::new(self, &text, terminals, std::mem::take(steps));
        let found = table.read(is_complete)?;
        *steps = table.steps_left();
        let Some(found) = found else {
            return Ok(None);
        };
        let spans = found.into_iter().filter_map(|found| {
            let is_open = found.end.is_none();
            let end = text.offset(found.end.unwrap_or(text.end()));
            let start = text.offset(found.start);
            // A part that is about to begin does not count yet.
            (!is_open || start < end).then_some(CaptureSpan {
                name: found.name,
                span: start..end,
                is_open,
            })
        });
        Ok(Some(spans.collect()))
    }
}

/// An output as a sequence of positions: one before each byte, one before each token without bytes, and the end.
struct Text<'p, 't> {
    pieces: &'p [CapturePiece<'t>],
    /// By position, the byte after it and the number of bytes before it.
    bytes: Vec<(Option<u8>, usize)>,
    /// The tokens that may match terminals: by start, their end and the index of their piece.
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

    /// Returns the last position.
    fn end(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn byte(&self, place: u32) -> Option<u8> {
        self.bytes.get(place as usize)?.0
    }

    /// Returns the end of the token that begins at a position, and the terminals that it matches.
    fn token(&self, place: u32) -> Option<(u32, &'p [u32])> {
        let &(end, piece) = self.tokens.get(&place)?;
        Some((end, &self.pieces[piece].terminals))
    }

    /// Returns the number of bytes before a position.
    fn offset(&self, place: u32) -> usize {
        let known = self.bytes.get(place as usize);
        known.map_or(self.length, |&(_, offset)| offset)
    }
}

/// Returns the expressions that contain a capture, also through rules that they refer to.
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
        // How a text is written does not change which captures it has.
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

/// Returns the name of some capture in an expression.
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

fn leaf(part: Grammar, limits: &Limits) -> Result<CaptureNode, ProgramError> {
    match Program::new(part, limits.clone()) {
        Ok(program) => Ok(CaptureNode::Leaf(Arc::new(program))),
        Err(ProgramError::Unsatisfiable { .. }) => Ok(CaptureNode::Never),
        Err(error) => Err(error),
    }
}

/// Removes what matches no text; it has no beginning either.
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
    let edges = nodes.iter().flat_map(|(id, node)| {
        let children = node.children().iter();
        children.map(|child| (id.0, child.0))
    });
    let edges = Lists::new(grammar.exprs().len(), &edges.collect::<Vec<_>>());
    let (components, _) = cyclic_components(&edges);
    let circles = { (0..).map(ExprId) }.zip(components);
    circles
        .filter_map(|(id, circle)| Some((id, circle?)))
        .collect()
}
