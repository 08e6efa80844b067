//! Compiles a schema as a part of a larger grammar: several schemas in one, with other text between them.

use serde_json::Value;
use structgen_grammar::{ExprId, GrammarBuilder, JsonForm};

use super::pipeline::compile_with;
use super::s1_json::Json;
use super::{CompileReport, PartOptions, SchemaError, SchemaOptions, s4_lower, s5_report};

/// A schema compiled as a part of a grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledPart {
    /// The valid values: a rule of the grammar.
    pub root: ExprId,
    /// The form with which to finish the grammar: all parts of a grammar need the same one.
    pub form: JsonForm,
    /// What became of each keyword.
    pub report: CompileReport,
}

/// Compiles a schema into a grammar that is being built.
///
/// ```
/// use serde_json::json;
/// use structgen_frontend::json_schema::{compile_part, PartOptions, SchemaOptions};
/// use structgen_grammar::GrammarBuilder;
///
/// let mut builder = GrammarBuilder::new();
/// let root = builder.declare("root");
/// let options = SchemaOptions::new();
/// let [age, name] = ["age: ", "name: "].map(|key| builder.bytes(key));
/// let part = |prefix| PartOptions { prefix, ..PartOptions::default() };
/// let number = compile_part(&json!({"type": "integer"}), &options, part("age "), &mut builder)?;
/// let string = compile_part(&json!({"type": "string"}), &options, part("name "), &mut builder)?;
/// let age = builder.sequence([age, number.root]);
/// let name = builder.sequence([name, string.root]);
/// let body = builder.choice([age, name]);
/// builder.define(root, body);
/// let grammar = builder.finish(root, number.form);
/// assert!(grammar.to_string().contains("name #"));
/// # Ok::<(), structgen_frontend::json_schema::SchemaError>(())
/// ```
///
/// # Errors
/// As [`compile`](super::compile). After an error the builder contains rules that nothing refers to.
pub fn compile_part(
    schema: &Value,
    options: &SchemaOptions,
    part: PartOptions<'_>,
    builder: &mut GrammarBuilder,
) -> Result<CompiledPart, SchemaError> {
    compile_json(
        &Json::from_value(schema, &options.limits)?,
        "",
        options,
        part,
        builder,
    )
}

/// Like [`compile_part`], from a document's text, reading every number exactly as written. Compiles the schema at the
/// JSON Pointer `pointer`; an empty pointer is the whole document.
///
/// # Errors
/// As [`compile_str_at`](super::compile_str_at).
pub fn compile_part_str(
    document: &str,
    pointer: &str,
    options: &SchemaOptions,
    part: PartOptions<'_>,
    builder: &mut GrammarBuilder,
) -> Result<CompiledPart, SchemaError> {
    let json = Json::from_text(document, &options.limits)?;
    compile_json(&json, pointer, options, part, builder)
}

fn compile_json(
    json: &Json<'_>,
    pointer: &str,
    options: &SchemaOptions,
    part: PartOptions<'_>,
    builder: &mut GrammarBuilder,
) -> Result<CompiledPart, SchemaError> {
    compile_with(json, pointer, options, |canonical, node, options| {
        let root = s4_lower::lower_part(canonical, node, part, builder)?;
        let report = s5_report::report(canonical, options)?;
        Ok(CompiledPart {
            root,
            form: options.form(),
            report,
        })
    })
}
