//! From a grammar to a program.

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{
    Expr, ExprId, Grammar, Guide, ObjectShape, Regular, RuleId, TokenTerminal, passes,
};

use super::ProgramError;
use super::left_recursion::LeftRecursion;
use super::nullable::nullable;
use super::{
    Alternative, ArrayProgram, KeyClass, Node, NodeId, ObjectProgram, Proc, ProcId, Program,
    PropertyProgram, Slot, TerminalSpec, texts,
};
use crate::captures::CaptureProgram;
use crate::network::Network;
use crate::{LimitExceeded, Limits, TokenLengths};
use structgen_regular::RegularMachine;

/// How deep expressions may nest within one rule.
const MAX_NESTING: u32 = 4_000;

pub(super) fn build(grammar: Grammar, limits: Limits) -> Result<Program, ProgramError> {
    let captures = CaptureProgram::new(&grammar, &limits)?;
    let program = build_matched(grammar, limits)?;
    Ok(Program {
        captures,
        ..program
    })
}

/// The program without what finds captures.
fn build_matched(mut grammar: Grammar, limits: Limits) -> Result<Program, ProgramError> {
    loop {
        let (narrowed, report) = passes::run(grammar);
        if report.productive.root_is_never {
            return Err(ProgramError::Unsatisfiable {
                rules: report.productive.never,
            });
        }
        let (narrowed, empty) = match build_once(narrowed, &limits)? {
            Built::Program(program) => return Ok(*program),
            Built::Empty(narrowed, empty) => (narrowed, empty),
        };
        // That a terminal takes no text and that counts cannot be met is seen here only. What needs such a thing derives nothing either.
        grammar = narrowed.replace(|id, _| empty.contains(&id).then_some(Expr::Never));
    }
}

/// What became of a grammar.
enum Built {
    Program(Box<Program>),
    /// None, and its terminals without a text, or its objects and arrays whose counts cannot be met.
    Empty(Grammar, FxHashSet<ExprId>),
}

fn build_once(grammar: Grammar, limits: &Limits) -> Result<Built, ProgramError> {
    let nullable = nullable(&grammar);
    let mut builder = Builder {
        grammar: &grammar,
        nullable: &nullable,
        limits,
        nodes: vec![Node::End],
        node_ids: FxHashMap::default(),
        procs: Vec::new(),
        own_procs: FxHashMap::default(),
        values: FxHashMap::default(),
        pending: Vec::new(),
        terminals: Interned::default(),
        terminal_exprs: Vec::new(),
        tokens: Interned::default(),
        objects: Vec::new(),
        object_ids: FxHashMap::default(),
        arrays: Vec::new(),
        array_ids: FxHashMap::default(),
    };
    // Rules come first, so that a rule and its procedure have the same number.
    for rule in grammar.rules() {
        let nullable = nullable[rule.body.index()];
        builder.procs.push(Proc {
            entry: END,
            nullable,
            guide: None,
        });
    }
    for (i, rule) in grammar.rules().iter().enumerate() {
        builder.procs[i].entry = builder.expr(rule.body, END, 0)?;
    }
    builder.finish_pending()?;
    let Builder {
        nodes,
        procs,
        terminals,
        terminal_exprs,
        tokens,
        objects,
        arrays,
        object_ids,
        array_ids,
        ..
    } = builder;
    let (ready, text_costs) = texts::build(&terminals.items, grammar.form(), limits)?;
    if text_costs.contains(&None) {
        let is_empty = |&(_, terminal): &(ExprId, u32)| text_costs[terminal as usize].is_none();
        let empty = terminal_exprs.into_iter().filter(is_empty);
        let empty = empty.map(|(id, _)| id).collect();
        return Ok(Built::Empty(grammar, empty));
    }
    let left_recursion = LeftRecursion::find(&nodes, &procs);
    let RuleId(root) = grammar.root();
    let guides = || procs.iter().filter_map(|proc| proc.guide);
    let limits_of_tokens = guides().filter_map(|guide| match guide {
        Guide::MaxTokens(most) => Some(u64::from(most).max(1)),
        Guide::Temperature(_) => None,
    });
    let mut program = Program {
        most_tokens: limits_of_tokens.max().unwrap_or(0),
        sets_temperatures: guides().any(|guide| matches!(guide, Guide::Temperature(_))),
        nodes,
        procs,
        root,
        terminals: terminals.items,
        text_costs: text_costs.into_iter().flatten().collect(),
        ready,
        tokens: tokens.items,
        objects,
        arrays,
        form: grammar.form().clone(),
        grammar,
        limits: limits.clone(),
        left_recursion,
        distinct_costs: [].into(),
        measures: OnceLock::new(),
        heights: OnceLock::new(),
        widest_byte: OnceLock::new(),
        captures: None,
    };
    let mut empty = FxHashSet::default();
    for (&id, &object) in &object_ids {
        if program.objects[object as usize].is_counted() && program.object_cost(object)?.is_none() {
            empty.insert(id);
        }
    }
    for (&id, &array) in &array_ids {
        if program.arrays[array as usize].remembers() && program.array_cost(array)?.is_none() {
            empty.insert(id);
        }
    }
    if empty.is_empty() {
        program = with_distinct_items(program, &array_ids, &mut empty)?;
    }
    if empty.is_empty() {
        program.check_guides()?;
    }
    Ok(if empty.is_empty() {
        Built::Program(Box::new(program))
    } else {
        Built::Empty(program.grammar, empty)
    })
}

/// The program with the costs of its arrays of several distinct items. Those that have too few values are added to `empty`.
fn with_distinct_items(
    program: Program,
    array_ids: &FxHashMap<ExprId, u32>,
    empty: &mut FxHashSet<ExprId>,
) -> Result<Program, ProgramError> {
    let is_distinct =
        |array: &ArrayProgram| array.unique && array.bounds().missing(&array.no_counts()) > 1;
    if !program.arrays.iter().any(is_distinct) {
        return Ok(program);
    }
    let program = Arc::new(program);
    let mut costs = vec![None; program.arrays.len()];
    let mut network = Network::empty(program.clone(), 0, TokenLengths::UNKNOWN);
    for (&id, &array) in array_ids {
        if is_distinct(&program.arrays[array as usize]) {
            costs[array as usize] = network.distinct_cost(array)?;
            if costs[array as usize].is_none() {
                empty.insert(id);
            }
        }
    }
    drop(network);
    let Some(mut program) = Arc::into_inner(program) else {
        unreachable!("the network that shared the program is gone")
    };
    program.distinct_costs = costs.into();
    program.measures = OnceLock::new();
    Ok(program)
}

const END: NodeId = 0;

/// A list whose items are stored once.
struct Interned<T> {
    items: Vec<T>,
    ids: FxHashMap<T, u32>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            ids: FxHashMap::default(),
        }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interned<T> {
    fn id(&mut self, item: T) -> u32 {
        if let Some(&id) = self.ids.get(&item) {
            return id;
        }
        let id = self.items.len() as u32;
        self.ids.insert(item.clone(), id);
        self.items.push(item);
        id
    }
}

struct Builder<'g> {
    grammar: &'g Grammar,
    nullable: &'g [bool],
    limits: &'g Limits,
    nodes: Vec<Node>,
    node_ids: FxHashMap<Node, NodeId>,
    procs: Vec<Proc>,
    own_procs: FxHashMap<(ExprId, Option<Guide>), ProcId>,
    /// The node at which a value of an object or array begins.
    values: FxHashMap<ExprId, NodeId>,
    /// Objects and arrays whose values are still to be built: a list instead of a recursion, since shapes nest without end.
    pending: Vec<Pending>,
    terminals: Interned<TerminalSpec>,
    /// Which terminal an expression became.
    terminal_exprs: Vec<(ExprId, u32)>,
    tokens: Interned<TokenTerminal>,
    objects: Vec<ObjectProgram>,
    object_ids: FxHashMap<ExprId, u32>,
    arrays: Vec<ArrayProgram>,
    array_ids: FxHashMap<ExprId, u32>,
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
        let id = self.nodes.len() as NodeId;
        self.nodes.push(node);
        Ok(id)
    }

    /// Adds a node, or finds the equal one.
    fn node(&mut self, node: Node) -> Result<NodeId, LimitExceeded> {
        if let Some(&id) = self.node_ids.get(&node) {
            return Ok(id);
        }
        let id = self.push(node.clone())?;
        self.node_ids.insert(node, id);
        Ok(id)
    }

    /// The node at which a text of the expression begins that goes on at `next`.
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
            Expr::Bytes(bytes) => self.terminal(id, TerminalSpec::Bytes(bytes.clone()), next),
            Expr::Regular(regular) => {
                let node = self.terminal(id, TerminalSpec::Regular(regular.clone()), next)?;
                self.or_nothing(id, node, next)
            }
            Expr::Literals(set) => {
                let node = self.terminal(id, TerminalSpec::Literals(set.clone()), next)?;
                self.or_nothing(id, node, next)
            }
            Expr::Number(set) => self.terminal(id, TerminalSpec::Number(set.clone()), next),
            Expr::String(shape) => self.terminal(id, TerminalSpec::String(shape.clone()), next),
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
                let arms: Result<Box<[NodeId]>, _> = arms
                    .iter()
                    .map(|&arm| self.expr(arm, next, depth + 1))
                    .collect();
                self.node(Node::Split(arms?))
            }
            Expr::Repeat { body, min, max } => self.repeat(*body, *min, *max, next, depth),
            Expr::Capture { body, .. } => self.expr(*body, next, depth + 1),
            Expr::Guided { guide, body } => {
                let proc = self.own_proc(*body, Some(*guide), depth)?;
                self.node(Node::Call { proc, next })
            }
            Expr::Rule(rule) => self.node(Node::Call { proc: rule.0, next }),
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

    /// A terminal, or what follows it where it may take nothing.
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

    fn terminal(
        &mut self,
        id: ExprId,
        spec: TerminalSpec,
        next: NodeId,
    ) -> Result<NodeId, LimitExceeded> {
        let terminal = self.terminals.id(spec);
        self.terminal_exprs.push((id, terminal));
        self.node(Node::Terminal { terminal, next })
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
                // A loop: the node is made first, so that its body can lead back to it.
                let again = self.push(Node::Split([].into()))?;
                let once = self.expr(body, again, depth + 1)?;
                self.nodes[again as usize] = Node::Split([once, next].into());
                Ok(if min == 0 { again } else { once })
            }
            _ => {
                let proc = self.own_proc(body, None, depth)?;
                // A body that may be empty can be so all the times that are missing.
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

    /// The procedure of what is counted or guided, and so has to be known from below.
    fn own_proc(
        &mut self,
        body: ExprId,
        guide: Option<Guide>,
        depth: u32,
    ) -> Result<ProcId, LimitExceeded> {
        if let Some(&proc) = self.own_procs.get(&(body, guide)) {
            return Ok(proc);
        }
        let entry = self.expr(body, END, depth + 1)?;
        let proc = self.procs.len() as ProcId;
        self.procs.push(Proc {
            entry,
            nullable: self.nullable[body.index()],
            guide,
        });
        self.own_procs.insert((body, guide), proc);
        Ok(proc)
    }

    fn object(&mut self, id: ExprId) -> u32 {
        if let Some(&object) = self.object_ids.get(&id) {
            return object;
        }
        let object = self.objects.len() as u32;
        self.object_ids.insert(id, object);
        let Expr::Object(shape) = self.grammar.expr(id) else {
            unreachable!("called for objects only")
        };
        self.objects.push(sorted_keys(shape));
        self.pending.push(Pending::Object(object, id));
        object
    }

    fn array(&mut self, id: ExprId) -> u32 {
        if let Some(&array) = self.array_ids.get(&id) {
            return array;
        }
        let array = self.arrays.len() as u32;
        self.array_ids.insert(id, array);
        let Expr::Array(shape) = self.grammar.expr(id) else {
            unreachable!("called for arrays only")
        };
        self.arrays.push(ArrayProgram {
            prefix: [].into(),
            rest: None,
            min: shape.min_items,
            max: shape.max_items,
            tallies: shape.tallies.clone().into(),
            unique: shape.unique,
        });
        self.pending.push(Pending::Array(array, id));
        array
    }

    fn value(&mut self, id: ExprId) -> Result<NodeId, LimitExceeded> {
        if let Some(&node) = self.values.get(&id) {
            return Ok(node);
        }
        let node = self.expr(id, END, 0)?;
        self.values.insert(id, node);
        Ok(node)
    }

    fn slot(&mut self, slot: &structgen_grammar::Slot) -> Result<Slot, LimitExceeded> {
        let alternatives = slot.alternatives.iter().map(|alternative| {
            Ok(Alternative {
                node: self.value(alternative.value)?,
                tallies: alternative.tallies,
            })
        });
        alternatives.collect()
    }

    /// The classes of undeclared keys: the patterns, and what matches none of them.
    fn classes(&mut self, shape: &ObjectShape) -> Result<Box<[KeyClass]>, LimitExceeded> {
        let mut classes = Vec::with_capacity(shape.patterns.len() + 1);
        for pattern in &shape.patterns {
            if RegularMachine::new(&pattern.keys, self.limits.regular)?.contains_every_text() {
                // No key is in another class.
                return Ok([KeyClass::new(None, self.slot(&pattern.value)?)].into());
            }
            classes.push(KeyClass::new(
                Some(pattern.keys.clone()),
                self.slot(&pattern.value)?,
            ));
        }
        if let Some(additional) = &shape.additional {
            let patterns: Arc<[Regular]> = shape
                .patterns
                .iter()
                .map(|pattern| pattern.keys.clone())
                .collect();
            let others = match patterns.len() {
                0 => None,
                1 => Some(Regular::Complement(patterns[0].clone().into())),
                _ => Some(Regular::Complement(Regular::Union(patterns).into())),
            };
            classes.push(KeyClass::new(others, self.slot(additional)?));
        }
        Ok(classes.into())
    }

    fn finish_pending(&mut self) -> Result<(), LimitExceeded> {
        let grammar = self.grammar;
        while let Some(pending) = self.pending.pop() {
            match pending {
                Pending::Object(object, id) => {
                    let Expr::Object(shape) = grammar.expr(id) else {
                        unreachable!("pushed for objects only")
                    };
                    let object = object as usize;
                    for (i, property) in shape.properties.iter().enumerate() {
                        self.objects[object].properties[i].value = self.slot(&property.value)?;
                    }
                    self.objects[object].classes = self.classes(shape)?;
                }
                Pending::Array(array, id) => {
                    let Expr::Array(shape) = grammar.expr(id) else {
                        unreachable!("pushed for arrays only")
                    };
                    let prefix: Result<_, _> =
                        shape.prefix.iter().map(|slot| self.slot(slot)).collect();
                    self.arrays[array as usize].prefix = prefix?;
                    self.arrays[array as usize].rest = shape
                        .rest
                        .as_ref()
                        .map(|slot| self.slot(slot))
                        .transpose()?;
                }
            }
        }
        Ok(())
    }
}

/// An object with its keys, its values still to be built.
fn sorted_keys(shape: &ObjectShape) -> ObjectProgram {
    let mut labels: Vec<u32> = (0..shape.properties.len() as u32).collect();
    labels.sort_by(|&a, &b| {
        shape.properties[a as usize]
            .key
            .cmp(&shape.properties[b as usize].key)
    });
    let mut places = vec![0; labels.len()];
    for (place, &label) in labels.iter().enumerate() {
        places[label as usize] = place as u32;
    }
    ObjectProgram {
        properties: shape
            .properties
            .iter()
            .map(|property| PropertyProgram {
                key: property.key.clone(),
                value: [].into(),
                required: property.required,
                absent: property.absent,
            })
            .collect(),
        ordered: shape.ordered.min(shape.properties.len() as u32),
        classes: [].into(),
        covers: shape.additional.is_some(),
        min: shape.min_members,
        max: shape.max_members,
        tallies: shape.tallies.clone().into(),
        keys: labels
            .iter()
            .map(|&label| shape.properties[label as usize].key.clone())
            .collect(),
        labels: labels.into(),
        places: places.into(),
    }
}
