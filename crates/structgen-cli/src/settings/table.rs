//! The rows that the command line adds to the library's table of parameters.

use structgen::decode::params::{PARAMETERS, Parameter, ParameterKind as K, Place, Range};

/// All parameters of `--set` and `--params`.
pub(crate) fn parameters() -> Vec<Parameter> {
    [PARAMETERS, OWN].concat()
}

const OWN: &[Parameter] = &[
    row(
        "guidance_prompt",
        K::Text,
        "Prompt to steer away from, as text instead of guidance.prompt",
    ),
    row(
        "choices_file",
        K::Text,
        "File of choices, one per line, in addition to --choice",
    ),
    row(
        "schema.profile",
        K::Word(&["exact", "generate", "rust"]),
        "Purpose of the schema: accept every text that a validator accepts, what a model should write, or what deserialises into a Rust type",
    ),
    row(
        "schema.at",
        K::Text,
        "JSON Pointer of the schema in its file, such as /components/schemas/Order",
    ),
    row(
        "schema.order",
        K::Word(&["declared", "required-first", "any"]),
        "Order of keys",
    ),
    row(
        "schema.whitespace",
        K::Text,
        "Whitespace between JSON tokens: compact, spaced, one-space, indent:N, indent:tab or bounded:N",
    ),
    row(
        "schema.source",
        K::Word(&["model", "input"]),
        "Where strings and numbers come from; set by extract --grounded and --ungrounded",
    ),
    row(
        "schema.escapes",
        K::Word(&["any", "needed"]),
        "Which escapes strings may use",
    ),
    row(
        "schema.formats",
        K::Word(&["assert", "annotate"]),
        "Whether to enforce formats",
    ),
    row(
        "schema.lenient",
        K::Switch,
        "Whether to drop unsupported assertions instead of refusing the schema",
    ),
    row(
        "schema.strict",
        K::Switch,
        "Whether to refuse a schema with probable mistakes, such as a misspelt keyword, instead of warning",
    ),
    row(
        "schema.draft",
        K::Text,
        "Draft of a schema without $schema, such as 7 or 2020-12",
    ),
    row(
        "schema.documents",
        K::Text,
        "Folder of documents that references may point to",
    ),
    row(
        "schema.max_steps",
        COUNT,
        "Maximum number of steps of a compilation",
    ),
    row(
        "schema.max_values",
        COUNT,
        "Maximum number of JSON values in a schema and its documents",
    ),
    row(
        "regex.dialect",
        K::Word(&["rust", "ecma", "python"]),
        "Syntax of the regular expression",
    ),
    row(
        "regex.search",
        K::Switch,
        "Whether the regular expression may match anywhere in the text, not just the whole text",
    ),
    row(
        "regex.operators",
        K::Switch,
        "Whether & is intersection and ~ is complement in the regular expression",
    ),
    row(
        "model.runtime",
        K::Text,
        "Path to the ONNX Runtime library, instead of searching for one",
    ),
    row(
        "model.keep_tables",
        K::Switch,
        "Whether to cache the tables of a vocabulary",
    ),
    row(
        "model.prefix_cache",
        COUNT,
        "Maximum megabytes of keys and values to cache for prompts with a common prefix",
    ),
    row(
        "model.cache",
        COUNT,
        "Maximum megabytes of keys and values in total",
    ),
    row(
        "model.rows",
        K::Integer(Range::at_least(1.0)),
        "Maximum number of sequences per batch of a session",
    ),
    row(
        "model.prefill_chunk",
        K::Integer(Range::at_least(1.0)),
        "Maximum number of prompt tokens per run while other requests generate",
    ),
    row(
        "model.draft",
        K::Text,
        "Folder of the draft model, which is also the amateur of contrastive decoding; by default that of the embedded model",
    ),
    row(
        "model.heads",
        K::Text,
        "File of the draft heads; by default those of the embedded model, or heads.onnx in the folder",
    ),
];

const COUNT: K = K::Integer(Range::NOT_NEGATIVE);

const fn row(name: &'static str, kind: K, help: &'static str) -> Parameter {
    let place = Place::Top;
    Parameter {
        name,
        place,
        kind,
        help,
    }
}
