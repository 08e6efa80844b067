//! Arrays: prefixes, rests and counts put together.

use std::rc::Rc;

use super::atoms::{Atom, Contains, Elements, Literal, Place, TypeSet};
use super::branch::Branch;
use super::{Arrays, Canonicalizer, NodeId, Values};
use crate::json_schema::SchemaError;
use crate::json_schema::json::Json;

/// Up to how many items "some item" becomes alternatives.
const FEW_ITEMS: u32 = 16;

impl<'j> Canonicalizer<'_, 'j> {
    /// The arrays of a branch.
    pub(super) fn finish_arrays(
        &mut self,
        branch: &Branch<'j>,
        out: &mut Values<'j>,
    ) -> Result<(), SchemaError> {
        let mut elements: Vec<&Rc<Elements>> = Vec::new();
        let mut single: Vec<(usize, Literal)> = Vec::new();
        let mut contains: Vec<(&Rc<Contains>, Place)> = Vec::new();
        let mut others: Vec<(Rc<Elements>, Place)> = Vec::new();
        let mut arrays = Arrays {
            prefix: Vec::new(),
            rest: NodeId::ANY,
            min: 0,
            max: None,
            unique: None,
            contains: Vec::new(),
            others: Vec::new(),
        };
        let at_most = |max: &mut Option<u32>, count: u32| {
            *max = Some(max.map_or(count, |max| max.min(count)));
        };
        for placed in &branch.atoms {
            match &placed.atom {
                Atom::MinItems(count) => arrays.min = arrays.min.max(*count),
                Atom::MaxItems(count) => at_most(&mut arrays.max, *count),
                Atom::Unique => arrays.unique = arrays.unique.or(Some(placed.place)),
                Atom::Elements(all) => elements.push(all),
                Atom::OtherElement(all) => others.push((Rc::clone(all), placed.place)),
                Atom::Element(index, literal) => single.push((*index as usize, *literal)),
                Atom::Contains(one) => contains.push((one, placed.place)),
                _ => {}
            }
        }
        // What `contains` says about every item, or about the only one.
        let mut every: Vec<Literal> = Vec::new();
        for (one, place) in contains {
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
                arrays.contains.push((Rc::clone(one), place));
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
            let alone = single.iter().filter(|(place, _)| *place == index);
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
        if arrays.max.is_some_and(|max| max <= 1) {
            arrays.unique = None;
        }
        if arrays.max.is_some_and(|max| max < arrays.min) {
            return Ok(());
        }
        if self.exclude_arrays(branch, &mut arrays)? {
            return Ok(());
        }
        self.check_refused(branch, TypeSet::ARRAY)?;
        for arrays in self.with_other_elements(arrays, others)? {
            out.add_arrays(arrays);
        }
        Ok(())
    }

    /// The arrays in which some item does not fit, for each of `others`: as alternatives where the arrays are short, and as a number of
    /// items where none fits.
    fn with_other_elements(
        &mut self,
        arrays: Arrays,
        mut others: Vec<(Rc<Elements>, Place)>,
    ) -> Result<Vec<Arrays>, SchemaError> {
        let Some((elements, place)) = others.pop() else {
            return Ok(vec![arrays]);
        };
        let Some(rest) = elements.rest else {
            return Ok(Vec::new());
        };
        let (from, min) = (elements.prefix.len(), arrays.min as usize);
        let listed = arrays.prefix.len();
        let mut none_fits = true;
        let mut done = false;
        for index in from..listed.max(from) + 1 {
            if arrays.max.is_some_and(|max| index >= max as usize) {
                break;
            }
            let item = arrays.prefix.get(index).copied().unwrap_or(arrays.rest);
            let fitting = self.literals(item);
            let fitting = fitting.iter().copied().chain([Literal::schema(rest)]);
            let fitting = self.node(fitting.collect::<Vec<_>>())?;
            let fits_none = self.is_proven_empty(fitting)?;
            none_fits &= fits_none;
            done |= fits_none && index < min;
        }
        if done {
            return self.with_other_elements(arrays, others);
        }
        let at = |mut arrays: Arrays, index: usize| {
            arrays.min = arrays.min.max(u32::try_from(index + 1).unwrap_or(u32::MAX));
            let is_possible = arrays.max.is_none_or(|max| max >= arrays.min);
            is_possible.then_some(arrays)
        };
        if none_fits {
            return match at(arrays, from) {
                Some(arrays) => self.with_other_elements(arrays, others),
                None => Ok(Vec::new()),
            };
        }
        let Some(max) = arrays.max.filter(|&max| max <= FEW_ITEMS) else {
            let mut all = self.with_other_elements(arrays, others)?;
            for arrays in &mut all {
                arrays.others.push((Rc::clone(&elements), place));
            }
            return Ok(all);
        };
        let mut all = Vec::new();
        for index in from..max as usize {
            self.step(1)?;
            let Some(mut arrays) = at(arrays.clone(), index) else {
                continue;
            };
            while arrays.prefix.len() <= index {
                arrays.prefix.push(arrays.rest);
            }
            let mut literals = self.literals(arrays.prefix[index]).to_vec();
            literals.push(Literal::not(rest));
            let node = self.node(literals)?;
            if node != NodeId::NEVER {
                arrays.prefix[index] = node;
                all.extend(self.with_other_elements(arrays, others.clone())?);
            }
        }
        Ok(all)
    }

    /// Takes out the arrays that `not` with `const` or `enum` names; returns whether nothing is left.
    fn exclude_arrays(
        &mut self,
        branch: &Branch<'j>,
        arrays: &mut Arrays,
    ) -> Result<bool, SchemaError> {
        for placed in &branch.atoms {
            let Atom::NotValues(values) = placed.atom else {
                continue;
            };
            for value in values {
                let Json::Array(items) = value else {
                    continue;
                };
                if items.is_empty() {
                    arrays.min = arrays.min.max(1);
                } else if self.others_hold(branch, value)? {
                    self.refuse(placed.place, "single arrays cannot be taken out of a set")?;
                }
            }
        }
        Ok(arrays.max.is_some_and(|max| max < arrays.min))
    }
}
