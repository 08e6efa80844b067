//! Reads lists of tools in the forms of several APIs.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use structgen_grammar::json_pointer;
use structgen_grammar::keyed::KeyedSet;

use crate::{Tool, ToolError};

/// The fields for the schema of the arguments.
const SCHEMAS: [&str; 3] = ["parameters", "input_schema", "inputSchema"];

/// The fields of a tool besides its schema: those of OpenAI's API; and those of other APIs that only inform people and
/// clients.
const FIELDS: [&str; 17] = [
    "type",
    "name",
    "description",
    "strict",
    // The Model Context Protocol.
    "title",
    "annotations",
    "outputSchema",
    "icons",
    "execution",
    "_meta",
    // Anthropic's API.
    "cache_control",
    "defer_loading",
    "allowed_callers",
    "input_examples",
    "eager_input_streaming",
    // Functions as transformers describes them.
    "return",
    "response",
];

/// The schema of a tool without arguments, in the form in which models are told about such tools.
const NO_ARGUMENTS: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

/// Reads a list of tools, which may be under `tools` in an object.
pub(crate) fn read(json: &str) -> Result<Vec<Tool>, ToolError> {
    let mut list: &RawValue = serde_json::from_str(json).map_err(ToolError::not_json)?;
    let mut pointer = "#";
    if list.get().starts_with('{') {
        let tools = Fields::read(list, pointer)?.get("tools");
        list = tools.ok_or_else(|| wrong(pointer, "a list of tools"))?;
        pointer = "#/tools";
    }
    let items: Vec<&RawValue> =
        serde_json::from_str(list.get()).map_err(|_| wrong(pointer, "a list of tools"))?;
    { items.into_iter().enumerate() }
        .map(|(index, item)| read_one(item, format!("{pointer}/{index}")))
        .collect()
}

fn read_one(item: &RawValue, mut pointer: String) -> Result<Tool, ToolError> {
    let mut tool = Fields::read(item, &pointer)?;
    check_type(&tool, &pointer)?;
    if let Some(function) = tool.get("function") {
        tool.check_names(&pointer, |key| {
            matches!(key, "type" | "function" | "strict" | "cache_control")
        })?;
        pointer.push_str("/function");
        tool = Fields::read(function, &pointer)?;
    }
    tool.check_names(&pointer, |key| {
        SCHEMAS.contains(&key) || FIELDS.contains(&key)
    })?;
    let name = tool.get("name").and_then(text);
    let name = name.ok_or_else(|| wrong(&format!("{pointer}/name"), "the tool's name"))?;
    let mut made = Tool::from_text(name, parameters(&tool, &pointer)?)?;
    if let Some(description) = tool.set("description") {
        let place = format!("{pointer}/description");
        made.description = Some(text(description).ok_or_else(|| wrong(&place, "a text"))?);
    }
    Ok(made)
}

/// Refuses tools that are not functions. Anthropic's API calls functions `custom`, as OpenAI's calls tools without a
/// schema.
fn check_type(tool: &Fields<'_>, pointer: &str) -> Result<(), ToolError> {
    let Some(kind) = tool.set("type") else {
        return Ok(());
    };
    match text(kind).as_deref() {
        Some("function") => Ok(()),
        Some("custom") if tool.get("input_schema").is_some() => Ok(()),
        _ => Err(wrong(&format!("{pointer}/type"), "\"function\"")),
    }
}

/// Returns the text of the schema of a tool's arguments.
fn parameters<'t>(tool: &Fields<'t>, pointer: &str) -> Result<&'t str, ToolError> {
    let mut schemas = { SCHEMAS.iter() }.filter_map(|key| Some((key, tool.set(key)?)));
    let first = schemas.next();
    match (first, schemas.next()) {
        (_, Some((key, _))) => Err(wrong(&format!("{pointer}/{key}"), "no second schema")),
        (Some((_, schema)), None) => Ok(schema.get()),
        (None, None) => Ok(NO_ARGUMENTS),
    }
}

/// The fields of an object, whose values are texts: numbers in schemas stay exact.
struct Fields<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Fields<'t> {
    /// Reads an object, in which every field occurs once.
    fn read(value: &'t RawValue, pointer: &str) -> Result<Self, ToolError> {
        let fields: Self =
            serde_json::from_str(value.get()).map_err(|_| wrong(pointer, "an object"))?;
        match fields.repeated() {
            Some(name) => Err(wrong(
                &member(pointer, name),
                "no second field of this name",
            )),
            None => Ok(fields),
        }
    }

    /// Returns the name of a field that occurs twice.
    fn repeated(&self) -> Option<&str> {
        let mut known = KeyedSet::default();
        let mut names = self.0.iter().map(|(name, _)| name.as_str());
        names.find(|name| !known.insert(*name))
    }

    fn get(&self, name: &str) -> Option<&'t RawValue> {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| *value)
    }

    /// Returns a field that is not `null`.
    fn set(&self, name: &str) -> Option<&'t RawValue> {
        self.get(name).filter(|value| value.get() != "null")
    }

    fn check_names(&self, pointer: &str, is_known: impl Fn(&str) -> bool) -> Result<(), ToolError> {
        match self.0.iter().find(|(name, _)| !is_known(name)) {
            Some((name, _)) => Err(ToolError::UnknownField {
                pointer: member(pointer, name),
            }),
            None => Ok(()),
        }
    }
}

impl<'t> Deserialize<'t> for Fields<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'t> Visitor<'t> for Entries {
            type Value = Fields<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut access: A) -> Result<Fields<'t>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = access.next_entry()? {
                    entries.push(entry);
                }
                Ok(Fields(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

fn member(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", json_pointer::escaped(name))
}

fn wrong(pointer: &str, expected: &'static str) -> ToolError {
    ToolError::NotATool {
        pointer: pointer.to_owned(),
        expected,
    }
}
