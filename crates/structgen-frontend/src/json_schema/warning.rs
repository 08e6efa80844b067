//! Probable mistakes in a schema.

/// A probable mistake in a schema: valid, but without the effect that its author expects.
///
/// ```
/// use structgen_frontend::json_schema::{SchemaOptions, compile_str};
///
/// let schema = r#"{"type": "object", "properties": {"name": {"type": "string", "minLenght": 1}}}"#;
/// let warnings = compile_str(schema, &SchemaOptions::new())?.report.warnings;
/// assert_eq!(
///     warnings[0].to_string(),
///     "#/properties/name/minLenght: `minLenght` is not a keyword and asserts nothing; did you mean `minLength`?"
/// );
/// # Ok::<(), structgen_frontend::json_schema::SchemaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaWarning {
    /// An undefined keyword is similar to one that constrains values.
    #[error(
        "{pointer}: `{keyword}` is not a keyword and asserts nothing; did you mean `{nearest}`?"
    )]
    Keyword {
        /// The JSON Pointer of the keyword.
        pointer: String,
        /// The keyword, as written.
        keyword: String,
        /// The similar keyword.
        nearest: &'static str,
    },
    /// An undefined format is similar to one that is enforced.
    #[error("{pointer}: `{format}` is not a format and is not enforced; did you mean `{nearest}`?")]
    Format {
        /// The JSON Pointer of the keyword `format`.
        pointer: String,
        /// The format, as written.
        format: String,
        /// The similar format.
        nearest: &'static str,
    },
    /// The document contains a schema but is not one itself.
    #[error("{pointer}: this is {what}, not a schema; {}", .schema.as_ref().map_or_else(
        || "name one of its schemas by a JSON Pointer".to_owned(),
        |schema| format!("its schema is at {schema}"),
    ))]
    Wrapper {
        /// The JSON Pointer of the document.
        pointer: String,
        /// What the document is.
        what: &'static str,
        /// The JSON Pointer of the schema in it, if there is exactly one.
        schema: Option<&'static str>,
    },
    /// No member of the document is a keyword, as if an instance had been passed in place of a schema.
    #[error(
        "{pointer}: no member of this is a keyword of JSON Schema ({members}), so every value is valid; is it an instance, or the \
         `properties` of a schema?"
    )]
    Instance {
        /// The JSON Pointer of the document.
        pointer: String,
        /// Some of its members' names.
        members: String,
    },
}
