//! Objects: which keys may come next, and what registers remember.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::register::ObjectRegister;
use super::sets::{LOST, Place};
use super::terminals::KeyStart;
use super::written::CostClass;
use super::{Call, Element, Frame, SetId, StepError};
use crate::LimitExceeded;
use crate::json::{
    ClassContent, KeyContent, Punctuation, TextSet, class_of, is_plain, label_of_class,
};
use crate::listing::AllowedKeys;
use crate::program::{Alternative, MembersLeft, Meter, NodeId, ObjectProgram, Slot};

impl Call<'_> {
    pub(super) fn open_object(
        &self,
        object: u32,
        below: SetId,
    ) -> Result<Option<Element>, StepError> {
        let register = ObjectRegister::new(&self.program.objects[object as usize]);
        let register = self.registers.add_object(register);
        let (more_allowed, close_allowed) = self.goes_on_with(object, register, below)?;
        let open = Punctuation::Open {
            open: b'{',
            close: b'}',
            more_allowed,
            close_allowed,
        };
        let terminal = self
            .terminals
            .punctuation(open, self.sets.depth(below) + 1)?;
        Ok(Some(Element {
            frame: self.reading(Place::ObjectOpen(object), terminal, register, 0),
            below,
        }))
    }

    pub(super) fn after_member(
        &self,
        object: u32,
        register: u32,
        below: SetId,
    ) -> Result<Option<Element>, StepError> {
        let (more_allowed, close_allowed) = self.goes_on_with(object, register, below)?;
        let after = Punctuation::After {
            close: b'}',
            more_allowed,
            close_allowed,
        };
        let terminal = self
            .terminals
            .punctuation(after, self.sets.depth(below) + 1)?;
        Ok(Some(Element {
            frame: self.reading(Place::ObjectAfter(object), terminal, register, 0),
            below,
        }))
    }

    /// Returns whether another key may come, and whether the object may end.
    fn goes_on_with(
        &self,
        object: u32,
        register: u32,
        below: SetId,
    ) -> Result<(bool, bool), StepError> {
        let more = self.key_start(object, register, below)?.is_some();
        let shape = &self.program.objects[object as usize];
        let register = self.registers.object(register);
        let complete = shape.missing(register).next().is_none()
            && (!shape.is_counted() || shape.are_counts_met(register));
        Ok((more, complete))
    }

    pub(super) fn next_key(
        &self,
        object: u32,
        register: u32,
        below: SetId,
    ) -> Result<Option<Element>, StepError> {
        let start = self.key_start(object, register, below)?;
        Ok(start.map(|KeyStart { terminal, state }| Element {
            frame: Frame {
                state,
                ..self.reading(Place::ObjectKey(object), terminal, register, 0)
            },
            below,
        }))
    }

    /// Returns where the next key begins, or `None` if none may come.
    ///
    /// Objects that differ only in their undeclared keys read the next one in one terminal, from different states. Once
    /// the text read begins like none of the keys seen, the states are the same.
    pub(super) fn key_start(
        &self,
        object: u32,
        register: u32,
        below: SetId,
    ) -> Result<Option<KeyStart>, StepError> {
        let depth = self.sets.depth(below) + 1;
        let near = self.near(depth);
        let shape = &self.program.objects[object as usize];
        self.look_at(shape.slots())?;
        let place = (object, register, near, self.class());
        if let Some(known) = self.terminals.known_keys(place) {
            return Ok(known);
        }
        let members = self.registers.object(register);
        if members.unknown && shape.classes.iter().any(|class| class.keys.is_some()) {
            // How many keys a pattern has left depends on which are present.
            return Err(StepError::NeedsExact);
        }
        if members.others == TextSet::NONE && !members.unknown {
            let content = self.key_content(object, register, depth)?;
            return Ok(self.terminals.add_keys(place, content)?);
        }
        let without = self.registers.add_object(ObjectRegister {
            others: TextSet::NONE,
            unknown: false,
            ..members.clone()
        });
        let all = self.key_start(object, without, below)?;
        self.terminals.add_keys_without(place, all, members.others)
    }

    /// Returns the depth where it matters: only near the limit does it decide which values still fit.
    pub(super) fn near(&self, depth: u32) -> u32 {
        let is_far =
            depth as usize + self.program.nodes.len() < self.program.form.max_depth as usize;
        if is_far { 0 } else { depth }
    }

    fn key_content(
        &self,
        object: u32,
        register: u32,
        depth: u32,
    ) -> Result<KeyContent, LimitExceeded> {
        let program = self.program.clone();
        let shape = &program.objects[object as usize];
        let register = self.registers.object(register).clone();
        // After a required ordered property, everything else has to wait.
        let mut ordered = register.passed..shape.ordered;
        let until = ordered.find(|&i| shape.properties[i as usize].required);
        let waits = until.is_some();
        let until = until.map_or(u32::MAX, |required| required + 1);
        let allowed = if shape.is_counted() {
            let mut weights = vec![None; shape.keys.len()];
            for i in 0..shape.properties.len().min(until as usize) {
                if !register.is_past(shape, i) {
                    let weight = self.key_weight(object, &register, i as u32, depth)?;
                    weights[shape.places[i] as usize] = weight;
                }
            }
            AllowedKeys::with_weight(weights.into())
        } else {
            AllowedKeys {
                weights: self.free_weights(object, depth)?,
                ordered: shape.ordered,
                passed: register.passed,
                taken: register.seen.clone(),
                until,
            }
        };
        let mut content = KeyContent {
            keys: shape.keys.clone(),
            labels: shape.labels.clone(),
            allowed,
            classes: Vec::new(),
            covers: false,
            sets: self.registers.keys.clone(),
            work: Cell::default(),
        };
        if !waits {
            for (i, class) in shape.classes.iter().enumerate() {
                let label = label_of_class(i);
                let Some(weight) = self.key_weight(object, &register, label, depth)? else {
                    continue;
                };
                let machine = match &class.keys {
                    None => None,
                    Some(keys) => {
                        let limits = program.limits.regular;
                        let machine = self.terminals.class_machine((object, i), keys, limits)?;
                        Some((machine, is_plain(keys)))
                    }
                };
                content.classes.push(ClassContent {
                    label,
                    machine,
                    weight,
                });
            }
            content.covers = shape.covers && content.classes.len() == shape.classes.len();
        }
        Ok(content)
    }

    /// Returns the weights of an object's keys if nothing is counted: all its states share them.
    fn free_weights(&self, object: u32, depth: u32) -> Result<Arc<[Option<u32>]>, LimitExceeded> {
        let place = (object, self.near(depth), self.class());
        if let Some(known) = self.terminals.known_weights(&place) {
            return Ok(known);
        }
        let shape = &self.program.objects[object as usize];
        let empty = ObjectRegister::new(shape);
        let mut weights = vec![None; shape.keys.len()];
        for (i, &place) in shape.places.iter().enumerate() {
            weights[place as usize] = self.key_weight(object, &empty, i as u32, depth)?;
        }
        Ok(self.terminals.add_weights(place, weights.into()))
    }

    /// Returns the cost of a key beyond its text: its colon, its value and everything after it in the object, plus an
    /// offset that keeps it positive, see [`Network::key_cost`]. `None` if the key may not come.
    fn key_weight(
        &self,
        object: u32,
        register: &ObjectRegister,
        label: u32,
        depth: u32,
    ) -> Result<Option<u32>, LimitExceeded> {
        let shape = &self.program.objects[object as usize];
        let fitting = |alternative: &&Alternative| self.can_begin(alternative.node, depth);
        if !shape.is_counted() {
            let fits = shape
                .slot(label)
                .iter()
                .any(|alternative| fitting(&alternative));
            let measures = self.measures_at(self.class(), depth);
            return Ok(fits.then(|| self.program.key_weight(measures, object, label)));
        }
        let class = self.class();
        let measures = self.measures_at(class, depth);
        let register = shape.with_key(register, label);
        let mut least = None;
        for alternative in shape.slot(label).iter().filter(fitting) {
            let Some(counts) = shape.bounds().add(&register.counts, alternative.tallies) else {
                continue;
            };
            let after = ObjectRegister {
                counts,
                ..register.clone()
            };
            let Some(rest) = self.members_left(object, &after, depth, class)? else {
                continue;
            };
            let value = measures.cost(alternative.node);
            let cost = rest.saturating_add(value).saturating_add(2);
            least = Some(least.map_or(cost, |least: u64| least.min(cost)));
        }
        Ok(least.map(|cost| cost.min(u64::from(u32::MAX / 8)) as u32))
    }

    /// Returns the cost of the members that a counted object still needs, each with its comma; `None` if it cannot be
    /// completed.
    pub(super) fn members_left(
        &self,
        object: u32,
        register: &ObjectRegister,
        depth: u32,
        class: CostClass,
    ) -> Result<Option<u64>, LimitExceeded> {
        let shape = &self.program.objects[object as usize];
        let place = (object, self.near(depth), class, left_of(shape, register));
        if let Some(&known) = self.members_left.get(&place) {
            return Ok(known);
        }
        let measures = self.measures_at(class, depth);
        let left = MembersLeft {
            object: shape,
            limits: self.program.limits.regular,
            is_past: |property| register.is_past(shape, property),
            cost: |node| self.fits(node, depth).then(|| measures.cost(node)),
            meter: self.plan_meter(),
        };
        let cost = left.cost(&register.counts)?;
        let owned = size_of_val(&*place.3);
        self.owned_bytes.fetch_add(owned, Ordering::Relaxed);
        Ok(*self.members_left.insert(place, cost))
    }

    /// Counts the work of plans as work of this call.
    pub(super) fn plan_meter(&self) -> Meter<'_> {
        Meter {
            spent: &self.work.done,
            cancel: self.work.cancel,
            limit: self.program.limits.work,
        }
    }

    /// Returns the register of an object with one more key.
    pub(super) fn take_key(&self, object: u32, frame: Frame, label: u32) -> Result<u32, StepError> {
        let shape = &self.program.objects[object as usize];
        let register = self.registers.object(frame.data);
        let mut register = shape.with_key(register, label);
        if class_of(label).is_some() {
            if frame.extra == LOST {
                self.check_key(frame, label)?;
                register.unknown = true;
            } else {
                let text = self.registers.text(frame.extra);
                // The terminal has accepted it, so it is a JSON string.
                let key: Box<str> = serde_json::from_slice(&text).unwrap_or_default();
                register.others = self.registers.keys.with(register.others, key.as_bytes());
            }
        }
        Ok(self.registers.add_object(register))
    }

    /// Fails if a key whose text is lost may be one of others whose texts are lost.
    pub(super) fn check_key(&self, frame: Frame, label: u32) -> Result<(), StepError> {
        let is_lost = class_of(label).is_some() && frame.extra == LOST;
        match is_lost && self.registers.object(frame.data).unknown {
            true => Err(StepError::NeedsExact),
            false => Ok(()),
        }
    }

    /// Returns the continuations after a key and its colon: the register with the value counted, and the node of the
    /// value.
    pub(super) fn take_value(
        &self,
        object: u32,
        register: u32,
        label: u32,
        below: SetId,
    ) -> Result<Vec<(u32, NodeId)>, StepError> {
        let program = self.program.clone();
        let shape = &program.objects[object as usize];
        let slot: &Slot = shape.slot(label);
        self.look_at(std::iter::once(slot))?;
        let depth = self.sets.depth(below) + 1;
        let mut ways = Vec::with_capacity(slot.len());
        for alternative in slot {
            if !self.can_begin(alternative.node, depth) {
                continue;
            }
            let mut next = register;
            if shape.is_counted() {
                let before = self.registers.object(register);
                let Some(counts) = shape.bounds().add(&before.counts, alternative.tallies) else {
                    continue;
                };
                let after = ObjectRegister {
                    counts,
                    ..before.clone()
                };
                let left = self.members_left(object, &after, depth, self.class())?;
                if left.is_none() {
                    continue;
                }
                next = self.registers.add_object(after);
            }
            ways.push((next, alternative.node));
        }
        Ok(ways)
    }
}

/// Returns what the members that an object still needs depend on: its counts, and a bit for each property that is
/// required or may bring about what is missing, and may still come.
fn left_of(shape: &ObjectProgram, register: &ObjectRegister) -> Box<[u32]> {
    let counts = &register.counts;
    let lacking = shape.bounds().lacking(counts);
    let mut values = shape.classes.iter().map(|class| &class.value);
    let keys = match values.any(|value| lacking.is_helped_by(value)) {
        true => &*counts.keys,
        false => &[],
    };
    let of_counts = std::iter::once(&counts.members)
        .chain(&counts.tallies)
        .chain(keys);
    let mut left: Vec<u32> = of_counts.copied().collect();
    let first = left.len();
    left.resize(first + shape.properties.len().div_ceil(32), 0);
    for (i, property) in shape.properties.iter().enumerate() {
        let bit = u32::from(lacking.needs(property) && !register.is_past(shape, i)) << (i % 32);
        left[first + i / 32] |= bit;
    }
    left.into()
}

impl ObjectProgram {
    /// Returns the required properties that an object still lacks.
    pub(super) fn missing<'r>(
        &'r self,
        register: &'r ObjectRegister,
    ) -> impl Iterator<Item = usize> + 'r {
        let properties = self.properties.iter().enumerate();
        properties
            .filter(|(i, property)| property.required && !register.is_past(self, *i))
            .map(|(i, _)| i)
    }

    /// Returns whether the counts of an object that ends here are met.
    fn are_counts_met(&self, register: &ObjectRegister) -> bool {
        let bounds = self.bounds();
        let absent = self.properties.iter().enumerate();
        let absent =
            absent.filter(|(i, property)| property.absent != 0 && !register.is_past(self, *i));
        let counts = absent.fold(register.counts.clone(), |counts, (_, property)| {
            bounds.with_absent(&counts, property.absent)
        });
        bounds.are_met(&counts)
    }

    /// Returns the register with one more key; the caller stores the text of an undeclared one.
    fn with_key(&self, register: &ObjectRegister, label: u32) -> ObjectRegister {
        let before = register.passed;
        let mut register = register.clone();
        match class_of(label) {
            None => register.pass(self, label as usize),
            Some(class) => {
                register.passed = self.ordered;
                if let Some(seen) = register.counts.keys.get_mut(class) {
                    *seen = seen.saturating_add(1);
                }
            }
        }
        if !self.tallies.is_empty() {
            // Ordered properties that were passed over may not come any more.
            let taken = class_of(label).is_none().then_some(label);
            for i in (before..register.passed).filter(|&i| Some(i) != taken) {
                let absent = self.properties[i as usize].absent;
                register.counts = self.bounds().with_absent(&register.counts, absent);
            }
        }
        register
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use structgen_frontend::json_schema::{SchemaOptions, compile_str};

    use crate::Limits;
    use crate::network::Network;
    use crate::program::Program;

    #[test]
    fn a_key_that_differs_from_all_seen_ones_is_read_in_the_same_states() {
        let of_pattern = r#"{"type": "object", "patternProperties": {"^[a-z]{2,4}$": {"type": "integer"}},
            "additionalProperties": false}"#;
        for schema in [of_pattern, r#"{"type": "object"}"#] {
            let compiled = compile_str(schema, &SchemaOptions::new()).unwrap();
            let program = Program::new(compiled.grammar, Limits::default()).unwrap();
            let network = Network::new(Arc::new(program)).unwrap();
            let call = network.call();
            let key_after = |text: &str| {
                let set = call.step_all(call.start(), text.as_bytes());
                let set = set.unwrap().expect("it is allowed");
                let [element] = *call.elements(set) else {
                    panic!("one key is read");
                };
                (element.frame.terminal, element.frame.state)
            };
            let first = key_after(r#"{"xyz"#);
            for members in [
                r#"{"ab":1,"#,
                r#"{"ab":1,"xa":2,"#,
                r#"{"abcd":1,"ab":2,"xy":3,"#,
            ] {
                assert_eq!(first, key_after(&format!("{members}\"xyz")), "{members}");
                let (terminal, state) = key_after(&format!("{members}\"ab"));
                assert_eq!(terminal, first.0, "{members}");
                // It may not end here, as "ab" is there.
                assert_ne!(state, key_after(r#"{"ab"#).1, "{members}");
            }
        }
    }
}
