//! JSON Schema: drafts 4, 6, 7, 2019-09 and 2020-12.
//!
//! A schema is a set of values, and it is worked on as one until the last stage. The stages, in order:
//!
//! 1. `json`: the schema as JSON with exact numbers;
//! 2. `parse`: typed schemas, by the one table of keywords in `keywords`;
//! 3. `resolve`: what references lead to;
//! 4. `canonical`: a union of typed sets per node, with negations, conjunctions and alternatives worked out;
//! 5. `lower`: the grammar.
//!
//! Nothing is dropped in silence: what is not compiled is an error that names the keyword and its JSON Pointer, unless
//! [`SchemaOptions::lenient`] asks to drop it, and then it is in the [`CompileReport`].

mod canonical;
mod embedded;
mod error;
mod formats;
mod json;
mod keywords;
mod lower;
mod metaschemas;
mod options;
mod parse;
mod part;
mod report;
mod resolve;
mod scope;
mod unsatisfiable;
mod vocabulary;

#[cfg(test)]
mod tests;

use std::cell::OnceCell;

use serde_json::Value;
use structgen_grammar::Grammar;

pub use error::SchemaError;
pub use options::{Draft, FormatMode, IntegerKeys, KeyOrder, Profile, SchemaLimits, SchemaOptions};
pub use part::{CompiledPart, PartOptions, Words, compile_part, compile_part_str};
pub use report::{CompileReport, Effect, ReportEntry, Usage};

use canonical::{Canonicalizer, NodeId};
use json::Json;
use parse::{Assertion, Program, SchemaId};
use resolve::Resources;
use scope::ScopeId;

/// A compiled schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The grammar of the values that fit.
    pub grammar: Grammar,
    /// What became of each keyword.
    pub report: CompileReport,
}

/// Compiles a schema.
///
/// Numbers in a [`Value`] that are no 64-bit integers are floats; they are taken as the shortest decimals that name them, which is
/// what was written wherever that had at most 15 digits. [`compile_str`] takes every number as it was written.
///
/// ```
/// use serde_json::json;
/// use structgen_frontend::json_schema::{compile, SchemaOptions};
///
/// let schema = json!({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}});
/// let compiled = compile(&schema, &SchemaOptions::new())?;
/// assert!(compiled.grammar.to_string().contains("#/properties/age ::= "));
///
/// let error = compile(&json!({"pattern": r"(a)\1"}), &SchemaOptions::new()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "#/pattern: `pattern` is not supported here: a back-reference is not supported (at byte 3 of the pattern)"
/// );
/// # Ok::<(), structgen_frontend::json_schema::SchemaError>(())
/// ```
///
/// # Errors
/// See [`SchemaError`]; each names the keyword and its JSON Pointer.
pub fn compile(schema: &Value, options: &SchemaOptions) -> Result<Compiled, SchemaError> {
    compile_json(&Json::from_value(schema, &options.limits)?, options)
}

/// Compiles a schema from its text, with every number exactly as it is written.
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
/// See [`SchemaError`]. Numbers beyond ±1.8e308 and keys that come twice are errors of the text.
pub fn compile_str(schema: &str, options: &SchemaOptions) -> Result<Compiled, SchemaError> {
    compile_json(&Json::from_text(schema, &options.limits)?, options)
}

/// Compiles the schema at a JSON Pointer of a larger document, such as a component of an OpenAPI 3.1 description. References in it
/// start from the document.
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
/// As [`compile`]. That there is nothing at the pointer is an unresolved reference.
pub fn compile_at(
    document: &Value,
    pointer: &str,
    options: &SchemaOptions,
) -> Result<Compiled, SchemaError> {
    let mut json = Json::from_value(document, &options.limits)?;
    json.refer_to(pointer);
    compile_json(&json, options)
}

/// Like [`compile_at`], from the document's text, with every number exactly as it is written.
///
/// # Errors
/// As [`compile_str`] and [`compile_at`].
pub fn compile_str_at(
    document: &str,
    pointer: &str,
    options: &SchemaOptions,
) -> Result<Compiled, SchemaError> {
    let mut json = Json::from_text(document, &options.limits)?;
    json.refer_to(pointer);
    compile_json(&json, options)
}

fn compile_json(json: &Json<'_>, options: &SchemaOptions) -> Result<Compiled, SchemaError> {
    compile_with(json, options, |canonical, node, options| {
        let grammar = lower::lower(canonical, node)?;
        let mut report = report(canonical, options);
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

/// Works a schema out and hands it on, with its own options.
fn compile_with<T>(
    json: &Json<'_>,
    options: &SchemaOptions,
    lower: impl FnOnce(&mut Canonicalizer<'_, '_>, NodeId, &SchemaOptions) -> Result<T, SchemaError>,
) -> Result<T, SchemaError> {
    let options = &*embedded::options(json, options)?;
    with_program(json, options, |program, root| {
        let mut canonical = Canonicalizer::new(program, options);
        let node = canonical.schema_node(root)?;
        if canonical.is_empty(node)? {
            drop(canonical);
            return Err(unsatisfiable::explain(program, options, root));
        }
        lower(&mut canonical, node, options)
    })
}

/// Reads a schema and hands it on together with the documents that it may refer to.
fn with_program<T>(
    json: &Json<'_>,
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
            // A slot is filled once, so that nothing is lost when it is full already.
            let _ = slot.set(Json::from_value(document, &options.limits)?);
        }
        Ok(slot.get().map(|json| (uri.as_str(), json)))
    };
    let mut resources = Resources::new(&library, options.draft);
    resources.formats_are_set = options.sets_formats();
    let mut program = Program::new(resources, options.limits.max_values);
    let root = program.read_document(json, None, options.draft);
    let root = program.within(root, ScopeId::EMPTY);
    then(&mut program, root)
}

fn report(canonical: &Canonicalizer<'_, '_>, options: &SchemaOptions) -> CompileReport {
    let mut report = CompileReport::default();
    let dropped: rustc_hash::FxHashSet<_> = canonical
        .notes
        .iter()
        .filter(|(_, effect)| matches!(effect, Effect::Dropped { .. }))
        .map(|(place, _)| *place)
        .collect();
    for &id in canonical.reached() {
        let schema = canonical.program.schema_ref(id);
        for keyword in &schema.keywords {
            let place = canonical::atoms::Place {
                schema: id,
                keyword: keyword.name,
            };
            let note = match &keyword.assertion {
                // Its annotation says so already.
                Assertion::IfAlone(_) => continue,
                Assertion::Format(_) if options.formats == FormatMode::Annotate => {
                    Some("formats are annotations here")
                }
                Assertion::RustFormat(_) if options.profile != Profile::Rust => {
                    Some("a format that no draft defines")
                }
                _ => None,
            };
            let effect = match note {
                Some(note) => Effect::Annotation { note },
                None if dropped.contains(&place) => continue,
                None => Effect::Enforced,
            };
            report.add(canonical.program.keyword_pointer(id, keyword.name), effect);
        }
        for (name, note) in &schema.annotations {
            let pointer = canonical.program.keyword_pointer(id, name);
            report.add(pointer, Effect::Annotation { note });
        }
    }
    for (place, effect) in &canonical.notes {
        let pointer = canonical
            .program
            .keyword_pointer(place.schema, place.keyword);
        report.add(pointer, effect.clone());
    }
    if canonical.program.has_scopes() {
        report.unite();
    }
    report.profile = options.profile;
    report.usage.push(Usage {
        what: "steps of the compilation",
        used: canonical.steps_taken(),
        limit: Some(options.limits.max_steps),
    });
    report
}
