//! Hints on schemas that are refused, or probably do not mean what they say.

use structgen::frontend::json_schema::SchemaError;
use structgen::{Error, SchemaWarning};

use crate::excerpt::excerpt_at_byte;
use crate::output::warn;

/// Returns the next step after an error in a schema with this text; may be empty.
pub(crate) fn after_error(error: &Error, text: &str) -> String {
    let Error::Schema(error) = error else {
        return String::new();
    };
    match error {
        SchemaError::NotJson { line, column, .. } => not_json(text, *line, *column),
        SchemaError::NumberTooLarge { line, column } => {
            format!("\n{}", excerpt_at_byte(text, *line, *column))
        }
        SchemaError::Mistaken(warnings) => {
            let hint = warnings.iter().find_map(after_warning);
            hint.unwrap_or_default()
        }
        SchemaError::UnresolvedReference { reference, .. } if !reference.starts_with('#') => {
            " (nothing is fetched; --documents DIR, with extract and generate --set schema.documents=DIR, reads the documents of a folder)".to_owned()
        }
        _ => String::new(),
    }
}

/// Describes a line that is not JSON, and guesses what it is instead.
fn not_json(text: &str, line: usize, column: usize) -> String {
    let shown = excerpt_at_byte(text, line, column);
    let line_text = text.lines().nth(line - 1).unwrap_or_default();
    let at = line_text.get(column - 1..).unwrap_or_default();
    let hint = if text.contains("::=") {
        "it looks like a grammar in GBNF, which --grammar reads"
    } else if at.starts_with('\'') {
        "JSON has double quotes around keys and strings"
    } else if at.starts_with("//") || at.starts_with("/*") || at.starts_with('#') {
        "JSON has no comments; YAML has, in a file with the ending .yaml"
    } else {
        return format!("\n{shown}");
    };
    format!("\n{shown}\nhint: {hint}")
}

/// Prints warnings about a schema that probably does not mean what it says.
pub(crate) fn warn_of<'w>(name: &str, warnings: impl IntoIterator<Item = &'w SchemaWarning>) {
    for warning in warnings {
        let hint = after_warning(warning).unwrap_or_default();
        warn(&format!("{name}: {warning}{hint}"));
    }
}

/// Returns the next step after a warning, unless it is about spelling.
fn after_warning(warning: &SchemaWarning) -> Option<String> {
    let SchemaWarning::Wrapper { schema, .. } = warning else {
        return None;
    };
    let pointer = schema.map_or("/components/schemas/NAME", |schema| {
        schema.strip_prefix('#').unwrap_or(schema)
    });
    Some(format!(
        " (use --at {pointer}, with extract and generate --set schema.at={pointer})"
    ))
}
