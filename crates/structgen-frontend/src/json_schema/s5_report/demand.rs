//! What a keyword requires, in words.

use crate::json_schema::s1_json::Json;

/// The maximum number of characters of a value that are shown.
const MOST_SHOWN: usize = 60;

/// What the keyword of a schema requires of a value. `key` is the key it concerns, if it concerns a single one.
pub(super) fn demand(keyword: &str, schema: &Json<'_>, key: Option<&str>) -> String {
    let value = schema.get(keyword);
    let shown = value.map(brief).unwrap_or_default();
    let quoted = key.map(|key| brief(&Json::String(key.into())));
    let is_exclusive = |name| matches!(schema.get(name), Some(Json::Bool(true)));
    match (keyword, quoted) {
        ("", _) => "must not be there: its schema is `false`".to_owned(),
        ("type", _) => match value {
            Some(Json::Array(types)) => format!("must be {}", list(types)),
            _ => format!("must be {}", with_article(&bare(&shown))),
        },
        ("const", _) => format!("must be {shown}"),
        ("enum", _) => match value {
            Some(Json::Array(values)) if !values.is_empty() => {
                let values: Vec<String> = values.iter().map(brief).collect();
                format!("must be {}", one_of(&values))
            }
            _ => "must be one of no values".to_owned(),
        },
        ("required", Some(key)) => format!("must have the key {key}"),
        ("dependentRequired" | "dependencies", Some(key)) => {
            format!("must have the key {key}, which another of its keys requires")
        }
        ("minimum", _) if is_exclusive("exclusiveMinimum") => format!("must be more than {shown}"),
        ("maximum", _) if is_exclusive("exclusiveMaximum") => format!("must be less than {shown}"),
        ("minimum", _) => format!("must be at least {shown}"),
        ("maximum", _) => format!("must be at most {shown}"),
        ("exclusiveMinimum", _) => format!("must be more than {shown}"),
        ("exclusiveMaximum", _) => format!("must be less than {shown}"),
        ("multipleOf", _) => format!("must be a multiple of {shown}"),
        ("minLength", _) => format!("must have at least {} characters", shown),
        ("maxLength", _) => format!("must have at most {} characters", shown),
        ("pattern", _) => format!("must match the pattern {shown}"),
        ("format", _) => format!("must be of the format {shown}"),
        ("minItems", _) => format!("must have at least {shown} items"),
        ("maxItems", _) => format!("must have at most {shown} items"),
        ("minProperties", _) => format!("must have at least {shown} members"),
        ("maxProperties", _) => format!("must have at most {shown} members"),
        ("uniqueItems", _) => "must not have two equal items".to_owned(),
        ("contains", _) => "must have an item that `contains` describes".to_owned(),
        ("minContains", _) => {
            format!("must have at least {shown} items that `contains` describes")
        }
        ("maxContains", _) => {
            format!("must have at most {shown} items that `contains` describes")
        }
        ("propertyNames", Some(key)) => format!("must not have the key {key}"),
        ("unevaluatedProperties", Some(key)) => {
            format!("must not have the key {key}, which no other keyword describes")
        }
        ("unevaluatedProperties", None) => {
            "must not have members that no other keyword describes".to_owned()
        }
        ("unevaluatedItems", _) => "must not have items that no other keyword describes".to_owned(),
        ("not", _) => "must not be valid under the schema of `not`".to_owned(),
        ("anyOf", _) => "must be valid under one of the schemas of `anyOf`".to_owned(),
        ("oneOf", _) => "must be valid under exactly one of the schemas of `oneOf`".to_owned(),
        _ => format!("must be valid under `{keyword}`"),
    }
}

/// What `anyOf` or `oneOf` requires, if the value comes as close to one of its schemas as to another.
pub(super) fn among(keyword: &str, schemas: usize) -> String {
    let exactly = if keyword == "oneOf" { "exactly " } else { "" };
    format!("must be valid under {exactly}one of the {schemas} schemas of `{keyword}`")
}

fn bare(shown: &str) -> String {
    shown.trim_matches('"').to_owned()
}

fn with_article(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        "integer" | "object" | "array" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

fn list(types: &[Json<'_>]) -> String {
    let types: Vec<String> = { types.iter() }
        .map(|name| with_article(&bare(&brief(name))))
        .collect();
    one_of(&types)
}

fn one_of(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// A value as JSON, shortened by an ellipsis if it is long.
fn brief(value: &Json<'_>) -> String {
    let mut text = String::new();
    write(value, &mut text);
    match text.char_indices().nth(MOST_SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Writes as much of the value as is shown.
fn write(value: &Json<'_>, text: &mut String) {
    if text.len() > 4 * MOST_SHOWN {
        return;
    }
    match value {
        Json::Null => text.push_str("null"),
        Json::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => text.push_str(&number.to_string()),
        Json::String(string) => {
            let shown: String = string.chars().take(MOST_SHOWN).collect();
            text.push_str(&serde_json::Value::from(shown).to_string());
        }
        Json::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().take(MOST_SHOWN).enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write(item, text);
            }
            text.push(']');
        }
        Json::Object(entries) => {
            text.push('{');
            for (index, (key, value)) in entries.iter().take(MOST_SHOWN).enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write(&Json::String(key.as_ref().into()), text);
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
    }
}
