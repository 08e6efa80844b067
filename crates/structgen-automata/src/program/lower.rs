//! Lowers a grammar, as the passes left it, to the nodes of a program.

mod shapes;

use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::keyed::keyed_hash;
use structgen_grammar::{Decimal, Expr, ExprId, Grammar, Guide, TokenTerminal};

use super::ProgramError;
use super::left_recursion::LeftRecursion;
use super::nullable::nullable;
use super::{
    ArrayProgram, Node, NodeId, ObjectProgram, Proc, ProcId, Program, RelatedValue, TerminalSpec,
    grounded, terminals,
};
use crate::{Input, LimitExceeded, Limits};

/// The maximum nesting of expressions within one rule.
const MAX_NESTING: u32 = 4_000;

/// The result of lowering a grammar.
pub(crate) enum Lowered {
    /// A program, and the expression of each of its arrays.
    Program(Box<Program>, Vec<ExprId>),
    /// No program. The expressions are terminals without a text, objects and arrays whose counts cannot be met, or
    /// values whose relations cannot be satisfied. This is known only here, where terminals are built and counts are
    /// planned.
    Empty(Grammar, FxHashSet<ExprId>),
}

/// Lowers a grammar after the passes, with its grounded values bound to the input, if there is one.
pub(crate) fn lower(
    grammar: Grammar,
    limits: &Limits,
    input: Option<&Arc<Input>>,
) -> Result<Lowered, ProgramError> {
    let nullable = nullable(&grammar);
    let mut builder = Builder {
        grammar: &grammar,
        nullable: &nullable,
        limits,
        input,
        nodes: vec![Node::End],
        node_ids: HashTable::with_capacity(grammar.exprs().len()),
        procs: Vec::new(),
        own_procs: FxHashMap::default(),
        values: vec![None; grammar.exprs().len()],
        pending: Vec::new(),
        terminals: UniqueList::default(),
        terminal_exprs: Vec::new(),
        known_terminals: vec![None; grammar.exprs().len()],
        referents: UniqueList::default(),
        related: Vec::new(),
        related_exprs: Vec::new(),
        tokens: UniqueList::default(),
        objects: Vec::new(),
        object_ids: FxHashMap::default(),
        arrays: Vec::new(),
        array_ids: FxHashMap::default(),
        array_exprs: Vec::new(),
    };
    // Rules come first, so that a rule and its procedure have the same number.
    for rule in grammar.rules() {
        let nullable = nullable[rule.body.index()];
        builder.procs.push(Proc {
            entry: NodeId::END,
            nullable,
            guide: None,
        });
    }
    for (i, rule) in grammar.rules().iter().enumerate() {
        builder.procs[i].entry = builder.expr(rule.body, NodeId::END, 0)?;
    }
    builder.finish_pending()?;
    let Builder {
        nodes,
        procs,
        terminals: specs,
        terminal_exprs,
        related,
        related_exprs,
        tokens,
        objects,
        arrays,
        object_ids,
        array_exprs,
        ..
    } = builder;
    let built = terminals::build(&specs.items, grammar.form(), limits);
    let (ready, text_costs) = built.map_err(|(terminal, limit)| {
        let expr = { terminal_exprs.iter() }.find(|&&(_, other)| other == terminal);
        expr.map_or_else(
            || limit.clone().into(),
            |&(expr, _)| ProgramError::limit_of(&grammar, expr, limit.clone()),
        )
    })?;
    if text_costs.contains(&None) {
        let is_empty = |&(_, terminal): &(ExprId, u32)| text_costs[terminal as usize].is_none();
        let empty = terminal_exprs.into_iter().filter(is_empty);
        let empty = empty.map(|(id, _)| id).collect();
        return Ok(Lowered::Empty(grammar, empty));
    }
    let left_recursion = LeftRecursion::find(&nodes, &procs);
    let root = grammar.root().into();
    let guides = || procs.iter().filter_map(|proc| proc.guide);
    let limits_of_tokens = guides().filter_map(|guide| match guide {
        Guide::MaxTokens(most) => Some(u64::from(most).max(1)),
        Guide::Temperature(_) => None,
    });
    let mut program = Program {
        most_tokens: limits_of_tokens.max().unwrap_or(0),
        is_bound: input.is_some(),
        sets_temperatures: guides().any(|guide| matches!(guide, Guide::Temperature(_))),
        nodes,
        procs,
        root,
        terminals: specs.items,
        text_costs: text_costs.into_iter().flatten().collect(),
        ready,
        tokens: tokens.items,
        objects,
        arrays,
        related,
        related_places: Vec::new(),
        form: grammar.form().clone(),
        grammar,
        limits: limits.clone(),
        left_recursion,
        distinct_costs: [].into(),
        measures: OnceLock::new(),
        heights: OnceLock::new(),
        widest_byte: OnceLock::new(),
    };
    let unkept = program.settle_relations()?;
    if !unkept.is_empty() {
        if let (None, Some(value)) = (input, unkept.first()) {
            return Err(program.related[*value as usize].unkept());
        }
        let unkept = unkept
            .into_iter()
            .map(|value| related_exprs[value as usize]);
        return Ok(Lowered::Empty(program.grammar, unkept.collect()));
    }
    let empty = unplanned(&program, object_ids, &array_exprs)?;
    Ok(if empty.is_empty() {
        Lowered::Program(Box::new(program), array_exprs)
    } else {
        Lowered::Empty(program.grammar, empty)
    })
}

/// Returns the expressions of the objects and arrays whose counts cannot be met.
fn unplanned(
    program: &Program,
    objects: FxHashMap<ExprId, u32>,
    arrays: &[ExprId],
) -> Result<FxHashSet<ExprId>, ProgramError> {
    let objects = objects.into_iter().map(|(expr, object)| (object, expr));
    let mut objects: Vec<(u32, ExprId)> = objects.collect();
    objects.retain(|&(object, _)| program.objects[object as usize].is_counted());
    objects.sort_unstable();
    let mut arrays: Vec<(u32, ExprId)> = (0..).zip(arrays.iter().copied()).collect();
    arrays.retain(|&(array, _)| program.arrays[array as usize].remembers());
    if objects.is_empty() && arrays.is_empty() {
        return Ok(FxHashSet::default());
    }
    let limit_of = |expr| move |limit| ProgramError::limit_of(program.grammar(), expr, limit);
    for &(object, expr) in &objects {
        program.check_counted(object).map_err(limit_of(expr))?;
    }
    program.check_plans()?;
    let mut empty = FxHashSet::default();
    for (object, expr) in objects {
        if program
            .object_cost(object)
            .map_err(limit_of(expr))?
            .is_none()
        {
            empty.insert(expr);
        }
    }
    for (array, expr) in arrays {
        if program.array_cost(array).map_err(limit_of(expr))?.is_none() {
            empty.insert(expr);
        }
    }
    Ok(empty)
}

/// A list of distinct items.
struct UniqueList<T> {
    items: Vec<T>,
    /// Finds the index of an item by its hash; `items` has the only copy.
    ids: HashTable<(u64, u32)>,
}

impl<T> Default for UniqueList<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            ids: HashTable::new(),
        }
    }
}

impl<T: Eq + Hash> UniqueList<T> {
    fn id(&mut self, item: T) -> u32 {
        let hash = keyed_hash(&item);
        let is_same = |&(other, id): &(u64, u32)| other == hash && self.items[id as usize] == item;
        if let Some(&(_, id)) = self.ids.find(hash, is_same) {
            return id;
        }
        let id = self.items.len() as u32;
        self.ids.insert_unique(hash, (hash, id), |&(hash, _)| hash);
        self.items.push(item);
        id
    }
}

struct Builder<'g> {
    grammar: &'g Grammar,
    nullable: &'g [bool],
    limits: &'g Limits,
    input: Option<&'g Arc<Input>>,
    nodes: Vec<Node>,
    /// Finds a node by its hash; `nodes` has the only copy.
    node_ids: HashTable<(u64, NodeId)>,
    procs: Vec<Proc>,
    own_procs: FxHashMap<(ExprId, Option<Guide>), ProcId>,
    /// By expression, the node at which a value of an object or array begins, if it is built.
    values: Vec<Option<NodeId>>,
    /// Objects and arrays whose values are not built yet: a list instead of recursion, since shapes nest without limit.
    pending: Vec<Pending>,
    terminals: UniqueList<TerminalSpec>,
    /// The terminal of each expression that became one.
    terminal_exprs: Vec<(ExprId, u32)>,
    /// By expression, its terminal, if it became one.
    known_terminals: Vec<Option<u32>>,
    /// The names of referents.
    referents: UniqueList<Box<str>>,
    related: Vec<RelatedValue>,
    /// The expression of each value that takes part in relations.
    related_exprs: Vec<ExprId>,
    tokens: UniqueList<TokenTerminal>,
    objects: Vec<ObjectProgram>,
    object_ids: FxHashMap<ExprId, u32>,
    arrays: Vec<ArrayProgram>,
    array_ids: FxHashMap<ExprId, u32>,
    /// The expression of each array.
    array_exprs: Vec<ExprId>,
}

enum Pending {
    Object(u32, ExprId),
    Array(u32, ExprId),
}

impl Builder<'_> {
    fn push(&mut self, node: Node) -> Result<NodeId, LimitExceeded> {
        if self.nodes.len() >= self.limits.nodes {
            return Err(LimitExceeded {
                what: "nodes of the grammar",
                limit: self.limits.nodes as u64,
            });
        }
        let id = NodeId::new(self.nodes.len());
        self.nodes.push(node);
        Ok(id)
    }

    /// Adds a node, or finds an equal one.
    fn node(&mut self, node: Node) -> Result<NodeId, LimitExceeded> {
        let hash = keyed_hash(&node);
        let is_same =
            |&(other, id): &(u64, NodeId)| other == hash && self.nodes[id.index()] == node;
        if let Some(&(_, id)) = self.node_ids.find(hash, is_same) {
            return Ok(id);
        }
        let id = self.push(node)?;
        { &mut self.node_ids }.insert_unique(hash, (hash, id), |&(hash, _)| hash);
        Ok(id)
    }

    /// Returns the node at which a text of the expression begins that continues at `next`.
    fn expr(&mut self, id: ExprId, next: NodeId, depth: u32) -> Result<NodeId, LimitExceeded> {
        if depth > MAX_NESTING {
            return Err(LimitExceeded {
                what: "nested expressions",
                limit: u64::from(MAX_NESTING),
            });
        }
        let grammar = self.grammar;
        match grammar.expr(id) {
            Expr::Never => self.node(Node::Split([].into())),
            Expr::Empty => Ok(next),
            Expr::Bytes(bytes) => self.terminal(id, || TerminalSpec::Bytes(bytes.clone()), next),
            Expr::Regular(regular) => {
                let node = self.terminal(id, || TerminalSpec::Regular(regular.clone()), next)?;
                self.or_nothing(id, node, next)
            }
            Expr::Literals(set) => {
                let node = self.terminal(id, || TerminalSpec::Literals(set.clone()), next)?;
                self.or_nothing(id, node, next)
            }
            Expr::Number(set) => self.terminal(id, || TerminalSpec::Number(set.clone()), next),
            Expr::String(shape) => self.terminal(id, || TerminalSpec::String(shape.clone()), next),
            Expr::Token(token) => {
                let token = self.tokens.id(token.clone());
                self.node(Node::Token { token, next })
            }
            Expr::Sequence(parts) => {
                let mut next = next;
                for &part in parts.iter().rev() {
                    next = self.expr(part, next, depth + 1)?;
                }
                Ok(next)
            }
            Expr::Choice(arms) => {
                let (listed, others) = self.split_listed(arms);
                let mut nodes = Vec::with_capacity(others.len() + 1);
                for arm in others {
                    nodes.push(self.expr(arm, next, depth + 1)?);
                }
                if !listed.is_empty() {
                    nodes.push(self.listed_numbers(listed, next)?);
                }
                self.node(Node::Split(nodes.into()))
            }
            Expr::Repeat { body, min, max } => self.repeat(*body, *min, *max, next, depth),
            Expr::Grounded { format, body, .. } if let Some(input) = self.input => {
                let (value, form) = (grammar.expr(*body), grammar.form());
                match grounded::terminal(value, format.as_deref(), input, form, self.limits)? {
                    Some(terminal) => self.terminal(id, || terminal, next),
                    None => self.expr(*body, next, depth + 1),
                }
            }
            Expr::Referent { .. } | Expr::Related { .. } => self.related(id, next, depth),
            Expr::Capture { body, .. } | Expr::Grounded { body, .. } => {
                self.expr(*body, next, depth + 1)
            }
            Expr::Guided { guide, body } => {
                let proc = self.own_proc(*body, Some(*guide), depth)?;
                self.node(Node::Call { proc, next })
            }
            Expr::Rule(rule) => {
                let body = grammar.rule(*rule).body;
                match grammar.expr(body) {
                    // A terminal takes fewer steps than a call of one.
                    Expr::String(_) | Expr::Number(_) => self.expr(body, next, depth),
                    _ => self.node(Node::Call {
                        proc: (*rule).into(),
                        next,
                    }),
                }
            }
            Expr::Object(_) => {
                let object = self.object(id);
                self.node(Node::Object { object, next })
            }
            Expr::Array(_) => {
                let array = self.array(id);
                self.node(Node::Array { array, next })
            }
        }
    }

    /// Returns a terminal, or what follows it if it may be empty.
    fn or_nothing(
        &mut self,
        id: ExprId,
        node: NodeId,
        next: NodeId,
    ) -> Result<NodeId, LimitExceeded> {
        if self.nullable[id.index()] {
            self.node(Node::Split([node, next].into()))
        } else {
            Ok(node)
        }
    }

    /// Splits alternatives into single numbers, if there are many of these, and the others.
    fn split_listed(&self, arms: &[ExprId]) -> (Vec<ExprId>, Vec<ExprId>) {
        /// Up to this many, terminals that run side by side take less memory, and others may share them.
        const FEW: usize = 32;
        let is_point = |id: &ExprId| self.point(*id).is_some();
        match arms.iter().filter(|id| is_point(id)).count() {
            0..=FEW => (Vec::new(), arms.to_vec()),
            _ => arms.iter().copied().partition(is_point),
        }
    }

    /// Returns the only number of an expression, if it has exactly one.
    fn point(&self, id: ExprId) -> Option<&Decimal> {
        match self.grammar.expr(id) {
            Expr::Number(set) => set.as_point(),
            _ => None,
        }
    }

    /// Returns one terminal for many single numbers.
    fn listed_numbers(&mut self, arms: Vec<ExprId>, next: NodeId) -> Result<NodeId, LimitExceeded> {
        let numbers = arms.iter().filter_map(|&id| self.point(id).cloned());
        let spec = TerminalSpec::ListedNumbers(numbers.collect());
        let terminal = self.terminals.id(spec);
        self.terminal_exprs
            .extend(arms.into_iter().map(|id| (id, terminal)));
        self.node(Node::Terminal { terminal, next })
    }

    fn terminal(
        &mut self,
        id: ExprId,
        spec: impl FnOnce() -> TerminalSpec,
        next: NodeId,
    ) -> Result<NodeId, LimitExceeded> {
        let terminal = match self.known_terminals[id.index()] {
            Some(terminal) => terminal,
            None => {
                let terminal = self.terminals.id(spec());
                self.terminal_exprs.push((id, terminal));
                *self.known_terminals[id.index()].insert(terminal)
            }
        };
        self.node(Node::Terminal { terminal, next })
    }

    /// Lowers a value that takes part in relations.
    fn related(&mut self, id: ExprId, next: NodeId, depth: u32) -> Result<NodeId, LimitExceeded> {
        let (mut value, mut referents, mut relation) = (id, Vec::new(), None);
        let mut keyword: &str = "";
        let node = loop {
            match self.grammar.expr(value) {
                Expr::Referent { name, body } => {
                    referents.push(self.referents.id(name.clone()));
                    value = *body;
                }
                Expr::Related {
                    pointer,
                    relation: own,
                    referent,
                    body,
                } => {
                    relation = Some((*own, self.referents.id(referent.clone())));
                    (keyword, value) = (pointer, *body);
                }
                _ => break self.expr(value, next, depth + 1)?,
            }
        };
        let Node::Terminal { terminal, .. } = self.nodes[node.index()] else {
            // It has no texts.
            return Ok(node);
        };
        referents.sort_unstable();
        referents.dedup();
        let related = self.related.len() as u32;
        self.related.push(RelatedValue {
            terminal,
            relation,
            pointer: keyword.into(),
            referents: referents.into(),
            is_needed: false,
            cost: 0,
        });
        self.related_exprs.push(id);
        self.node(Node::Related { related, next })
    }

    fn repeat(
        &mut self,
        body: ExprId,
        min: u32,
        max: Option<u32>,
        next: NodeId,
        depth: u32,
    ) -> Result<NodeId, LimitExceeded> {
        match (min, max) {
            (0, Some(1)) => {
                let once = self.expr(body, next, depth + 1)?;
                self.node(Node::Split([once, next].into()))
            }
            (0 | 1, None) => {
                // A loop: the node is created first, so that its body can lead back to it.
                let again = self.push(Node::Split([].into()))?;
                let once = self.expr(body, again, depth + 1)?;
                self.nodes[again.index()] = Node::Split([once, next].into());
                Ok(if min == 0 { again } else { once })
            }
            _ => {
                let proc = self.own_proc(body, None, depth)?;
                // A body that may be empty can be empty in all missing runs.
                let min = if self.nullable[body.index()] { 0 } else { min };
                self.node(Node::Repeat {
                    proc,
                    min,
                    max,
                    next,
                })
            }
        }
    }

    /// Returns the procedure of a counted or guided expression, which a frame below it has to know.
    fn own_proc(
        &mut self,
        body: ExprId,
        guide: Option<Guide>,
        depth: u32,
    ) -> Result<ProcId, LimitExceeded> {
        if let Some(&proc) = self.own_procs.get(&(body, guide)) {
            return Ok(proc);
        }
        let entry = self.expr(body, NodeId::END, depth + 1)?;
        let proc = ProcId::new(self.procs.len());
        self.procs.push(Proc {
            entry,
            nullable: self.nullable[body.index()],
            guide,
        });
        self.own_procs.insert((body, guide), proc);
        Ok(proc)
    }
}
