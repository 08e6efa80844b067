//! A tool that a model may call.

use serde_json::{Value, json};
use structgen_grammar::keyed::KeyedSet;

use crate::{ToolError, list};

/// A tool: a name, and a schema of its arguments.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// The name, of 1 to 128 letters, digits and `_-.:/`.
    pub name: String,
    /// The purpose of the tool. It does not affect the grammar.
    pub description: Option<String>,
    /// The schema of the arguments, which must be an object, as JSON.
    parameters: String,
}

/// The maximum length of a name in bytes.
const LONGEST_NAME: usize = 128;

/// Whether the character is valid in names: none of these occurs in what surrounds a name.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.:/".contains(c)
}

impl Tool {
    /// A tool with a schema for its arguments. Numbers of a [`Value`] are rounded to 64 bits;
    /// [`from_text`](Self::from_text) reads them exactly.
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
            parameters: parameters.to_string(),
        })
    }

    /// A tool with the text of a schema for its arguments, in which every number is exact, as written.
    ///
    /// ```
    /// use structgen_tools::Tool;
    ///
    /// let tool = Tool::from_text("f", r#"{"properties": {"a": {"const": 0.30000000000000000001}}}"#)?;
    /// assert!(tool.parameters().contains("0.30000000000000000001"));
    /// # Ok::<(), structgen_tools::ToolError>(())
    /// ```
    ///
    /// # Errors
    /// [`ToolError::Name`] and [`ToolError::NotJson`].
    pub fn from_text(name: impl Into<String>, parameters: &str) -> Result<Self, ToolError> {
        let read: Result<Value, _> = serde_json::from_str(parameters);
        let mut tool = Self::new(name, read.map_err(ToolError::not_json)?)?;
        tool.parameters = parameters.to_owned();
        Ok(tool)
    }

    /// The schema of the arguments, as JSON.
    #[must_use]
    pub fn parameters(&self) -> &str {
        &self.parameters
    }

    /// Parses a list of tools in JSON: `{"type": "function", "function": {"name", "description"?, "parameters"?}}` or
    /// the inner object alone, in which the schema may be called `parameters`, `input_schema` or `inputSchema`. A tool
    /// without one takes no arguments. Fields that only describe a tool, such as `strict` or those of the Model Context
    /// Protocol, do not affect the grammar; unknown ones are refused, and so are fields that occur twice. Numbers in
    /// schemas are exact, as written. The list may be under `tools` in an object.
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
        let tools = list::read(json)?;
        check_distinct(&tools)?;
        Ok(tools)
    }

    /// Reads a list of tools, as [`list`](Tool::list) does.
    ///
    /// # Errors
    /// As [`list`](Tool::list), except for errors of its text.
    pub fn list_value(value: &Value) -> Result<Vec<Self>, ToolError> {
        Self::list(&value.to_string())
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
        function["parameters"] = serde_json::from_str(&self.parameters).unwrap_or_default();
        json!({"type": "function", "function": function})
    }
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
