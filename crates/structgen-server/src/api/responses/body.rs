//! The JSON of a response.

use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::fields::{Fields, check_distinct};
use crate::generation::Usage;

/// The fields of a request that its response repeats, as they were written: numbers in schemas keep their digits.
#[derive(Clone, Debug)]
pub(super) struct Repeated(Vec<(&'static str, Arc<RawValue>)>);

/// The fields that responses repeat, each with its value in the response to a request without it.
const REPEATED: [(&str, &str); 12] = [
    ("instructions", "null"),
    ("max_output_tokens", "null"),
    ("metadata", "{}"),
    ("parallel_tool_calls", "true"),
    ("previous_response_id", "null"),
    ("reasoning", "null"),
    ("temperature", "null"),
    ("text", r#"{"format":{"type":"text"}}"#),
    ("tool_choice", r#""auto""#),
    ("tools", "[]"),
    ("top_p", "null"),
    ("user", "null"),
];

impl Repeated {
    /// Copies the fields of a request, which are still to be read.
    pub(super) fn of(fields: &Fields<'_>) -> Result<Self> {
        let mut repeated = Vec::new();
        for (name, default) in REPEATED {
            let value = match fields.peek(name) {
                Some(value) => {
                    check_distinct(value, &fields.path_of(name))?;
                    Some(value.to_owned())
                }
                None => serde_json::from_str(default).ok(),
            };
            repeated.extend(value.map(|value| (name, Arc::from(value))));
        }
        Ok(Self(repeated))
    }
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct ResponseBody {
    own: Map<String, Value>,
    repeated: Repeated,
}

impl ResponseBody {
    /// Creates a response of its own fields, which are an object, and those of its request.
    pub(super) fn new(own: Value, repeated: &Repeated) -> Self {
        let own = match own {
            Value::Object(own) => own,
            _ => Map::new(),
        };
        Self {
            own,
            repeated: repeated.clone(),
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.own.insert(name.to_owned(), value);
    }

    /// Returns the length of its JSON in bytes, about.
    pub(super) fn len(&self) -> usize {
        let repeated = self.repeated.0.iter();
        let repeated = repeated.map(|(name, value)| name.len() + value.get().len() + 4);
        serde_json::to_string(&self.own).map_or(0, |own| own.len()) + repeated.sum::<usize>()
    }
}

impl Serialize for ResponseBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.own {
            map.serialize_entry(name, value)?;
        }
        for (name, value) in &self.repeated.0 {
            map.serialize_entry(name, &**value)?;
        }
        map.end()
    }
}

/// The data of an event about the whole response.
#[derive(Serialize)]
pub(super) struct ResponseEvent<'a> {
    #[serde(rename = "type")]
    pub(super) name: &'a str,
    pub(super) sequence_number: usize,
    pub(super) response: &'a ResponseBody,
}

pub(super) fn usage_json(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.new,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.prompt + usage.new,
    })
}
