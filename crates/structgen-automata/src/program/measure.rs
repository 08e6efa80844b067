//! The least costs of completions from every node, in bytes and in depth of nesting.

use std::cell::Cell;
use std::sync::OnceLock;

use structgen_grammar::lists::Lists;
use structgen_regular::CancelToken;

use super::{
    ArrayProgram, Counts, MembersLeft, Meter, Node, NodeId, ObjectProgram, ProcId, Program, Slot,
};
use crate::LimitExceeded;
use crate::json::class_of;
use crate::machine::MAX_COST;

/// The bytes that a key takes beyond its text: two quotes and a colon.
pub(super) const KEY_PUNCTUATION: u64 = 3;

/// The cost of a value is capped at this where members are added up: the sum never overflows, and what never completes
/// stays the dearest.
const MAX_VALUE: u64 = u64::MAX / 4;

/// The maximum number of properties of an object whose members are counted: every key is weighed against all others.
const MAX_COUNTED: usize = 2_000;

/// The costs of completions; `u64::MAX` stands for what never completes.
#[derive(Debug)]
pub(crate) struct Measures {
    /// The bytes from a node to the end of its procedure.
    cost: Vec<u64>,
    /// By object and property: the bytes of a member, which are key, colon and value.
    pub(crate) member: Vec<Box<[u64]>>,
    /// By object: what is added to the weight of every key, so that none is negative.
    pub(crate) key_offset: Vec<u32>,
    levels: OnceLock<u32>,
    /// The plans of all objects together took too much work, and some costs are unknown.
    exceeded: Option<LimitExceeded>,
}

/// What the values in arrays and objects cost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inside<'m> {
    /// The same as outside: nesting has no limit.
    Unlimited,
    /// What they cost with one level less.
    Within(&'m Measures),
    /// There is no level left for arrays and objects.
    Full,
}

/// The work of all plans of one pass over a program.
struct Plans {
    spent: Cell<u64>,
    limit: u64,
    cancel: Option<CancelToken>,
}

impl Plans {
    fn new(program: &Program) -> Self {
        Self {
            spent: Cell::new(0),
            limit: program.limits.work,
            cancel: program.limits.cancel.clone(),
        }
    }

    fn meter(&self) -> Meter<'_> {
        Meter {
            spent: &self.spent,
            limit: self.limit,
            cancel: self.cancel.as_ref(),
        }
    }
}

impl Measures {
    /// Returns the bytes from a node to the end of its procedure.
    pub(crate) fn cost(&self, node: NodeId) -> u64 {
        self.cost[node.index()]
    }

    /// Returns the number of bytes that it owns.
    pub(crate) fn memory(&self) -> usize {
        let members = self.member.iter().map(|members| size_of_val(&**members));
        size_of_val(&*self.cost) + size_of_val(&*self.key_offset) + members.sum::<usize>()
    }

    /// Returns the bytes from the entry of a procedure to its end.
    pub(crate) fn proc_cost(&self, program: &Program, proc: ProcId) -> u64 {
        self.cost(program.proc(proc).entry)
    }
}

impl Program {
    /// Returns the costs of all nodes before any value is written that others refer to, computed on demand.
    pub(crate) fn measures(&self) -> &Measures {
        self.measures.get_or_init(|| {
            let costs: Vec<u64> = self.related.iter().map(|related| related.cost).collect();
            self.measures_with(&costs, Inside::Unlimited)
        })
    }

    /// Returns the costs of all nodes, given those of the values that take part in relations and of what is inside
    /// arrays and objects.
    pub(crate) fn measures_with(&self, costs: &[u64], inside: Inside<'_>) -> Measures {
        let plans = Plans::new(self);
        let cost = fixpoint(self, u64::MAX, |id, cost| {
            node_cost(self, id, cost, (costs, inside), plans.meter())
        });
        let at = |node: NodeId| cost[node.index()];
        let member: Vec<Box<[u64]>> = self
            .objects
            .iter()
            .map(|object| {
                (0..object.properties.len())
                    .map(|i| object.member_cost(i, &at))
                    .collect()
            })
            .collect();
        let offset = |(object, members): (&ObjectProgram, &[u64])| {
            let required = object
                .properties
                .iter()
                .zip(members)
                .filter(|(property, _)| property.required);
            required
                .map(|(_, &member)| clamp(member) + 1)
                .max()
                .unwrap_or(0)
        };
        let members = member.iter().map(|members| &**members);
        let key_offset = self.objects.iter().zip(members).map(offset).collect();
        Measures {
            cost,
            member,
            key_offset,
            levels: OnceLock::new(),
            exceeded: plans.meter().spend(0).err(),
        }
    }

    /// Returns the minimum number of levels of nesting that a node needs; `u32::MAX` for what never completes.
    pub(crate) fn height(&self, node: NodeId) -> u32 {
        let heights = self.heights.get_or_init(|| self.heights_of(None));
        heights[node.index()]
    }

    /// Returns whether all known completions take at most this many levels of nesting.
    pub(crate) fn nests_within(&self, measures: &Measures, levels: u32) -> bool {
        // No completion has an array or object in itself.
        let most = self.objects.len() + self.arrays.len();
        let needed = || {
            let heights = self.heights_of(Some(measures)).into_iter();
            heights.filter(|&it| it != u32::MAX).max().unwrap_or(0)
        };
        most <= levels as usize || *measures.levels.get_or_init(needed) <= levels
    }

    /// Returns the minimum number of levels of nesting by node, of all completions or of the cheapest.
    fn heights_of(&self, cheapest: Option<&Measures>) -> Vec<u32> {
        let plans = Plans::new(self);
        fixpoint(self, u32::MAX, |id, height| {
            node_height(self, id, height, cheapest, plans.meter())
        })
    }

    /// Returns what a key adds to the cost of an object beyond its text: its colon and value, minus its cost as a
    /// missing member if it is required. An offset that is the same for all keys of the object keeps it positive.
    pub(crate) fn key_weight(&self, measures: &Measures, object: u32, label: u32) -> u32 {
        let shape = &self.objects[object as usize];
        let value = clamp(least(shape.slot(label), |node| measures.cost(node)));
        let property = match class_of(label) {
            None => shape.properties.get(label as usize),
            Some(_) => None,
        };
        let share = match property {
            Some(property) if property.required => {
                clamp(measures.member[object as usize][label as usize]) + 1
            }
            _ => 0,
        };
        measures.key_offset[object as usize] + 1 + value - share
    }
}

fn clamp(cost: u64) -> u32 {
    cost.min(u64::from(MAX_COST)) as u32
}

/// Computes the greatest fixpoint: every value starts at `top` and is lowered until nothing changes.
fn fixpoint<T: Copy + PartialOrd>(
    program: &Program,
    top: T,
    value: impl Fn(NodeId, &[T]) -> T,
) -> Vec<T> {
    let n = program.nodes.len();
    let users = users(program);
    let mut values = vec![top; n];
    let mut queued = vec![true; n];
    let mut queue: std::collections::VecDeque<NodeId> = (0..n).map(NodeId::new).collect();
    while let Some(id) = queue.pop_front() {
        queued[id.index()] = false;
        let new = value(id, &values);
        if new < values[id.index()] {
            values[id.index()] = new;
            for &user in users.of(id.index()) {
                if !std::mem::replace(&mut queued[user as usize], true) {
                    queue.push_back(NodeId::new(user as usize));
                }
            }
        }
    }
    values
}

/// Returns the nodes that depend on each node.
fn users(program: &Program) -> Lists {
    let mut users = Vec::with_capacity(program.nodes.len());
    for (id, node) in (0..).zip(&program.nodes) {
        let mut uses = |used: NodeId| users.push((used.index() as u32, id));
        match node {
            Node::End => {}
            Node::Terminal { next, .. } | Node::Related { next, .. } | Node::Token { next, .. } => {
                uses(*next);
            }
            Node::Split(arms) => arms.iter().copied().for_each(uses),
            Node::Call { proc, next } | Node::Repeat { proc, next, .. } => {
                uses(*next);
                uses(program.proc(*proc).entry);
            }
            Node::Object { object, next } => {
                uses(*next);
                let object = &program.objects[*object as usize];
                let needed = object.slots().enumerate().filter(|(i, _)| {
                    object.is_counted()
                        || object
                            .properties
                            .get(*i)
                            .is_some_and(|property| property.required)
                });
                needed
                    .flat_map(|(_, slot)| slot)
                    .for_each(|alternative| uses(alternative.node));
            }
            Node::Array { array, next } => {
                uses(*next);
                let array = &program.arrays[*array as usize];
                let needed = match array.remembers() {
                    true => array.prefix.len() as u32 + 1,
                    false => array.min.min(array.prefix.len() as u32 + 1),
                };
                (0..needed)
                    .filter_map(|i| array.slot(i))
                    .flatten()
                    .for_each(|alternative| uses(alternative.node));
            }
        }
    }
    Lists::new(program.nodes.len(), &users)
}

fn node_cost(
    program: &Program,
    id: NodeId,
    cost: &[u64],
    (related, inside): (&[u64], Inside<'_>),
    meter: Meter<'_>,
) -> u64 {
    let at = |node: NodeId| cost[node.index()];
    let within = |node: NodeId| match inside {
        Inside::Within(measures) => measures.cost(node),
        _ => at(node),
    };
    match program.node(id) {
        Node::Object { .. } | Node::Array { .. } if matches!(inside, Inside::Full) => u64::MAX,
        Node::End => 0,
        Node::Terminal { terminal, next } => {
            u64::from(program.text_costs[*terminal as usize]).saturating_add(at(*next))
        }
        Node::Related { related: it, next } => related[*it as usize].saturating_add(at(*next)),
        Node::Token { next, .. } => at(*next).saturating_add(1),
        Node::Split(arms) => arms.iter().map(|&arm| at(arm)).min().unwrap_or(u64::MAX),
        Node::Call { proc, next } => {
            let body = if program.proc(*proc).nullable {
                0
            } else {
                at(program.proc(*proc).entry)
            };
            body.saturating_add(at(*next))
        }
        Node::Repeat {
            proc, min, next, ..
        } => {
            let body = at(program.proc(*proc).entry);
            let times = if *min == 0 {
                0
            } else {
                body.saturating_mul(u64::from(*min))
            };
            times.saturating_add(at(*next))
        }
        Node::Object { object, next } => {
            let cost = program.object_cost_with(*object, &within, meter);
            let cost = cost.ok().flatten().unwrap_or(u64::MAX);
            cost.saturating_add(1).saturating_add(at(*next))
        }
        Node::Array { array, next } => {
            let cost = program.array_cost_with(*array, &within, meter);
            let cost = cost.ok().flatten();
            let cost = cost.unwrap_or(u64::MAX);
            cost.saturating_add(1).saturating_add(at(*next))
        }
    }
}

/// Returns the least cost of the alternatives.
fn least(slot: &Slot, at: impl Fn(NodeId) -> u64) -> u64 {
    let costs = slot.iter().map(|alternative| at(alternative.node));
    costs.min().unwrap_or(u64::MAX)
}

impl Program {
    /// Fails if an object whose members are counted has too many properties.
    pub(super) fn check_counted(&self, object: u32) -> Result<(), LimitExceeded> {
        match self.objects[object as usize].properties.len() {
            0..=MAX_COUNTED => Ok(()),
            _ => Err(LimitExceeded {
                what: "properties of an object whose members are counted",
                limit: MAX_COUNTED as u64,
            }),
        }
    }

    /// Fails if the plans of all objects and arrays together take too much work.
    pub(super) fn check_plans(&self) -> Result<(), LimitExceeded> {
        let exceeded = self.measures().exceeded.clone();
        exceeded.map_or(Ok(()), Err)
    }

    /// Returns the bytes of an object after its opening brace; `None` if its counts cannot be met.
    pub(super) fn object_cost(&self, object: u32) -> Result<Option<u64>, LimitExceeded> {
        let measures = self.measures();
        let plans = Plans::new(self);
        self.object_cost_with(object, &|node| measures.cost(node), plans.meter())
    }

    fn object_cost_with(
        &self,
        object: u32,
        at: &impl Fn(NodeId) -> u64,
        meter: Meter<'_>,
    ) -> Result<Option<u64>, LimitExceeded> {
        let object = &self.objects[object as usize];
        if !object.is_counted() {
            return Ok(Some(object.cost(at, |_| true)));
        }
        let left = MembersLeft {
            object,
            limits: self.limits.regular,
            is_past: |_| false,
            cost: |node| Some(at(node)).filter(|&cost| cost != u64::MAX),
            meter,
        };
        // The first member has no comma, and the closing brace is one byte.
        Ok(left.cost(&object.no_counts())?.map(|cost| cost.max(1)))
    }

    /// Returns the bytes of an array after its opening bracket; `None` if its counts cannot be met.
    pub(super) fn array_cost(&self, array: u32) -> Result<Option<u64>, LimitExceeded> {
        let measures = self.measures();
        let plans = Plans::new(self);
        self.array_cost_with(array, &|node| measures.cost(node), plans.meter())
    }

    fn array_cost_with(
        &self,
        array: u32,
        at: &impl Fn(NodeId) -> u64,
        meter: Meter<'_>,
    ) -> Result<Option<u64>, LimitExceeded> {
        let shape = &self.arrays[array as usize];
        if !shape.remembers() {
            return Ok(Some(shape.cost_from(0, at)));
        }
        let distinct = self.distinct_costs.get(array as usize).copied().flatten();
        let cost = |node| Some(at(node)).filter(|&cost| cost != u64::MAX);
        let left = shape.items_left(&shape.no_counts(), cost, meter)?;
        Ok(left.map(|cost| cost.max(distinct.unwrap_or(1))))
    }
}

impl ObjectProgram {
    /// Returns the bytes of the required members that are `missing`, of the commas between them, and of the closing
    /// brace.
    pub(crate) fn cost(&self, at: &impl Fn(NodeId) -> u64, missing: impl Fn(usize) -> bool) -> u64 {
        let members = self
            .properties
            .iter()
            .enumerate()
            .filter(|(i, property)| property.required && missing(*i));
        let mut cost = 0_u64;
        let mut count = 0_u64;
        for (i, _) in members {
            cost = cost.saturating_add(self.member_cost(i, at));
            count += 1;
        }
        cost.saturating_add(count.saturating_sub(1))
            .saturating_add(1)
    }

    /// Returns the bytes of a member: key, colon and value.
    pub(crate) fn member_cost(&self, property: usize, at: &impl Fn(NodeId) -> u64) -> u64 {
        let property = &self.properties[property];
        let value = least(&property.value, at).min(MAX_VALUE);
        u64::from(property.key_length) + KEY_PUNCTUATION + value
    }
}

impl ArrayProgram {
    /// Returns the cost of the items that are missing after those counted, in an array with tallies, each with its
    /// comma; `None` if the counts cannot be met.
    fn items_left(
        &self,
        counts: &Counts,
        cost: impl Fn(NodeId) -> Option<u64>,
        meter: Meter<'_>,
    ) -> Result<Option<u64>, LimitExceeded> {
        let way = self.way_to_end(counts, cost, meter)?;
        Ok(way.and_then(|way| way.first().map(|&(_, cost)| cost)))
    }

    /// Returns the bytes of the items that are missing after `count` others, with their commas, and of the closing
    /// bracket.
    pub(crate) fn cost_from(&self, count: u32, at: &impl Fn(NodeId) -> u64) -> u64 {
        let listed = self.prefix.len() as u32;
        let mut cost = 1_u64;
        for i in count..self.min.min(listed).max(count) {
            cost = cost
                .saturating_add(least(&self.prefix[i as usize], at))
                .saturating_add(u64::from(i > 0));
        }
        let from = count.max(listed);
        if self.min > from {
            let item = self.rest.as_ref().map_or(u64::MAX, |slot| least(slot, at));
            let item = item.saturating_add(1);
            cost = cost
                .saturating_add(item.saturating_mul(u64::from(self.min - from)))
                .saturating_sub(u64::from(from == 0));
        }
        cost
    }
}

fn node_height(
    program: &Program,
    id: NodeId,
    height: &[u32],
    cheapest: Option<&Measures>,
    meter: Meter<'_>,
) -> u32 {
    let at = |node: NodeId| height[node.index()];
    let cost = |node: NodeId| cheapest.map_or(0, |measures| measures.cost(node));
    // The least height of the cheapest of some alternatives.
    let least = |nodes: &mut dyn Iterator<Item = NodeId>| {
        let each = nodes.map(|node| (cost(node), at(node)));
        each.min().map_or(u32::MAX, |(_, height)| height)
    };
    let least_of = |slot: &Slot| least(&mut slot.iter().map(|alternative| alternative.node));
    let within = |node: NodeId, limit: u32| (at(node) <= limit).then(|| cost(node));
    let is_cheapest = cheapest.is_some();
    match program.node(id) {
        Node::End => 0,
        Node::Terminal { next, .. } | Node::Related { next, .. } | Node::Token { next, .. } => {
            at(*next)
        }
        Node::Split(arms) => least(&mut arms.iter().copied()),
        Node::Call { proc, next } => {
            let body = if program.proc(*proc).nullable {
                0
            } else {
                at(program.proc(*proc).entry)
            };
            body.max(at(*next))
        }
        Node::Repeat {
            proc, min, next, ..
        } => {
            let body = if *min == 0 {
                0
            } else {
                at(program.proc(*proc).entry)
            };
            body.max(at(*next))
        }
        Node::Object { object, next } => {
            let object = &program.objects[*object as usize];
            let inside = match object.is_counted() {
                true => lowest(object.slots(), &at, is_cheapest, |limit| {
                    let left = MembersLeft {
                        object,
                        limits: program.limits.regular,
                        is_past: |_| false,
                        cost: |node| within(node, limit),
                        meter,
                    };
                    left.cost(&object.no_counts())
                }),
                false => {
                    let required = object
                        .properties
                        .iter()
                        .filter(|property| property.required);
                    let heights = required.map(|property| least_of(&property.value));
                    heights.max().unwrap_or(0)
                }
            };
            inside.saturating_add(1).max(at(*next))
        }
        Node::Array { array, next } => {
            let array = &program.arrays[*array as usize];
            let inside = match array.remembers() {
                true => lowest(
                    array.prefix.iter().chain(&array.rest),
                    &at,
                    is_cheapest,
                    |limit| array.items_left(&array.no_counts(), |node| within(node, limit), meter),
                ),
                false => {
                    let needed = array.min.min(array.prefix.len() as u32 + 1);
                    let items = (0..needed).filter_map(|i| array.slot(i));
                    items.map(least_of).max().unwrap_or(0)
                }
            };
            inside.saturating_add(1).max(at(*next))
        }
    }
}

/// Returns the least height of values with which something can be completed, as cheaply as with all values if
/// `is_cheapest`; `left` returns what that costs with values up to a height. Where a limit leaves this open, the answer
/// is the height of the highest.
fn lowest<'s>(
    slots: impl Iterator<Item = &'s Slot>,
    at: &impl Fn(NodeId) -> u32,
    is_cheapest: bool,
    left: impl Fn(u32) -> Result<Option<u64>, LimitExceeded>,
) -> u32 {
    let mut heights = vec![0];
    heights.extend(slots.flatten().map(|alternative| at(alternative.node)));
    heights.sort_unstable();
    heights.dedup();
    let highest = heights.last().copied().unwrap_or(u32::MAX);
    let Ok(least) = is_cheapest.then(|| left(highest)).transpose() else {
        return highest;
    };
    let is_enough = |height: u32| match left(height) {
        Ok(cost) => cost.is_some() && least.is_none_or(|least| cost == least),
        Err(_) => height == highest,
    };
    let first = heights.partition_point(|&height| !is_enough(height));
    heights.get(first).copied().unwrap_or(u32::MAX)
}
