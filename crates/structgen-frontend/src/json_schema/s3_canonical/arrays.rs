//! Arrays: combines prefixes, `items` and counts.

use std::rc::Rc;

use super::branch::Branch;
use super::{Arrays, Canonicalizer, Counted, NodeId, Values};
use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::Part;
use crate::json_schema::s2_parse::atoms::{Atom, Elements, ItemCount, Literal, Origin};

impl<'j> Canonicalizer<'_, 'j> {
    /// The arrays of a branch.
    pub(super) fn finish_arrays(
        &mut self,
        branch: &Branch<'j>,
        out: &mut Values,
    ) -> Result<(), SchemaError> {
        let mut elements: Vec<&Rc<Elements>> = Vec::new();
        let mut single: Vec<(usize, Literal)> = Vec::new();
        let mut contains: Vec<(&Rc<ItemCount>, Origin)> = Vec::new();
        let mut others: Vec<(Rc<Elements>, Origin)> = Vec::new();
        let mut repeated: Option<Origin> = None;
        let mut arrays = Arrays::any();
        arrays.source = branch.source();
        let at_most = |max: &mut Option<u32>, count: u32| {
            *max = Some(max.map_or(count, |max| max.min(count)));
        };
        for traced in &branch.atoms {
            match &traced.atom {
                Atom::MinItems(count) => arrays.min = arrays.min.max(*count),
                Atom::MaxItems(count) => at_most(&mut arrays.max, *count),
                Atom::Unique => arrays.unique = arrays.unique.or(Some(traced.origin)),
                Atom::Repeated => repeated = repeated.or(Some(traced.origin)),
                Atom::Elements(all) => elements.push(all),
                Atom::OtherElement(all) => others.push((Rc::clone(all), traced.origin)),
                Atom::Element(index, literal) => single.push((*index as usize, *literal)),
                Atom::Contains(one) => contains.push((one, traced.origin)),
                _ => {}
            }
        }
        // What `contains` asserts about every item, or about the only one.
        let mut every: Vec<Literal> = Vec::new();
        for (one, origin) in contains {
            let item = Literal::schema(one.item);
            if one.max.is_some_and(|max| max < one.min) {
                return Ok(());
            }
            if self.is_trivial(item) {
                arrays.min = arrays.min.max(one.min);
                if let Some(max) = one.max {
                    at_most(&mut arrays.max, max);
                }
            } else if one.max == Some(0) {
                every.push(item.complement());
            } else if one.min == 1 && one.max.is_none() && arrays.max == Some(1) {
                arrays.min = arrays.min.max(1);
                every.push(item);
            } else {
                arrays.min = arrays.min.max(one.min);
                arrays.counted.push(Counted {
                    item,
                    from: 0,
                    min: one.min,
                    max: one.max,
                    origin,
                });
            }
        }
        let lists = elements.iter().map(|elements| elements.prefix.len());
        let length = lists.chain(single.iter().map(|(index, _)| index + 1)).max();
        let mut length = length.unwrap_or(0);
        if let Some(max) = arrays.max {
            length = length.min(max as usize);
        }
        for index in 0..length {
            self.step(1 + elements.len() + single.len())?;
            let listed = elements.iter().filter_map(|elements| elements.at(index));
            let alone = single.iter().filter(|(at, _)| *at == index);
            let literals = listed
                .map(Literal::schema)
                .chain(alone.map(|(_, literal)| *literal))
                .chain(every.iter().copied());
            let node = self.node(literals.collect::<Vec<_>>())?;
            if node == NodeId::NEVER {
                at_most(&mut arrays.max, u32::try_from(index).unwrap_or(u32::MAX));
                break;
            }
            arrays.prefix.push(node);
        }
        let rests = elements.iter().filter_map(|elements| elements.rest);
        let rests = rests.map(Literal::schema).chain(every.iter().copied());
        arrays.rest = self.node(rests.collect::<Vec<_>>())?;
        let listed = u32::try_from(arrays.prefix.len()).unwrap_or(u32::MAX);
        if arrays.rest == NodeId::NEVER {
            at_most(&mut arrays.max, listed);
        }
        if arrays.max.is_some_and(|max| max <= listed) {
            arrays.rest = NodeId::NEVER;
        }
        let has_pairs = arrays.max.is_none_or(|max| max > 1);
        if repeated.is_some() && (arrays.unique.is_some() || !has_pairs) {
            return Ok(());
        }
        if !has_pairs {
            arrays.unique = None;
        }
        if arrays.max.is_some_and(|max| max < arrays.min) {
            return Ok(());
        }
        for (elements, origin) in others {
            match self.with_other_element(arrays, &elements, origin)? {
                Some(next) => arrays = next,
                None => return Ok(()),
            }
        }
        match repeated {
            Some(origin) => self.add_with_equal_items(arrays, origin, out),
            None => {
                out.add_arrays(arrays);
                Ok(())
            }
        }
    }

    /// Adds the arrays of which two items are equal, if the possible items are listed: for each value that is possible
    /// in two places, those that have it twice.
    fn add_with_equal_items(
        &mut self,
        arrays: Arrays,
        origin: Origin,
        out: &mut Values,
    ) -> Result<(), SchemaError> {
        /// The maximum number of values that are listed anywhere in the schema.
        const MAX_LISTED: usize = 1_000;
        /// The maximum number of values that equal items may have: each is an alternative of its own.
        const MAX_EQUAL: usize = 64;
        let rest = (arrays.rest != NodeId::NEVER).then_some(arrays.rest);
        let nodes: Vec<NodeId> = arrays.prefix.iter().copied().chain(rest).collect();
        // What references lead to is read when a node is expanded.
        for &node in &nodes {
            self.try_expand(node)?;
        }
        let mut listed = self.listed()?;
        let mut all_listed = listed.len() <= MAX_LISTED;
        if !all_listed {
            listed = Rc::new([]);
        }
        let literals: Vec<Literal> = { listed.iter() }.map(|it| self.value_literal(it)).collect();
        for &node in &nodes {
            let own = self.literals(node);
            let others = literals.iter().map(|literal| literal.complement());
            let unlisted: Vec<Literal> = own.iter().copied().chain(others).collect();
            all_listed = all_listed && self.excludes_all(&unlisted)?;
        }
        // Two items after the prefix can be equal, unless only one is allowed.
        let left = |max: u32| (max as usize).saturating_sub(arrays.prefix.len());
        let places_of_rest = arrays.max.map_or(2, left).min(2);
        let mut equal = Vec::new();
        for (value, &literal) in listed.iter().zip(&literals).filter(|_| all_listed) {
            let mut places = 0;
            for (index, &node) in nodes.iter().enumerate() {
                let own = self.literals(node);
                let own: Vec<_> = own.iter().map(|&literal| Part::Literal(literal)).collect();
                if self.all_hold(&own, value, 0)? {
                    let in_prefix = index < arrays.prefix.len();
                    places += if in_prefix { 1 } else { places_of_rest };
                }
            }
            if places >= 2 {
                equal.push(literal);
            }
        }
        if !all_listed || equal.len() > MAX_EQUAL {
            self.refuse(origin, "its negation asks for two equal items")?;
            out.add_arrays(arrays);
            return Ok(());
        }
        for item in equal {
            let mut arrays = arrays.clone();
            arrays.min = arrays.min.max(2);
            arrays.counted.push(Counted {
                item,
                from: 0,
                min: 2,
                max: None,
                origin,
            });
            out.add_arrays(arrays);
        }
        Ok(())
    }

    /// All values of `enum` and `const`, with `null`, `false` and `true`: each once, sorted.
    fn listed(&mut self) -> Result<Rc<[&'j Json<'j>]>, SchemaError> {
        static OF_TYPES: [Json<'static>; 3] = [Json::Null, Json::Bool(false), Json::Bool(true)];
        let schemas = self.program.count();
        if self.listed.0 != schemas {
            let mut all: Vec<&'j Json<'j>> = OF_TYPES.iter().chain(self.program.listed()).collect();
            self.step(schemas + all.len())?;
            all.sort_by(|one, other| one.compare(other));
            all.dedup_by(|one, other| one.same(other));
            self.listed = (schemas, all.into());
        }
        Ok(Rc::clone(&self.listed.1))
    }

    /// The arrays with an invalid item after the prefix. It is counted, unless its index is known.
    fn with_other_element(
        &mut self,
        mut arrays: Arrays,
        elements: &Elements,
        origin: Origin,
    ) -> Result<Option<Arrays>, SchemaError> {
        let Some(rest) = elements.rest else {
            return Ok(None);
        };
        let (from, min) = (elements.prefix.len(), arrays.min as usize);
        let listed = arrays.prefix.len();
        let mut none_fits = true;
        for index in from..listed.max(from) + 1 {
            if arrays.max.is_some_and(|max| index >= max as usize) {
                break;
            }
            let item = arrays.prefix.get(index).copied().unwrap_or(arrays.rest);
            let fitting = self.literals(item);
            let fitting = fitting.iter().copied().chain([Literal::schema(rest)]);
            let fits_none = self.excludes_all(&fitting.collect::<Vec<_>>())?;
            none_fits &= fits_none;
            if fits_none && index < min {
                return Ok(Some(arrays));
            }
        }
        let from = u32::try_from(from).unwrap_or(u32::MAX);
        arrays.min = arrays.min.max(from.saturating_add(1));
        if arrays.max.is_some_and(|max| max < arrays.min) {
            return Ok(None);
        }
        if !none_fits {
            arrays.counted.push(Counted {
                item: Literal::not(rest),
                from,
                min: 1,
                max: None,
                origin,
            });
        }
        Ok(Some(arrays))
    }
}
