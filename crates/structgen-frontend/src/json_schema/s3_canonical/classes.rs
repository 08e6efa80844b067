//! Classes of keys, for the values of keys that an object does not name.
//!
//! Patterns may overlap. So the keys are split by every pattern into those that match and those that do not, and empty
//! classes are dropped. The remaining classes are disjoint, and each has one node for its values.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use structgen_grammar::keyed::{KeyedMap, KeyedSet};
use structgen_grammar::{CharSet, Regular, StringContent, StringShape};

use super::lengths::Lengths;
use super::objects::KeyRules;
use super::values::Class;
use super::{Canonicalizer, Field, Member, NodeId, Objects, Strings};
use crate::json_schema::SchemaError;
use crate::json_schema::s2_parse::SchemaId;
use crate::json_schema::s2_parse::atoms::{Fields, KeyLiteral, Literal, Origin, SomeMember};

/// The maximum number of classes of keys of an object.
const MAX_CLASSES: usize = 128;

/// The number of steps of a compilation that take as long as one expression of a proof.
const STEPS_PER_EXPRESSION: usize = 2;

/// Keys on which all patterns agree: for each pattern, whether they match it.
#[derive(Clone, Debug)]
struct Cell {
    matches: Vec<bool>,
}

/// The sets that keys are split by.
#[derive(Default)]
pub(super) struct Splitters {
    sets: Vec<Regular>,
}

impl Splitters {
    pub(super) fn add(&mut self, set: Regular) -> usize {
        match self.sets.iter().position(|other| *other == set) {
            Some(index) => index,
            None => {
                self.sets.push(set);
                self.sets.len() - 1
            }
        }
    }
}

/// The splitters of the schemas of names; `None` if every name is in the set.
#[derive(Default)]
struct SplittersOfNames {
    /// The names that are compiled.
    valid: FxHashMap<SchemaId, Option<usize>>,
    /// A set without which no name is valid.
    possibly_valid: FxHashMap<SchemaId, Option<usize>>,
}

/// The set of a cell's keys, by the first of `sets`. `apart` has a row per set: which of the sets before it are known
/// to be disjoint from it.
fn keys(sets: &[Regular], cell: &Cell, apart: &[Vec<bool>]) -> Regular {
    let are_apart = |one: usize, other: usize| {
        let row = apart.get(one.max(other));
        row.and_then(|row| row.get(one.min(other))) == Some(&true)
    };
    let (mut arms, mut matched) = (Vec::new(), Vec::new());
    for (index, (set, &matches)) in sets.iter().zip(&cell.matches).enumerate() {
        if matches {
            arms.push(set.clone());
            matched.push(index);
        }
    }
    let mut others = Vec::new();
    for (index, (set, &matches)) in sets.iter().zip(&cell.matches).enumerate() {
        // A set that is disjoint from a matching one excludes nothing.
        if !matches && !matched.iter().any(|&one| are_apart(one, index)) {
            others.push(set.clone());
        }
    }
    match others.len() {
        0 => {}
        1 => arms.push(Regular::Complement(others.remove(0).into())),
        _ => arms.push(Regular::Complement(Regular::Union(others.into()).into())),
    }
    match arms.len() {
        0 => any_text(),
        1 => arms.remove(0),
        _ => Regular::Intersection(arms.into()),
    }
}

fn any_text() -> Regular {
    Regular::repeat(Regular::Chars(CharSet::all()), 0, None)
}

/// The node of a cell's keys, and for each obligation the nodes that meet it.
type Content = (NodeId, Vec<Vec<NodeId>>);

impl<'j> Canonicalizer<'_, 'j> {
    /// Computes the classes of the keys that the branch does not name.
    pub(super) fn other_keys(
        &mut self,
        rules: &KeyRules<'_, 'j>,
        listed: &KeyedSet<&str>,
        objects: &mut Objects,
    ) -> Result<(), SchemaError> {
        if let Some(names) = self.listed_names(rules)? {
            return self.only_these(rules, names, listed, objects);
        }
        let mut splitters = Splitters::default();
        let mut by_pattern: KeyedMap<&'j str, usize> = KeyedMap::default();
        let fields = rules
            .fields
            .iter()
            .map(|(fields, origin)| (*fields, *origin));
        let others = rules.some().filter_map(|(some, origin)| match some {
            SomeMember::Field(other) => Some((&other.fields, origin)),
            _ => None,
        });
        for (fields, origin) in fields.chain(others).collect::<Vec<_>>() {
            for &(pattern, _) in &fields.patterns {
                let origin = Origin {
                    keyword: "patternProperties",
                    ..origin
                };
                if let Some(regular) = self.pattern(pattern, origin)? {
                    by_pattern.insert(pattern, splitters.add(regular));
                }
            }
        }
        let integers = self.rust_integers(rules, &by_pattern, &mut splitters);
        let mut by_name = SplittersOfNames::default();
        for &(id, origin) in &rules.names {
            let set = self.strings_of(id, origin)?;
            by_name.valid.insert(id, set.map(|set| splitters.add(set)));
        }
        let asked = rules.some().filter_map(|(some, origin)| match some {
            SomeMember::Name(id) => Some((*id, origin)),
            _ => None,
        });
        for (id, origin) in asked.collect::<Vec<_>>() {
            let set = self.superset_of_strings(id, origin)?;
            by_name
                .possibly_valid
                .insert(id, set.map(|set| splitters.add(set)));
        }
        let origin = objects.origin;
        let cells = self.cells(&splitters, origin)?;
        let mut contents: Vec<(Content, Vec<Cell>)> = Vec::new();
        for cell in cells {
            let mut content = self.cell_content(rules, &by_pattern, &by_name, &cell)?;
            let is_too_wide =
                |&(all, held): &(usize, usize)| cell.matches[all] && !cell.matches[held];
            if integers.iter().any(is_too_wide) {
                content.0 = NodeId::NEVER;
            }
            match contents.iter_mut().find(|(other, _)| *other == content) {
                Some((_, cells)) => cells.push(cell),
                None => contents.push((content, vec![cell])),
            }
        }
        // Keys that match nothing need no set of their own.
        let rest = contents
            .iter()
            .position(|(_, cells)| cells.iter().any(|cell| !cell.matches.contains(&true)));
        objects.additional = NodeId::NEVER;
        let rest = rest.map(|index| contents.remove(index));
        let is_open = rest
            .as_ref()
            .is_some_and(|((node, _), _)| *node != NodeId::NEVER);
        let all: Vec<Cell> = contents
            .iter()
            .flat_map(|(_, cells)| cells.clone())
            .collect();
        let all_rest: Vec<Cell> = rest.iter().flat_map(|(_, cells)| cells.clone()).collect();
        for ((node, unfit), cells) in contents {
            if node == NodeId::NEVER && !is_open {
                continue;
            }
            let outside = |cell: &Cell| !cells.iter().any(|own| own.matches == cell.matches);
            let outside: Vec<&Cell> = all
                .iter()
                .chain(&all_rest)
                .filter(|cell| outside(cell))
                .collect();
            let member = Member::Class(objects.classes.len());
            for (obligation, nodes) in objects.obligations.iter_mut().zip(unfit) {
                obligation
                    .members
                    .extend(nodes.into_iter().map(|node| (member, node)));
            }
            objects.classes.push(Class {
                keys: union(&splitters, &cells, &outside),
                node,
            });
        }
        if let Some(((node, unfit), _)) = rest {
            objects.additional = node;
            for (obligation, nodes) in objects.obligations.iter_mut().zip(unfit) {
                let nodes = nodes.into_iter();
                obligation
                    .members
                    .extend(nodes.map(|node| (Member::Additional, node)));
            }
        }
        Ok(())
    }

    /// Splits the keys by one set after the other, and drops empty cells.
    ///
    /// Most patterns of one object have no key in common, which is determined once for each pair. Sets disjoint from
    /// one that a cell matches do not change the cell's keys, so most proofs do not depend on how many patterns there
    /// are.
    fn cells(
        &mut self,
        splitters: &Splitters,
        origin: Option<Origin>,
    ) -> Result<Vec<Cell>, SchemaError> {
        let sets = splitters.sets.as_slice();
        let ids: Vec<u32> = sets.iter().map(|set| self.machines.number(set)).collect();
        let mut cells = vec![Cell {
            matches: Vec::new(),
        }];
        // For each set, which of the sets before it are disjoint from it.
        let mut all_apart: Vec<Vec<bool>> = Vec::with_capacity(sets.len());
        for (index, set) in sets.iter().enumerate() {
            let mut apart = Vec::with_capacity(index);
            for before in 0..index {
                apart.push(self.are_apart((ids[before], &sets[before]), (ids[index], set))?);
            }
            all_apart.push(apart);
            let apart = &all_apart[index];
            let mut split = Vec::with_capacity(cells.len() + 1);
            for cell in cells {
                self.step(1 + index / 8)?;
                let pairs = cell.matches.iter().zip(apart);
                let is_other = pairs.into_iter().any(|(matches, apart)| *matches && *apart);
                for matches in [true, false] {
                    if is_other && matches {
                        continue;
                    }
                    let mut cell = cell.clone();
                    cell.matches.push(matches);
                    let is_empty =
                        !is_other && self.is_empty_set(&keys(sets, &cell, &all_apart))?;
                    if !is_empty {
                        split.push(cell);
                    }
                }
            }
            cells = split;
            if cells.len() > MAX_CLASSES {
                return Err(SchemaError::Limit {
                    what: "classes of keys that patterns tell apart",
                    limit: MAX_CLASSES as u64,
                    pointer: origin.map_or_else(
                        || "#".to_owned(),
                        |origin| self.program.keyword_pointer(origin.schema, origin.keyword),
                    ),
                });
            }
        }
        Ok(cells)
    }

    /// Whether two sets, each with its number, are proven to be disjoint.
    fn are_apart(
        &mut self,
        one: (u32, &Regular),
        other: (u32, &Regular),
    ) -> Result<bool, SchemaError> {
        self.step(1)?;
        if let Some(known) = self.machines.are_known_apart(one.0, other.0) {
            return Ok(known);
        }
        let both = Regular::Intersection([one.1.clone(), other.1.clone()].into());
        let are_apart = self.is_empty_set(&both)?;
        self.machines.keep_apart(one.0, other.0, are_apart);
        Ok(are_apart)
    }

    /// Whether a cheap test proves the set empty. If it fails, a class without keys does no harm.
    fn is_empty_set(&mut self, set: &Regular) -> Result<bool, SchemaError> {
        self.step(1)?;
        if set.takes_empty() || Lengths::of(set).is_some() {
            return Ok(false);
        }
        let (is_empty, expressions) = self.machines.prove_empty(set);
        self.step(expressions * STEPS_PER_EXPRESSION)?;
        Ok(is_empty)
    }

    fn cell_content(
        &mut self,
        rules: &KeyRules<'_, 'j>,
        by_pattern: &KeyedMap<&'j str, usize>,
        by_name: &SplittersOfNames,
        cell: &Cell,
    ) -> Result<Content, SchemaError> {
        self.step(1 + rules.fields.len())?;
        let matched = |pattern: &str| by_pattern.get(pattern).is_some_and(|&i| cell.matches[i]);
        let named = |splitters: &FxHashMap<SchemaId, Option<usize>>, id: &SchemaId| match splitters
            .get(id)
        {
            Some(Some(index)) => cell.matches[*index],
            _ => true,
        };
        let literals_of = |fields: &Rc<Fields<'j>>| {
            let patterns = fields
                .patterns
                .iter()
                .filter(|(pattern, _)| matched(pattern));
            let mut schemas: Vec<SchemaId> = patterns.map(|&(_, id)| id).collect();
            if schemas.is_empty() {
                schemas.extend(fields.additional);
            }
            schemas.into_iter().map(Literal::schema)
        };
        let fits = rules.names.iter().all(|(id, _)| named(&by_name.valid, id));
        let node = if fits {
            let literals = rules
                .fields
                .iter()
                .flat_map(|(fields, _)| literals_of(fields));
            self.node(literals.collect::<Vec<_>>())?
        } else {
            NodeId::NEVER
        };
        let mut unfit = Vec::with_capacity(rules.clauses.len());
        for (literals, _) in &rules.clauses {
            let mut nodes = Vec::new();
            for literal in literals.iter() {
                let KeyLiteral::Some(some) = literal else {
                    continue;
                };
                let is_asked = match some {
                    SomeMember::Field(other) => match other.pattern {
                        Some(index) => matched(other.fields.patterns[index].0),
                        None => !other
                            .fields
                            .patterns
                            .iter()
                            .any(|(pattern, _)| matched(pattern)),
                    },
                    SomeMember::Key(_) => true,
                    SomeMember::Name(id) => !named(&by_name.possibly_valid, id),
                };
                let unfit = match some {
                    _ if !is_asked => NodeId::NEVER,
                    SomeMember::Field(other) => self.unfit(node, other)?,
                    SomeMember::Key(_) | SomeMember::Name(_) => node,
                };
                if unfit != NodeId::NEVER {
                    nodes.push(unfit);
                }
            }
            unfit.push(nodes);
        }
        Ok((node, unfit))
    }

    /// The possible keys, if `propertyNames` lists them.
    fn listed_names(
        &mut self,
        rules: &KeyRules<'_, 'j>,
    ) -> Result<Option<Vec<String>>, SchemaError> {
        for &(id, _) in &rules.names {
            let node = self.schema_node(id)?;
            if node == NodeId::ANY {
                continue;
            }
            let names = self.try_expand(node)?;
            if let Some(literals) = names.as_ref().and_then(|values| values.only_literals()) {
                return Ok(Some(literals.iter().map(|key| key.to_string()).collect()));
            }
        }
        Ok(None)
    }

    /// Listed names are handled like mentioned keys, and no other keys are possible.
    fn only_these(
        &mut self,
        rules: &KeyRules<'_, 'j>,
        names: Vec<String>,
        listed: &KeyedSet<&str>,
        objects: &mut Objects,
    ) -> Result<(), SchemaError> {
        for key in names {
            self.step(1)?;
            if listed.contains(key.as_str()) {
                continue;
            }
            let node = self.key_node(rules, &key)?;
            objects.properties.push(Field {
                key: key.into(),
                node,
                required: false,
                declared: false,
            });
        }
        objects.additional = NodeId::NEVER;
        for (index, (literals, origin)) in rules.clauses.iter().enumerate() {
            objects.obligations[index] = self.obligation(literals, *origin, objects)?;
        }
        Ok(())
    }

    /// A superset of the strings that are valid under a schema; `None` if every string is.
    fn superset_of_strings(
        &mut self,
        id: SchemaId,
        origin: Origin,
    ) -> Result<Option<Regular>, SchemaError> {
        let own = self.strings_of(id, origin)?;
        match self.is_narrowed {
            true => self.in_other_form(|canonical| canonical.strings_of(id, origin)),
            false => Ok(own),
        }
    }

    /// The strings that are valid under a schema, as one set; `None` if every string is.
    fn strings_of(&mut self, id: SchemaId, origin: Origin) -> Result<Option<Regular>, SchemaError> {
        let node = self.schema_node(id)?;
        if node == NodeId::ANY {
            return Ok(None);
        }
        let Some(values) = self.try_expand(node)? else {
            self.refuse(origin, "the names of its keys depend on themselves")?;
            return Ok(None);
        };
        let mut arms: Vec<Regular> = values
            .literals
            .iter()
            .map(|text| Regular::literal(text.as_ref()))
            .collect();
        for Strings { shape, .. } in &values.strings {
            if *shape == StringShape::default() {
                return Ok(None);
            }
            arms.push(set_of(shape));
        }
        Ok(Some(match arms.len() {
            0 => Regular::Never,
            1 => arms.remove(0),
            _ => Regular::union(arms),
        }))
    }
}

/// The strings of a shape as a regular set.
fn set_of(shape: &StringShape) -> Regular {
    let content = match &shape.content {
        StringContent::Any => None,
        StringContent::Regular(regular) => Some(regular.clone()),
        StringContent::Literals(texts) => Some(Regular::union(
            texts.iter().map(|text| Regular::literal(text.as_ref())),
        )),
    };
    let lengths = Regular::repeat(
        Regular::Chars(CharSet::all()),
        shape.min_length,
        shape.max_length,
    );
    match content {
        None => lengths,
        Some(content) if (shape.min_length, shape.max_length) == (0, None) => content,
        Some(content) => Regular::Intersection([content, lengths].into()),
    }
}

/// The union of some cells: whole splitters where no cell outside matches them, single cells otherwise.
fn union(splitters: &Splitters, cells: &[Cell], outside: &[&Cell]) -> Regular {
    let mut left: Vec<&Cell> = cells.iter().collect();
    let mut arms = Vec::new();
    for (index, set) in splitters.sets.iter().enumerate() {
        let is_whole = !outside.iter().any(|cell| cell.matches[index]);
        if is_whole && left.iter().any(|cell| cell.matches[index]) {
            left.retain(|cell| !cell.matches[index]);
            arms.push(set.clone());
        }
    }
    arms.extend(
        left.into_iter()
            .map(|cell| keys(&splitters.sets, cell, &[])),
    );
    match arms.len() {
        1 => arms.remove(0),
        _ => Regular::Union(arms.into()),
    }
}
