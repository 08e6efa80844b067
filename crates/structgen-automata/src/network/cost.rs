//! The cost of a state: the length in bytes of a known completion.
//!
//! The rule of [`Machine::cost`](crate::Machine::cost) holds for whole states too: from every state that is not
//! accepting, some byte leads to a state of lower cost. So a caller that never steps to a state that costs more than
//! its remaining budget can always finish.

use super::sets::Place;
use super::terminals::KeyStart;
use super::written::CostClass;
use super::{Call, Element, Frame, SetId};
use crate::json::{CLOSE, MORE};
use crate::program::{Measures, Node, NodeId, ProcId, Program};

impl Call<'_> {
    /// Returns the length in bytes of a known completion of the state; 0 if the text may end.
    pub fn cost(&self, set: SetId) -> u64 {
        let has_relations = !self.program.related.is_empty();
        let class = match has_relations {
            true => CostClass::OWN,
            false => CostClass::default(),
        };
        if let Some(&known) = self.costs.get(&(set, class)) {
            return known;
        }
        let cost = if has_relations {
            let elements = self.sets.elements(set).iter();
            let costs = elements.map(|&Element { frame, below }| {
                let class = self.class_at(frame);
                let below_cost = self.cost_in(below, class);
                let own = self.own_cost_in(frame, below, class);
                own.saturating_add(below_cost)
            });
            match set {
                SetId::DEAD => 0,
                _ => costs.min().unwrap_or(u64::MAX),
            }
        } else {
            self.cost_in(set, class)
        };
        self.costs.insert((set, class), cost);
        cost
    }

    /// Returns the cost of completing a state, given the same class of related values everywhere.
    fn cost_in(&self, set: SetId, class: CostClass) -> u64 {
        let is_known = |set: SetId| self.costs.get(&(set, class)).is_some();
        // Sets that wait are computed from the bottom up, with a list instead of recursion, since stacks are as deep as
        // texts.
        let mut todo = vec![set];
        while let Some(&waiting) = todo.last() {
            if is_known(waiting) {
                todo.pop();
                continue;
            }
            let elements = self.sets.elements(waiting).iter();
            let missing = elements.map(|element| element.below);
            let missing: Vec<SetId> = missing.filter(|&below| !is_known(below)).collect();
            if missing.is_empty() {
                let cost = self.cheapest(waiting, class);
                self.costs.insert((waiting, class), cost);
                todo.pop();
            } else {
                todo.extend(missing);
            }
        }
        self.costs.get(&(set, class)).copied().unwrap_or(u64::MAX)
    }

    fn cheapest(&self, set: SetId, class: CostClass) -> u64 {
        let mut best = if set == SetId::DEAD { 0 } else { u64::MAX };
        for &Element { frame, below } in self.sets.elements(set) {
            let below_cost = self.costs.get(&(below, class)).copied().unwrap_or(0);
            let own = self.own_cost_in(frame, below, class);
            best = best.min(own.saturating_add(below_cost));
        }
        best
    }

    /// Returns the cost of completing the frame.
    pub(super) fn cost_within(&self, frame: Frame, below: SetId) -> u64 {
        self.own_cost_in(frame, below, self.class_at(frame))
    }

    fn own_cost_in(&self, frame: Frame, below: SetId, class: CostClass) -> u64 {
        let program = self.program.clone();
        self.with_written(frame.written, || {
            self.own_cost(&program, class, frame, below)
        })
    }

    /// Returns the costs of values in an array or object that has this below it.
    fn measures_inside(&self, class: CostClass, below: SetId) -> &Measures {
        self.measures_at(class, self.sets.depth(below) + 1)
    }

    fn own_cost(&self, program: &Program, class: CostClass, frame: Frame, below: SetId) -> u64 {
        // While required whitespace is read, it counts byte by byte. Elsewhere every byte counts with the widest
        // whitespace, since a structural byte has at most that much after it.
        if !frame.reads() {
            return self.waiting_cost(program, class, frame, below);
        }
        match self.terminals.get(frame.terminal).forced(frame.state) {
            Some((left, CLOSE)) => left.into(),
            forced => {
                let own = self.reading_cost(program, class, frame, below);
                own.saturating_add(forced.map_or(0, |(left, _)| left.into()))
            }
        }
    }

    /// Returns an upper bound on how long a compact text of this length is in the program's form.
    fn wide(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.program.widest_byte())
    }

    /// Returns the number of bytes of required whitespace that come next.
    pub(super) fn required_left(&self, set: SetId) -> u32 {
        if self.program.widest_byte() == 1 {
            return 0;
        }
        let reading = self.sets.elements(set).iter().map(|element| element.frame);
        let mut left = reading.filter(|frame| frame.reads()).filter_map(|frame| {
            let forced = self.terminals.get(frame.terminal).forced(frame.state)?;
            Some(forced.0)
        });
        left.next().unwrap_or(0)
    }

    /// Returns the cost of the rest of a distinct item.
    fn item_cost(&self, frame: Frame) -> u64 {
        let terminal = self.terminals.get(frame.terminal);
        let cost = terminal.cost(frame.state).into();
        // A listed item is a string. The network of any other has counted the whitespace already.
        match terminal.is_string() {
            true => self.wide(cost),
            false => cost,
        }
    }

    fn reading_cost(&self, program: &Program, class: CostClass, frame: Frame, below: SetId) -> u64 {
        let outside = || self.measures_at(class, self.sets.depth(below));
        let at = |node: NodeId| self.measures_inside(class, below).cost(node);
        let own = u64::from(self.terminals.get(frame.terminal).cost(frame.state));
        let terminal = self.terminals.get(frame.terminal);
        let forced = terminal.forced(frame.state).is_some();
        let more = forced || terminal.accept(frame.state) == Some(MORE);
        // After the first byte of a required line break, an opened bracket is like a comma: something follows.
        let place = match frame.place() {
            Place::ObjectOpen(object) if forced => Place::ObjectAfter(object),
            Place::ArrayOpen(array) if forced => Place::ArrayAfter(array),
            place => place,
        };
        let bytes = match place {
            Place::Node(node) | Place::Referent(node) => match *program.node(node) {
                Node::Terminal { next, .. } | Node::Related { next, .. } => {
                    own.saturating_add(outside().cost(next))
                }
                _ => unreachable!("only terminals are in progress"),
            },
            Place::ObjectOpen(object) => {
                if self
                    .key_start(object, frame.data, below)
                    .ok()
                    .flatten()
                    .is_none()
                {
                    return self.wide(own);
                }
                // The first member has no comma.
                let members = self.members_cost(class, object, frame.data, below);
                own.saturating_add(if members > 1 { members - 1 } else { members })
            }
            Place::ObjectAfter(object) if more => match self.key_start(object, frame.data, below) {
                Ok(Some(KeyStart { terminal, state })) => {
                    let key = self.terminals.get(terminal).cost(state);
                    self.key_cost(class, object, frame.data, key, below)
                }
                _ => u64::MAX,
            },
            Place::ObjectAfter(object) => self.members_cost(class, object, frame.data, below),
            Place::ObjectKey(object) => self.key_cost(
                class,
                object,
                frame.data,
                u32::try_from(own).unwrap_or(u32::MAX),
                below,
            ),
            Place::ObjectColon(object) => {
                let ways = self.take_value(object, frame.data, frame.extra, below);
                let ways = ways.unwrap_or_default().into_iter();
                let cost = |(register, node)| {
                    at(node).saturating_add(self.members_cost(class, object, register, below))
                };
                own.saturating_add(ways.map(cost).min().unwrap_or(u64::MAX))
            }
            Place::ArrayOpen(array) if program.arrays[array as usize].remembers() => {
                match self.next_item_cost(class, array, frame.data, below) {
                    // If no item may come, the terminal's own cost includes the bracket.
                    None => own,
                    Some(_) if self.array_is_complete(array, frame.data) => own.saturating_add(1),
                    Some(item) => return self.wide(own).saturating_add(item),
                }
            }
            Place::ArrayAfter(array) if program.arrays[array as usize].remembers() => {
                let item = self.next_item_cost(class, array, frame.data, below);
                if more {
                    return item.unwrap_or(u64::MAX);
                }
                return self.array_end_cost(array, frame.data, item);
            }
            Place::ArrayItem(array) => {
                let rest = self.behind_item_cost(array, frame, below);
                let rest = self.wide(rest.saturating_add(1));
                return self.item_cost(frame).saturating_add(rest);
            }
            Place::ArrayOpen(array) => {
                // If no item may come, the terminal's own cost includes the bracket.
                if !self.item_allowed(array, 0, below) {
                    return self.wide(own);
                }
                let array = &program.arrays[array as usize];
                own.saturating_add(array.cost_from(0, &at))
            }
            Place::ArrayAfter(array) => {
                let array = &program.arrays[array as usize];
                if !more {
                    return self.wide(array.cost_from(frame.data, &at));
                }
                let item = array.slot(frame.data).into_iter().flatten();
                let item = item.map(|alternative| at(alternative.node)).min();
                let item = item.unwrap_or(u64::MAX);
                item.saturating_add(array.cost_from(frame.data + 1, &at))
            }
            Place::Return(_)
            | Place::Repeat(_)
            | Place::LeftCorner(_)
            | Place::Guided(_)
            | Place::Accept => {
                unreachable!("frames that wait have no terminal")
            }
        };
        self.wide(bytes)
    }

    /// Returns the cost of an array that remembers its items from the end of one on, given that of its next one.
    fn array_end_cost(&self, array: u32, register: u32, item: Option<u64>) -> u64 {
        match self.array_is_complete(array, register) {
            true => self.wide(1),
            false => item.map_or(u64::MAX, |item| item.saturating_add(self.wide(1))),
        }
    }

    fn waiting_cost(&self, program: &Program, class: CostClass, frame: Frame, below: SetId) -> u64 {
        let outside = || self.measures_at(class, self.sets.depth(below));
        let at = |node: NodeId| outside().cost(node);
        let bytes = match frame.place() {
            Place::Accept | Place::Guided(_) => 0,
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
                        outside().proc_cost(program, proc).saturating_mul(missing)
                    };
                    body.saturating_add(at(next))
                }
                _ => unreachable!("only repetitions count"),
            },
            Place::LeftCorner(proc) => {
                left_corner_cost(program, outside(), ProcId::from_number(frame.extra), proc)
            }
            Place::ObjectAfter(object) => self.members_cost(class, object, frame.data, below),
            Place::ArrayAfter(array) if program.arrays[array as usize].remembers() => {
                let item = self.next_item_cost(class, array, frame.data, below);
                return self.array_end_cost(array, frame.data, item);
            }
            Place::ArrayAfter(array) => {
                let inside = self.measures_inside(class, below);
                program.arrays[array as usize].cost_from(frame.data, &|node| inside.cost(node))
            }
            Place::Referent(_)
            | Place::ObjectOpen(_)
            | Place::ObjectKey(_)
            | Place::ObjectColon(_)
            | Place::ArrayOpen(_)
            | Place::ArrayItem(_) => {
                unreachable!("these frames read, they do not wait")
            }
        };
        self.wide(bytes)
    }

    /// Returns the cost of the members that an object still needs, each with its comma, and of the closing brace.
    fn members_cost(&self, class: CostClass, object: u32, register: u32, below: SetId) -> u64 {
        let shape = &self.program.objects[object as usize];
        let register = self.registers.object(register);
        if shape.is_counted() {
            let depth = self.sets.depth(below) + 1;
            let left = self.members_left(object, register, depth, class);
            let left = left.ok().flatten();
            return left.map_or(u64::MAX, |cost| cost.saturating_add(1));
        }
        let measures = self.measures_inside(class, below);
        let missing = shape.missing(register);
        missing
            .map(|i| measures.member[object as usize][i].saturating_add(1))
            .fold(1, u64::saturating_add)
    }

    /// Returns the cost of a key whose text and value weigh `key`, and of everything after it in the object.
    fn key_cost(
        &self,
        class: CostClass,
        object: u32,
        register: u32,
        key: u32,
        below: SetId,
    ) -> u64 {
        if self.program.objects[object as usize].is_counted() {
            // The weight of the key includes everything after it.
            return u64::from(key);
        }
        let measures = self.measures_inside(class, below);
        let rest = self.members_cost(class, object, register, below);
        u64::from(key)
            .saturating_add(rest)
            .saturating_sub(u64::from(measures.key_offset[object as usize]))
    }

    fn array_is_complete(&self, array: u32, register: u32) -> bool {
        let shape = &self.program.arrays[array as usize];
        shape
            .bounds()
            .are_met(&self.registers.array(register).counts)
    }

    /// Returns the cost of the next item of an array that remembers its items, of all that it needs after it, and of
    /// the closing bracket.
    fn next_item_cost(
        &self,
        class: CostClass,
        array: u32,
        register: u32,
        below: SetId,
    ) -> Option<u64> {
        let elements = self.next_items(array, register, below).ok()?;
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        if shape.unique {
            let costs = elements.into_iter().map(|Element { frame, below }| {
                let rest = self.behind_item_cost(array, frame, below);
                let rest = self.wide(rest.saturating_add(1));
                self.item_cost(frame).saturating_add(rest)
            });
            return costs.min();
        }
        let counts = self.registers.array(register).counts.clone();
        let depth = self.sets.depth(below) + 1;
        let slot = shape.slot(counts.members).into_iter().flatten();
        let costs = slot.filter_map(|alternative| {
            let item = self.measures_at(class, depth).cost(alternative.node);
            let counts = shape.add(&counts, alternative.tallies)?;
            let rest = self.items_left(array, &counts, depth, class).ok()??;
            let fits = self.fits(alternative.node, depth);
            fits.then(|| item.saturating_add(rest).saturating_add(1))
        });
        costs.min().map(|cost| self.wide(cost))
    }

    /// Returns the cost of what an array of distinct items needs after the item in progress, each item with its comma.
    fn behind_item_cost(&self, array: u32, frame: Frame, below: SetId) -> u64 {
        let program = self.program.clone();
        let shape = &program.arrays[array as usize];
        let register = self.registers.array(frame.data).clone();
        let depth = self.sets.depth(below) + 1;
        let slot = shape.slot(register.counts.members);
        let number = self.terminals.alternative(frame.terminal);
        let Some(alternative) = slot.and_then(|slot| slot.get(number).or(slot.first())) else {
            return u64::MAX;
        };
        let Some(counts) = shape.add(&register.counts, alternative.tallies) else {
            return u64::MAX;
        };
        let left = self.distinct_left(shape, &counts, register.values, alternative, depth);
        left.ok().flatten().map_or(u64::MAX, |(cost, _)| cost)
    }
}

/// Returns the cost from the end of `proc` to the end of `root`, which began with it: a shortest path over the sites at
/// which procedures begin with one another.
fn left_corner_cost(program: &Program, measures: &Measures, root: ProcId, proc: ProcId) -> u64 {
    let reach = program.left_recursion.reach(root);
    let place = |proc: ProcId| reach.binary_search(&proc).ok();
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
                    Node::Call { next, .. } => measures.cost(next),
                    Node::Repeat {
                        proc, min, next, ..
                    } => measures
                        .proc_cost(program, proc)
                        .saturating_mul(u64::from(min.saturating_sub(1)))
                        .saturating_add(measures.cost(next)),
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
