//! Runs the stages, one after the other.

use std::cell::OnceCell;

use serde_json::Value;
use structgen_grammar::Grammar;

use super::s1_json::{Json, embedded};
use super::s2_parse::resolve::Resources;
use super::s2_parse::scope::ScopeId;
use super::s2_parse::{Program, SchemaId};
use super::s3_canonical::{Canonicalizer, NodeId};
use super::s5_report::{misplaced, unsatisfiable};
use super::{CompileReport, SchemaError, SchemaOptions, Usage, s4_lower, s5_report};

/// A compiled schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The grammar of the valid values.
    pub grammar: Grammar,
    /// What became of each keyword.
    pub report: CompileReport,
}

/// Compiles a schema.
///
/// Numbers in a [`Value`] that are not 64-bit integers are floats. Each is read as the shortest decimal that denotes
/// it, which equals the original if that had at most 15 digits. [`compile_str`] reads every number exactly as written.
///
/// ```
/// use serde_json::json;
/// use structgen_frontend::json_schema::{compile, SchemaOptions};
///
/// let schema = json!({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}});
/// let compiled = compile(&schema, &SchemaOptions::new())?;
/// assert!(compiled.grammar.to_string().contains("#/properties/age ::= "));
///
/// let error = compile(&json!({"pattern": r"(a*)\1"}), &SchemaOptions::new()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "#/pattern: `pattern` is not supported here: a back-reference to a group with infinitely many texts is not supported (at byte 4 of the pattern)"
/// );
/// # Ok::<(), structgen_frontend::json_schema::SchemaError>(())
/// ```
///
/// # Errors
/// See [`SchemaError`]; each names the keyword and its JSON Pointer.
pub fn compile(schema: &Value, options: &SchemaOptions) -> Result<Compiled, SchemaError> {
    compile_json(&Json::from_value(schema, &options.limits)?, "", options)
}

/// Compiles a schema from its text, reading every number exactly as written.
///
/// ```
/// use structgen_frontend::json_schema::{compile_str, SchemaError, SchemaOptions};
///
/// let compiled = compile_str(r#"{"const": 0.30000000000000000001}"#, &SchemaOptions::new())?;
/// assert!(compiled.grammar.to_string().contains("0.30000000000000000001"));
/// let error = compile_str("{", &SchemaOptions::new()).unwrap_err();
/// assert!(matches!(error, SchemaError::NotJson { line: 1, column: 1, .. }));
/// # Ok::<(), SchemaError>(())
/// ```
///
/// # Errors
/// See [`SchemaError`]. Numbers beyond ±1.8e308 and duplicate keys are errors.
pub fn compile_str(schema: &str, options: &SchemaOptions) -> Result<Compiled, SchemaError> {
    compile_json(&Json::from_text(schema, &options.limits)?, "", options)
}

/// Compiles the schema at a JSON Pointer of a larger document, such as a component of an OpenAPI 3.1 description.
/// References in it are resolved against the document, whose own keywords do not apply to it.
///
/// ```
/// use serde_json::json;
/// use structgen_frontend::json_schema::{compile_at, SchemaError, SchemaOptions};
///
/// let api = json!({
///     "openapi": "3.1.0",
///     "components": {"schemas": {
///         "Pet": {"type": "object", "properties": {"id": {"$ref": "#/components/schemas/Id"}}, "required": ["id"]},
///         "Id": {"type": "integer", "minimum": 1},
///     }},
/// });
/// let pet = compile_at(&api, "/components/schemas/Pet", &SchemaOptions::new())?;
/// assert!(pet.grammar.to_string().contains("#/components/schemas/Id"));
/// let error = compile_at(&api, "/components/schemas/Cat", &SchemaOptions::new()).unwrap_err();
/// assert!(matches!(error, SchemaError::UnresolvedReference { .. }));
/// # Ok::<(), SchemaError>(())
/// ```
///
/// # Errors
/// As [`compile`]. A pointer to nothing is an unresolved reference.
pub fn compile_at(
    document: &Value,
    pointer: &str,
    options: &SchemaOptions,
) -> Result<Compiled, SchemaError> {
    compile_json(
        &Json::from_value(document, &options.limits)?,
        pointer,
        options,
    )
}

/// Like [`compile_at`], from the document's text, reading every number exactly as written.
///
/// # Errors
/// As [`compile_str`] and [`compile_at`].
pub fn compile_str_at(
    document: &str,
    pointer: &str,
    options: &SchemaOptions,
) -> Result<Compiled, SchemaError> {
    compile_json(
        &Json::from_text(document, &options.limits)?,
        pointer,
        options,
    )
}

fn compile_json(
    json: &Json<'_>,
    pointer: &str,
    options: &SchemaOptions,
) -> Result<Compiled, SchemaError> {
    compile_with(json, pointer, options, |canonical, node, options| {
        let grammar = s4_lower::lower(canonical, node)?;
        let mut report = s5_report::report(canonical, options)?;
        let sizes = [
            ("rules of the grammar", grammar.rules().len()),
            ("expressions of the grammar", grammar.exprs().len()),
        ];
        report.usage.extend(sizes.map(|(what, used)| Usage {
            what,
            used: used as u64,
            limit: None,
        }));
        Ok(Compiled { grammar, report })
    })
}

/// Computes the canonical form of the schema at a pointer, with the options set in the document, and passes it to
/// `lower`.
pub(super) fn compile_with<T>(
    json: &Json<'_>,
    pointer: &str,
    options: &SchemaOptions,
    lower: impl FnOnce(&mut Canonicalizer<'_, '_>, NodeId, &SchemaOptions) -> Result<T, SchemaError>,
) -> Result<T, SchemaError> {
    let options = &*embedded::options(json, options)?;
    let compiled = with_program(json, pointer, options, |program, root| {
        let mut canonical = Canonicalizer::new(program, options);
        let node = canonical.schema_node(root)?;
        if canonical.is_empty(node)? {
            canonical.check_contradiction(root)?;
            let warnings = s5_report::warnings(&canonical, options);
            let taken = canonical.steps_taken();
            drop(canonical);
            return Err(unsatisfiable::explain(
                program, options, root, taken, warnings,
            ));
        }
        lower(&mut canonical, node, options)
    });
    // If the document is not a schema, report that rather than an invalid keyword.
    compiled.map_err(|error| match misplaced::find(json) {
        Some(found) if pointer.is_empty() => SchemaError::Mistaken(vec![found]),
        _ => error,
    })
}

/// Parses the schema at a pointer and passes it on, together with the documents that it may refer to.
pub(super) fn with_program<T>(
    json: &Json<'_>,
    pointer: &str,
    options: &SchemaOptions,
    then: impl FnOnce(&mut Program<'_>, SchemaId) -> Result<T, SchemaError>,
) -> Result<T, SchemaError> {
    let slots: Vec<OnceCell<Json<'_>>> = vec![OnceCell::new(); options.documents.len()];
    let library = |index: usize| {
        let (Some((uri, document)), Some(slot)) = (options.documents.get(index), slots.get(index))
        else {
            return Ok(None);
        };
        if slot.get().is_none() {
            // Each cell is set once, so the value cannot be rejected.
            let _ = slot.set(Json::from_value(document, &options.limits)?);
        }
        Ok(slot.get().map(|json| (uri.as_str(), json)))
    };
    let mut resources = Resources::new(&library, options.draft);
    resources.formats_are_set = options.sets_formats();
    let mut program = Program::new(resources, options.limits.max_values);
    let document = program.read_document(json, None, options.draft);
    let root = program.at_pointer(document, pointer)?;
    let root = program.within(root, ScopeId::EMPTY);
    then(&mut program, root)
}
