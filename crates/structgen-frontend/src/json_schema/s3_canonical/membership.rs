//! Whether the canonical form contains a value, for tests.

use structgen_grammar::StringContent;

use super::numbers::{contains, is_multiple_of};
use super::{Arrays, Canonicalizer, Member, NodeId, Objects, Strings};
use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;

impl<'j> Canonicalizer<'_, 'j> {
    /// Whether the value is in the set of the node.
    pub(crate) fn contains(&mut self, id: NodeId, value: &Json<'_>) -> Result<bool, SchemaError> {
        let values = self.expand(id)?;
        match value {
            Json::Null => Ok(values.null),
            Json::Bool(value) => Ok(if *value { values.yes } else { values.no }),
            Json::Number(number) if values.points.contains(number) => Ok(true),
            Json::Number(number) => Ok(values.numbers.iter().any(|numbers| {
                let mut outside = numbers.not_multiples_of.iter();
                contains(&numbers.set, number).expect("the divisors are short")
                    && !outside
                        .any(|(divisor, _)| is_multiple_of(number, divisor).expect("it is short"))
            })),
            Json::String(text) => {
                if values.literals.contains(text.as_ref()) {
                    return Ok(true);
                }
                let length = text.chars().count();
                for Strings { shape, .. } in &values.strings {
                    let fits = match &shape.content {
                        StringContent::Any => true,
                        StringContent::Regular(regular) => self.matches(regular, text)?,
                        StringContent::Literals(texts) => {
                            texts.iter().any(|literal| **literal == **text)
                        }
                    };
                    if fits
                        && length >= shape.min_length as usize
                        && shape.max_length.is_none_or(|max| length <= max as usize)
                    {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Json::Array(items) => {
                for arrays in &values.arrays {
                    if self.has_items(arrays, items)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Json::Object(entries) => {
                for objects in &values.objects {
                    if self.has_entries(objects, entries)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    fn has_items(&mut self, arrays: &Arrays, items: &[Json<'_>]) -> Result<bool, SchemaError> {
        if items.len() < arrays.min as usize
            || arrays.max.is_some_and(|max| items.len() > max as usize)
        {
            return Ok(false);
        }
        for (index, item) in items.iter().enumerate() {
            let node = arrays.prefix.get(index).copied().unwrap_or(arrays.rest);
            if !self.contains(node, item)? {
                return Ok(false);
            }
        }
        let mut pairs = (0..items.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        if arrays.unique.is_some() && pairs.any(|(i, j)| items[i].same(&items[j])) {
            return Ok(false);
        }
        for counted in &arrays.counted {
            let node = self.node([counted.item])?;
            let other = self.node([counted.item.complement()])?;
            let mut count = 0;
            for item in items.iter().skip(counted.from as usize) {
                let counts = self.contains(node, item)?;
                // With an upper bound, each item must be known to count or not to count.
                if !counts && counted.max.is_some() && !self.contains(other, item)? {
                    return Ok(false);
                }
                count += u32::from(counts);
            }
            if count < counted.min || counted.max.is_some_and(|max| count > max) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn has_entries(
        &mut self,
        objects: &Objects,
        entries: &[(std::borrow::Cow<'_, str>, Json<'_>)],
    ) -> Result<bool, SchemaError> {
        let count = u32::try_from(entries.len()).expect("a test has few keys");
        let mut required = objects.properties.iter().filter(|field| field.required);
        if required.any(|field| !entries.iter().any(|(key, _)| **key == *field.key))
            || count < objects.min
            || objects.max.is_some_and(|max| count > max)
        {
            return Ok(false);
        }
        let mut members = Vec::new();
        for (key, value) in entries {
            let member = self.member_of(objects, key)?;
            if !self.contains(objects.node(member), value)? {
                return Ok(false);
            }
            members.push((member, value));
        }
        for obligation in &objects.obligations {
            let mut absent = obligation.absent.iter();
            let mut is_met = absent.any(|&index| {
                let is_it = |(member, _): &(Member, _)| *member == Member::Property(index);
                !members.iter().any(is_it)
            });
            for (member, value) in &members {
                let asked = obligation.members.iter();
                for &(_, node) in asked.filter(|(asked, _)| asked == member) {
                    is_met |= self.contains(node, value)?;
                }
            }
            if !is_met {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The kind of member that the key is.
    fn member_of(&mut self, objects: &Objects, key: &str) -> Result<Member, SchemaError> {
        let listed = objects
            .properties
            .iter()
            .position(|field| *field.key == *key);
        if let Some(index) = listed {
            return Ok(Member::Property(index));
        }
        for (index, class) in objects.classes.iter().enumerate() {
            if self.matches(&class.keys, key)? {
                return Ok(Member::Class(index));
            }
        }
        Ok(Member::Additional)
    }
}
