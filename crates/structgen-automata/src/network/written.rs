//! What has been written that later values refer to, and what that leaves of them.
//!
//! Whatever reads knows what has been written before it: it is a part of its frame ([`Written`]) and goes from frame to
//! frame, while what waits below does not know it. So states that differ in it share what they wait for, a fork copies a
//! number, and a rollback brings back the number that was there.
//!
//! A sketch knows of which referents some value has been written, but not which value.

use structgen_grammar::Relation;
use structgen_memo::{Interner, Memo};

use super::sets::{LOST, Place};
use super::{Call, Element, Frame, SetId, StepError};
use crate::json::CLOSE;
use crate::program::{Measures, NodeId, Slot, built, compared, order};
use crate::terminal::START;
use crate::value::Value;

/// What has been written of the referents, as a list from the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Written(u32);

impl Written {
    /// Nothing.
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
    /// By number, or [`SOME`].
    value: u32,
}

/// A value that a sketch did not keep.
const SOME: u32 = u32::MAX;

/// What is known of all related values: what each costs, and whether it may begin. Number 0 is that nothing is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CostClass(u32);

impl CostClass {
    /// Stands for what each stack itself knows.
    pub(super) const OWN: Self = Self(u32::MAX);
}

/// The terminals that read a related value, and what the cheapest costs; `u64::MAX` where there is none.
#[derive(Debug)]
struct Allowed {
    terminals: Box<[u32]>,
    cost: u64,
}

/// What has been found out about related values.
#[derive(Debug, Default)]
pub(super) struct Relations {
    values: Interner<Value>,
    /// Number 0 is `Written(1)`.
    written: Interner<Entry>,
    /// Sets of values, by number: sorted.
    sets: Interner<Box<[u32]>>,
    /// By related value and the set of what it is compared with.
    allowed: Memo<(u32, u32), Allowed>,
    /// Number 0 is `CostClass(1)`.
    classes: Interner<Box<[(u64, bool)]>>,
    classes_of: Memo<Written, CostClass>,
    measures: Memo<CostClass, Measures>,
}

impl Relations {
    fn entry(&self, written: Written) -> Option<Entry> {
        let number = written.0.checked_sub(1)?;
        Some(self.written.get(number).0)
    }

    /// What has been written, from the end.
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

    /// The same without the values that a sketch does not keep.
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

    /// Whether some value of the referent has been written.
    fn has_some(&self, written: Written, referent: u32) -> bool {
        { self.entries(written) }.any(|entry| entry.referent == referent)
    }

    /// The set of the values of a referent that a relation depends on.
    ///
    /// # Errors
    /// When a sketch does not know it.
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
    /// Does something where this has been written.
    pub(super) fn with_written<T>(&self, written: Written, then: impl FnOnce() -> T) -> T {
        let before = self.written.replace(written);
        let result = then();
        self.written.set(before);
        result
    }

    /// The start of a terminal, where what has been written is.
    pub(super) fn reading(&self, place: Place, terminal: u32, data: u32, extra: u32) -> Frame {
        Frame {
            written: self.written.get(),
            ..Frame::reading(place, terminal, data, extra)
        }
    }

    /// What has been written once the terminal of a frame ends under the label.
    pub(super) fn written_after(&self, frame: Frame, label: u32) -> Result<Written, StepError> {
        Ok(match frame.place() {
            Place::Referent(node) => {
                let referents = self.program.referents_at(node);
                let value = match frame.extra {
                    // A walk of a sketch keeps no text.
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

    /// What has been written, without what is forgotten where an object begins or ends.
    pub(super) fn forgotten(&self, written: Written, object: u32) -> Written {
        let referents = &self.program.objects[object as usize].referents;
        match referents.is_empty() || written == Written::NOTHING {
            true => written,
            false => self.relations.without(written, referents),
        }
    }

    /// What a sketch knows of what has been written.
    pub(super) fn sketch_of_written(&self, written: Written) -> Written {
        match written {
            Written::NOTHING => written,
            written => self.relations.sketch(written),
        }
    }

    /// Reads a value that takes part in relations.
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

    /// What is left of a value that is compared with others, where what has been written is.
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

    /// Whether what begins at a node may begin here: it is not a value for which nothing is left.
    ///
    /// # Errors
    /// When a limit is exceeded, or a sketch does not suffice.
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

    /// Makes sure that it is known of everything in these slots whether it may begin.
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

    /// Whether what begins at the node fits at this depth, and may begin.
    pub(super) fn can_begin(&self, node: NodeId, depth: u32) -> bool {
        self.fits(node, depth) && self.may_begin(node).unwrap_or(false)
    }

    /// What completions cost where what has been written is.
    pub(super) fn measures(&self) -> &Measures {
        self.measures_of(self.class())
    }

    /// What completions cost in a class.
    pub(super) fn measures_of(&self, class: CostClass) -> &Measures {
        let program = &self.network.program;
        let Some(number) = class.0.checked_sub(1) else {
            return program.measures();
        };
        let relations = &self.network.relations;
        relations.measures.get_or_insert_with(class, || {
            let class = &relations.classes.get(number).0;
            let costs: Vec<u64> = class.iter().map(|&(cost, _)| cost).collect();
            program.measures_with(&costs)
        })
    }

    /// The class of what has been written.
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

    /// The class of what has been written before a frame, and will have been once the frame is done in the known way.
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

    /// The class of what has been written, where a value of the referents at a node is in progress that will cost so much.
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
