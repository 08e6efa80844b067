//! A tool that a model may call.

use serde_json::{Map, Value, json};
use structgen_grammar::json_pointer;
use structgen_grammar::keyed::KeyedSet;

use crate::ToolError;

/// A tool: a name, and a schema of its arguments.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// The name, of 1 to 128 letters, digits and `_-.:/`.
    pub name: String,
    /// The purpose of the tool. It does not affect the grammar.
    pub description: Option<String>,
    /// The schema of the arguments, which must be an object.
    pub parameters: Value,
}

/// The maximum length of a name in bytes.
const LONGEST_NAME: usize = 128;

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

/// Whether the character is valid in names: none of these occurs in what surrounds a name.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.:/".contains(c)
}

impl Tool {
    /// A tool with a schema for its arguments.
    ///
    /// # Errors
    /// [`ToolError::Name`].
    pub fn new(name: impl Into<String>, parameters: Value) -> Result<Self, ToolError> {
        let name = name.into();
        let fits = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_name_char);
        if !fits {
            return Err(ToolError::Name { name });
        }
        Ok(Self {
            name,
            description: None,
            parameters,
        })
    }

    /// Parses a list of tools in JSON: `{"type": "function", "function": {"name", "description"?, "parameters"?}}` or
    /// the inner object alone, in which the schema may be called `parameters`, `input_schema` or `inputSchema`. A tool
    /// without one takes no arguments. Fields that only describe a tool, such as `strict` or those of the Model Context
    /// Protocol, do not affect the grammar; unknown ones are refused. The list may be under `tools` in an object.
    ///
    /// ```
    /// use structgen_tools::Tool;
    ///
    /// let tools = Tool::list(r#"[
    ///     {"type": "function", "function": {"name": "ping"}},
    ///     {"name": "add", "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    /// ]"#)?;
    /// assert_eq!(tools[1].name, "add");
    /// let error = Tool::list(r#"[{"type": "function"}]"#).unwrap_err();
    /// assert_eq!(error.to_string(), "#/0/name: the tool's name is expected here");
    /// # Ok::<(), structgen_tools::ToolError>(())
    /// ```
    ///
    /// # Errors
    /// [`ToolError::NotJson`], [`ToolError::NotATool`], [`ToolError::UnknownField`], [`ToolError::Name`] and
    /// [`ToolError::Duplicate`].
    pub fn list(json: &str) -> Result<Vec<Self>, ToolError> {
        let value: Value = serde_json::from_str(json).map_err(|error| ToolError::NotJson {
            line: error.line(),
            column: error.column(),
            reason: error.to_string(),
        })?;
        Self::list_value(&value)
    }

    /// Reads a list of tools, as [`list`](Tool::list) does.
    ///
    /// # Errors
    /// As [`list`](Tool::list), except for errors of its text.
    pub fn list_value(value: &Value) -> Result<Vec<Self>, ToolError> {
        let (list, prefix) = match value.get("tools") {
            Some(list) => (list, "#/tools"),
            None => (value, "#"),
        };
        let Value::Array(items) = list else {
            return Err(wrong(prefix.to_owned(), "a list of tools"));
        };
        let mut tools = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            tools.push(Self::from_value(item, format!("{prefix}/{index}"))?);
        }
        check_distinct(&tools)?;
        Ok(tools)
    }

    /// The tool in the form of OpenAI's API, which chat templates expect:
    /// `{"type": "function", "function": {"name", "description"?, "parameters"}}`.
    ///
    /// ```
    /// use serde_json::json;
    /// use structgen_tools::Tool;
    ///
    /// let tools = Tool::list(r#"[{"name": "f", "inputSchema": {"type": "object"}}]"#)?;
    /// let function = json!({"name": "f", "parameters": {"type": "object"}});
    /// assert_eq!(tools[0].to_json(), json!({"type": "function", "function": function}));
    /// # Ok::<(), structgen_tools::ToolError>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut function = json!({"name": self.name});
        if let Some(description) = &self.description {
            function["description"] = description.as_str().into();
        }
        function["parameters"] = self.parameters.clone();
        json!({"type": "function", "function": function})
    }

    fn from_value(value: &Value, mut pointer: String) -> Result<Self, ToolError> {
        let mut tool = object(value, &pointer)?;
        check_type(tool, &pointer)?;
        if let Some(function) = tool.get("function") {
            check_fields(tool, &pointer, |key| {
                matches!(key, "type" | "function" | "strict" | "cache_control")
            })?;
            pointer.push_str("/function");
            tool = object(function, &pointer)?;
        }
        check_fields(tool, &pointer, |key| {
            SCHEMAS.contains(&key) || FIELDS.contains(&key)
        })?;
        let Some(Value::String(name)) = tool.get("name") else {
            return Err(wrong(format!("{pointer}/name"), "the tool's name"));
        };
        let mut made = Self::new(name.as_str(), parameters(tool, &pointer)?)?;
        made.description = match tool.get("description") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => return Err(wrong(format!("{pointer}/description"), "a text")),
        };
        Ok(made)
    }
}

fn object<'v>(value: &'v Value, pointer: &str) -> Result<&'v Map<String, Value>, ToolError> {
    let found = value.as_object();
    found.ok_or_else(|| wrong(pointer.to_owned(), "an object"))
}

/// Refuses tools that are not functions. Anthropic's API calls functions `custom`, as OpenAI's calls tools without a
/// schema.
fn check_type(tool: &Map<String, Value>, pointer: &str) -> Result<(), ToolError> {
    match tool.get("type") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(kind)) if kind == "function" => Ok(()),
        Some(Value::String(kind)) if kind == "custom" && tool.contains_key("input_schema") => {
            Ok(())
        }
        Some(_) => Err(wrong(format!("{pointer}/type"), "\"function\"")),
    }
}

fn check_fields(
    tool: &Map<String, Value>,
    pointer: &str,
    is_known: impl Fn(&str) -> bool,
) -> Result<(), ToolError> {
    match tool.keys().find(|key| !is_known(key)) {
        Some(key) => Err(ToolError::UnknownField {
            pointer: format!("{pointer}/{}", json_pointer::escaped(key)),
        }),
        None => Ok(()),
    }
}

/// Returns the schema of a tool's arguments.
fn parameters(tool: &Map<String, Value>, pointer: &str) -> Result<Value, ToolError> {
    let mut schemas = { SCHEMAS.iter() }
        .filter_map(|key| Some((key, tool.get(*key)?)))
        .filter(|(_, schema)| !schema.is_null());
    let first = schemas.next();
    if let Some((key, _)) = schemas.next() {
        return Err(wrong(format!("{pointer}/{key}"), "no second schema"));
    }
    Ok(match first {
        // The form in which models are told about tools without arguments.
        None => json!({"type": "object", "properties": {}, "additionalProperties": false}),
        Some((_, schema)) => schema.clone(),
    })
}

/// # Errors
/// [`ToolError::Duplicate`].
pub(crate) fn check_distinct(tools: &[Tool]) -> Result<(), ToolError> {
    let mut names = KeyedSet::default();
    match tools.iter().find(|tool| !names.insert(&tool.name)) {
        Some(tool) => Err(ToolError::Duplicate {
            name: tool.name.clone(),
        }),
        None => Ok(()),
    }
}

fn wrong(pointer: String, expected: &'static str) -> ToolError {
    ToolError::NotATool { pointer, expected }
}
