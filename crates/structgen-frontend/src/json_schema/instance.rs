//! Validates a value against a schema, keyword by keyword.

use super::pipeline::with_program;
use super::s1_json::{Json, embedded};
use super::s3_canonical::Canonicalizer;
use super::s5_report::violations;
use super::{SchemaError, SchemaOptions, Violation, ViolationError};

/// Returns the keywords that a value violates, in the order of the schema; empty for a valid value. At most a hundred
/// are reported.
///
/// The schema is at the JSON Pointer `pointer` of the document; an empty pointer is the whole document. How the value
/// is written (whitespace, order of keys, forms of numbers) makes no difference.
///
/// ```
/// use structgen_frontend::json_schema::{SchemaOptions, violations};
///
/// let schema = r#"{"properties": {"age": {"maximum": 120}}, "required": ["name"]}"#;
/// let found = violations(schema, "", &SchemaOptions::new(), r#"{"age": 200}"#)?;
/// let found: Vec<_> = found.iter().map(|it| (&*it.instance, &*it.keyword, &*it.demand)).collect();
/// assert_eq!(found, [
///     ("/age", "#/properties/age/maximum", "must be at most 120"),
///     ("", "#/required", "must have the key \"name\""),
/// ]);
/// # Ok::<(), structgen_frontend::json_schema::ViolationError>(())
/// ```
///
/// # Errors
/// When the schema cannot be used, the value is not JSON, or a limit is exceeded.
pub fn violations(
    document: &str,
    pointer: &str,
    options: &SchemaOptions,
    value: &str,
) -> Result<Vec<Violation>, ViolationError> {
    let value = Json::from_text(value, &options.limits).map_err(|error| match error {
        SchemaError::NotJson {
            line,
            column,
            reason,
        } => ViolationError::NotJson {
            line,
            column,
            reason,
        },
        SchemaError::NumberTooLarge { line, column } => {
            ViolationError::NumberTooLarge { line, column }
        }
        error => ViolationError::Schema(error),
    })?;
    let json = Json::from_text(document, &options.limits)?;
    let options = &*embedded::options(&json, options)?;
    let found = with_program(&json, pointer, options, |program, root| {
        let mut canonical = Canonicalizer::new(program, options);
        violations::find(&mut canonical, root, &value)
    })?;
    Ok(found)
}
