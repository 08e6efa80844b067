//! A structural tag as JSON whose schemas are still texts: read as schemas, their numbers are exact.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use structgen_grammar::keyed::KeyedSet;

/// A value of a structural tag.
pub(super) enum TagValue<'t> {
    Null,
    Flag(bool),
    /// `None` if it is not a 64-bit integer.
    Number(Option<i64>),
    Text(String),
    List(Vec<TagValue<'t>>),
    /// Every key comes once.
    Object(Vec<(String, TagValue<'t>)>),
    /// The JSON text of a schema.
    Schema(&'t str),
}

/// The fields that hold a schema.
const SCHEMA_FIELDS: [&str; 2] = ["json_schema", "schema"];

/// The only key of the map as which serde_json reports a number with its feature `arbitrary_precision`.
const NUMBER_KEY: &str = "$serde_json::private::Number";

impl TagValue<'_> {
    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Null | Self::Schema("null"))
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'t> Deserialize<'t> for TagValue<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TagValueVisitor)
    }
}

struct TagValueVisitor;

impl<'t> Visitor<'t> for TagValueVisitor {
    type Value = TagValue<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<TagValue<'t>, E> {
        Ok(TagValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<TagValue<'t>, E> {
        Ok(TagValue::Flag(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<TagValue<'t>, E> {
        Ok(TagValue::Number(Some(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<TagValue<'t>, E> {
        Ok(TagValue::Number(i64::try_from(value).ok()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<TagValue<'t>, E> {
        Ok(TagValue::Number(None))
    }

    fn visit_str<E>(self, text: &str) -> Result<TagValue<'t>, E> {
        Ok(TagValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut access: A) -> Result<TagValue<'t>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(TagValue::List(items))
    }

    fn visit_map<A: MapAccess<'t>>(self, mut access: A) -> Result<TagValue<'t>, A::Error> {
        let mut entries = Vec::new();
        let mut known = KeyedSet::default();
        while let Some(key) = access.next_key::<String>()? {
            if key == NUMBER_KEY {
                let literal: String = access.next_value()?;
                return Ok(TagValue::Number(literal.parse().ok()));
            }
            if !known.insert(key.clone()) {
                let message = format_args!("the key {key:?} comes twice");
                return Err(A::Error::custom(message));
            }
            let value = match SCHEMA_FIELDS.contains(&key.as_str()) {
                true => TagValue::Schema(access.next_value::<&RawValue>()?.get()),
                false => access.next_value()?,
            };
            entries.push((key, value));
        }
        Ok(TagValue::Object(entries))
    }
}
