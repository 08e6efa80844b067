//! Options of tool calls and structural tags.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use structgen::tools::{
    Reasoning, StructuralTag, Tool, ToolChoice, ToolFormat, ToolGrammar, ToolOptions,
};
use structgen::{Constraint, SchemaOptions};

use crate::input::{Document, read_text_file};
use crate::remote::Body;
use crate::schema_hints::warn_of;

/// How tools are called: flags of commands without `--set`, the parameters `tools.` of those with it.
#[derive(clap::Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Tools")]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolArgs {
    /// Format of tool calls: qwen, llama3, mistral, deepseek, … (an unknown name lists them all), or a TOML file with a
    /// custom format
    #[arg(
        long,
        value_name = "FORMAT",
        requires = "tools",
        default_value = FORMAT
    )]
    #[serde(rename = "format")]
    tool_format: String,
    /// Which tools to call: auto, required (at least one), none, NAME (this one, once), or NAME,NAME (one of these, or
    /// several)
    #[arg(
        long,
        value_name = "CHOICE",
        requires = "tools",
        default_value = CHOICE
    )]
    #[serde(rename = "choice")]
    tool_choice: String,
    /// How to treat reasoning before text and calls; open means that the prompt ends within it
    #[arg(long, value_enum, requires = "tools", default_value = "allowed")]
    reasoning: ReasoningArg,
    /// Maximum number of reasoning tokens
    #[arg(long, requires = "tools", value_name = "N")]
    pub(crate) reasoning_tokens: Option<u32>,
}

/// The format of tool calls, if none is given.
const FORMAT: &str = "qwen";

/// Which tools to call, if no choice is given.
const CHOICE: &str = "auto";

impl Default for ToolArgs {
    fn default() -> Self {
        Self {
            tool_format: FORMAT.to_owned(),
            tool_choice: CHOICE.to_owned(),
            reasoning: ReasoningArg::Allowed,
            reasoning_tokens: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ReasoningArg {
    Allowed,
    Off,
    Required,
    Open,
}

/// Reads a structural tag from a file; also returns its text.
pub(crate) fn read_structural_tag(
    path: &Path,
    schema: &SchemaOptions,
) -> anyhow::Result<(String, Constraint)> {
    let Document { name, text } =
        Document::read_json(path).context("the structural tag cannot be used")?;
    let tag = StructuralTag::from_json(&text, schema)
        .with_context(|| format!("the structural tag {name} cannot be used"))?;
    for (pointer, report) in tag.reports() {
        warn_of(&format!("{name}, {pointer}"), &report.warnings);
    }
    Ok((text, Constraint::structural_tag(&tag)))
}

/// A file of tools.
pub(crate) struct ToolsFile {
    name: String,
    tools: Vec<Tool>,
    /// The tools as the file has them.
    as_written: Vec<Value>,
}

impl ToolsFile {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let Document { name, text } =
            Document::read_json(path).context("the tools cannot be used")?;
        let tools =
            Tool::list(&text).with_context(|| format!("the tools {name} cannot be used"))?;
        let mut value: Value = serde_json::from_str(&text)?;
        let list = match value.get_mut("tools") {
            Some(list) => list.take(),
            None => value,
        };
        let as_written = serde_json::from_value(list)?;
        Ok(Self {
            name,
            tools,
            as_written,
        })
    }

    /// Returns the tools in the form that chat templates and servers expect, whatever form they have in the file. What
    /// is in that form already stays as it is, with all its members.
    pub(crate) fn for_template(&self) -> Vec<Value> {
        let tools = self.tools.iter().zip(&self.as_written);
        let in_form = |(tool, written): (&Tool, &Value)| match written["function"]["parameters"] {
            Value::Object(_) => written.clone(),
            _ => tool.to_json(),
        };
        tools.map(in_form).collect()
    }
}

impl ToolArgs {
    /// Compiles the tools of a file, in the requested format.
    pub(crate) fn grammar(
        &self,
        file: &ToolsFile,
        schema: SchemaOptions,
    ) -> anyhow::Result<ToolGrammar> {
        let name = &file.name;
        let mut options = ToolOptions::new()
            .with_choice(self.choice())
            .with_reasoning(match self.reasoning {
                ReasoningArg::Allowed => Reasoning::Allowed,
                ReasoningArg::Off => Reasoning::Off,
                ReasoningArg::Required => Reasoning::Required,
                ReasoningArg::Open => Reasoning::Open,
            })
            .with_schema_options(schema);
        options.reasoning_tokens = self.reasoning_tokens;
        let grammar = ToolGrammar::new(self.format()?, file.tools.clone(), &options)
            .with_context(|| format!("the tools {name} cannot be used"))?;
        for (tool, report) in grammar.reports() {
            warn_of(&format!("{name}, {tool}"), &report.warnings);
        }
        Ok(grammar)
    }

    /// Sets the fields of a request to a server that define which tools to call.
    pub(crate) fn set_in(&self, body: &mut Body) -> anyhow::Result<()> {
        let function = |name: String| json!({"type": "function", "function": {"name": name}});
        match self.choice() {
            ToolChoice::Auto => {}
            ToolChoice::None => body.set("tool_choice", "none"),
            ToolChoice::Required => body.set("tool_choice", "required"),
            ToolChoice::Named(name) => body.set("tool_choice", function(name)),
            ToolChoice::Subset { names, required } => {
                let mode = if required { "required" } else { "auto" };
                let tools: Vec<_> = names.into_iter().map(function).collect();
                let allowed = json!({"mode": mode, "tools": tools});
                let choice = json!({"type": "allowed_tools", "allowed_tools": allowed});
                body.set("tool_choice", choice);
            }
        }
        match self.reasoning {
            ReasoningArg::Allowed => {}
            ReasoningArg::Off => body.set("reasoning_effort", "none"),
            ReasoningArg::Required | ReasoningArg::Open => {
                bail!(
                    "tools.reasoning cannot be required or open with --server: the prompt decides there"
                )
            }
        }
        Ok(())
    }

    fn choice(&self) -> ToolChoice {
        let mut names = self
            .tool_choice
            .split(',')
            .map(|name| name.trim().to_owned());
        match (self.tool_choice.as_str(), names.next(), names.next()) {
            ("auto", ..) => ToolChoice::Auto,
            ("required", ..) => ToolChoice::Required,
            ("none", ..) => ToolChoice::None,
            (_, Some(name), None) => ToolChoice::Named(name),
            (_, first, second) => ToolChoice::Subset {
                names: first.into_iter().chain(second).chain(names).collect(),
                required: true,
            },
        }
    }

    fn format(&self) -> anyhow::Result<ToolFormat> {
        let name = &self.tool_format;
        if let Some(format) = ToolFormat::preset(name) {
            return Ok(format);
        }
        let path = PathBuf::from(name);
        if !path.exists() {
            let known: Vec<&str> = ToolFormat::presets().collect();
            bail!(
                "{name:?} is neither a format of tool calls nor a file with one; there are: {}",
                known.join(", ")
            );
        }
        let text =
            read_text_file(&path).with_context(|| format!("the format {name} cannot be used"))?;
        ToolFormat::from_toml(&text).with_context(|| format!("the format {name} cannot be used"))
    }
}
