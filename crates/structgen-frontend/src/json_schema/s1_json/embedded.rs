//! `x-structgen`: options in an object at the root of a schema.

use std::borrow::Cow;

use structgen_grammar::{EscapeForm, Indent, Whitespace};

use super::Json;
use crate::json_schema::{FormatMode, KeyOrder, Profile, SchemaError, SchemaOptions, Source};

/// The name of the object.
pub(crate) const KEYWORD: &str = "x-structgen";

/// The caller's options, completed by the schema's. Of two limits, the lower one applies.
///
/// # Errors
/// For an unknown entry or an invalid value.
pub(crate) fn options<'o>(
    schema: &Json<'_>,
    options: &'o SchemaOptions,
) -> Result<Cow<'o, SchemaOptions>, SchemaError> {
    let Some(value) = schema.get(KEYWORD) else {
        return Ok(Cow::Borrowed(options));
    };
    let Json::Object(entries) = value else {
        return Err(wrong(None, "an object of options"));
    };
    let mut all = options.clone();
    for (name, value) in entries {
        let name: &str = name;
        match name {
            "profile" => {
                let profile = choice(name, value, &PROFILES)?;
                if !options.sets_profile() {
                    all.profile = profile;
                }
            }
            "order" => {
                let order = choice(name, value, &ORDERS)?;
                all.order.get_or_insert(order);
            }
            "whitespace" => {
                let whitespace = whitespace(name, value)?;
                all.whitespace.get_or_insert(whitespace);
            }
            "escapes" => {
                let escapes = choice(name, value, &ESCAPES)?;
                all.escapes.get_or_insert(escapes);
            }
            "formats" => {
                let formats = choice(name, value, &FORMATS)?;
                if !options.sets_formats() {
                    all = all.with_formats(formats);
                }
            }
            "source" => {
                let source = choice(name, value, &SOURCES)?;
                if !options.sets_source() {
                    all = all.with_source(source);
                }
            }
            "lenient" => {
                let Json::Bool(lenient) = value else {
                    return Err(wrong(Some(name), "true or false"));
                };
                if !options.sets_lenient() {
                    all.lenient = *lenient;
                }
            }
            "limits" => limits(value, &mut all)?,
            _ => {
                let known = "an option: profile, order, whitespace, escapes, formats, source, lenient or limits";
                return Err(wrong(Some(name), known));
            }
        }
    }
    Ok(Cow::Owned(all))
}

const PROFILES: [(&str, Profile); 3] = [
    ("exact", Profile::Exact),
    ("generate", Profile::Generate),
    ("rust", Profile::Rust),
];

const ORDERS: [(&str, KeyOrder); 3] = [
    ("declared", KeyOrder::Declared),
    ("required-first", KeyOrder::RequiredFirst),
    ("any", KeyOrder::Any),
];

const ESCAPES: [(&str, EscapeForm); 2] = [("any", EscapeForm::Any), ("needed", EscapeForm::Needed)];

const FORMATS: [(&str, FormatMode); 2] = [
    ("assert", FormatMode::Assert),
    ("annotate", FormatMode::Annotate),
];

const SOURCES: [(&str, Source); 2] = [("model", Source::Model), ("input", Source::Input)];

const SPACES: [(&str, Whitespace); 3] = [
    ("compact", Whitespace::Compact),
    ("spaced", Whitespace::Spaced),
    ("one-space", Whitespace::OneSpace),
];

fn choice<T: Copy>(name: &str, value: &Json<'_>, choices: &[(&str, T)]) -> Result<T, SchemaError> {
    let found = match value {
        Json::String(text) => choices.iter().find(|choice| choice.0 == text),
        _ => None,
    };
    found.map(|choice| choice.1).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|choice| choice.0).collect();
        wrong(Some(name), &format!("one of {}", names.join(", ")))
    })
}

/// A name, `{"bounded": 3}`, `{"indent": 2}` or `{"indent": "tab"}`.
fn whitespace(name: &str, value: &Json<'_>) -> Result<Whitespace, SchemaError> {
    if let Json::String(_) = value {
        return choice(name, value, &SPACES);
    }
    let expected = || {
        let expected = "compact, spaced, one-space, {\"bounded\": N} or {\"indent\": N or \"tab\"}, N being 0 to 255";
        wrong(Some(name), expected)
    };
    let Json::Object(entries) = value else {
        return Err(expected());
    };
    match entries.as_slice() {
        [(key, Json::String(tab))] if key == "indent" && tab == "tab" => Ok(Whitespace::Indented {
            indent: Indent::Tab,
        }),
        [(key, value)] => {
            let count = count(value).and_then(|count| u8::try_from(count).ok());
            match (key.as_ref(), count) {
                ("indent", Some(width)) => Ok(Whitespace::Indented {
                    indent: Indent::Spaces(width),
                }),
                ("bounded", Some(max)) => Ok(Whitespace::Bounded { max: max.into() }),
                _ => Err(expected()),
            }
        }
        _ => Err(expected()),
    }
}

fn limits(value: &Json<'_>, all: &mut SchemaOptions) -> Result<(), SchemaError> {
    let Json::Object(entries) = value else {
        return Err(wrong(Some("limits"), "an object of limits"));
    };
    for (name, value) in entries {
        let count = count(value).ok_or_else(|| {
            let expected = format!("limits whose {name:?} is a whole number");
            wrong(Some("limits"), &expected)
        })?;
        match name.as_ref() {
            "max_depth" => {
                let depth = usize::try_from(count).unwrap_or(usize::MAX);
                all.limits.max_depth = all.limits.max_depth.min(depth);
            }
            "max_values" => all.limits.max_values = all.limits.max_values.min(count),
            "max_steps" => all.limits.max_steps = all.limits.max_steps.min(count),
            _ => {
                let expected = "an object with max_depth, max_values and max_steps";
                return Err(wrong(Some("limits"), expected));
            }
        }
    }
    Ok(())
}

fn count(value: &Json<'_>) -> Option<u64> {
    match value {
        Json::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

fn wrong(name: Option<&str>, expected: &str) -> SchemaError {
    let (keyword, pointer) = match name {
        Some(name) => {
            let escaped = structgen_grammar::json_pointer::escaped(name);
            (name, format!("#/{KEYWORD}/{escaped}"))
        }
        None => (KEYWORD, format!("#/{KEYWORD}")),
    };
    SchemaError::InvalidKeyword {
        keyword: keyword.to_owned(),
        pointer,
        expected: expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::{Effect, ReportEntry, compile, compile_str};
    use serde_json::json;

    fn effective(schema: &serde_json::Value, options: &SchemaOptions) -> SchemaOptions {
        let json = Json::from_value(schema, &options.limits).unwrap();
        super::options(&json, options).unwrap().into_owned()
    }

    #[test]
    fn a_schema_brings_its_options_along() {
        let schema = json!({"x-structgen": {
            "profile": "exact",
            "order": "required-first",
            "whitespace": {"bounded": 3},
            "escapes": "needed",
            "formats": "annotate",
            "source": "input",
            "lenient": true,
            "limits": {"max_steps": 10, "max_values": 9_000_000_000_u64, "max_depth": 7},
        }});
        let options = effective(&schema, &SchemaOptions::new());
        assert_eq!(options.profile, Profile::Exact);
        assert_eq!(options.order, Some(KeyOrder::RequiredFirst));
        assert_eq!(options.whitespace, Some(Whitespace::Bounded { max: 3 }));
        assert_eq!(options.escapes, Some(EscapeForm::Needed));
        assert_eq!(options.formats, FormatMode::Annotate);
        assert_eq!(options.source, Source::Input);
        assert!(options.lenient);
        assert_eq!(options.limits.max_steps, 10);
        assert_eq!(options.limits.max_depth, 7);
        let default = SchemaOptions::new().limits.max_values;
        assert_eq!(options.limits.max_values, default);
    }

    #[test]
    fn whitespace_has_names_bounds_and_indentations() {
        let indented = |indent| Whitespace::Indented { indent };
        for (written, meant) in [
            (json!("compact"), Whitespace::Compact),
            (json!("one-space"), Whitespace::OneSpace),
            (json!({"indent": 4}), indented(Indent::Spaces(4))),
            (json!({"indent": "tab"}), indented(Indent::Tab)),
        ] {
            let schema = json!({"x-structgen": {"whitespace": written}});
            let options = effective(&schema, &SchemaOptions::new());
            assert_eq!(options.whitespace, Some(meant));
        }
    }

    #[test]
    fn what_the_caller_sets_counts_also_where_it_is_the_default() {
        let schema = json!({"x-structgen": {
            "profile": "exact", "order": "any", "whitespace": "spaced", "formats": "annotate", "source": "input", "lenient": true,
        }});
        let caller = SchemaOptions::new()
            .with_profile(Profile::Generate)
            .with_order(KeyOrder::Declared)
            .with_whitespace(Whitespace::Compact)
            .with_formats(FormatMode::Assert)
            .with_source(Source::Model)
            .with_lenient(false);
        assert_eq!(effective(&schema, &caller), caller);
    }

    #[test]
    fn wrong_entries_are_errors_with_their_pointer() {
        let refused = |options: serde_json::Value, message: &str| {
            let error = compile(&json!({"x-structgen": options}), &SchemaOptions::new());
            assert_eq!(error.unwrap_err().to_string(), message);
        };
        refused(
            json!(true),
            "#/x-structgen: `x-structgen` must be an object of options",
        );
        refused(
            json!({"profile": "strict"}),
            "#/x-structgen/profile: `profile` must be one of exact, generate, rust",
        );
        refused(
            json!({"a/b": 1}),
            "#/x-structgen/a~1b: `a/b` must be an option: profile, order, whitespace, escapes, formats, source, lenient or limits",
        );
        refused(
            json!({"lenient": "yes"}),
            "#/x-structgen/lenient: `lenient` must be true or false",
        );
        refused(
            json!({"limits": {"max_steps": 1.5}}),
            "#/x-structgen/limits: `limits` must be limits whose \"max_steps\" is a whole number",
        );
        for whitespace in [
            json!("wide"),
            json!({"bounded": -1}),
            json!({}),
            json!({"tabs": 3}),
        ] {
            let schema = json!({"x-structgen": {"whitespace": whitespace}});
            assert!(compile(&schema, &SchemaOptions::new()).is_err(), "{schema}");
        }
    }

    #[test]
    fn at_the_root_it_is_an_annotation() {
        let schema = r#"{"x-structgen": {"order": "any"}, "type": "null"}"#;
        let report = compile_str(schema, &SchemaOptions::new()).unwrap().report;
        let note = "options of structgen, which apply at the root only";
        let is_note = |entry: &&ReportEntry| entry.effect == Effect::Annotation { note };
        let pointers = report.entries.iter().filter(is_note);
        let pointers: Vec<_> = pointers.map(ReportEntry::pointer).collect();
        assert_eq!(pointers, ["#/x-structgen"]);
    }

    #[test]
    fn below_the_root_only_entries_about_values_may_stand() {
        let refused = |entries: serde_json::Value, message: &str| {
            let schema = json!({"items": {"type": "number", "x-structgen": entries}});
            let error = compile(&schema, &SchemaOptions::new()).unwrap_err();
            assert_eq!(error.to_string(), message);
        };
        refused(
            json!(1),
            "#/items/x-structgen: `x-structgen` must be an object",
        );
        for name in ["atleast", "sorce", "order"] {
            let message = format!(
                "#/items/x-structgen: `x-structgen` must be an object of source, in, at-least, at-most and not-equal below the root; {name:?} is none of these"
            );
            refused(json!({"source": "input", name: "any"}), &message);
        }
        // Another document has its own root.
        let other = json!({"type": "null", "x-structgen": {"order": "any", "source": "input"}});
        let options = SchemaOptions::new().with_document("test:other", other);
        compile(&json!({"$ref": "test:other"}), &options).unwrap();
    }

    #[test]
    fn required_keys_come_first_where_that_is_asked_for() {
        let schema = r#"{
            "x-structgen": {"order": "required-first"},
            "type": "object",
            "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}, "d": {"type": "null"}},
            "required": ["d", "b"]
        }"#;
        let grammar = compile_str(schema, &SchemaOptions::new()).unwrap().grammar;
        let text = grammar.to_string();
        let at = |key: &str| text.find(&format!("\"{key}\"")).unwrap();
        assert!(
            at("b") < at("d") && at("d") < at("a") && at("a") < at("c"),
            "{text}"
        );
    }
}
