//! Structural tags: verdicts of XGrammar 0.2.8 on small ones, what is refused, and special tokens.

use std::sync::Arc;

use serde_json::{Value, json};
use structgen::constraint::{Matcher, VocabularyTables};
use structgen::tools::{StructuralTag, StructuralTagError};
use structgen::vocab::{TokenId, Vocabulary};
use structgen::{Checker, Constraint, SchemaOptions};

fn structural_tag(format: &Value) -> Result<StructuralTag, StructuralTagError> {
    let tag = json!({"type": "structural_tag", "format": format});
    StructuralTag::new(&tag, &SchemaOptions::new())
}

fn checker(tag: &StructuralTag) -> Checker {
    Checker::new(&Constraint::structural_tag(tag)).unwrap()
}

/// Whether each text matches, by XGrammar and by us. Its JSON takes whitespace anywhere, and ours only one space after
/// commas and colons unless the form says otherwise.
#[test]
fn verdicts_are_those_of_xgrammar() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("structural_tags.json")).unwrap();
    let mut texts = 0;
    for case in &cases {
        let options = SchemaOptions::new()
            .with_whitespace(structgen::grammar::Whitespace::Bounded { max: 2 });
        let tag = json!({"format": case["format"]});
        let checker = checker(&StructuralTag::new(&tag, &options).unwrap());
        for (text, expected) in case["texts"].as_object().unwrap() {
            let found = checker.check(text.as_bytes()).unwrap();
            let verdict = (text, found.is_none());
            assert_eq!(verdict, (text, expected.as_bool().unwrap()), "{case}");
            texts += 1;
        }
    }
    assert!(texts > 100, "{texts}");
}

#[test]
fn what_cannot_be_enforced_is_refused_at_its_place() {
    let tag = |content: Value| json!({"type": "tag", "begin": "<", "content": content, "end": ">"});
    let cases = [
        (
            tag(json!({"type": "any_text", "max_tokens": -3})),
            "#/format/content/max_tokens",
        ),
        (
            tag(json!({"type": "json_schema", "json_schema": true, "style": "qwen_xml"})),
            "#/format/content/style",
        ),
        (
            tag(json!({"type": "json_schema", "json_schema": {"type": "strin"}})),
            "#/format/content/json_schema",
        ),
        (
            tag(json!({"type": "json_schema", "json_schema": true, "excludes": ["x"]})),
            "#/format/content/excludes",
        ),
        (
            tag(json!({"type": "regex", "pattern": "("})),
            "#/format/content/pattern",
        ),
        (
            tag(json!({"type": "grammar", "grammar": "root ::= x"})),
            "#/format/content/grammar",
        ),
        (
            tag(json!({"type": "sequence", "elements": []})),
            "#/format/content/elements",
        ),
        (tag(json!({"type": "sometimes"})), "#/format/content/type"),
        (tag(json!({"type": "any_tokens"})), "#/format/content"),
        (
            json!({"type": "const_string", "value": "x", "a/b": 1}),
            "#/format/a~1b",
        ),
        (json!({"type": "const_string"}), "#/format"),
        (
            json!({"type": "or", "elements": [{"type": "const_string", "value": 1}]}),
            "#/format/elements/0/value",
        ),
        (
            json!({"type": "triggered_tags", "triggers": ["<g"], "tags": [
                {"begin": "<fa>", "content": {"type": "any_text"}, "end": "</f>"}]}),
            "#/format/tags/0/begin",
        ),
        (
            json!({"type": "triggered_tags", "triggers": ["<", "<f"], "tags": [
                {"begin": "<fa>", "content": {"type": "any_text"}, "end": "</f>"}]}),
            "#/format/tags/0/begin",
        ),
        (
            json!({"type": "repeat", "min": 3, "max": 2, "content": {"type": "any_text"}}),
            "#/format/max",
        ),
        (
            json!({"type": "exclude_token", "exclude_tokens": ["a", "b"]}),
            "#/format/exclude_tokens",
        ),
    ];
    for (format, pointer) in cases {
        let error = structural_tag(&format).unwrap_err();
        assert_eq!(error.pointer(), Some(pointer), "{format}: {error}");
    }
    let deep = (0..100).fold(
        json!({"type": "any_text"}),
        |content, _| json!({"type": "optional", "content": content}),
    );
    assert!(structural_tag(&deep).is_ok());
    let error = StructuralTag::from_json("{\"format\": ", &SchemaOptions::new()).unwrap_err();
    assert!(matches!(error, StructuralTagError::NotJson { line: 1, .. }));
}

#[test]
fn the_older_form_is_triggered_tags() {
    let tag = json!({
        "type": "structural_tag",
        "structures": [
            {"begin": "<f=a>", "schema": {"type": "integer"}, "end": "</f>"},
            {"begin": "<f=b>", "schema": "{\"type\": \"boolean\"}", "end": "</f>"},
        ],
        "triggers": ["<f="],
    });
    let tag = StructuralTag::new(&tag, &SchemaOptions::new()).unwrap();
    let pointers: Vec<&str> = tag.reports().map(|(pointer, _)| pointer).collect();
    assert_eq!(pointers, ["#/structures/0/schema", "#/structures/1/schema"]);
    let checker = checker(&tag);
    for (text, offset) in [
        ("", None),
        ("so <f=a>12</f> and <f=b>true</f>", None),
        ("<f=a>true", Some(5)),
        ("<f=c", Some(3)),
    ] {
        let found = checker.check(text.as_bytes()).unwrap();
        assert_eq!(found.map(|mismatch| mismatch.offset), offset, "{text}");
    }
}

/// Keys in any order are still the schema's: all that are required, none twice.
#[test]
fn any_order_is_exact() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"], "additionalProperties": false});
    let format = json!({"type": "json_schema", "json_schema": schema, "any_order": true});
    let checker = checker(&structural_tag(&format).unwrap());
    for (text, fits) in [
        (r#"{"a":1,"b":2}"#, true),
        (r#"{"b":2,"a":1}"#, true),
        (r#"{"b":2}"#, false),
        (r#"{"a":1,"b":2,"a":1}"#, false),
    ] {
        assert_eq!(checker.check(text.as_bytes()).unwrap().is_none(), fits);
    }
}

/// A marker that is a special token has to be that token, and text never has it.
#[test]
fn markers_are_special_tokens_where_the_vocabulary_has_them() {
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let [think, thought, eos] = [256, 257, 258].map(TokenId);
    let specials = [(think, "<think>"), (thought, "</think>"), (eos, "<eos>")];
    let vocabulary = Vocabulary::from_tokens(bytes, &specials).unwrap();
    let tables = Arc::new(VocabularyTables::new(Arc::new(vocabulary)));
    let format = json!({"type": "sequence", "elements": [
        {"type": "tag", "begin": "<think>", "content": {"type": "any_text", "max_tokens": 2}, "end": "</think>"},
        {"type": "const_string", "value": "yes"},
    ]});
    let constraint = Constraint::structural_tag(&structural_tag(&format).unwrap());
    let compiled = constraint.compile(&tables, &[eos]).unwrap();
    let mut matcher = compiled.matcher();
    let allowed = |matcher: &mut Matcher| -> Vec<TokenId> {
        let mask = matcher.mask().unwrap();
        mask.bits().iter().collect()
    };
    let token = |byte: u8| TokenId(byte.into());
    assert_eq!(allowed(&mut matcher), [think]);
    matcher.accept_token(think).unwrap();
    for byte in b"ab" {
        let mask = allowed(&mut matcher);
        assert!(mask.contains(&token(*byte)) && mask.contains(&thought));
        assert!(!mask.contains(&think) && !mask.contains(&eos));
        matcher.accept_token(token(*byte)).unwrap();
    }
    // Two tokens of thought are all.
    assert_eq!(allowed(&mut matcher), [thought]);
    matcher.accept_token(thought).unwrap();
    assert_eq!(allowed(&mut matcher), [token(b'y')]);
}

#[track_caller]
fn check(tag: &StructuralTag, cases: &[(&str, bool)]) {
    let checker = checker(tag);
    for &(text, is_valid) in cases {
        let found = checker.check(text.as_bytes()).unwrap();
        assert_eq!(found.is_none(), is_valid, "{text}");
    }
}

#[test]
fn numbers_of_schemas_are_those_that_are_written() {
    for text in [
        r#"{"format": {"type": "tag", "begin": "<", "content": {"type": "json_schema", "json_schema": {"const": 1234567890.12345678}}, "end": ">"}}"#,
        r#"{"triggers": ["<"], "structures": [{"begin": "<", "schema": {"const": 1234567890.12345678}, "end": ">"}]}"#,
        r#"{"triggers": ["<"], "structures": [{"begin": "<", "schema": "{\"const\": 1234567890.12345678}", "end": ">"}]}"#,
    ] {
        let tag = StructuralTag::from_json(text, &SchemaOptions::new()).unwrap();
        check(
            &tag,
            &[
                ("<1234567890.12345678>", true),
                ("<1234567890.1234567>", false),
                ("<1234567890.1234568>", false),
            ],
        );
    }
}

#[test]
fn after_an_empty_end_comes_what_follows_the_tag() {
    let format = json!({
        "type": "tag",
        "begin": "<o>",
        "content": {"type": "tag", "begin": "<x>", "content": {"type": "any_text"}, "end": ["", "</x>"]},
        "end": "</o>",
    });
    check(
        &structural_tag(&format).unwrap(),
        &[
            ("<o><x>ab</o>", true),
            ("<o><x>ab</x></o>", true),
            ("<o><x>a</o>b</o>", false),
            ("<o><x>a</o></x></o>", false),
        ],
    );
}
