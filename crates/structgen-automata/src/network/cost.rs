//! What it takes to complete a text: the cost of a known completion, in bytes.
//!
//! The rule of [`Machine::cost`](crate::Machine::cost) holds for whole states too: from every state that is not accepting, some byte leads to a
//! state of a smaller cost. Whoever never takes a step to a state that costs more than is left can always finish.

use super::sets::Place;
use super::{Element, Frame, Network, SetId};
use crate::json::MORE;
use crate::program::{Measures, Node, Program};

impl Network {
    /// How many bytes a known completion of the state takes: 0 where the text may end.
    pub fn cost(&mut self, set: SetId) -> u64 {
        if let Some(&known) = self.costs.get(&set) {
            return known;
        }
        let program = self.program.clone();
        let measures = program.measures();
        // What waits is worked out from the bottom up, with a list instead of a recursion: stacks are as deep as texts.
        let mut todo: Vec<SetId> = self
            .sets
            .elements(set)
            .iter()
            .map(|element| element.below)
            .collect();
        while let Some(&waiting) = todo.last() {
            if self.costs.contains_key(&waiting) {
                todo.pop();
                continue;
            }
            let missing: Vec<SetId> = self
                .sets
                .elements(waiting)
                .iter()
                .map(|element| element.below)
                .filter(|below| !self.costs.contains_key(below))
                .collect();
            if missing.is_empty() {
                let cost = self.cheapest(&program, measures, waiting);
                self.costs.insert(waiting, cost);
                todo.pop();
            } else {
                todo.extend(missing);
            }
        }
        let cost = self.cheapest(&program, measures, set);
        self.costs.insert(set, cost);
        cost
    }

    fn cheapest(&mut self, program: &Program, measures: &Measures, set: SetId) -> u64 {
        let mut best = if set == SetId::DEAD { 0 } else { u64::MAX };
        for i in 0..self.sets.elements(set).len() {
            let Element { frame, below } = self.sets.elements(set)[i];
            let below_cost = self.costs.get(&below).copied().unwrap_or(0);
            let own = if frame.reads() {
                self.reading_cost(program, measures, frame, below)
            } else {
                self.waiting_cost(program, measures, frame)
            };
            best = best.min(own.saturating_add(below_cost));
        }
        best
    }

    fn reading_cost(
        &mut self,
        program: &Program,
        measures: &Measures,
        frame: Frame,
        below: SetId,
    ) -> u64 {
        let at = |node: u32| measures.cost[node as usize];
        let own = u64::from(self.terminals.get_mut(frame.terminal).cost(frame.state));
        let more = self.terminals.get(frame.terminal).accept(frame.state) == Some(MORE);
        match frame.place() {
            Place::Node(node) => match *program.node(node) {
                Node::Terminal { next, .. } => own.saturating_add(at(next)),
                _ => unreachable!("only terminals are in progress"),
            },
            Place::ObjectOpen(object) => {
                if self
                    .key_terminal(object, frame.data, below)
                    .ok()
                    .flatten()
                    .is_none()
                {
                    return own;
                }
                let register = self.registers.object(frame.data);
                own.saturating_add(
                    program.objects[object as usize]
                        .cost(&at, |i| !register.has(i, program.form.order)),
                )
            }
            Place::ObjectAfter(object) if more => {
                match self.key_terminal(object, frame.data, below) {
                    Ok(Some(terminal)) => {
                        let key = self
                            .terminals
                            .get_mut(terminal)
                            .cost(crate::terminal::START);
                        self.key_cost(measures, object, frame.data, key)
                    }
                    _ => u64::MAX,
                }
            }
            Place::ObjectAfter(object) => self.members_cost(measures, object, frame.data),
            Place::ObjectKey(object) => self.key_cost(
                measures,
                object,
                frame.data,
                u32::try_from(own).unwrap_or(u32::MAX),
            ),
            Place::ObjectColon(object) => {
                let value = at(program.objects[object as usize].value(frame.extra));
                own.saturating_add(value)
                    .saturating_add(self.members_cost(measures, object, frame.data))
            }
            Place::ArrayOpen(array) => {
                // Where no item may come, the terminal's own cost has the bracket in it.
                if !self.item_allowed(array, 0, below) {
                    return own;
                }
                let array = &program.arrays[array as usize];
                own.saturating_add(array.cost_from(0, &at))
            }
            Place::ArrayAfter(array) => {
                let array = &program.arrays[array as usize];
                if !more {
                    return array.cost_from(frame.data, &at);
                }
                let item = array.item(frame.data).map_or(u64::MAX, at);
                item.saturating_add(array.cost_from(frame.data + 1, &at))
            }
            Place::Return(_) | Place::Repeat(_) | Place::LeftCorner(_) | Place::Accept => {
                unreachable!("frames that wait have no terminal")
            }
        }
    }

    fn waiting_cost(&mut self, program: &Program, measures: &Measures, frame: Frame) -> u64 {
        let at = |node: u32| measures.cost[node as usize];
        match frame.place() {
            Place::Accept => 0,
            Place::Return(node) => at(node),
            Place::Node(node) => match *program.node(node) {
                Node::Token { next, .. } => at(next).saturating_add(1),
                _ => unreachable!("terminals do not wait"),
            },
            Place::Repeat(node) => match *program.node(node) {
                Node::Repeat {
                    proc, min, next, ..
                } => {
                    let missing = u64::from(min.saturating_sub(frame.data + 1));
                    let body = if missing == 0 {
                        0
                    } else {
                        measures.proc_cost(program, proc).saturating_mul(missing)
                    };
                    body.saturating_add(at(next))
                }
                _ => unreachable!("only repetitions count"),
            },
            Place::LeftCorner(proc) => left_corner_cost(program, measures, frame.extra, proc),
            Place::ObjectAfter(object) => self.members_cost(measures, object, frame.data),
            Place::ArrayAfter(array) => program.arrays[array as usize].cost_from(frame.data, &at),
            Place::ObjectOpen(_)
            | Place::ObjectKey(_)
            | Place::ObjectColon(_)
            | Place::ArrayOpen(_) => {
                unreachable!("these frames read, they do not wait")
            }
        }
    }

    /// The members that an object still needs, each with its comma, and the closing brace.
    fn members_cost(&self, measures: &Measures, object: u32, register: u32) -> u64 {
        let register = self.registers.object(register);
        let missing = self.missing(object, register);
        missing
            .map(|i| measures.member[object as usize][i].saturating_add(1))
            .fold(1, u64::saturating_add)
    }

    /// A key whose text and value weigh `key`, and all that follows in the object.
    fn key_cost(&self, measures: &Measures, object: u32, register: u32, key: u32) -> u64 {
        let rest = self.members_cost(measures, object, register);
        u64::from(key)
            .saturating_add(rest)
            .saturating_sub(u64::from(measures.key_offset[object as usize]))
    }
}

/// From the end of `proc` to the end of `root`, which began with it: a shortest path over the places that begin with one another.
fn left_corner_cost(program: &Program, measures: &Measures, root: u32, proc: u32) -> u64 {
    let reach = program.left_recursion.reach(root);
    let place = |proc: u32| reach.binary_search(&proc).ok();
    let mut cost = vec![u64::MAX; reach.len()];
    if let Some(place) = place(root) {
        cost[place] = 0;
    }
    // Every round settles at least one more procedure.
    for _ in 0..reach.len() {
        let mut changed = false;
        for (i, &inner) in reach.iter().enumerate() {
            for site in program.left_recursion.sites(inner) {
                let Some(within) = place(site.within) else {
                    continue;
                };
                let rest = match *program.node(site.node) {
                    Node::Call { next, .. } => measures.cost[next as usize],
                    Node::Repeat {
                        proc, min, next, ..
                    } => measures
                        .proc_cost(program, proc)
                        .saturating_mul(u64::from(min.saturating_sub(1)))
                        .saturating_add(measures.cost[next as usize]),
                    _ => continue,
                };
                let through = rest.saturating_add(cost[within]);
                if through < cost[i] {
                    cost[i] = through;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    place(proc).map_or(u64::MAX, |place| cost[place])
}
