//! The exact forms of whitespace: every text of the form is taken, and none with a character of whitespace more or
//! less.

use serde_json::{Value, json};
use structgen::grammar::{Indent, Whitespace};
use structgen::{Checker, Constraint, KeyOrder, Profile, SchemaOptions};

fn checker(schema: &Value, whitespace: Whitespace) -> Checker {
    let options = SchemaOptions::new()
        .with_profile(Profile::Exact)
        .with_order(KeyOrder::Any)
        .with_whitespace(whitespace);
    let constraint = Constraint::json_schema(schema, &options).expect("the schema compiles");
    Checker::new(&constraint).expect("the grammar compiles")
}

/// The document in the form, independently of the library.
fn written(document: &Value, whitespace: Whitespace) -> String {
    use serde::Serialize;
    let pretty = |indent: &[u8]| {
        let mut out = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent);
        let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
        document
            .serialize(&mut serializer)
            .expect("it can be written");
        String::from_utf8(out).expect("JSON is UTF-8")
    };
    match whitespace {
        Whitespace::Indented {
            indent: Indent::Spaces(width),
        } => pretty(&vec![b' '; width.into()]),
        Whitespace::Indented {
            indent: Indent::Tab,
        } => pretty(b"\t"),
        // As Python's json.dumps: a space behind every comma and colon outside of strings.
        Whitespace::OneSpace => {
            let mut text = String::new();
            let (mut in_string, mut escaped) = (false, false);
            for c in document.to_string().chars() {
                text.push(c);
                if !in_string && matches!(c, ',' | ':') {
                    text.push(' ');
                }
                in_string ^= c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
            }
            text
        }
        _ => document.to_string(),
    }
}

fn forms() -> Vec<Whitespace> {
    let indented = [
        Indent::Spaces(2),
        Indent::Spaces(0),
        Indent::Spaces(3),
        Indent::Tab,
    ];
    let indented = indented.map(|indent| Whitespace::Indented { indent });
    [Whitespace::Compact, Whitespace::OneSpace]
        .into_iter()
        .chain(indented)
        .collect()
}

#[test]
fn every_text_of_a_form_is_taken_and_none_with_other_whitespace() {
    let documents = [
        json!(1),
        json!([]),
        json!({}),
        json!([1]),
        json!({"a": 1}),
        json!([[], {}, [[]], [{}], {"a": []}]),
        json!({"a": {"b": {"c": [1, 2, {"d": ", : \" {"}]}}, "e": ""}),
    ];
    let node = json!({"type": ["object", "array", "integer", "string"],
        "properties": {"a": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"}, "items": {"$ref": "#"}});
    for whitespace in forms() {
        for schema in [json!(true), node.clone()] {
            let checker = checker(&schema, whitespace);
            let fits = |text: &str| {
                checker
                    .check(text.as_bytes())
                    .expect("within limits")
                    .is_none()
            };
            for document in &documents {
                let text = written(document, whitespace);
                assert!(fits(&text), "{whitespace:?}: {text}");
                for (at, c) in text.char_indices() {
                    let in_string = text[..at].matches('"').count() % 2 == 1;
                    if in_string || text.contains('\\') {
                        continue;
                    }
                    for space in [" ", "\n", "\t"] {
                        let more = format!("{}{space}{}", &text[..at], &text[at..]);
                        assert!(!fits(&more), "{whitespace:?}: {more:?}");
                    }
                    if c.is_whitespace() {
                        let less = format!("{}{}", &text[..at], &text[at + 1..]);
                        assert!(!fits(&less), "{whitespace:?}: {less:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn bounds_on_members_and_items_hold_in_every_form() {
    let schema = json!({
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, "none": {"type": "object", "additionalProperties": false}},
        "required": ["list"],
        "additionalProperties": false
    });
    for whitespace in forms() {
        let checker = checker(&schema, whitespace);
        for (document, fits) in [
            (json!({"list": [1]}), true),
            (json!({"list": [1, 2], "none": {}}), true),
            (json!({"none": {}, "list": [1, 2]}), true),
            (json!({}), false),
            (json!({"list": []}), false),
            (json!({"list": [1, 2, 3]}), false),
            (json!({"list": [1], "none": {"a": 1}}), false),
        ] {
            let text = written(&document, whitespace);
            let found = checker
                .check(text.as_bytes())
                .expect("within limits")
                .is_none();
            assert_eq!(found, fits, "{whitespace:?}: {text}");
        }
    }
}
