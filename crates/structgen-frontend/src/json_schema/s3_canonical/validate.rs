//! Validates a value against a schema, keyword by keyword: the filter for the values of `enum` and `const`.

use std::borrow::Cow;

use super::Canonicalizer;
use super::numbers::{is_above, is_below, is_multiple_of};
use crate::json_schema::SchemaError;
use crate::json_schema::s1_json::Json;
use crate::json_schema::s2_parse::atoms::{
    Atom, Fields, KeyLiteral, Literal, Origin, SomeMember, Subject, TracedAtom, TypeSet,
};
use crate::json_schema::s2_parse::{Arm, Context, Keyword, Part, SchemaId};

/// The maximum nesting of schemas while one value is checked.
const MAX_NESTING: u32 = 256;

impl<'j> Canonicalizer<'_, 'j> {
    /// Whether the value is valid under the schema.
    pub(crate) fn satisfies(
        &mut self,
        id: SchemaId,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError> {
        if depth > MAX_NESTING {
            return Err(SchemaError::Limit {
                what: "schemas inside one another around one value",
                limit: u64::from(MAX_NESTING),
                pointer: self.program.pointer(id).to_owned(),
            });
        }
        self.reach(id);
        let schema = self.program.get(id);
        for keyword in &schema.keywords {
            self.step(1)?;
            if !self.keyword_holds(id, keyword, value, depth + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn literal_holds(
        &mut self,
        literal: Literal,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError> {
        let holds = match literal.source {
            Subject::Schema(id) => self.satisfies(id, value, depth)?,
            Subject::Value(id) => self.value(id).same(value),
        };
        Ok(holds != literal.negated)
    }

    /// Whether one keyword of the schema holds for the value.
    pub(crate) fn keyword_holds(
        &mut self,
        id: SchemaId,
        keyword: &Keyword<'j>,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError> {
        let origin = Origin {
            schema: id,
            keyword: keyword.name,
        };
        if self.ignored.contains(&origin) {
            return Ok(true);
        }
        keyword.assertion.holds(origin, value, depth, self)
    }

    fn some_arm_holds(
        &mut self,
        arms: &[Arm<'j>],
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError> {
        for arm in arms {
            if self.all_hold(arm, value, depth)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn part_holds(
        &mut self,
        part: &Part<'j>,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError> {
        match part {
            Part::Literal(literal) => self.literal_holds(*literal, value, depth),
            Part::Atom(traced) => self.atom_holds(traced, value, depth),
            Part::Choice(arms) => self.some_arm_holds(arms, value, depth),
            Part::OneOf { schemas, .. } => Ok(self.how_many(schemas, value, depth)? == 1),
            Part::Implication { key, schema, .. } => match value {
                Json::Object(_) if value.get(key).is_some() => {
                    self.satisfies(*schema, value, depth)
                }
                _ => Ok(true),
            },
        }
    }

    /// Whether all parts hold for the value.
    pub(super) fn all_hold(
        &mut self,
        parts: &[Part<'j>],
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError> {
        for part in parts {
            if !self.part_holds(part, value, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn how_many(
        &mut self,
        schemas: &[SchemaId],
        value: &Json<'_>,
        depth: u32,
    ) -> Result<usize, SchemaError> {
        let context: &mut dyn Context<'j> = self;
        context.count_valid(schemas, value, depth)
    }

    /// Whether the atom holds for the value.
    pub(super) fn atom_holds(
        &mut self,
        traced: &TracedAtom<'j>,
        value: &Json<'_>,
        depth: u32,
    ) -> Result<bool, SchemaError> {
        match (&traced.atom, value) {
            (Atom::Types(types), _) => Ok(types.meets(TypeSet::of(value))),
            (Atom::Values(values), _) => {
                self.step(values.len())?;
                Ok(values.iter().any(|other| other.same(value)))
            }
            (Atom::NotValues(values), _) => {
                self.step(values.len())?;
                Ok(!values.iter().any(|other| other.same(value)))
            }
            (Atom::Lower(bound), Json::Number(number)) => Ok(is_above(number, bound)),
            (Atom::Upper(bound), Json::Number(number)) => Ok(is_below(number, bound)),
            (Atom::MultipleOf(divisor), Json::Number(number)) => {
                match is_multiple_of(number, divisor) {
                    Some(holds) => Ok(holds),
                    None => self.refuse(traced.origin, LONG_DIVISOR).map(|()| true),
                }
            }
            (Atom::NotMultipleOf(divisor), Json::Number(number)) => {
                match is_multiple_of(number, divisor) {
                    Some(holds) => Ok(!holds),
                    None => self.refuse(traced.origin, LONG_DIVISOR).map(|()| true),
                }
            }
            (Atom::MinLength(count), Json::String(text)) => {
                Ok(text.chars().count() >= *count as usize)
            }
            (Atom::MaxLength(count), Json::String(text)) => {
                Ok(text.chars().count() <= *count as usize)
            }
            (Atom::Text(regular), Json::String(text)) => self.matches(regular, text),
            (Atom::HasFormat(format, has), Json::String(text)) => {
                self.format_holds(format, *has, text)
            }
            (atom, Json::Object(entries)) => {
                self.object_atom_holds(atom, traced.origin, entries, depth)
            }
            (atom, Json::Array(items)) => self.array_atom_holds(atom, items, depth),
            _ => Ok(true),
        }
    }

    fn object_atom_holds(
        &mut self,
        atom: &Atom<'j>,
        origin: Origin,
        entries: &[(Cow<'_, str>, Json<'_>)],
        depth: u32,
    ) -> Result<bool, SchemaError> {
        let find = |key: &str| entries.iter().find(|(name, _)| name == key);
        match atom {
            Atom::Fields(fields) => {
                for (key, value) in entries {
                    self.step(1)?;
                    let schemas = self.schemas_of_key(fields, key, origin)?;
                    if self.how_many(&schemas, value, depth)? < schemas.len() {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Atom::Field(key, literal) => match find(key) {
                Some((_, value)) => self.literal_holds(*literal, value, depth),
                None => Ok(true),
            },
            Atom::Some(some) => self.has_some(some, origin, entries, depth),
            Atom::Clause(literals) => {
                for literal in literals.iter() {
                    let holds = match literal {
                        KeyLiteral::Absent(key) => find(key).is_none(),
                        KeyLiteral::Has(key, None) => find(key).is_some(),
                        KeyLiteral::Has(key, Some(literal)) => match find(key) {
                            Some((_, value)) => self.literal_holds(*literal, value, depth)?,
                            None => false,
                        },
                        KeyLiteral::Some(some) => self.has_some(some, origin, entries, depth)?,
                    };
                    if holds {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Atom::Required(keys) => Ok(keys.iter().all(|key| find(key).is_some())),
            Atom::Present(key) => Ok(find(key).is_some()),
            Atom::Forbidden(key) => Ok(find(key).is_none()),
            Atom::Names(id) => {
                for (key, _) in entries {
                    let key = Json::String(Cow::Borrowed(key.as_ref()));
                    if !self.satisfies(*id, &key, depth)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Atom::MinProperties(count) => Ok(entries.len() >= *count as usize),
            Atom::MaxProperties(count) => Ok(entries.len() <= *count as usize),
            _ => Ok(true),
        }
    }

    /// The schemas that `properties`, `patternProperties` or else `additionalProperties` apply to the value of a key.
    pub(crate) fn schemas_of_key(
        &mut self,
        fields: &Fields<'j>,
        key: &str,
        origin: Origin,
    ) -> Result<Vec<SchemaId>, SchemaError> {
        let mut schemas: Vec<SchemaId> = fields.property(key).into_iter().collect();
        for &(pattern, id) in &fields.patterns {
            let origin = Origin {
                keyword: "patternProperties",
                ..origin
            };
            if let Some(regular) = self.pattern(pattern, origin)?
                && self.matches(&regular, key)?
            {
                schemas.push(id);
            }
        }
        if schemas.is_empty() {
            schemas.extend(fields.additional);
        }
        Ok(schemas)
    }

    /// Whether some member satisfies the condition.
    fn has_some(
        &mut self,
        some: &SomeMember<'j>,
        origin: Origin,
        entries: &[(Cow<'_, str>, Json<'_>)],
        depth: u32,
    ) -> Result<bool, SchemaError> {
        for (key, value) in entries {
            let is_one = match some {
                SomeMember::Field(other) => match other.schema() {
                    Some(schema) => {
                        self.is_about(other, key, origin)?
                            && !self.satisfies(schema, value, depth)?
                    }
                    None => false,
                },
                SomeMember::Key(keys) => !keys.contains(&key.as_ref()),
                SomeMember::Name(id) => {
                    let key = Json::String(Cow::Borrowed(key.as_ref()));
                    !self.satisfies(*id, &key, depth)?
                }
            };
            if is_one {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn array_atom_holds(
        &mut self,
        atom: &Atom<'j>,
        items: &[Json<'_>],
        depth: u32,
    ) -> Result<bool, SchemaError> {
        match atom {
            Atom::Elements(elements) => {
                for (index, item) in items.iter().enumerate() {
                    let Some(id) = elements.at(index) else {
                        break;
                    };
                    if !self.satisfies(id, item, depth)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Atom::Element(index, literal) => match items.get(*index as usize) {
                Some(item) => self.literal_holds(*literal, item, depth),
                None => Ok(true),
            },
            Atom::OtherElement(elements) => {
                for item in items.iter().skip(elements.prefix.len()) {
                    if let Some(rest) = elements.rest
                        && !self.satisfies(rest, item, depth)?
                    {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Atom::MinItems(count) => Ok(items.len() >= *count as usize),
            Atom::MaxItems(count) => Ok(items.len() <= *count as usize),
            Atom::Unique | Atom::Repeated => {
                self.step(items.len())?;
                let mut sorted: Vec<&Json<'_>> = items.iter().collect();
                sorted.sort_by(|a, b| a.compare(b));
                let repeats = sorted.windows(2).any(|pair| pair[0].same(pair[1]));
                Ok(repeats == matches!(atom, Atom::Repeated))
            }
            Atom::Contains(contains) => {
                let mut count: usize = 0;
                for item in items {
                    count += usize::from(self.satisfies(contains.item, item, depth)?);
                }
                let at_most = contains.max.is_none_or(|max| count <= max as usize);
                Ok(count >= contains.min as usize && at_most)
            }
            _ => Ok(true),
        }
    }
}

const LONG_DIVISOR: &str = "the divisor has too many digits to divide by";
