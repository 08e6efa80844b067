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
        "The prompt that guidance leads away from, as a text instead of guidance.prompt",
    ),
    row(
        "choices_file",
        K::Text,
        "A file whose lines are the choices, beside those of --choice",
    ),
    row(
        "schema.profile",
        K::Word(&["exact", "generate", "rust"]),
        "What the schema is for: every text that a validator takes, what a model should write, or what deserialises into a Rust type",
    ),
    row(
        "schema.at",
        K::Text,
        "The JSON Pointer of the schema in its file, such as /components/schemas/Order",
    ),
    row(
        "schema.order",
        K::Word(&["declared", "required-first", "any"]),
        "In which order keys come",
    ),
    row(
        "schema.whitespace",
        K::Text,
        "What is between tokens of JSON: compact, spaced, one-space, indent:N, indent:tab or bounded:N",
    ),
    row(
        "schema.source",
        K::Word(&["model", "input"]),
        "Where strings and numbers come from; extract --grounded and --ungrounded are short for it",
    ),
    row(
        "schema.escapes",
        K::Word(&["any", "needed"]),
        "Which escapes strings may use",
    ),
    row(
        "schema.formats",
        K::Word(&["assert", "annotate"]),
        "Whether formats are enforced",
    ),
    row(
        "schema.lenient",
        K::Switch,
        "Whether assertions that are not supported are dropped, instead of the schema being refused",
    ),
    row(
        "schema.strict",
        K::Switch,
        "Whether a schema with probable mistakes, such as a misspelt keyword, is refused, instead of being warned of",
    ),
    row(
        "schema.draft",
        K::Text,
        "The draft of a schema without $schema, such as 7 or 2020-12",
    ),
    row(
        "schema.documents",
        K::Text,
        "A folder of documents that references may name",
    ),
    row("schema.max_steps", COUNT, "The most steps of a compilation"),
    row(
        "schema.max_values",
        COUNT,
        "The most JSON values in a schema and its documents",
    ),
    row(
        "regex.dialect",
        K::Word(&["rust", "ecma", "python"]),
        "The syntax of the regular expression",
    ),
    row(
        "regex.search",
        K::Switch,
        "Whether it matches anywhere in the text, instead of the whole text",
    ),
    row(
        "regex.operators",
        K::Switch,
        "Whether & is intersection and ~ is complement in it",
    ),
    row(
        "model.runtime",
        K::Text,
        "The ONNX Runtime library's file, instead of looking for one",
    ),
    row(
        "model.keep_tables",
        K::Switch,
        "Whether the tables of a vocabulary are kept for the next time",
    ),
    row(
        "model.prefix_cache",
        COUNT,
        "The megabytes of what the model has run that are kept, for prompts that begin alike",
    ),
    row(
        "model.cache",
        COUNT,
        "The most megabytes of keys and values",
    ),
    row(
        "model.rows",
        K::Integer(Range::at_least(1.0)),
        "How many sequences run side by side in a session",
    ),
    row(
        "model.prefill_chunk",
        K::Integer(Range::at_least(1.0)),
        "The most tokens of a prompt in one run while others are written",
    ),
    row(
        "model.draft",
        K::Text,
        "The folder of the model that drafts, or is the amateur of contrastive decoding; without it, the embedded one's",
    ),
    row(
        "model.heads",
        K::Text,
        "The file of the heads that draft; without it, the embedded model's, or heads.onnx in the folder",
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
