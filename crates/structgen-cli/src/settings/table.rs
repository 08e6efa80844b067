//! The rows that the command line adds to the library's table of parameters, and what each row has an effect on.

use std::fmt;

use structgen::decode::params::{Effect, PARAMETERS, Parameter, ParameterKind as K, Place, Range};

/// All parameters of `--set` and `--params`.
pub(crate) fn parameters() -> Vec<Parameter> {
    let own = OWN.iter().map(|(_, row)| *row);
    PARAMETERS.iter().copied().chain(own).collect()
}

/// Returns what a parameter has an effect on.
pub(crate) fn scope(row: &Parameter) -> Scope {
    let own = OWN.iter().find(|(_, own)| own.name == row.name);
    match (own, row.name) {
        (Some((scope, _)), _) => *scope,
        (None, "alternatives" | "refused" | "token_times") => Scope::Details,
        (None, _) => Scope::Request,
    }
}

/// What a parameter has an effect on: a command, with a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every request to a model.
    Request,
    /// What is printed of tokens.
    Details,
    /// How a model is loaded.
    Load,
    /// How a model other than the embedded one is loaded.
    Folder,
    Server,
    Generate,
    /// Schemas, also those of tools and structural tags.
    Schema,
    SchemaFile,
    Regex,
    Tools,
    Chat,
    Messages,
}

impl Scope {
    /// Returns the commands with it, and what of them; the latter may be empty.
    fn parts(self) -> (&'static [&'static str], &'static str) {
        const BOTH: &[&str] = &["extract", "generate"];
        const GENERATE: &[&str] = &["generate"];
        match self {
            Self::Request => (&["extract", "generate", "lab advise"], ""),
            Self::Details => (BOTH, "--details"),
            Self::Load => (BOTH, ""),
            Self::Folder => (BOTH, "--model"),
            Self::Server => (BOTH, "--server"),
            Self::Schema => (BOTH, "--json, --json-schema, --tools or structural_tag"),
            Self::SchemaFile => (BOTH, "--json-schema"),
            Self::Generate => (GENERATE, ""),
            Self::Regex => (GENERATE, "--regex"),
            Self::Tools => (GENERATE, "--tools"),
            Self::Chat => (GENERATE, "--chat"),
            Self::Messages => (GENERATE, "--messages"),
        }
    }

    /// Returns whether a parameter may have an effect on a command.
    pub(crate) fn includes(self, command: &str) -> bool {
        self.parts().0.contains(&command)
    }

    /// Returns why a parameter has no effect on a command that lacks the scope.
    pub(crate) fn reason(self, command: &str) -> String {
        let (_, flags) = self.parts();
        match self.includes(command) && !flags.is_empty() {
            true => format!("has no effect on {command} without {flags}"),
            false => format!("is for {self}, and has no effect on {command}"),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (commands, flags) = self.parts();
        f.write_str(&commands.join(", "))?;
        match flags {
            "" => Ok(()),
            _ => write!(f, " with {flags}"),
        }
    }
}

const OWN: &[(Scope, Parameter)] = &[
    row(
        Scope::Request,
        "guidance_prompt",
        K::Text,
        "Prompt to steer away from, as text instead of guidance.prompt",
    ),
    row(
        Scope::Generate,
        "choices_file",
        K::Text,
        "File of choices, one per line, in addition to --choice",
    ),
    row(
        Scope::Generate,
        "structural_tag",
        K::Text,
        "File of an XGrammar structural tag, for text that is free in some places and constrained in others",
    ),
    row(
        Scope::Chat,
        "chat.documents",
        K::Text,
        "File of documents for the chat template: a JSON array of objects",
    ),
    row(
        Scope::Chat,
        "chat.template",
        K::Text,
        "Name of the chat template to use, if the model has several",
    ),
    row(
        Scope::Chat,
        "chat.variables",
        K::Json(r#"{"NAME": VALUE}"#),
        "Variables of the chat template, such as {\"enable_thinking\": false}",
    ),
    row(
        Scope::Chat,
        "chat.generation_prompt",
        K::Switch,
        "Whether to add the tokens that start the model's answer",
    ),
    row(
        Scope::Messages,
        "chat.continue_final_message",
        K::Switch,
        "Whether to let the model continue the last message",
    ),
    row(
        Scope::Tools,
        "tools.format",
        K::Text,
        "Format of tool calls: qwen, llama3, mistral, deepseek, … (an unknown name lists them all), or a TOML file with a custom format",
    ),
    row(
        Scope::Tools,
        "tools.choice",
        K::Text,
        "Which tools to call: auto, required (at least one), none, NAME (this one, once), or NAME,NAME (one of these, or several)",
    ),
    row(
        Scope::Tools,
        "tools.reasoning",
        K::Word(&["allowed", "off", "required", "open"]),
        "How to treat reasoning before text and calls; open means that the prompt ends within it",
    ),
    row(
        Scope::Tools,
        "tools.reasoning_tokens",
        COUNT,
        "Maximum number of reasoning tokens",
    ),
    row(
        Scope::Server,
        "api_key",
        K::Text,
        "API key for the server; by default that of the environment variable STRUCTGEN_API_KEY",
    ),
    row(
        Scope::Schema,
        "schema.profile",
        K::Word(&["exact", "generate", "rust"]),
        "Purpose of the schema: accept every text that a validator accepts, what a model should write, or what deserialises into a Rust type",
    ),
    row(
        Scope::SchemaFile,
        "schema.at",
        K::Text,
        "JSON Pointer of the schema in its file, such as /components/schemas/Order",
    ),
    row(
        Scope::Schema,
        "schema.order",
        K::Word(&["declared", "required-first", "any"]),
        "Order of keys",
    ),
    row(
        Scope::Schema,
        "schema.whitespace",
        K::Text,
        "Whitespace between JSON tokens: compact, spaced, one-space, indent:N, indent:tab or bounded:N",
    ),
    row(
        Scope::Schema,
        "schema.source",
        K::Word(&["model", "input"]),
        "Where strings and numbers come from; set by extract --grounded and --ungrounded",
    ),
    row(
        Scope::Schema,
        "schema.escapes",
        K::Word(&["any", "needed"]),
        "Which escapes strings may use",
    ),
    row(
        Scope::Schema,
        "schema.formats",
        K::Word(&["assert", "annotate"]),
        "Whether to enforce formats",
    ),
    row(
        Scope::Schema,
        "schema.lenient",
        K::Switch,
        "Whether to drop unsupported assertions instead of refusing the schema",
    ),
    row(
        Scope::Schema,
        "schema.strict",
        K::Switch,
        "Whether to refuse a schema with probable mistakes, such as a misspelt keyword, instead of warning",
    ),
    row(
        Scope::Schema,
        "schema.draft",
        K::Text,
        "Draft of a schema without $schema, such as 7 or 2020-12",
    ),
    row(
        Scope::Schema,
        "schema.documents",
        K::Text,
        "Folder of documents that references may point to",
    ),
    row(
        Scope::Schema,
        "schema.max_steps",
        COUNT,
        "Maximum number of steps of a compilation",
    ),
    row(
        Scope::Schema,
        "schema.max_values",
        COUNT,
        "Maximum number of JSON values in a schema and its documents",
    ),
    row(
        Scope::Regex,
        "regex.dialect",
        K::Word(&["rust", "ecma", "python"]),
        "Syntax of the regular expression",
    ),
    row(
        Scope::Regex,
        "regex.search",
        K::Switch,
        "Whether the regular expression may match anywhere in the text, not just the whole text",
    ),
    row(
        Scope::Regex,
        "regex.operators",
        K::Switch,
        "Whether & is intersection and ~ is complement in the regular expression",
    ),
    row(
        Scope::Folder,
        "model.variant",
        K::Text,
        "Variant of the folder's model file, such as quantized, int8, fp16 or q4",
    ),
    row(
        Scope::Load,
        "model.device",
        K::Text,
        "Device to run the model on: cpu, cuda or cuda:N; if it is unavailable, the command fails",
    ),
    row(
        Scope::Load,
        "model.threads",
        K::Integer(Range::at_least(1.0)),
        "Number of threads per run on the CPU, at most 4 per core",
    ),
    row(
        Scope::Folder,
        "model.single_tokens",
        K::Switch,
        "Whether to run each token on its own, for dynamically quantised models, whose output otherwise depends on what else is in the batch",
    ),
    row(
        Scope::Load,
        "model.reader",
        K::Switch,
        "Whether to use the model's reader, which scores what the text contains; without it, the decoder finds the values alone",
    ),
    row(
        Scope::Load,
        "model.runtime",
        K::Text,
        "Path to the ONNX Runtime library, instead of searching for one",
    ),
    row(
        Scope::Load,
        "model.keep_tables",
        K::Switch,
        "Whether to cache the tables of a vocabulary",
    ),
    row(
        Scope::Load,
        "model.prefix_cache",
        COUNT,
        "Maximum megabytes of keys and values to cache for prompts with a common prefix",
    ),
    row(
        Scope::Load,
        "model.cache",
        COUNT,
        "Maximum megabytes of keys and values in total",
    ),
    row(
        Scope::Load,
        "model.rows",
        K::Integer(Range::at_least(1.0)),
        "Maximum number of sequences per batch of a session",
    ),
    row(
        Scope::Load,
        "model.prefill_chunk",
        K::Integer(Range::at_least(1.0)),
        "Maximum number of prompt tokens per run while other requests generate",
    ),
    row(
        Scope::Load,
        "model.draft",
        K::Text,
        "Folder of the draft model, which is also the amateur of contrastive decoding; by default that of the embedded model",
    ),
    row(
        Scope::Load,
        "model.heads",
        K::Text,
        "File of the draft heads; by default those of the embedded model, or heads.onnx in the folder",
    ),
];

const COUNT: K = K::Integer(Range::NOT_NEGATIVE);

const fn row(scope: Scope, name: &'static str, kind: K, help: &'static str) -> (Scope, Parameter) {
    let place = Place::Top;
    let parameter = Parameter {
        name,
        place,
        effect: Effect::Request,
        kind,
        help,
    };
    (scope, parameter)
}
