//! Reads JSON objects field by field, so that every error names its field and no field is silently ignored.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::error::{ApiError, Result};

/// How to handle unread fields.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    /// Whether to list them instead of returning an error.
    pub(crate) is_lenient: bool,
    names: RefCell<Vec<String>>,
}

impl Unread {
    pub(crate) fn new(is_lenient: bool) -> Self {
        Self {
            is_lenient,
            names: RefCell::default(),
        }
    }

    /// Returns the names of the fields that were not read.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.names.into_inner()
    }
}

/// An object whose fields are read by name; [`finish`](Fields::finish) reports the rest.
///
/// A field that is `null` counts as absent, since clients send it for what is not set.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    /// The path of the object, in the clients' notation: `messages[0].content`.
    path: String,
    fields: Vec<(String, &'a RawValue)>,
    unread: &'a Unread,
}

impl<'a> Fields<'a> {
    /// Parses the body of a request.
    pub(crate) fn of_body(body: &'a str, unread: &'a Unread) -> Result<Self> {
        Self::read(body, String::new(), unread)
    }

    /// Parses the object at a path.
    pub(crate) fn of_value(value: &'a RawValue, path: String, unread: &'a Unread) -> Result<Self> {
        Self::read(value.get(), path, unread)
    }

    fn read(text: &'a str, path: String, unread: &'a Unread) -> Result<Self> {
        match serde_json::from_str::<Object<'a>>(text) {
            Ok(Object(fields)) => Ok(Self {
                path,
                fields,
                unread,
            }),
            Err(error) if path.is_empty() => Err(ApiError::new(
                axum::http::StatusCode::BAD_REQUEST,
                format!("the body is not a JSON object: {error}"),
            )),
            Err(error) => {
                let message = format!("{path} must be an object: {}", without_place(&error));
                Err(ApiError::invalid(path, message))
            }
        }
    }

    /// Returns the path of a field of this object.
    pub(crate) fn path_of(&self, name: &str) -> String {
        match self.path.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.path),
        }
    }

    /// Returns the path of this object.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn unread(&self) -> &'a Unread {
        self.unread
    }

    /// Takes a field as raw JSON.
    pub(crate) fn raw(&mut self, name: &str) -> Option<&'a RawValue> {
        let at = self.fields.iter().position(|(field, _)| field == name)?;
        let (_, value) = self.fields.remove(at);
        (value.get() != "null").then_some(value)
    }

    /// Puts back a field that was taken.
    pub(crate) fn put_back(&mut self, name: &str, value: &'a RawValue) {
        self.fields.push((name.to_owned(), value));
    }

    /// Returns a field as raw JSON, without taking it.
    pub(crate) fn peek(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.fields.iter().find(|(field, _)| field == name);
        let value = found.map(|(_, value)| *value);
        value.filter(|value| value.get() != "null")
    }

    /// Takes a field.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(value) = self.raw(name) else {
            return Ok(None);
        };
        parse(value, &self.path_of(name)).map(Some)
    }

    /// Takes a required field.
    pub(crate) fn need<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        let value = self.take(name)?;
        value.ok_or_else(|| self.missing(name))
    }

    /// Returns the error for a missing field.
    pub(crate) fn missing(&self, name: &str) -> ApiError {
        let path = self.path_of(name);
        let message = format!("{path} is missing");
        ApiError::invalid(path, message).with_code("missing_required_parameter")
    }

    /// Takes a field that is an object.
    pub(crate) fn object(&mut self, name: &str) -> Result<Option<Self>> {
        let path = self.path_of(name);
        let value = self.raw(name);
        value
            .map(|value| Self::of_value(value, path, self.unread))
            .transpose()
    }

    /// Takes a field that is an array, with the path of each item.
    pub(crate) fn list(&mut self, name: &str) -> Result<Option<Vec<(String, &'a RawValue)>>> {
        let Some(value) = self.raw(name) else {
            return Ok(None);
        };
        let path = self.path_of(name);
        let items: Vec<&'a RawValue> = parse_borrowed(value, &path)?;
        let with_path = |(index, item)| (format!("{path}[{index}]"), item);
        Ok(Some(items.into_iter().enumerate().map(with_path).collect()))
    }

    /// Takes a field that is an array of objects.
    pub(crate) fn objects(&mut self, name: &str) -> Result<Option<Vec<Self>>> {
        let unread = self.unread;
        let Some(items) = self.list(name)? else {
            return Ok(None);
        };
        let read = |(path, item)| Self::of_value(item, path, unread);
        items.into_iter().map(read).collect::<Result<_>>().map(Some)
    }

    /// Takes all remaining fields, as names and values.
    pub(crate) fn rest(&mut self) -> Vec<(String, &'a RawValue)> {
        std::mem::take(&mut self.fields)
    }

    /// Refuses or lists the fields that were not taken, except those that are `null`.
    pub(crate) fn finish(self) -> Result<()> {
        let is_set = |(_, value): &&(String, &RawValue)| value.get() != "null";
        for (name, _) in self.fields.iter().filter(is_set) {
            let path = self.path_of(name);
            if !self.unread.is_lenient {
                let message = format!("the field {path} is not supported");
                return Err(ApiError::invalid(path, message).with_code("unknown_parameter"));
            }
            self.unread.names.borrow_mut().push(path);
        }
        Ok(())
    }
}

/// Parses a value of a type; an error has the path. No object in it has a field twice.
pub(crate) fn parse<T: DeserializeOwned>(value: &RawValue, path: &str) -> Result<T> {
    check_distinct(value, path)?;
    serde_json::from_str(value.get()).map_err(|error| wrong(&error, path))
}

/// Returns an error if an object in a value has a field twice: parsers would drop one of the two.
pub(crate) fn check_distinct(value: &RawValue, path: &str) -> Result<()> {
    match value.get().starts_with(['{', '[']) {
        true => { serde_json::from_str::<Distinct>(value.get()) }
            .map(drop)
            .map_err(|error| wrong(&error, path)),
        false => Ok(()),
    }
}

fn parse_borrowed<'a, T: Deserialize<'a>>(value: &'a RawValue, path: &str) -> Result<T> {
    serde_json::from_str(value.get()).map_err(|error| wrong(&error, path))
}

fn wrong(error: &serde_json::Error, path: &str) -> ApiError {
    ApiError::invalid(path, format!("{path}: {}", without_place(error)))
}

/// Formats an error without line and column, which would be relative to the field.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// The fields of an object as raw JSON, in order and without duplicates.
struct Object<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut fields: Vec<(String, &RawValue)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    if fields.len() >= MOST_FIELDS {
                        return Err(serde::de::Error::custom("it has too many fields"));
                    }
                    if fields.iter().any(|(other, _)| *other == name) {
                        let message = format!("the field {name} occurs twice");
                        return Err(serde::de::Error::custom(message));
                    }
                    fields.push((name, value));
                }
                Ok(Object(fields))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

/// Any JSON value none of whose objects has a field twice.
struct Distinct;

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Distinct {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Self, A::Error> {
        while seq.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                let message = format!("the field {name} occurs twice");
                return Err(serde::de::Error::custom(message));
            }
            names.insert(name);
            map.next_value::<Self>()?;
        }
        Ok(self)
    }
}

/// Maximum number of fields of an object that is read by name, since names are compared one by one.
const MOST_FIELDS: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_nobody_reads_are_refused_by_their_path() {
        let unread = Unread::new(false);
        let mut fields = Fields::of_body(r#"{"a": 1, "b": {"c": 2, "d": 3}}"#, &unread).unwrap();
        assert_eq!(fields.take::<u8>("a").unwrap(), Some(1));
        let mut inner = fields.object("b").unwrap().unwrap();
        assert_eq!(inner.take::<u8>("c").unwrap(), Some(2));
        let error = inner.finish().unwrap_err();
        assert_eq!(error.param.as_deref(), Some("b.d"));
        fields.finish().unwrap();
    }

    #[test]
    fn in_lenient_mode_they_are_listed() {
        let unread = Unread::new(true);
        let fields = Fields::of_body(r#"{"a": 1, "b": null, "c": [null]}"#, &unread).unwrap();
        fields.finish().unwrap();
        assert_eq!(unread.into_names(), ["a", "c"]);
    }

    #[test]
    fn a_field_that_is_null_is_not_set_even_if_nobody_knows_it() {
        let unread = Unread::new(false);
        let fields = Fields::of_body(r#"{"a": null}"#, &unread).unwrap();
        fields.finish().unwrap();
    }

    #[test]
    fn a_field_that_occurs_twice_is_an_error() {
        let unread = Unread::default();
        let error = Fields::of_body(r#"{"a": 1, "a": 2}"#, &unread).unwrap_err();
        assert!(error.message.contains("the field a occurs twice"));
    }

    #[test]
    fn a_field_that_occurs_twice_within_a_value_is_an_error_at_its_path() {
        let unread = Unread::default();
        let body =
            r#"{"a": {"b": [{"c": 1.5, "d": {}, "c": null}]}, "e": {"c": 1, "d": {"c": 2}}}"#;
        let mut fields = Fields::of_body(body, &unread).unwrap();
        let error = fields.take::<serde_json::Value>("a").unwrap_err();
        assert_eq!(error.param.as_deref(), Some("a"));
        assert_eq!(error.message, "a: the field c occurs twice");
        fields.need::<serde_json::Value>("e").unwrap();
    }

    #[test]
    fn a_value_of_another_type_is_an_error_at_its_path() {
        let unread = Unread::default();
        let mut fields = Fields::of_body(r#"{"l": [{"n": "x"}]}"#, &unread).unwrap();
        let mut items = fields.objects("l").unwrap().unwrap();
        let error = items[0].take::<u8>("n").unwrap_err();
        assert_eq!(error.param.as_deref(), Some("l[0].n"));
        assert!(!error.message.contains("line"));
    }
}
