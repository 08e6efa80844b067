//! Whether a value is in the canonical form: what the tests of the canonical form ask.

use structgen_grammar::StringContent;

use super::atoms::Literal;
use super::numbers::{contains, is_multiple_of};
use super::{Arrays, Canonicalizer, NodeId, Objects};
use crate::json_schema::SchemaError;
use crate::json_schema::json::Json;

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
                for shape in &values.strings {
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
        for (wanted, _) in &arrays.contains {
            let node = self.node([Literal::schema(wanted.item)])?;
            let mut count = 0;
            for item in items {
                count += u32::from(self.contains(node, item)?);
            }
            if count < wanted.min || wanted.max.is_some_and(|max| count > max) {
                return Ok(false);
            }
        }
        for (elements, _) in &arrays.others {
            let Some(rest) = elements.rest else {
                return Ok(false);
            };
            let node = self.node([Literal::schema(rest)])?;
            let mut found = false;
            for item in items.iter().skip(elements.prefix.len()) {
                found |= !self.contains(node, item)?;
            }
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn has_entries(
        &mut self,
        objects: &Objects<'j>,
        entries: &[(std::borrow::Cow<'_, str>, Json<'_>)],
    ) -> Result<bool, SchemaError> {
        let count = u32::try_from(entries.len()).expect("a test has few keys");
        let mut required = objects.properties.iter().filter(|field| field.required);
        if required.any(|field| !entries.iter().any(|(key, _)| **key == *field.key))
            || objects.min.is_some_and(|(min, _)| count < min)
            || objects.max.is_some_and(|(max, _)| count > max)
        {
            return Ok(false);
        }
        for (other, place) in &objects.others {
            let Some(schema) = other.schema() else {
                return Ok(false);
            };
            let node = self.node([Literal::schema(schema)])?;
            let mut found = false;
            for (key, value) in entries {
                found |= self.is_about(other, key, *place)? && !self.contains(node, value)?;
            }
            if !found {
                return Ok(false);
            }
        }
        for (key, value) in entries {
            let mut listed = objects.properties.iter();
            if let Some(field) = listed.find(|field| *field.key == **key) {
                if !self.contains(field.node, value)? {
                    return Ok(false);
                }
                continue;
            }
            if !self.contains(objects.additional, value)? {
                return Ok(false);
            }
            for (id, _) in &objects.names {
                let node = self.node([Literal::schema(*id)])?;
                if !self.contains(node, &Json::String(key.clone()))? {
                    return Ok(false);
                }
            }
            for (fields, place) in &objects.patterns {
                let mut matched = false;
                for &(pattern, id) in &fields.patterns {
                    let regular =
                        crate::regex::parse(pattern, crate::regex::RegexOptions::json_schema());
                    let Ok(regular) = regular else {
                        self.refuse(*place, "the pattern is not read")?;
                        continue;
                    };
                    if self.matches(&regular, key)? {
                        matched = true;
                        let node = self.node([Literal::schema(id)])?;
                        if !self.contains(node, value)? {
                            return Ok(false);
                        }
                    }
                }
                if let Some(id) = fields.additional.filter(|_| !matched) {
                    let node = self.node([Literal::schema(id)])?;
                    if !self.contains(node, value)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
}
