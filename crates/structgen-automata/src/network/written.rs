//! What was written that later values refer to, and what that leaves of them.
//!
//! Every frame that reads has the values of referents written before it ([`Written`]). They pass from frame to frame;
//! what waits below does not have them. So states that differ in them share what they wait for, a fork copies a number,
//! and a rollback restores it.
//!
//! A sketch knows for which referents some value was written, but not which value.

use std::sync::atomic::Ordering;

use structgen_grammar::Relation;
use structgen_memo::{Interner, Memo};

use super::sets::{LOST, Place};
use super::{Call, Element, Frame, Network, SetId, StepError};
use crate::json::CLOSE;
use crate::program::{Inside, Measures, NodeId, Slot, built, compared, order};
use crate::terminal::START;
use crate::value::Value;

/// The values of referents written so far, as a list from the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Written(u32);

impl Written {
    /// Nothing was written.
    pub(super) const NOTHING: Self = Self(0);

    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// One more value of a referent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    before: Written,
    referent: u32,
    /// The number of the value, or [`SOME`].
    value: u32,
}

/// A value that a sketch omits.
const SOME: u32 = u32::MAX;

/// Nesting has no limit.
const ALL_LEVELS: u32 = u32::MAX;

/// A class of costs: what each related value costs, and whether it may begin. Number 0: nothing was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CostClass(u32);

impl CostClass {
    /// Each stack's own class.
    pub(super) const OWN: Self = Self(u32::MAX);
}

/// The terminals that read a related value, and the cost of the cheapest; `u64::MAX` if there is none.
#[derive(Debug)]
struct Allowed {
    terminals: Box<[u32]>,
    cost: u64,
}

/// What was computed for related values.
#[derive(Debug, Default)]
pub(super) struct Relations {
    values: Interner<Value>,
    /// Number 0 is `Written(1)`.
    written: Interner<Entry>,
    /// Sets of values, by number: sorted.
    sets: Interner<Box<[u32]>>,
    /// By related value and the set of values that it is compared with.
    allowed: Memo<(u32, u32), Allowed>,
    /// Number 0 is `CostClass(1)`.
    classes: Interner<Box<[(u64, bool)]>>,
    classes_of: Memo<Written, CostClass>,
    /// By class and the levels of nesting that are left, or [`ALL_LEVELS`].
    measures: Memo<(CostClass, u32), Measures>,
}

impl Relations {
    fn entry(&self, written: Written) -> Option<Entry> {
        let number = written.0.checked_sub(1)?;
        Some(self.written.get(number).0)
    }

    /// Returns what was written, from the end.
    fn entries(&self, written: Written) -> impl Iterator<Item = Entry> + '_ {
        let first = self.entry(written);
        std::iter::successors(first, |entry| self.entry(entry.before))
    }

    fn with(&self, before: Written, referent: u32, value: u32) -> Written {
        let is_known = |entry: Entry| (entry.referent, entry.value) == (referent, value);
        if self.entries(before).any(is_known) {
            return before;
        }
        let entry = Entry {
            before,
            referent,
            value,
        };
        Written(self.written.number(entry, |_| ()).0 + 1)
    }

    /// Returns the list without the values that a sketch omits.
    fn sketch(&self, written: Written) -> Written {
        let mut referents: Vec<u32> = self.entries(written).map(|it| it.referent).collect();
        referents.sort_unstable();
        referents.dedup();
        let with = |before, &referent: &u32| self.with(before, referent, SOME);
        referents.iter().fold(Written::NOTHING, with)
    }

    fn without(&self, written: Written, referents: &[u32]) -> Written {
        let entries: Vec<Entry> = self.entries(written).collect();
        let kept = entries.iter().rev();
        let kept = kept.filter(|entry| !referents.contains(&entry.referent));
        let with = |before, entry: &Entry| self.with(before, entry.referent, entry.value);
        kept.fold(Written::NOTHING, with)
    }

    /// Returns whether some value of the referent was written.
    fn has_some(&self, written: Written, referent: u32) -> bool {
        { self.entries(written) }.any(|entry| entry.referent == referent)
    }

    /// Returns the set of the values of a referent that a relation depends on.
    ///
    /// # Errors
    /// If a sketch omits it.
    fn set(&self, written: Written, relation: Relation, referent: u32) -> Result<u32, StepError> {
        let mut values: Vec<u32> = { self.entries(written) }
            .filter(|entry| entry.referent == referent)
            .map(|entry| entry.value)
            .collect();
        if values.contains(&SOME) {
            return Err(StepError::NeedsExact);
        }
        if relation.is_order() {
            let value = |&number: &u32| &self.values.get(number).0;
            let by_order = |a: &u32, b: &u32| order(value(a), value(b));
            let mut end = values.iter().copied();
            let first = end.next();
            let end = end.fold(first, |end, other| {
                let is_further = end
                    .and_then(|end| by_order(&other, &end))
                    .is_some_and(|it| match relation {
                        Relation::AtLeast => it.is_gt(),
                        _ => it.is_lt(),
                    });
                if is_further { Some(other) } else { end }
            });
            values = end.into_iter().collect();
        }
        values.sort_unstable();
        Ok(self.sets.number(values.into(), |_| ()).0)
    }

    pub(super) fn memory(&self) -> usize {
        self.values.memory()
            + self.written.memory()
            + self.sets.memory()
            + self.allowed.memory()
            + self.classes.memory()
            + self.classes_of.memory()
            + self.measures.memory()
    }
}

impl Call<'_> {
    /// Calls a function with this as what was written.
    pub(super) fn with_written<T>(&self, written: Written, then: impl FnOnce() -> T) -> T {
        let before = self.written.replace(written);
        let result = then();
        self.written.set(before);
        result
    }

    /// Returns the start of a terminal, with what was written so far.
    pub(super) fn reading(&self, place: Place, terminal: u32, data: u32, extra: u32) -> Frame {
        Frame {
            written: self.written.get(),
            ..Frame::reading(place, terminal, data, extra)
        }
    }

    /// Returns what was written once the terminal of a frame ends under the label.
    pub(super) fn written_after(&self, frame: Frame, label: u32) -> Result<Written, StepError> {
        Ok(match frame.place() {
            Place::Referent(node) => {
                let referents = self.program.referents_at(node);
                let value = match frame.extra {
                    // A walk on a sketch keeps no text.
                    0 | LOST => SOME,
                    text => {
                        let value = Value::read(&self.registers.text(text))?;
                        self.relations.values.number(value, |_| ()).0
                    }
                };
                let with = |before, &referent: &u32| self.relations.with(before, referent, value);
                let written = referents.iter().fold(frame.written, with);
                match value {
                    SOME => self.relations.sketch(written),
                    _ => written,
                }
            }
            Place::ObjectOpen(object) | Place::ObjectAfter(object) if label == CLOSE => {
                self.forgotten(frame.written, object)
            }
            _ => frame.written,
        })
    }

    /// Returns what was written, without what is forgotten where an object begins or ends.
    pub(super) fn forgotten(&self, written: Written, object: u32) -> Written {
        let referents = &self.program.objects[object as usize].referents;
        match referents.is_empty() || written == Written::NOTHING {
            true => written,
            false => self.relations.without(written, referents),
        }
    }

    /// Returns what a sketch keeps of what was written.
    pub(super) fn sketch_of_written(&self, written: Written) -> Written {
        match written {
            Written::NOTHING => written,
            written => self.relations.sketch(written),
        }
    }

    /// Enters a value that takes part in relations.
    pub(super) fn enter_related(
        &self,
        node: NodeId,
        related: u32,
        below: SetId,
        found: &mut Vec<Element>,
    ) -> Result<(), StepError> {
        let value = &self.program.related[related as usize];
        let place = match value.referents.is_empty() {
            true => Place::Node(node),
            false => Place::Referent(node),
        };
        let written = self.written.get();
        let is_free = |(relation, referent)| {
            relation != Relation::In && !self.relations.has_some(written, referent)
        };
        if value.relation.is_none_or(is_free) {
            self.terminals.ensure(value.terminal)?;
            found.push(Element {
                frame: self.reading(place, value.terminal, 0, 0),
                below,
            });
            return Ok(());
        }
        for &terminal in &*self.allowed(related)?.terminals {
            found.push(Element {
                frame: self.reading(place, terminal, 0, 0),
                below,
            });
        }
        Ok(())
    }

    /// Returns what is left of a value that is compared with others, given what was written.
    fn allowed(&self, related: u32) -> Result<&Allowed, StepError> {
        let program = &*self.network.program;
        let value = &program.related[related as usize];
        let relations = &self.network.relations;
        let Some((relation, referent)) = value.relation else {
            unreachable!("asked for values that are compared")
        };
        let set = relations.set(self.written.get(), relation, referent)?;
        if let Some(known) = relations.allowed.get(&(related, set)) {
            return Ok(known);
        }
        let referents: Vec<&Value> = { relations.sets.get(set).0.iter() }
            .map(|&number| &relations.values.get(number).0)
            .collect();
        self.work
            .spend(referents.len() as u64, program.limits.work)?;
        let spec = &program.terminals[value.terminal as usize];
        let specs = compared(spec, relation, &referents)?;
        let terminals = built(specs, &program.form, &program.limits)?;
        let cost = terminals.iter().map(|terminal| terminal.cost(START).into());
        let cost = cost.min().unwrap_or(u64::MAX);
        let add = |terminal| self.network.terminals.add(terminal);
        Ok(relations
            .allowed
            .get_or_insert_with((related, set), || Allowed {
                terminals: terminals.into_iter().map(add).collect(),
                cost,
            }))
    }

    /// Returns whether what begins at a node may begin here: it is not a value of which nothing is left.
    ///
    /// # Errors
    /// If a limit is exceeded, or the answer depends on what a sketch omits.
    fn may_begin(&self, node: NodeId) -> Result<bool, StepError> {
        let Some(place) = self.program.related_place(node) else {
            return Ok(true);
        };
        if place.is_kept {
            return Ok(true);
        }
        let written = self.written.get();
        for &related in &*place.values {
            let may_begin = match self.program.related[related as usize].relation {
                Some((Relation::In, referent)) => self.relations.has_some(written, referent),
                Some((_, referent)) if self.relations.has_some(written, referent) => {
                    !self.allowed(related)?.terminals.is_empty()
                }
                _ => true,
            };
            if may_begin {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Computes for everything in these slots whether it may begin.
    pub(super) fn look_at<'s>(
        &self,
        slots: impl Iterator<Item = &'s Slot>,
    ) -> Result<(), StepError> {
        if !self.program.related.is_empty() {
            for alternative in slots.flatten() {
                self.may_begin(alternative.node)?;
            }
        }
        Ok(())
    }

    /// Returns whether what begins at the node fits at this depth and may begin.
    pub(super) fn can_begin(&self, node: NodeId, depth: u32) -> bool {
        self.fits(node, depth) && self.may_begin(node).unwrap_or(false)
    }

    /// Returns the costs of completions in a class at a depth of nesting.
    pub(super) fn measures_at(&self, class: CostClass, depth: u32) -> &Measures {
        let program = &self.network.program;
        let measures = match class {
            CostClass(0) => program.measures(),
            _ => self.measures_within(class, ALL_LEVELS),
        };
        let left = program.form.max_depth.saturating_sub(depth);
        match program.nests_within(measures, left) {
            true => measures,
            false => self.measures_within(class, left),
        }
    }

    fn measures_within(&self, class: CostClass, levels: u32) -> &Measures {
        let Network {
            program, relations, ..
        } = self.network;
        if let Some(known) = relations.measures.get(&(class, levels)) {
            return known;
        }
        // From the innermost level on, since nesting may be deep.
        let inside = match levels {
            ALL_LEVELS => Inside::Unlimited,
            0 => Inside::Full,
            levels => {
                let known = |level: &u32| relations.measures.get(&(class, *level)).is_some();
                let first = (0..levels).rev().find(known).map_or(0, |level| level + 1);
                for level in first..levels {
                    self.measures_within(class, level);
                }
                Inside::Within(self.measures_within(class, levels - 1))
            }
        };
        let costs: Vec<u64> = match class.0.checked_sub(1) {
            None => program.related.iter().map(|related| related.cost).collect(),
            Some(number) => {
                let class = &relations.classes.get(number).0;
                class.iter().map(|&(cost, _)| cost).collect()
            }
        };
        let measures = program.measures_with(&costs, inside);
        self.owned_bytes
            .fetch_add(measures.memory(), Ordering::Relaxed);
        relations.measures.insert((class, levels), measures)
    }

    /// Returns the class of what was written.
    pub(super) fn class(&self) -> CostClass {
        let written = self.written.get();
        if self.program.related.is_empty() || written == Written::NOTHING {
            return CostClass::default();
        }
        let relations = &self.network.relations;
        *relations
            .classes_of
            .get_or_insert_with(written, || self.class_with(None))
    }

    /// Returns the class of what will be written once a frame is completed in the known way.
    pub(super) fn class_at(&self, frame: Frame) -> CostClass {
        self.with_written(frame.written, || match frame.place() {
            Place::Referent(node) => {
                let text = match frame.extra {
                    0 | LOST => 0,
                    text => self.registers.text(text).len() as u64,
                };
                let rest = u64::from(self.terminals.get(frame.terminal).cost(frame.state));
                self.class_with(Some((node, text.saturating_add(rest))))
            }
            _ => self.class(),
        })
    }

    /// Returns the class of what was written, with a value of the referents at a node in progress that will have this
    /// cost.
    fn class_with(&self, in_progress: Option<(NodeId, u64)>) -> CostClass {
        let written = self.written.get();
        let related = self.program.related.iter().zip(0..);
        let class = related.map(|(value, number)| {
            let before = (value.cost, true);
            let Some((relation, referent)) = value.relation else {
                return before;
            };
            if self.relations.has_some(written, referent) {
                return match self.allowed(number) {
                    Ok(Allowed { cost, terminals }) => (*cost, !terminals.is_empty()),
                    Err(_) => before,
                };
            }
            if relation != Relation::In {
                return before;
            }
            let coming = in_progress.filter(|(node, _)| {
                value.is_needed && self.program.referents_at(*node).contains(&referent)
            });
            // Rounded, so that there are few classes.
            let coming = coming.map_or(0, |(_, cost)| cost.next_power_of_two());
            (value.cost.max(coming), false)
        });
        let class: Box<[(u64, bool)]> = class.collect();
        CostClass(self.network.relations.classes.number(class, |_| ()).0 + 1)
    }
}
