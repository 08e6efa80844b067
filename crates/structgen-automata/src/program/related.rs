//! Values that are compared with others written before them: what is left of a value's texts, and what it costs.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use structgen_grammar::{
    JsonForm, LiteralSet, NumberBound, NumberForm, NumberSet, Regular, Relation, StringContent,
    StringShape,
};

use super::{Node, NodeId, Program, ProgramError, Slot, TerminalSpec};
use crate::terminal::{START, Terminal, TerminalState};
use crate::value::Value;
use crate::{LimitExceeded, Limits, StepError};

/// A value that is compared with others, that others are compared with, or both.
#[derive(Clone, Debug)]
pub(crate) struct RelatedValue {
    /// The terminal of its texts where there is nothing to compare it with.
    pub(crate) terminal: u32,
    /// How it relates to the values of which referent.
    pub(crate) relation: Option<(Relation, u32)>,
    /// The JSON Pointer of the keyword that relates it.
    pub(crate) pointer: Box<str>,
    /// The referents that it is one of, sorted.
    pub(crate) referents: Box<[u32]>,
    /// Whether some place allows nothing else.
    pub(crate) is_needed: bool,
    /// What it costs at most as long as its referents are not written; `u64::MAX` where a completion avoids it.
    pub(crate) cost: u64,
}

/// The most values that take part in relations: what has been written changes what is known of each of them.
const MAX_RELATED: usize = 1_000;

/// What begins at a node where that is related values only.
#[derive(Debug)]
pub(crate) struct RelatedPlace {
    pub(crate) values: Box<[u32]>,
    /// Whether one of them can be written whatever their referents are.
    pub(crate) is_kept: bool,
}

impl RelatedValue {
    /// The error of a value that may be left without a text.
    pub(super) fn unkept(&self) -> ProgramError {
        ProgramError::Relation {
            pointer: self.pointer.clone(),
            relation: self.relation.map_or(Relation::In, |(relation, _)| relation),
        }
    }
}

/// The texts of `value` that have the relation to all of `referents`, as terminals: some of them may have no text.
pub(crate) fn compared(
    value: &TerminalSpec,
    relation: Relation,
    referents: &[&Value],
) -> Result<Vec<TerminalSpec>, LimitExceeded> {
    if relation == Relation::In {
        return Ok(among(value, referents));
    }
    if referents.is_empty() {
        return Ok(vec![value.clone()]);
    }
    let keeps = |own: &Value| {
        referents.iter().all(|&other| match relation {
            Relation::NotEqual => own != other,
            Relation::AtLeast => order(own, other).is_none_or(Ordering::is_ge),
            Relation::AtMost => order(own, other).is_none_or(Ordering::is_le),
            Relation::In => false,
        })
    };
    Ok(match value {
        TerminalSpec::Number(set) => numbers(set, relation, referents)
            .into_iter()
            .map(TerminalSpec::Number)
            .collect(),
        TerminalSpec::Literals(set) => {
            let kept = set.iter().filter(|text| {
                let own = Value::read(text);
                own.is_ok_and(|own| keeps(&own))
            });
            let kept = LiteralSet::new(kept).map_err(|_| LimitExceeded {
                what: "candidates of the input",
                limit: u64::from(u32::MAX),
            })?;
            vec![TerminalSpec::Literals(kept)]
        }
        TerminalSpec::String(shape) => vec![TerminalSpec::String(strings(
            shape, relation, referents, keeps,
        ))],
        TerminalSpec::Span {
            shape,
            input,
            with_recognised,
        } => vec![TerminalSpec::Span {
            shape: strings(shape, relation, referents, keeps),
            input: input.clone(),
            with_recognised: *with_recognised,
        }],
        TerminalSpec::Bytes(_) | TerminalSpec::Regular(_) => vec![value.clone()],
    })
}

/// Those of the referents that a value of this kind can be.
fn among(value: &TerminalSpec, referents: &[&Value]) -> Vec<TerminalSpec> {
    match value {
        TerminalSpec::Number(set) => {
            let numbers = referents.iter().filter_map(|referent| match referent {
                Value::Number(number) => Some(TerminalSpec::Number(NumberSet {
                    written_whole: set.written_whole,
                    ..NumberSet::point(number.clone())
                })),
                _ => None,
            });
            numbers.collect()
        }
        _ => {
            let texts: BTreeSet<Box<str>> = { referents.iter() }
                .filter_map(|referent| match referent {
                    Value::String(text) => Some(text.clone()),
                    _ => None,
                })
                .collect();
            match texts.is_empty() {
                true => Vec::new(),
                false => vec![TerminalSpec::String(StringShape {
                    content: StringContent::Literals(texts.into_iter().collect()),
                    ..StringShape::default()
                })],
            }
        }
    }
}

/// How two numbers or two dates are ordered.
pub(crate) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(a.cmp(b)),
        // Dates are of one length, with the year first.
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// The numbers of a set that have the relation to all referents.
fn numbers(set: &NumberSet, relation: Relation, referents: &[&Value]) -> Vec<NumberSet> {
    let mut others: Vec<_> = { referents.iter() }
        .filter_map(|referent| match referent {
            Value::Number(number) => Some(number.clone()),
            _ => None,
        })
        .collect();
    others.sort();
    others.dedup();
    let bound = |value, exclusive| Some(NumberBound { value, exclusive });
    match (relation, others.first().cloned(), others.last().cloned()) {
        (Relation::AtLeast, _, Some(greatest)) => vec![above(set, bound(greatest, false))],
        (Relation::AtMost, Some(least), _) => vec![below(set, bound(least, false))],
        (Relation::NotEqual, Some(_), _) => {
            // What lies between two neighbours.
            let ends = || others.iter().cloned().map(|value| bound(value, true));
            let lower = std::iter::once(None).chain(ends());
            let upper = ends().chain([None]);
            lower
                .zip(upper)
                .map(|(lower, upper)| below(&above(set, lower), upper))
                .collect()
        }
        _ => vec![set.clone()],
    }
}

/// The numbers of a set that are not below a bound.
fn above(set: &NumberSet, bound: Option<NumberBound>) -> NumberSet {
    let mut set = set.clone();
    set.lower = match (set.lower.take(), bound) {
        (Some(own), Some(bound)) => {
            let is_tighter = match bound.value.cmp(&own.value) {
                Ordering::Equal => bound.exclusive,
                order => order == Ordering::Greater,
            };
            Some(if is_tighter { bound } else { own })
        }
        (own, bound) => own.or(bound),
    };
    set
}

/// The numbers of a set that are not above a bound.
fn below(set: &NumberSet, bound: Option<NumberBound>) -> NumberSet {
    let mut set = set.clone();
    set.upper = match (set.upper.take(), bound) {
        (Some(own), Some(bound)) => {
            let is_tighter = match bound.value.cmp(&own.value) {
                Ordering::Equal => bound.exclusive,
                order => order == Ordering::Less,
            };
            Some(if is_tighter { bound } else { own })
        }
        (own, bound) => own.or(bound),
    };
    set
}

/// The strings of a shape that have the relation to all referents.
fn strings(
    shape: &StringShape,
    relation: Relation,
    referents: &[&Value],
    keeps: impl Fn(&Value) -> bool,
) -> StringShape {
    let texts = referents.iter().filter_map(|referent| match referent {
        Value::String(text) => Some(&**text),
        _ => None,
    });
    let content = match &shape.content {
        StringContent::Literals(own) => {
            let kept = { own.iter() }.filter(|text| keeps(&Value::String((*text).clone())));
            StringContent::Literals(kept.cloned().collect())
        }
        own => {
            let mut parts: Vec<Regular> = match own {
                StringContent::Regular(regular) => vec![regular.clone()],
                _ => Vec::new(),
            };
            parts.extend(texts.map(|text| match relation {
                Relation::AtLeast => from(text, true),
                Relation::AtMost => from(text, false),
                _ => Regular::Complement(Regular::literal(text).into()),
            }));
            match parts.len() {
                0 => StringContent::Any,
                1 => StringContent::Regular(parts.remove(0)),
                _ => StringContent::Regular(Regular::Intersection(parts.into())),
            }
        }
    };
    StringShape {
        content,
        ..shape.clone()
    }
}

/// The texts of digits and hyphens, of the length of a date, that come after it, or before it, and the date itself.
fn from(date: &str, after: bool) -> Regular {
    const FIRST: u8 = b'-';
    const LAST: u8 = b'9';
    let mut arms = vec![Regular::literal(date)];
    for (i, &byte) in date.as_bytes().iter().enumerate() {
        let (first, last) = match after {
            true => (byte.saturating_add(1), LAST),
            false => (FIRST, byte.saturating_sub(1)),
        };
        if first > last {
            continue;
        }
        let rest = (i + 1..date.len()).map(|_| Regular::ByteRange(FIRST, LAST));
        let parts = [
            Regular::literal(&date[..i]),
            Regular::ByteRange(first, last),
        ];
        arms.push(Regular::concat(parts.into_iter().chain(rest)));
    }
    Regular::union(arms)
}

/// A short text of a terminal; `None` where it has none.
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
            if after != crate::terminal::DEAD && is_cheaper {
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

/// The most bytes that a number takes.
fn longest_number(form: &NumberForm) -> u64 {
    let NumberForm {
        integer_digits,
        fraction_digits,
        exponent_digits,
        ..
    } = *form;
    // With a sign, a point, and an exponent with its sign.
    u64::from(integer_digits) + u64::from(fraction_digits) + u64::from(exponent_digits) + 4
}

impl Program {
    /// Works out which values are needed and what they cost, and that each needed one can always be written.
    ///
    /// # Errors
    /// When a limit is exceeded, or a relation cannot be kept: then with the number of the value, for a bound program.
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
                // Whether a referent is there is another question.
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

    /// For each place that has to be filled and allows related values only, these values.
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

    /// The related values that a slot allows, if it allows nothing else.
    fn related_slot(&self, slot: &Slot) -> Option<Box<[u32]>> {
        let mut all = Vec::new();
        for alternative in slot {
            all.extend(self.related_values(alternative.node)?);
        }
        (!all.is_empty()).then(|| all.into())
    }

    /// The related values that begin at a node, if nothing else does.
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

    /// What begins at a node, where that is related values only.
    #[inline]
    pub(crate) fn related_place(&self, node: NodeId) -> Option<&RelatedPlace> {
        self.related_places.get(node.index())?.as_ref()
    }

    /// The referents that the value at a node is one of.
    pub(crate) fn referents_at(&self, node: NodeId) -> &[u32] {
        match self.node(node) {
            Node::Related { related, .. } => &self.related[*related as usize].referents,
            _ => &[],
        }
    }

    /// Whether one of these values can be written whatever their referents are.
    fn is_kept(&self, values: &[u32]) -> Result<bool, LimitExceeded> {
        // Those that differ from one referent, for which two values are enough.
        let mut unlike: Vec<(u32, Vec<Value>)> = Vec::new();
        for &value in values {
            let related = &self.related[value as usize];
            let Some((relation, referent)) = related.relation else {
                return Ok(true);
            };
            let spec = &self.terminals[related.terminal as usize];
            match relation {
                // Whoever makes the grammar sees to it that a referent is there.
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
        Ok(unlike.into_iter().any(|(_, mut values)| {
            values.sort();
            values.dedup();
            values.len() > 1
        }))
    }

    /// What the values of a referent may be.
    fn values_of(&self, referent: u32) -> impl Iterator<Item = &TerminalSpec> {
        let of = self.related.iter();
        let of = of.filter(move |related| related.referents.contains(&referent));
        of.map(|related| &self.terminals[related.terminal as usize])
    }

    /// Up to two values of a terminal.
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

    /// What a value costs at most before its referents are written.
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
            TerminalSpec::Number(_) => longest_number(&self.form.numbers),
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
            // Dates are of one length.
            _ if relation.is_order() => own,
            spec => self.cost_of_another(spec)?,
        };
        // Where it turns out that there is no such value, something else takes its place.
        let others = self.text_costs.iter().filter(|_| !related.is_needed);
        let others = others.map(|&cost| u64::from(cost)).max().unwrap_or(0);
        Ok(most.max(own).max(others))
    }

    /// What a value of the terminal costs that is not the cheapest.
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

/// Whether for every value of `other` there is one of `own` that has the relation to it.
fn reaches(own: &TerminalSpec, relation: Relation, other: &TerminalSpec) -> bool {
    if own == other {
        return true;
    }
    if let (TerminalSpec::Number(own), TerminalSpec::Number(other)) = (own, other)
        && holds(own, other, relation)
    {
        return true;
    }
    match (end(own, relation, true), end(other, relation, false)) {
        (Some(own), Some(other)) => match order(&own, &other) {
            Some(order) if relation == Relation::AtLeast => order.is_ge(),
            Some(order) => order.is_le(),
            None => false,
        },
        _ => false,
    }
}

/// Whether `own` has every number of `other` but for those on the side on which all of its own are allowed.
fn holds(own: &NumberSet, other: &NumberSet, relation: Relation) -> bool {
    let is_within = match relation {
        Relation::AtLeast => below(other, own.upper.clone()) == *other,
        _ => above(other, own.lower.clone()) == *other,
    };
    is_within && own.not_multiples_of.is_empty() && (!own.written_whole || other.written_whole) && {
        own.multiples_of.iter()
    }
    .all(|divisor| other.multiples_of.contains(divisor))
}

/// The greatest value of a set, or the least; where it need not be one of the set's, a value beyond which there is none.
fn end(spec: &TerminalSpec, relation: Relation, is_in_set: bool) -> Option<Value> {
    let greatest = relation == Relation::AtLeast;
    let listed = |values: &mut dyn Iterator<Item = Value>| match greatest {
        true => values.max(),
        false => values.min(),
    };
    match spec {
        TerminalSpec::Number(set) => {
            let bound = if greatest { &set.upper } else { &set.lower };
            let NumberBound { value, exclusive } = bound.as_ref()?;
            let is_plain =
                set.not_multiples_of.is_empty() && { set.multiples_of.iter() }.all(|divisor| {
                    divisor.digits() == [1] && divisor.exponent() == 1 && value.is_integer()
                });
            (!is_in_set || (!exclusive && is_plain)).then(|| Value::Number(value.clone()))
        }
        TerminalSpec::Literals(set) => {
            listed(&mut set.iter().filter_map(|text| Value::read(&text).ok()))
        }
        TerminalSpec::String(shape) | TerminalSpec::Span { shape, .. } => match &shape.content {
            StringContent::Literals(texts) => listed(&mut texts.iter().cloned().map(Value::String)),
            _ if is_in_set => None,
            // No date is beyond these.
            _ => Some(Value::String(
                if greatest { "9999-12-31" } else { "0000-01-01" }.into(),
            )),
        },
        _ => None,
    }
}

/// The terminals of some specifications that have texts, and what the cheapest of them costs.
pub(crate) fn built(
    specs: Vec<TerminalSpec>,
    form: &JsonForm,
    limits: &Limits,
) -> Result<Vec<Terminal>, LimitExceeded> {
    let mut terminals = Vec::with_capacity(specs.len());
    for spec in specs {
        let terminal = spec.terminal(form, limits)?;
        if !terminal.is_never() {
            terminals.push(terminal);
        }
    }
    Ok(terminals)
}
