//! The tools of a request, and which of them may or must be called.

use serde_json::Value;
use serde_json::value::RawValue;
use structgen::tools::{Tool, ToolChoice};

use crate::error::{ApiError, Result};
use crate::fields::{Fields, parse};

/// The tools of a request.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    pub(crate) list: Vec<Tool>,
    /// The same tools, in the form that chat templates expect.
    pub(crate) for_template: Vec<Value>,
    pub(crate) choice: ToolChoice,
    /// Whether an answer may have several calls.
    pub(crate) parallel: bool,
    /// The path of each tool's schema.
    pub(crate) schema_paths: Vec<String>,
}

/// Maximum number of tools per request.
const MOST_TOOLS: usize = 128;

/// The schema of a tool without arguments.
const NO_ARGUMENTS: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

/// Where a request has the fields of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// `{"type": "function", "function": {"name", …}}`, as in chat completions.
    Function,
    /// `{"type": "function", "name", …}`, as in responses.
    Flat,
}

impl Tools {
    /// Reads `tools`, `tool_choice` and `parallel_tool_calls`; returns `None` if there are no tools, or none may be
    /// called.
    pub(crate) fn read(fields: &mut Fields<'_>, nesting: Nesting) -> Result<Option<Self>> {
        let tools = fields.objects("tools")?.unwrap_or_default();
        let choice_path = fields.path_of("tool_choice");
        let choice = fields.raw("tool_choice");
        let parallel = fields.take("parallel_tool_calls")?.unwrap_or(true);
        if tools.len() > MOST_TOOLS {
            let message = format!("there may be at most {MOST_TOOLS} tools");
            return Err(ApiError::invalid(fields.path_of("tools"), message));
        }
        let mut found = Self {
            list: Vec::new(),
            for_template: Vec::new(),
            choice: ToolChoice::Auto,
            parallel,
            schema_paths: Vec::new(),
        };
        for tool in tools {
            found.add(tool, nesting)?;
        }
        found.choice = match choice {
            None => ToolChoice::Auto,
            Some(choice) if choice.get().starts_with('"') => {
                let word: String = parse(choice, &choice_path)?;
                match &*word {
                    "auto" => ToolChoice::Auto,
                    "none" => ToolChoice::None,
                    "required" => ToolChoice::Required,
                    _ => return Err(wrong_choice(&choice_path)),
                }
            }
            Some(choice) => {
                let object = Fields::of_value(choice, choice_path.clone(), fields.unread())?;
                chosen(object, nesting)?
            }
        };
        match (found.list.is_empty(), &found.choice) {
            (true, ToolChoice::Auto | ToolChoice::None) => return Ok(None),
            (true, _) => {
                let message = "a call is demanded, and there is no tool to call";
                return Err(ApiError::invalid(choice_path, message));
            }
            (false, _) => {}
        }
        found.check_names(&choice_path)?;
        Ok(Some(found))
    }

    fn add(&mut self, mut tool: Fields<'_>, nesting: Nesting) -> Result<()> {
        let kind: String = tool.need("type")?;
        if kind != "function" {
            let path = tool.path_of("type");
            let message = format!("{path} is {kind:?}, and only functions are supported");
            return Err(ApiError::invalid(path, message));
        }
        let outer = match nesting {
            Nesting::Flat => None,
            Nesting::Function => {
                let inner = tool.object("function")?;
                let inner = inner.ok_or_else(|| tool.missing("function"))?;
                Some(std::mem::replace(&mut tool, inner))
            }
        };
        let name: String = tool.need("name")?;
        let description: Option<String> = tool.take("description")?;
        // Every tool is strict anyway.
        let _: Option<bool> = tool.take("strict")?;
        let path = tool.path_of("parameters");
        let parameters = tool.raw("parameters");
        let name_path = tool.path_of("name");
        tool.finish()?;
        outer.map_or(Ok(()), Fields::finish)?;
        let mut function = serde_json::json!({"name": name});
        if let Some(description) = &description {
            function["description"] = description.as_str().into();
        }
        let text = parameters.map_or(NO_ARGUMENTS, RawValue::get);
        function["parameters"] = match parameters {
            Some(schema) => schema_of_object(schema, &path)?,
            None => serde_json::from_str(text).unwrap_or_default(),
        };
        let mut made = { Tool::from_text(name, text) }
            .map_err(|error| ApiError::invalid(name_path, error.to_string()))?;
        made.description = description;
        if self.list.iter().any(|other| other.name == made.name) {
            let message = format!("there are two tools of the name {:?}", made.name);
            return Err(ApiError::invalid("tools", message));
        }
        self.list.push(made);
        self.schema_paths.push(path);
        let for_template = serde_json::json!({"type": "function", "function": function});
        self.for_template.push(for_template);
        Ok(())
    }

    fn check_names(&self, path: &str) -> Result<()> {
        let names: &[String] = match &self.choice {
            ToolChoice::Named(name) => std::slice::from_ref(name),
            ToolChoice::Subset { names, .. } => names,
            _ => &[],
        };
        for name in names {
            if !self.list.iter().any(|tool| tool.name == *name) {
                let message =
                    format!("{path} names the tool {name:?}, which is not among the tools");
                return Err(ApiError::invalid(path, message));
            }
        }
        Ok(())
    }

    /// Returns the tools that may be called, each with the path of its schema.
    pub(crate) fn callable(&self) -> Vec<(&Tool, &str)> {
        let is_chosen = |tool: &Tool| match &self.choice {
            ToolChoice::None => false,
            ToolChoice::Named(name) => tool.name == *name,
            ToolChoice::Subset { names, .. } => names.contains(&tool.name),
            ToolChoice::Auto | ToolChoice::Required => true,
        };
        { self.list.iter().zip(&self.schema_paths) }
            .filter(|(tool, _)| is_chosen(tool))
            .map(|(tool, path)| (tool, path.as_str()))
            .collect()
    }
}

/// Parses the schema of a tool's arguments, which are always an object.
fn schema_of_object(schema: &RawValue, path: &str) -> Result<Value> {
    let value: Value = parse(schema, path)?;
    let is_of_objects = match value.get("type") {
        None => value.is_object(),
        Some(Value::Array(types)) => *types == ["object"],
        Some(kind) => kind == "object",
    };
    match is_of_objects {
        true => Ok(value),
        false => {
            let message = format!(
                "{path} must be the schema of an object, whose type is \"object\" or is not given: arguments are one"
            );
            Err(ApiError::invalid(path, message).with_code("invalid_schema"))
        }
    }
}

/// Reads a choice that is an object: a tool by its name, or a list of allowed ones.
fn chosen(mut choice: Fields<'_>, nesting: Nesting) -> Result<ToolChoice> {
    let kind: String = choice.need("type")?;
    let found = match &*kind {
        "function" => ToolChoice::Named(name_of(&mut choice, nesting)?),
        "allowed_tools" => {
            let path = choice.path_of("allowed_tools");
            let mut inner = match nesting {
                Nesting::Function => choice.object("allowed_tools")?,
                Nesting::Flat => None,
            };
            let allowed = inner.as_mut().unwrap_or(&mut choice);
            let mode: String = allowed.need("mode")?;
            let tools = allowed.objects("tools")?;
            let mut names = Vec::new();
            for mut tool in tools.ok_or_else(|| allowed.missing("tools"))? {
                let kind: String = tool.need("type")?;
                if kind != "function" {
                    return Err(wrong_choice(tool.path()));
                }
                names.push(name_of(&mut tool, nesting)?);
                tool.finish()?;
            }
            if names.is_empty() {
                let path = allowed.path_of("tools");
                let message = format!("{path} must have a tool");
                return Err(ApiError::invalid(path, message));
            }
            inner.map_or(Ok(()), Fields::finish)?;
            let required = match &*mode {
                "auto" => false,
                "required" => true,
                _ => {
                    let message = format!("{path}.mode must be auto or required");
                    return Err(ApiError::invalid(format!("{path}.mode"), message));
                }
            };
            ToolChoice::Subset { names, required }
        }
        _ => return Err(wrong_choice(choice.path())),
    };
    choice.finish()?;
    Ok(found)
}

fn name_of(fields: &mut Fields<'_>, nesting: Nesting) -> Result<String> {
    match nesting {
        Nesting::Flat => fields.need("name"),
        Nesting::Function => {
            let function = fields.object("function")?;
            let mut function = function.ok_or_else(|| fields.missing("function"))?;
            let name = function.need("name")?;
            function.finish()?;
            Ok(name)
        }
    }
}

fn wrong_choice(path: &str) -> ApiError {
    let message = format!(
        "{path} must be \"none\", \"auto\", \"required\", a function by its name, or allowed_tools"
    );
    ApiError::invalid(path, message)
}
