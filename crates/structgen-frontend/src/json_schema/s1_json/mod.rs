//! First stage: the schema as JSON with exact numbers.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use memchr::memchr2;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use structgen_grammar::Decimal;
use structgen_grammar::keyed::KeyedSet;

pub(crate) mod embedded;
pub(crate) mod metaschemas;

use crate::json_schema::{SchemaError, SchemaLimits};

/// A JSON value that borrows its strings and keeps its numbers as written.
///
/// serde_json reads a number that is not a 64-bit integer as a float, unless a feature is enabled that would change the
/// numbers of every crate in the build. So serde_json parses the structure, and numbers other than signed 64-bit
/// integers come from the text: the n-th number that serde_json reports is the n-th one in the text. If another crate
/// of the build enables that feature, `arbitrary_precision`, every number comes as a map with its literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Number(Decimal),
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Parses a text. Duplicate keys are an error: such a schema is ambiguous.
    pub(crate) fn from_text(text: &'a str, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        let mut state = Reading {
            numbers: NumberLiterals(text.as_bytes()),
            integers: 0,
            items: Vec::new(),
            entries: Vec::new(),
            values_left: limits.max_values,
            is_number: false,
        };
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let read = JsonReader(&mut state)
            .deserialize(&mut deserializer)
            .and_then(|json| deserializer.end().map(|()| json));
        read.map_err(|error| {
            let reason = error.to_string();
            let over = |what, limit| SchemaError::Limit {
                what,
                limit,
                pointer: "#".to_owned(),
            };
            if reason.starts_with("recursion limit") {
                return over("levels of nesting in the text of a schema", 127);
            }
            if reason.starts_with(TOO_MANY_VALUES) {
                return over("JSON values in the schema", limits.max_values);
            }
            let (line, column) = (error.line().max(1), error.column().max(1));
            if reason.starts_with("number out of range") {
                return SchemaError::NumberTooLarge { line, column };
            }
            let place = format!(" at line {} column {}", error.line(), error.column());
            SchemaError::NotJson {
                line,
                column,
                reason: reason.strip_suffix(&place).unwrap_or(&reason).to_owned(),
            }
        })
    }

    /// Converts a value. Each float is read as the shortest decimal that denotes it, which is what was written if that
    /// had at most 15 digits.
    pub(crate) fn from_value(value: &'a Value, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        let mut left = limits.max_values;
        convert(value, limits, limits.max_depth.min(MAX_DEPTH), &mut left)
    }

    /// The keys of an object.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        let entries = match self {
            Self::Object(entries) => &entries[..],
            _ => &[],
        };
        entries.iter().map(|(key, _)| &**key)
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Json<'a>> {
        match self {
            Self::Object(entries) => entries
                .iter()
                .find_map(|(name, value)| (name == key).then_some(value)),
            _ => None,
        }
    }

    /// Whether both are the same JSON value: objects without regard to the order of keys.
    pub(crate) fn same(&self, other: &Json<'_>) -> bool {
        self.compare(other) == Ordering::Equal
    }

    /// A total order under which exactly the same JSON values are equal.
    pub(crate) fn compare(&self, other: &Json<'_>) -> Ordering {
        match (self, other) {
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::Number(a), Json::Number(b)) => a.cmp(b),
            (Json::String(a), Json::String(b)) => a.cmp(b),
            (Json::Array(a), Json::Array(b)) => {
                let unequal = a.iter().zip(b).map(|(a, b)| a.compare(b));
                let first = unequal.into_iter().find(|order| order.is_ne());
                first.unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Json::Object(a), Json::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let (a, b) = (sorted(a), sorted(b));
                let unequal = a
                    .iter()
                    .zip(&b)
                    .map(|(a, b)| a.0.cmp(&b.0).then_with(|| a.1.compare(&b.1)));
                let first = unequal.into_iter().find(|order| order.is_ne());
                first.unwrap_or(Ordering::Equal)
            }),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Number(_) => 2,
            Self::String(_) => 3,
            Self::Array(_) => 4,
            Self::Object(_) => 5,
        }
    }
}

/// At greater depths the compiler's own recursion could overflow a thread's stack.
const MAX_DEPTH: usize = 512;

const TOO_MANY_VALUES: &str = "too many values";

fn sorted<'v, 'a>(entries: &'v [(Cow<'a, str>, Json<'a>)]) -> Vec<&'v (Cow<'a, str>, Json<'a>)> {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    sorted
}

fn convert<'a>(
    value: &'a Value,
    limits: &SchemaLimits,
    depth: usize,
    left: &mut u64,
) -> Result<Json<'a>, SchemaError> {
    let over = |what, limit| SchemaError::Limit {
        what,
        limit,
        pointer: "#".to_owned(),
    };
    *left = left
        .checked_sub(1)
        .ok_or_else(|| over("JSON values in the schema", limits.max_values))?;
    let deeper = || {
        depth.checked_sub(1).ok_or_else(|| {
            let limit = limits.max_depth.min(MAX_DEPTH) as u64;
            over("levels of nesting in the schema", limit)
        })
    };
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Json::Number(Decimal::from(integer)),
            // serde_json prints a JSON number whose exponent has at most three digits.
            None => Json::Number(number.to_string().parse().unwrap_or_default()),
        },
        Value::String(text) => Json::String(Cow::Borrowed(text)),
        Value::Array(items) => {
            let depth = deeper()?;
            let items = items.iter().map(|item| convert(item, limits, depth, left));
            Json::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(entries) => {
            let depth = deeper()?;
            let entries = entries.iter().map(|(key, value)| {
                Ok((Cow::Borrowed(&**key), convert(value, limits, depth, left)?))
            });
            Json::Object(entries.collect::<Result<_, SchemaError>>()?)
        }
    })
}

/// The remaining number literals of a JSON text.
struct NumberLiterals<'t>(&'t [u8]);

impl<'t> Iterator for NumberLiterals<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let bytes = self.0;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    at += 1;
                    while let Some(rest) = bytes.get(at..)
                        && let Some(found) = memchr2(b'"', b'\\', rest)
                    {
                        at += found + 1;
                        if rest[found] == b'"' {
                            break;
                        }
                        // What is escaped.
                        at += 1;
                    }
                }
                b'-' | b'0'..=b'9' => {
                    let is_part =
                        |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                    let length = bytes[at..].iter().take_while(is_part).count();
                    self.0 = &bytes[at + length..];
                    return std::str::from_utf8(&bytes[at..at + length]).ok();
                }
                _ => at += 1,
            }
        }
        self.0 = &[];
        None
    }
}

struct Reading<'t, 'a> {
    numbers: NumberLiterals<'t>,
    /// The number of literals to skip: integers whose values came from serde_json.
    integers: usize,
    values_left: u64,
    /// The items and entries so far of the arrays and objects that are being read, so that each list is allocated once.
    items: Vec<Json<'a>>,
    entries: Vec<(Cow<'a, str>, Json<'a>)>,
    /// Whether the last string was an owned one, which only the literal of a number is.
    is_number: bool,
}

/// The only key of the map as which serde_json reports a number with the feature `arbitrary_precision`.
const NUMBER_KEY: &str = "$serde_json::private::Number";

struct JsonReader<'s, 't, 'a>(&'s mut Reading<'t, 'a>);

impl<'a> JsonReader<'_, '_, 'a> {
    fn integer(self, value: i64) -> Json<'a> {
        self.0.integers += 1;
        Json::Number(Decimal::from(value))
    }

    fn number<E: serde::de::Error>(self) -> Result<Json<'a>, E> {
        let skipped = std::mem::take(&mut self.0.integers);
        let literal = self.0.numbers.nth(skipped).unwrap_or_default();
        literal.parse().map(Json::Number).map_err(E::custom)
    }
}

impl<'a> DeserializeSeed<'a> for JsonReader<'_, '_, 'a> {
    type Value = Json<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Json<'a>, D::Error> {
        self.0.values_left = self
            .0
            .values_left
            .checked_sub(1)
            .ok_or_else(|| D::Error::custom(TOO_MANY_VALUES))?;
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for JsonReader<'_, '_, 'a> {
    type Value = Json<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'a>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'a>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'a>, E> {
        Ok(self.integer(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Json<'a>, E> {
        match i64::try_from(value) {
            Ok(value) => Ok(self.integer(value)),
            Err(_) => self.number(),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Json<'a>, E> {
        self.number()
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Json<'a>, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'a>, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Json<'a>, E> {
        self.0.is_number = true;
        Ok(Json::String(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut access: A) -> Result<Json<'a>, A::Error> {
        let begin = self.0.items.len();
        while let Some(item) = access.next_element_seed(JsonReader(self.0))? {
            self.0.items.push(item);
        }
        Ok(Json::Array(self.0.items.drain(begin..).collect()))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut access: A) -> Result<Json<'a>, A::Error> {
        let begin = self.0.entries.len();
        let mut many: KeyedSet<Cow<'a, str>> = KeyedSet::default();
        while let Some(KeyText(key)) = access.next_key::<KeyText<'a>>()? {
            let entries = &self.0.entries[begin..];
            let twice = if entries.len() < FEW {
                entries.iter().any(|(name, _)| *name == key)
            } else {
                if many.is_empty() {
                    many.extend(entries.iter().map(|(name, _)| name.clone()));
                }
                !many.insert(key.clone())
            };
            if twice {
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} comes twice"
                )));
            }
            self.0.is_number = false;
            // The map of a number and its literal count as one value.
            let counted_twice = u64::from(key == NUMBER_KEY);
            self.0.values_left += counted_twice;
            let value = access.next_value_seed(JsonReader(self.0))?;
            if self.0.is_number
                && key == NUMBER_KEY
                && let Json::String(literal) = &value
            {
                return literal.parse().map(Json::Number).map_err(A::Error::custom);
            }
            self.0.values_left = self.0.values_left.saturating_sub(counted_twice);
            self.0.entries.push((key, value));
        }
        Ok(Json::Object(self.0.entries.drain(begin..).collect()))
    }
}

/// Up to this number, comparing all keys is faster than hashing.
const FEW: usize = 16;

/// A key, borrowed unless it has escapes (deserialising a `Cow` never borrows).
struct KeyText<'a>(Cow<'a, str>);

impl<'a> serde::Deserialize<'a> for KeyText<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'a> Visitor<'a> for KeyVisitor {
            type Value = KeyText<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'a str) -> Result<KeyText<'a>, E> {
                Ok(KeyText(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<KeyText<'a>, E> {
                Ok(KeyText(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde::de::IntoDeserializer;
    use serde::de::value::BorrowedStrDeserializer;

    use super::*;

    fn check(text: &str, expect: Expect) {
        let shown = match Json::from_text(text, &SchemaLimits::default()) {
            Ok(json) => format!("{json:?}"),
            Err(error) => error.to_string(),
        };
        expect.assert_eq(&shown);
    }

    #[test]
    fn numbers_are_exact() {
        check("0.1", expect!["Number(0.1)"]);
        check("9007199254740993", expect!["Number(9007199254740993)"]);
        check(
            "123456789012345678901234567890",
            expect!["Number(123456789012345678901234567890)"],
        );
        check(
            r#"["1\"2", 0.30000000000000000001, {"3": -4.50e-2}]"#,
            expect![[
                r#"Array([String("1\"2"), Number(0.30000000000000000001), Object([("3", Number(-0.045))])])"#
            ]],
        );
        check(
            r#"[1, -2, 0.5, "3", 18446744073709551615, 4, -0, 1e2, 5]"#,
            expect![[
                r#"Array([Number(1), Number(-2), Number(0.5), String("3"), Number(18446744073709551615), Number(4), Number(0), Number(100), Number(5)])"#
            ]],
        );
        check(
            "1e400",
            expect![
                "a number of the schema exceeds what a double can hold, about 1.8e308 (line 1, column 5)"
            ],
        );
    }

    /// Reads its text as serde_json with `arbitrary_precision` does a number.
    struct NumberAsMap(Option<&'static str>);

    impl<'a> Deserializer<'a> for NumberAsMap {
        type Error = serde_json::Error;

        fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            visitor.visit_map(self)
        }

        serde::forward_to_deserialize_any! {
            <W: Visitor<'a>>
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
        }
    }

    impl<'a> MapAccess<'a> for NumberAsMap {
        type Error = serde_json::Error;

        fn next_key_seed<K: DeserializeSeed<'a>>(
            &mut self,
            seed: K,
        ) -> Result<Option<K::Value>, Self::Error> {
            let key = self.0.map(|_| BorrowedStrDeserializer::new(NUMBER_KEY));
            key.map(|key| seed.deserialize(key)).transpose()
        }

        fn next_value_seed<V: DeserializeSeed<'a>>(
            &mut self,
            seed: V,
        ) -> Result<V::Value, Self::Error> {
            let literal = self.0.take().unwrap_or_default().to_owned();
            seed.deserialize(literal.into_deserializer())
        }
    }

    #[test]
    fn numbers_are_read_as_maps_where_another_crate_of_the_build_asks_for_this() {
        for text in ["12", "0.30000000000000000001", "-4.50e-2", "1e400"] {
            let mut state = Reading {
                numbers: NumberLiterals(b""),
                integers: 0,
                items: Vec::new(),
                entries: Vec::new(),
                values_left: 1,
                is_number: false,
            };
            let read = JsonReader(&mut state).deserialize(NumberAsMap(Some(text)));
            let number = text.parse().expect("it is a number");
            assert_eq!(read.expect("it is read"), Json::Number(number));
        }
    }

    #[test]
    fn an_object_with_the_key_of_such_a_map_stays_an_object() {
        check(
            r#"{"$serde_json::private::Number": "1"}"#,
            expect![[r#"Object([("$serde_json::private::Number", String("1"))])"#]],
        );
        check(
            r#"{"$serde_json::private::Number": "\u0031"}"#,
            expect![[r#"Object([("$serde_json::private::Number", String("1"))])"#]],
        );
    }

    #[test]
    fn texts_that_are_no_schema_are_refused_by_place() {
        check(
            "{\n  \"a\": }",
            expect!["the schema is not JSON: expected value (line 2, column 8)"],
        );
        check(
            "",
            expect!["the schema is not JSON: EOF while parsing a value (line 1, column 1)"],
        );
        check(
            r#"{"a": 1, "a": 2}"#,
            expect![[r#"the schema is not JSON: the key "a" comes twice (line 1, column 12)"#]],
        );
        check(
            &"[".repeat(100_000),
            expect!["#: levels of nesting in the text of a schema exceed the limit of 127"],
        );
    }

    #[test]
    fn equality_is_that_of_values() {
        let limits = SchemaLimits::default();
        let read = |text| Json::from_text(text, &limits).expect("the text is JSON");
        assert!(read(r#"{"a": 1.0, "b": [2e1]}"#).same(&read(r#"{"b": [20], "a": 1}"#)));
        assert!(!read(r#"{"a": 1}"#).same(&read(r#"{"a": true}"#)));
        assert!(!read("[1, 2]").same(&read("[2, 1]")));
    }
}
