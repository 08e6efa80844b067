//! Values that are compared with others written before them: which are required, what they cost, and whether their
//! relations can be satisfied.

mod compared;
mod reaches;

use rustc_hash::FxHashSet;
use structgen_grammar::{NumberSet, Relation, StringContent, StringShape};

use super::{Node, NodeId, Program, ProgramError, Slot, TerminalSpec};
use crate::number::with_room;
use crate::terminal::{DEAD, START, Terminal, TerminalState};
use crate::value::Value;
use crate::{LimitExceeded, StepError};

pub(crate) use compared::{built, compared, order};
use reaches::reaches;

/// A value that is compared with others, that others are compared with, or both.
#[derive(Clone, Debug)]
pub(crate) struct RelatedValue {
    /// The terminal of its texts if there is nothing to compare it with.
    pub(crate) terminal: u32,
    /// Its relation and the referent of that.
    pub(crate) relation: Option<(Relation, u32)>,
    /// The JSON Pointer of the keyword of the relation.
    pub(crate) pointer: Box<str>,
    /// The referents that it is a value of, sorted.
    pub(crate) referents: Box<[u32]>,
    /// Whether some required place allows nothing else.
    pub(crate) is_needed: bool,
    /// An upper bound on its cost while its referents are not written; `u64::MAX` if a completion avoids it.
    pub(crate) cost: u64,
}

/// The maximum number of values that take part in relations: each value written changes what is known of all of them.
const MAX_RELATED: usize = 1_000;

/// What begins at a node, if these are only related values.
#[derive(Debug)]
pub(crate) struct RelatedPlace {
    pub(crate) values: Box<[u32]>,
    /// Whether one of them can be written whatever their referents are.
    pub(crate) is_kept: bool,
}

impl RelatedValue {
    /// Returns the error for a value that may be left without a text.
    pub(super) fn unkept(&self) -> ProgramError {
        ProgramError::Relation {
            pointer: self.pointer.clone(),
            relation: self.relation.map_or(Relation::In, |(relation, _)| relation),
        }
    }
}

/// Returns a short text of a terminal; `None` if it has none.
fn short_text(terminal: &Terminal) -> Result<Option<Vec<u8>>, StepError> {
    if terminal.is_never() {
        return Ok(None);
    }
    let mut text = Vec::new();
    let mut state = START;
    while terminal.accept(state).is_none() || terminal.cost(state) > 0 {
        let mut next: Option<(u8, TerminalState)> = None;
        let mut first = terminal.first(state);
        while let Some(byte) = first.pop() {
            let after = terminal.step(state, byte)?;
            let is_cheaper = terminal.cost(after) < terminal.cost(state);
            if after != DEAD && is_cheaper {
                next = Some((byte, after));
                break;
            }
        }
        let Some((byte, after)) = next else {
            return Ok(None);
        };
        text.push(byte);
        state = after;
    }
    Ok(Some(text))
}

/// Returns whether a terminal accepts a text.
fn accepts(terminal: &Terminal, text: &[u8]) -> Result<bool, StepError> {
    let mut state = START;
    for &byte in text {
        if terminal.is_never() || state == DEAD {
            return Ok(false);
        }
        state = terminal.step(state, byte)?;
    }
    Ok(state != DEAD && terminal.accept(state).is_some())
}

impl Program {
    /// Computes which values are required and what they cost; returns the required ones that cannot always be written.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub(super) fn settle_relations(&mut self) -> Result<Vec<u32>, ProgramError> {
        let mut unkept = Vec::new();
        if self.related.is_empty() {
            return Ok(unkept);
        }
        if self.related.len() > MAX_RELATED {
            return Err(ProgramError::Limit(LimitExceeded {
                what: "values that are compared with others",
                limit: MAX_RELATED as u64,
            }));
        }
        let places: Result<Vec<_>, LimitExceeded> = (0..self.nodes.len())
            .map(|index| {
                let Some(values) = self.related_values(NodeId::new(index)) else {
                    return Ok(None);
                };
                // Whether a referent was written is decided elsewhere.
                let relation = |&value: &u32| self.related[value as usize].relation;
                let is_in = |value| relation(value).is_some_and(|(it, _)| it == Relation::In);
                Ok(Some(RelatedPlace {
                    is_kept: !values.iter().any(is_in) && self.is_kept(&values)?,
                    values: values.into(),
                }))
            })
            .collect();
        self.related_places = places?;
        for values in self.needed_values() {
            for &value in &values {
                self.related[value as usize].is_needed = true;
            }
            if !self.is_kept(&values)? {
                unkept.extend(values);
            }
        }
        let costs: Result<Vec<u64>, _> = self
            .related
            .iter()
            .map(|related| self.cost_before(related))
            .collect();
        for (related, cost) in self.related.iter_mut().zip(costs?) {
            related.cost = cost;
        }
        Ok(unkept)
    }

    /// Returns the related values of each required place that allows only these.
    fn needed_values(&self) -> Vec<Box<[u32]>> {
        let members = self.objects.iter().flat_map(|object| {
            let required = object.properties.iter().filter(|it| it.required);
            required.map(|property| &property.value)
        });
        let items = self.arrays.iter().flat_map(|array| {
            let needed = array.min.min(array.prefix.len() as u32 + 1);
            (0..needed).filter_map(|index| array.slot(index))
        });
        let places = members.chain(items);
        places.filter_map(|slot| self.related_slot(slot)).collect()
    }

    /// Returns the related values that a slot allows, if it allows nothing else.
    fn related_slot(&self, slot: &Slot) -> Option<Box<[u32]>> {
        let mut all = Vec::new();
        for alternative in slot {
            all.extend(self.related_values(alternative.node)?);
        }
        (!all.is_empty()).then(|| all.into())
    }

    /// Returns the related values that begin at a node, if nothing else does.
    fn related_values(&self, node: NodeId) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        let mut todo = vec![node];
        let mut seen = FxHashSet::from_iter([node]);
        while let Some(node) = todo.pop() {
            let mut lead = |node| {
                if seen.insert(node) {
                    todo.push(node);
                }
            };
            match self.node(node) {
                Node::Related { related, .. } => {
                    self.related[*related as usize].relation?;
                    found.push(*related);
                }
                Node::Split(arms) => arms.iter().copied().for_each(&mut lead),
                Node::Call { proc, .. } => lead(self.proc(*proc).entry),
                _ => return None,
            }
        }
        Some(found)
    }

    /// Returns what begins at a node, if these are only related values.
    #[inline]
    pub(crate) fn related_place(&self, node: NodeId) -> Option<&RelatedPlace> {
        self.related_places.get(node.index())?.as_ref()
    }

    /// Returns the referents that the value at a node is a value of.
    pub(crate) fn referents_at(&self, node: NodeId) -> &[u32] {
        match self.node(node) {
            Node::Related { related, .. } => &self.related[*related as usize].referents,
            _ => &[],
        }
    }

    /// Returns whether one of these values can be written whatever their referents are.
    fn is_kept(&self, values: &[u32]) -> Result<bool, LimitExceeded> {
        // Values that must differ from one referent, for which two values suffice.
        let mut unlike: Vec<(u32, Vec<Value>)> = Vec::new();
        for &value in values {
            let related = &self.related[value as usize];
            let Some((relation, referent)) = related.relation else {
                return Ok(true);
            };
            let spec = &self.terminals[related.terminal as usize];
            match relation {
                // The author of the grammar ensures that the referent is written.
                Relation::In => return Ok(true),
                Relation::AtLeast | Relation::AtMost => {
                    let mut referents = self.values_of(referent);
                    if referents.all(|other| reaches(spec, relation, other)) {
                        return Ok(true);
                    }
                }
                Relation::NotEqual => {
                    let two = self.two_values(spec)?;
                    match unlike.iter_mut().find(|(known, _)| *known == referent) {
                        Some((_, known)) => known.extend(two),
                        None => unlike.push((referent, two)),
                    }
                }
            }
        }
        for (referent, mut values) in unlike {
            values.sort();
            values.dedup();
            let is_kept = match &values[..] {
                [] => false,
                [only] => !self.can_be(referent, only)?,
                _ => true,
            };
            if is_kept {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether a referent can have a value.
    fn can_be(&self, referent: u32, value: &Value) -> Result<bool, LimitExceeded> {
        for spec in self.values_of(referent) {
            if let TerminalSpec::Literals(set) = spec {
                let is_it = |text: Vec<u8>| Value::read(&text).is_ok_and(|own| own == *value);
                if set.iter().any(is_it) {
                    return Ok(true);
                }
                continue;
            }
            for other in compared(spec, Relation::In, &[value])? {
                // A text of the value, in any form, that is also in the set.
                let terminal = other.terminal(&self.form, &self.limits)?;
                let set = spec.terminal(&self.form, &self.limits)?;
                let text = short_text(&terminal).map_err(StepError::limit)?;
                if let Some(text) = text
                    && accepts(&set, &text).map_err(StepError::limit)?
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns the terminals of the values of a referent.
    fn values_of(&self, referent: u32) -> impl Iterator<Item = &TerminalSpec> {
        let of = self.related.iter();
        let of = of.filter(move |related| related.referents.contains(&referent));
        of.map(|related| &self.terminals[related.terminal as usize])
    }

    /// Returns up to two values of a terminal.
    fn two_values(&self, spec: &TerminalSpec) -> Result<Vec<Value>, LimitExceeded> {
        let mut found = Vec::new();
        if let Some(first) = self.one_value(spec)? {
            for other in compared(spec, Relation::NotEqual, &[&first])? {
                found.extend(self.one_value(&other)?);
            }
            found.push(first);
        }
        Ok(found)
    }

    fn one_value(&self, spec: &TerminalSpec) -> Result<Option<Value>, LimitExceeded> {
        let terminal = spec.terminal(&self.form, &self.limits)?;
        let text = short_text(&terminal).map_err(StepError::limit)?;
        text.map(|text| Value::read(&text)).transpose()
    }

    /// Returns the maximum length of a number in bytes.
    fn longest_number(&self) -> u64 {
        let lengths = self.terminals.iter().filter_map(|spec| {
            let form = match spec {
                TerminalSpec::Number(set) => with_room(set, &self.form.numbers),
                TerminalSpec::ListedNumbers(numbers) => {
                    let sets = numbers.iter().cloned().map(NumberSet::point);
                    sets.fold(self.form.numbers, |form, set| with_room(&set, &form))
                }
                _ => return None,
            };
            let digits = [
                form.integer_digits,
                form.fraction_digits,
                form.exponent_digits,
            ];
            // The others are a sign, a point, and an exponent with its sign.
            Some(digits.into_iter().map(u64::from).sum::<u64>() + 4)
        });
        lengths.max().unwrap_or(0)
    }

    /// Returns an upper bound on the cost of a value before its referents are written.
    fn cost_before(&self, related: &RelatedValue) -> Result<u64, LimitExceeded> {
        let own = u64::from(self.text_costs[related.terminal as usize]);
        let Some((relation, referent)) = related.relation else {
            return Ok(own);
        };
        if relation == Relation::In {
            let of = self.related.iter();
            let of = of.filter(|other| other.referents.contains(&referent));
            let costs = of.map(|other| u64::from(self.text_costs[other.terminal as usize]));
            return Ok(match related.is_needed {
                true => costs.max().unwrap_or(u64::MAX),
                false => u64::MAX,
            });
        }
        let spec = &self.terminals[related.terminal as usize];
        let most = match spec {
            TerminalSpec::Number(_) => self.longest_number(),
            TerminalSpec::Literals(set) => set
                .iter()
                .map(|text| text.len() as u64)
                .max()
                .unwrap_or(own),
            TerminalSpec::String(StringShape {
                content: StringContent::Literals(texts),
                ..
            }) => {
                let lengths = texts
                    .iter()
                    .map(|text| crate::bytes::escaped_length(text.as_bytes()));
                u64::from(lengths.max().unwrap_or(0)) + 2
            }
            // Dates have the same length.
            _ if relation.is_order() => own,
            spec => self.cost_of_another(spec)?,
        };
        // If it turns out that there is no such value, something else replaces it.
        let others = self.text_costs.iter().filter(|_| !related.is_needed);
        let others = others.map(|&cost| u64::from(cost)).max().unwrap_or(0);
        Ok(most.max(own).max(others))
    }

    /// Returns the cost of a value of the terminal other than the cheapest.
    fn cost_of_another(&self, spec: &TerminalSpec) -> Result<u64, LimitExceeded> {
        let Some(first) = self.one_value(spec)? else {
            return Ok(0);
        };
        let mut least = None;
        for other in compared(spec, Relation::NotEqual, &[&first])? {
            let terminal = other.terminal(&self.form, &self.limits)?;
            if !terminal.is_never() {
                let cost = u64::from(terminal.cost(START));
                least = Some(least.map_or(cost, |least: u64| least.min(cost)));
            }
        }
        Ok(least.unwrap_or(0))
    }
}
