//! Objects: combines properties, patterns and counts.

use std::rc::Rc;

use structgen_grammar::keyed::{KeyedMap, KeyedSet};

use super::branch::Branch;
use super::{Canonicalizer, Field, Member, NodeId, Objects, Obligation, Values};
use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::SchemaId;
use crate::json_schema::s2_parse::atoms::{
    Atom, Fields, KeyLiteral, Literal, Origin, OtherField, SomeMember, TracedAtom,
};

/// The keys that a branch mentions, in order of first occurrence.
#[derive(Default)]
struct MentionedKeys<'j> {
    order: Vec<MentionedKey<'j>>,
    indices: KeyedMap<&'j str, usize>,
}

struct MentionedKey<'j> {
    name: &'j str,
    required: bool,
    /// The position among the declared keys, if declared.
    declared: Option<usize>,
}

impl<'j> MentionedKeys<'j> {
    fn meet(&mut self, name: &'j str) -> &mut MentionedKey<'j> {
        let next = self.order.len();
        let index = *self.indices.entry(name).or_insert(next);
        if index == next {
            self.order.push(MentionedKey {
                name,
                required: false,
                declared: None,
            });
        }
        &mut self.order[index]
    }

    fn meet_all(&mut self, some: &SomeMember<'j>) {
        match some {
            SomeMember::Field(other) => {
                for (key, _) in &other.fields.properties {
                    self.meet(key);
                }
            }
            SomeMember::Key(listed) => {
                for key in listed.iter() {
                    self.meet(key);
                }
            }
            SomeMember::Name(_) => {}
        }
    }

    /// The declared keys in their order, then the others.
    fn sorted(mut self) -> Vec<MentionedKey<'j>> {
        self.order
            .sort_by_key(|key| key.declared.unwrap_or(usize::MAX));
        self.order
    }
}

/// The atoms of a branch that are about keys.
pub(super) struct KeyRules<'b, 'j> {
    pub(super) fields: Vec<(&'b Rc<Fields<'j>>, Origin)>,
    /// The value of one key, or `None` if the key must be absent.
    pub(super) single: Vec<(&'j str, Option<Literal>)>,
    pub(super) names: Vec<(SchemaId, Origin)>,
    pub(super) required: KeyedSet<&'j str>,
    pub(super) clauses: Vec<(Rc<[KeyLiteral<'j>]>, Origin)>,
}

impl<'b, 'j> KeyRules<'b, 'j> {
    pub(super) fn of(atoms: &'b [TracedAtom<'j>]) -> Self {
        let mut rules = Self {
            fields: Vec::new(),
            single: Vec::new(),
            names: Vec::new(),
            required: KeyedSet::default(),
            clauses: Vec::new(),
        };
        for TracedAtom { atom, origin } in atoms {
            match atom {
                Atom::Fields(fields) => rules.fields.push((fields, *origin)),
                Atom::Field(key, literal) => rules.single.push((key, Some(*literal))),
                Atom::Forbidden(key) => rules.single.push((key, None)),
                Atom::Names(id) => rules.names.push((*id, *origin)),
                Atom::Required(keys) => rules.required.extend(keys.iter()),
                Atom::Present(key) => {
                    rules.required.insert(key);
                }
                Atom::Some(some) => {
                    let clause = [KeyLiteral::Some(some.clone())].into();
                    rules.clauses.push((clause, *origin));
                }
                Atom::Clause(literals) => rules.clauses.push((Rc::clone(literals), *origin)),
                _ => {}
            }
        }
        rules
    }

    /// The disjunctions of which one member must satisfy each.
    pub(super) fn some(&self) -> impl Iterator<Item = (&SomeMember<'j>, Origin)> {
        let literals = self
            .clauses
            .iter()
            .flat_map(|(literals, origin)| literals.iter().map(move |literal| (literal, *origin)));
        literals.filter_map(|(literal, origin)| match literal {
            KeyLiteral::Some(some) => Some((some, origin)),
            _ => None,
        })
    }
}

impl<'j> Canonicalizer<'_, 'j> {
    /// The objects of a branch.
    pub(super) fn finish_objects(
        &mut self,
        branch: &Branch<'j>,
        out: &mut Values,
    ) -> Result<(), SchemaError> {
        let rules = KeyRules::of(&branch.atoms);
        let mut keys = MentionedKeys::default();
        let mut declared = 0;
        let mut declare = |key: &mut MentionedKey<'j>| {
            key.declared.get_or_insert_with(|| {
                declared += 1;
                declared
            });
        };
        let mut objects = Objects::any();
        objects.source = branch.source();
        for TracedAtom { atom, origin } in &branch.atoms {
            match atom {
                Atom::Fields(fields) => {
                    for (key, _) in &fields.properties {
                        declare(keys.meet(key));
                    }
                    objects.stated |= fields.additional.is_some() || !fields.patterns.is_empty();
                    objects.origin = objects.origin.or(Some(*origin));
                }
                Atom::Field(key, _) | Atom::Forbidden(key) => {
                    keys.meet(key);
                }
                Atom::Some(some) => keys.meet_all(some),
                Atom::Clause(literals) => {
                    for literal in literals.iter() {
                        match literal {
                            KeyLiteral::Absent(key) | KeyLiteral::Has(key, _) => {
                                keys.meet(key);
                            }
                            KeyLiteral::Some(some) => keys.meet_all(some),
                        }
                    }
                }
                Atom::Required(required) => {
                    for key in required.iter() {
                        let key = keys.meet(key);
                        key.required = true;
                        declare(key);
                    }
                    objects.origin = objects.origin.or(Some(*origin));
                }
                Atom::Present(key) => keys.meet(key).required = true,
                Atom::MinProperties(count) => objects.min = objects.min.max(*count),
                Atom::MaxProperties(count) => {
                    objects.max = Some(objects.max.map_or(*count, |max| max.min(*count)));
                }
                Atom::Names(_) => objects.stated = true,
                _ => {}
            }
        }
        self.step(keys.order.len() * (1 + rules.fields.len() + rules.single.len()))?;
        let listed: KeyedSet<&str> = keys.order.iter().map(|key| key.name).collect();
        for key in keys.sorted() {
            let node = self.key_node(&rules, key.name)?;
            if key.required && node == NodeId::NEVER {
                return Ok(());
            }
            objects.properties.push(Field {
                key: key.name.into(),
                node,
                required: key.required,
                declared: key.declared.is_some(),
            });
        }
        let mut obligations: Vec<Obligation> = Vec::with_capacity(rules.clauses.len());
        for (literals, origin) in &rules.clauses {
            obligations.push(self.obligation(literals, *origin, &objects)?);
        }
        objects.obligations = obligations;
        self.other_keys(&rules, &listed, &mut objects)?;
        if let Some(objects) = self.settled(objects)? {
            out.add_objects(objects);
        }
        Ok(())
    }

    /// The part of an obligation that can still be met; `None` if it is already met.
    fn unmet(
        &mut self,
        objects: &Objects,
        mut obligation: Obligation,
    ) -> Result<Option<Obligation>, SchemaError> {
        let is_gone = |&index: &usize| objects.properties[index].node == NodeId::NEVER;
        if obligation.absent.iter().any(is_gone) {
            return Ok(None);
        }
        obligation
            .absent
            .retain(|&index| !objects.properties[index].required);
        let mut members: Vec<(Member, NodeId)> = Vec::new();
        for (member, node) in std::mem::take(&mut obligation.members) {
            self.step(1)?;
            let own = objects.node(member);
            if node == NodeId::NEVER || own == NodeId::NEVER {
                continue;
            }
            // The property may have been narrowed meanwhile.
            let (own_literals, literals) = (self.literals(own), self.literals(node));
            let literals = own_literals.iter().chain(literals.iter()).copied();
            let node = self.node(literals.collect::<Vec<_>>())?;
            if node == NodeId::NEVER || self.is_proven_empty(node)? {
                continue;
            }
            // It is there, or its absence meets the obligation as well.
            let decides = match member {
                Member::Property(index) => {
                    objects.properties[index].required || obligation.absent.contains(&index)
                }
                Member::Class(_) | Member::Additional => false,
            };
            if decides && self.attempt(|this| this.always_has(own, node)) {
                return Ok(None);
            }
            members.push((member, node));
        }
        obligation.members = members;
        Ok(Some(obligation))
    }

    /// Whether it is proven that all values of a node are also those of another one, which has all its literals.
    fn always_has(&mut self, node: NodeId, narrower: NodeId) -> Result<bool, SchemaError> {
        let (own, all) = (self.literals(node), self.literals(narrower));
        for literal in all.iter().filter(|literal| !own.contains(literal)) {
            let others = own.iter().copied().chain([literal.complement()]);
            if !self.excludes_all(&others.collect::<Vec<_>>())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The members that can meet a clause, each with the values that meet it, and the properties that meet it by being
    /// absent.
    pub(super) fn obligation(
        &mut self,
        literals: &[KeyLiteral<'j>],
        origin: Origin,
        objects: &Objects,
    ) -> Result<Obligation, SchemaError> {
        let mut obligation = Obligation {
            members: Vec::new(),
            absent: Vec::new(),
            origin,
        };
        let find = |key: &str| {
            objects
                .properties
                .iter()
                .position(|field| *field.key == *key)
        };
        for literal in literals {
            match literal {
                KeyLiteral::Absent(key) => obligation.absent.extend(find(key)),
                KeyLiteral::Has(key, value) => {
                    let Some(index) = find(key) else { continue };
                    let mut node = objects.properties[index].node;
                    if let Some(value) = value.filter(|_| node != NodeId::NEVER) {
                        let literals = self.literals(node);
                        let literals = literals.iter().copied().chain([value]);
                        node = self.node(literals.collect::<Vec<_>>())?;
                    }
                    obligation.members.push((Member::Property(index), node));
                }
                KeyLiteral::Some(some) => {
                    let members = self.some_properties(some, origin, objects)?;
                    obligation.members.extend(members);
                }
            }
        }
        Ok(obligation)
    }

    /// For each property, the values with which it is the required member.
    pub(super) fn some_properties(
        &mut self,
        some: &SomeMember<'j>,
        origin: Origin,
        objects: &Objects,
    ) -> Result<Vec<(Member, NodeId)>, SchemaError> {
        let mut members = Vec::new();
        for (index, field) in objects.properties.iter().enumerate() {
            self.step(1)?;
            let node = match some {
                SomeMember::Field(other) if self.is_about(other, &field.key, origin)? => {
                    self.unfit(field.node, other)?
                }
                SomeMember::Field(_) => NodeId::NEVER,
                SomeMember::Key(keys) if keys.contains(&&*field.key) => NodeId::NEVER,
                SomeMember::Key(_) => field.node,
                SomeMember::Name(id) => {
                    let key = Json::String(field.key.as_ref().into());
                    let fits = self.is_valid(*id, &key, 0)?;
                    if fits { NodeId::NEVER } else { field.node }
                }
            };
            members.push((Member::Property(index), node));
        }
        Ok(members)
    }

    /// The values of a node that are invalid under the schema of `other`.
    pub(super) fn unfit(
        &mut self,
        node: NodeId,
        other: &OtherField<'j>,
    ) -> Result<NodeId, SchemaError> {
        let Some(schema) = other.schema().filter(|_| node != NodeId::NEVER) else {
            return Ok(NodeId::NEVER);
        };
        let literals = self.literals(node);
        let literals = literals.iter().copied().chain([Literal::not(schema)]);
        self.node(literals.collect::<Vec<_>>())
    }

    /// The objects with counts and obligations simplified; `None` if they contradict one another.
    pub(crate) fn settled(&mut self, mut objects: Objects) -> Result<Option<Objects>, SchemaError> {
        // Settling one obligation may settle another.
        loop {
            let mut changed = false;
            for obligation in std::mem::take(&mut objects.obligations) {
                let origin = obligation.origin;
                let Some(left) = self.unmet(&objects, obligation)? else {
                    continue;
                };
                match (left.members.as_slice(), left.absent.as_slice()) {
                    ([], []) => return Ok(None),
                    ([(Member::Property(index), node)], []) => {
                        objects.properties[*index].required = true;
                        objects.properties[*index].node = *node;
                        changed = true;
                    }
                    ([(Member::Property(index), node)], [other]) if index == other => {
                        objects.properties[*index].node = *node;
                        changed = true;
                    }
                    ([], [index]) => {
                        objects.properties[*index].node = NodeId::NEVER;
                        changed = true;
                    }
                    _ => objects.obligations.push(Obligation { origin, ..left }),
                }
            }
            if !changed {
                break;
            }
        }
        let never = |field: &Field| field.required && field.node == NodeId::NEVER;
        if objects.properties.iter().any(never) {
            return Ok(None);
        }
        if objects.is_closed() && objects.obligations.is_empty() {
            objects.classes.clear();
            objects
                .properties
                .retain(|field| field.node != NodeId::NEVER);
        }
        let count = |is: &dyn Fn(&&Field) -> bool| {
            u32::try_from(objects.properties.iter().filter(is).count()).unwrap_or(u32::MAX)
        };
        let required = count(&|field| field.required);
        let possible = count(&|field| field.node != NodeId::NEVER);
        if objects
            .max
            .is_some_and(|max| max < required.max(objects.min))
        {
            return Ok(None);
        }
        if objects.max == Some(required) && objects.obligations.is_empty() {
            objects.properties.retain(|field| field.required);
            objects.classes.clear();
            objects.additional = NodeId::NEVER;
        }
        if objects.min <= required {
            objects.min = 0;
        }
        if objects.is_closed() {
            if objects.max.is_some_and(|max| possible <= max) {
                objects.max = None;
            }
            if objects.min > possible {
                return Ok(None);
            }
            if objects.min == possible {
                objects.min = 0;
                for field in &mut objects.properties {
                    field.required |= field.node != NodeId::NEVER;
                }
            }
        }
        Ok(Some(objects))
    }

    /// Whether the assertion is about the key.
    pub(super) fn is_about(
        &mut self,
        other: &OtherField<'j>,
        key: &str,
        origin: Origin,
    ) -> Result<bool, SchemaError> {
        if other.pattern.is_none() && other.fields.property(key).is_some() {
            return Ok(false);
        }
        for (index, &(pattern, _)) in other.fields.patterns.iter().enumerate() {
            if other.pattern.is_some_and(|wanted| wanted != index) {
                continue;
            }
            let origin = Origin {
                keyword: "patternProperties",
                ..origin
            };
            if let Some(regular) = self.pattern(pattern, origin)?
                && self.matches(&regular, key)?
            {
                return Ok(other.pattern.is_some());
            }
        }
        Ok(other.pattern.is_none())
    }

    /// What the branch asserts about the value of one key.
    pub(super) fn key_node(
        &mut self,
        rules: &KeyRules<'_, 'j>,
        key: &str,
    ) -> Result<NodeId, SchemaError> {
        match self.key_literals(rules, key)? {
            Some(literals) => self.node(literals),
            None => Ok(NodeId::NEVER),
        }
    }

    /// What the branch asserts about the value of one key; `None` if the key must be absent.
    pub(super) fn key_literals(
        &mut self,
        rules: &KeyRules<'_, 'j>,
        key: &str,
    ) -> Result<Option<Vec<Literal>>, SchemaError> {
        let mut literals: Vec<Literal> = Vec::new();
        for (fields, origin) in &rules.fields {
            let listed = fields.property(key);
            literals.extend(listed.map(Literal::schema));
            let mut matched = listed.is_some();
            for &(pattern, id) in &fields.patterns {
                let origin = Origin {
                    keyword: "patternProperties",
                    ..*origin
                };
                if let Some(regular) = self.pattern(pattern, origin)?
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
            if !self.is_valid(id, &Json::String(key.into()), 0)? {
                return Ok(None);
            }
        }
        Ok(Some(literals))
    }
}
