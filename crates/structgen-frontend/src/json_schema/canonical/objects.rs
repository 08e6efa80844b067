//! Objects: properties, patterns and counts put together.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::atoms::{Atom, Fields, Literal, OtherField, Place, Placed, TypeSet};
use super::branch::Branch;
use super::{Canonicalizer, Field, NodeId, Objects, Values};
use crate::json_schema::SchemaError;
use crate::json_schema::json::Json;
use crate::json_schema::parse::SchemaId;

/// How many keys a closed object may have for "at least n keys" to become alternatives.
const FEW_KEYS: usize = 32;

/// The keys that a branch speaks of, in the order in which they are met.
#[derive(Default)]
struct Keys<'j> {
    order: Vec<(&'j str, bool)>,
    places: FxHashMap<&'j str, usize>,
}

impl<'j> Keys<'j> {
    fn meet(&mut self, key: &'j str, required: bool) {
        let next = self.order.len();
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.order.push((key, false));
        }
        self.order[place].1 |= required;
    }
}

/// The atoms of a branch that say something about keys.
pub(super) struct Rules<'b, 'j> {
    pub(super) fields: Vec<(&'b Rc<Fields<'j>>, Place)>,
    /// What one key has, or that it must not be there.
    pub(super) single: Vec<(&'j str, Option<Literal>)>,
    names: Vec<(SchemaId, Place)>,
    pub(super) required: FxHashSet<&'j str>,
}

impl<'b, 'j> Rules<'b, 'j> {
    pub(super) fn of(atoms: &'b [Placed<'j>]) -> Self {
        let mut rules = Self {
            fields: Vec::new(),
            single: Vec::new(),
            names: Vec::new(),
            required: FxHashSet::default(),
        };
        for Placed { atom, place } in atoms {
            match atom {
                Atom::Fields(fields) => rules.fields.push((fields, *place)),
                Atom::Field(key, literal) => rules.single.push((key, Some(*literal))),
                Atom::Forbidden(key) => rules.single.push((key, None)),
                Atom::Names(id) => rules.names.push((*id, *place)),
                Atom::Required(keys) => rules.required.extend(keys.iter()),
                _ => {}
            }
        }
        rules
    }
}

impl<'j> Canonicalizer<'_, 'j> {
    /// The objects of a branch.
    pub(super) fn finish_objects(
        &mut self,
        branch: &Branch<'j>,
        out: &mut Values<'j>,
    ) -> Result<(), SchemaError> {
        let rules = Rules::of(&branch.atoms);
        let mut keys = Keys::default();
        let mut objects = Objects {
            properties: Vec::new(),
            additional: NodeId::ANY,
            stated: false,
            place: None,
            patterns: Vec::new(),
            names: Vec::new(),
            min: None,
            max: None,
            others: Vec::new(),
        };
        let mut others = Vec::new();
        for Placed { atom, place } in &branch.atoms {
            match atom {
                Atom::Fields(fields) => {
                    for (key, _) in &fields.properties {
                        keys.meet(key, false);
                    }
                    objects.stated |= fields.additional.is_some() || !fields.patterns.is_empty();
                    objects.place = objects.place.or(Some(*place));
                }
                Atom::Field(key, _) | Atom::Forbidden(key) => keys.meet(key, false),
                Atom::OtherField(other) => others.push((other.clone(), *place)),
                Atom::Required(required) => {
                    for key in required.iter() {
                        keys.meet(key, true);
                    }
                    objects.place = objects.place.or(Some(*place));
                }
                Atom::MinProperties(count) if objects.min.is_none_or(|(min, _)| min < *count) => {
                    objects.min = Some((*count, *place));
                }
                Atom::MaxProperties(count) if objects.max.is_none_or(|(max, _)| max > *count) => {
                    objects.max = Some((*count, *place));
                }
                _ => {}
            }
        }
        self.step(keys.order.len() * (1 + rules.fields.len() + rules.single.len()))?;
        for &(key, required) in &keys.order {
            let node = self.key_node(&rules, key)?;
            if required && node == NodeId::NEVER {
                return Ok(());
            }
            objects.properties.push(Field {
                key: key.into(),
                node,
                required,
            });
        }
        self.other_keys(&rules, &keys, &mut objects)?;
        if objects.is_closed() {
            objects.names.clear();
            objects
                .properties
                .retain(|field| field.node != NodeId::NEVER);
        }
        objects.others = others;
        for objects in self.with_other_fields(objects)? {
            for objects in count(objects) {
                self.finish_object(branch, objects, out)?;
            }
        }
        Ok(())
    }

    fn finish_object(
        &mut self,
        branch: &Branch<'j>,
        mut objects: Objects<'j>,
        out: &mut Values<'j>,
    ) -> Result<(), SchemaError> {
        for placed in &branch.atoms {
            let Atom::NotValues(values) = placed.atom else {
                continue;
            };
            for value in values {
                let Json::Object(entries) = value else {
                    continue;
                };
                if !self.others_hold(branch, value)? {
                    continue;
                }
                if entries.is_empty() {
                    if objects.min.is_none() && !objects.properties.iter().any(|f| f.required) {
                        objects.min = Some((1, placed.place));
                    }
                } else {
                    self.refuse(placed.place, "single objects cannot be taken out of a set")?;
                }
            }
        }
        self.check_refused(branch, TypeSet::OBJECT)?;
        for objects in count(objects) {
            out.add_objects(objects);
        }
        Ok(())
    }

    /// The objects in which some other key has a value that does not fit, for each of `others`: as alternatives where the keys are
    /// known; what is left over stays in `others`.
    pub(crate) fn with_other_fields(
        &mut self,
        mut objects: Objects<'j>,
    ) -> Result<Vec<Objects<'j>>, SchemaError> {
        let Some((other, place)) = objects.others.pop() else {
            return Ok(vec![objects]);
        };
        let Some(schema) = other.schema() else {
            return Ok(Vec::new());
        };
        let mut candidates: Vec<(usize, NodeId)> = Vec::new();
        for index in 0..objects.properties.len() {
            self.step(1)?;
            let Field {
                node,
                required,
                ref key,
            } = objects.properties[index];
            if node == NodeId::NEVER || !self.is_about(&other, &key.clone(), place)? {
                continue;
            }
            let literals = self.literals(node);
            let with = |literal| literals.iter().copied().chain([literal]);
            let fitting = self.node(with(Literal::schema(schema)).collect::<Vec<_>>())?;
            if required && self.is_proven_empty(fitting)? {
                return self.with_other_fields(objects);
            }
            let node = self.node(with(Literal::not(schema)).collect::<Vec<_>>())?;
            if !self.is_proven_empty(node)? {
                candidates.push((index, node));
            }
        }
        if !objects.is_closed() {
            let mut all = self.with_other_fields(objects)?;
            for objects in &mut all {
                objects.others.push((other.clone(), place));
            }
            return Ok(all);
        }
        let mut all = Vec::new();
        for (index, node) in candidates {
            let mut objects = objects.clone();
            objects.properties[index].required = true;
            objects.properties[index].node = node;
            all.extend(self.with_other_fields(objects)?);
        }
        Ok(all)
    }

    /// Whether the key is one of those that the assertion is about.
    pub(super) fn is_about(
        &mut self,
        other: &OtherField<'j>,
        key: &str,
        place: Place,
    ) -> Result<bool, SchemaError> {
        if other.pattern.is_none() && other.fields.property(key).is_some() {
            return Ok(false);
        }
        for (index, &(pattern, _)) in other.fields.patterns.iter().enumerate() {
            if other.pattern.is_some_and(|wanted| wanted != index) {
                continue;
            }
            let place = Place {
                keyword: "patternProperties",
                ..place
            };
            if let Some(regular) = self.pattern(pattern, place)?
                && self.matches(&regular, key)?
            {
                return Ok(other.pattern.is_some());
            }
        }
        Ok(other.pattern.is_none())
    }

    /// What the branch says about the value of one key.
    pub(super) fn key_node(
        &mut self,
        rules: &Rules<'_, 'j>,
        key: &str,
    ) -> Result<NodeId, SchemaError> {
        match self.key_literals(rules, key)? {
            Some(literals) => self.node(literals),
            None => Ok(NodeId::NEVER),
        }
    }

    /// What the branch says about the value of one key; `None` when the key must not be there.
    pub(super) fn key_literals(
        &mut self,
        rules: &Rules<'_, 'j>,
        key: &str,
    ) -> Result<Option<Vec<Literal>>, SchemaError> {
        let mut literals: Vec<Literal> = Vec::new();
        for (fields, place) in &rules.fields {
            let listed = fields.property(key);
            literals.extend(listed.map(Literal::schema));
            let mut matched = listed.is_some();
            for &(pattern, id) in &fields.patterns {
                let place = Place {
                    keyword: "patternProperties",
                    ..*place
                };
                if let Some(regular) = self.pattern(pattern, place)?
                    && self.matches(&regular, key)?
                {
                    matched = true;
                    literals.push(Literal::schema(id));
                }
            }
            if !matched {
                literals.extend(fields.additional.map(Literal::schema));
            }
        }
        for &(name, literal) in &rules.single {
            if name == key {
                match literal {
                    Some(literal) => literals.push(literal),
                    None => return Ok(None),
                }
            }
        }
        for &(id, _) in &rules.names {
            if !self.satisfies(id, &Json::String(key.into()), 0)? {
                return Ok(None);
            }
        }
        Ok(Some(literals))
    }

    /// What the branch says about keys that it does not name.
    fn other_keys(
        &mut self,
        rules: &Rules<'_, 'j>,
        keys: &Keys<'j>,
        objects: &mut Objects<'j>,
    ) -> Result<(), SchemaError> {
        let mut literals: Vec<Literal> = Vec::new();
        for (fields, place) in &rules.fields {
            let additional = fields.additional.map(Literal::schema);
            let additional = additional.filter(|&literal| !self.is_trivial(literal));
            let says_more = |&(_, id): &(&str, SchemaId)| {
                let literal =
                    Some(Literal::schema(id)).filter(|&literal| !self.is_trivial(literal));
                literal != additional
            };
            if fields.patterns.iter().any(says_more) {
                let place = Place {
                    keyword: "patternProperties",
                    ..*place
                };
                objects.patterns.push((Rc::clone(fields), place));
            } else {
                literals.extend(additional);
            }
        }
        objects.additional = self.node(literals)?;
        let open = objects.additional != NodeId::NEVER || !objects.patterns.is_empty();
        if !open {
            return Ok(());
        }
        // Names out of a list are keys like any others, and there are no more of them.
        let mut listed: Option<Vec<String>> = None;
        for &(id, place) in &rules.names {
            let node = self.schema_node(id)?;
            if node == NodeId::ANY {
                continue;
            }
            let names = self.try_expand(node)?;
            match names.as_ref().and_then(|values| values.only_literals()) {
                Some(literals) => {
                    listed = Some(literals.iter().map(|key| key.to_string()).collect())
                }
                None => objects.names.push((id, place)),
            }
        }
        let Some(listed) = listed else {
            return Ok(());
        };
        for key in listed {
            self.step(1)?;
            if keys.places.contains_key(key.as_str()) {
                continue;
            }
            let node = self.key_node(rules, &key)?;
            objects.properties.push(Field {
                key: key.into(),
                node,
                required: false,
            });
        }
        objects.additional = NodeId::NEVER;
        objects.patterns.clear();
        Ok(())
    }

    /// Whether everything in the branch but exclusions holds of the value: otherwise excluding it says nothing.
    pub(super) fn others_hold(
        &mut self,
        branch: &Branch<'j>,
        value: &Json<'_>,
    ) -> Result<bool, SchemaError> {
        for placed in &branch.atoms {
            let holds =
                matches!(placed.atom, Atom::NotValues(_)) || self.atom_holds(placed, value, 0)?;
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Resolves counts of keys as far as properties can say them; none when they contradict one another.
fn count(mut objects: Objects<'_>) -> Vec<Objects<'_>> {
    let required = objects.properties.iter().filter(|field| field.required);
    let required = u32::try_from(required.count()).unwrap_or(u32::MAX);
    if let Some((max, _)) = objects.max {
        if max < required || objects.min.is_some_and(|(min, _)| max < min) {
            return Vec::new();
        }
        if max == required {
            objects.properties.retain(|field| field.required);
            objects.additional = NodeId::NEVER;
            objects.patterns.clear();
            objects.names.clear();
        }
        let possible = objects
            .properties
            .iter()
            .filter(|field| field.node != NodeId::NEVER);
        if objects.is_closed() && possible.count() <= max as usize {
            objects.max = None;
        }
    }
    let Some((min, _)) = objects.min else {
        return vec![objects];
    };
    if min <= required {
        objects.min = None;
        return vec![objects];
    }
    if !objects.is_closed() {
        return vec![objects];
    }
    let possible = objects.properties.len();
    match possible.cmp(&(min as usize)) {
        std::cmp::Ordering::Less => return Vec::new(),
        std::cmp::Ordering::Equal => {
            for field in &mut objects.properties {
                field.required = true;
            }
            objects.min = None;
            objects.max = None;
            return vec![objects];
        }
        std::cmp::Ordering::Greater => {}
    }
    if min - required > 1 || possible > FEW_KEYS || objects.max.is_some() {
        return vec![objects];
    }
    // One more of the optional keys: it is the first of them that is there which tells the alternatives apart.
    let optional: Vec<usize> = (0..possible)
        .filter(|&place| !objects.properties[place].required)
        .collect();
    let with_first = |first: usize| {
        let mut objects = objects.clone();
        objects.min = None;
        objects.properties[first].required = true;
        let mut place = 0;
        objects.properties.retain(|field| {
            place += 1;
            place > first || field.required
        });
        objects
    };
    optional.into_iter().map(with_first).collect()
}
