//! Errors and reports, as snapshots; `UPDATE_EXPECT=1 cargo test` updates them.

use expect_test::{Expect, expect};

use crate::json_schema::{
    CompileReport, Profile, ReportEntry, SchemaOptions, compile_str, compile_str_at,
};

#[test]
fn a_pointer_into_a_document_that_leads_nowhere_is_told_with_what_is_there() {
    let document = r#"{"type": "object", "$defs": {"a/b": {"type": "null"}, "list": [true, 3]}}"#;
    let at = |pointer| compile_str_at(document, pointer, &SchemaOptions::new());
    let refused = |pointer, expect: Expect| {
        let error = at(pointer).expect_err("the pointer leads nowhere");
        expect.assert_eq(&error.to_string());
    };
    refused(
        "/$defs/b",
        expect![[
            r##"#: the reference "#/$defs/b" cannot be resolved: `#/$defs` has no member `b`; its members: a/b, list"##
        ]],
    );
    refused(
        "/$defs/list/2",
        expect![[
            r##"#: the reference "#/$defs/list/2" cannot be resolved: `#/$defs/list` has no item `2`; it has 2 items"##
        ]],
    );
    refused(
        "/type/x",
        expect![[r##"#: the reference "#/type/x" cannot be resolved: `#/type` has no members"##]],
    );
    refused(
        "$defs/a",
        expect![[
            r##"#: the reference "#$defs/a" cannot be resolved: a JSON Pointer begins with `/`"##
        ]],
    );
    refused(
        "/$defs/list/1",
        expect!["#/$defs/list/1: a schema is an object or a boolean"],
    );
    // The document is itself a schema, which does not apply to the one inside.
    assert!(at("/$defs/a~1b").is_ok());
}

#[test]
fn refusals_name_the_keyword_and_its_pointer() {
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    let refused = |schema, expect: Expect| {
        let error = compile_str(schema, &options).expect_err("the schema is refused");
        expect.assert_eq(&error.to_string());
    };
    refused(
        r##"{"type": "string", "pattern": "(a*)\\1"}"##,
        expect![
            "#/pattern: `pattern` is not supported here: a back-reference to a group with infinitely many texts is not supported (at byte 4 of the pattern)"
        ],
    );
    refused(
        r##"{"properties": {"a/b": {"patternProperties": {"^(x*)\\1": {"type": "string"}}}}}"##,
        expect![
            "#/properties/a~1b/patternProperties: `patternProperties` is not supported here: a back-reference to a group with infinitely many texts is not supported (at byte 5 of the pattern)"
        ],
    );
    refused(
        r##"{"$ref": "#/$defs/nowhere"}"##,
        expect![[
            r##"#/$ref: the reference "#/$defs/nowhere" cannot be resolved: there is no such schema"##
        ]],
    );
    refused(
        r##"{"properties": {"a": {"$ref": "https://example.com/schema.json"}}}"##,
        expect![[
            r##"#/properties/a/$ref: the reference "https://example.com/schema.json" cannot be resolved: there is no such schema"##
        ]],
    );
    refused(
        r##"{"allOf": [{"$ref": "#"}]}"##,
        expect!["#: this schema applies itself to the same value without end"],
    );
    refused(
        r##"{"properties": {"a": {"type": "text"}}}"##,
        expect![
            "#/properties/a/type: `type` must be null, boolean, integer, number, string, object or array, or a list of these"
        ],
    );
    refused(
        r##"{"minLength": -1}"##,
        expect!["#/minLength: `minLength` must be a non-negative integer"],
    );
    refused(
        r##"{"properties": {"a": 3}}"##,
        expect!["#/properties/a: a schema is an object or a boolean"],
    );
    refused(
        r##"{"$schema": "http://json-schema.org/draft-03/schema#"}"##,
        expect![
            "#/$schema: the dialect http://json-schema.org/draft-03/schema# is not supported; drafts 4, 6, 7, 2019-09 and 2020-12 are"
        ],
    );
    refused(
        r##"{"type": "object", "properties": {"a": {"type": "string", "minLength": 5, "maxLength": 3, "title": "a"}, "b": {"type": "null"}}, "required": ["b", "a"]}"##,
        expect![
            "#: no value is valid under this schema; contradicting: #/properties, #/required, #/type, #/properties/a/type, #/properties/a/minLength, #/properties/a/maxLength"
        ],
    );
    refused(
        r##"{"allOf": [{"minimum": 5}, {"maximum": 3}], "type": "number", "title": "x"}"##,
        expect![
            "#: no value is valid under this schema; contradicting: #/allOf, #/type, #/allOf/0/minimum, #/allOf/1/maximum"
        ],
    );
    refused(
        r##"false"##,
        expect!["#: no value is valid under this schema; contradicting: #"],
    );
    refused(
        r##"{"type": "string", "pattern": "(a*)\\1"}"##,
        expect![
            "#/pattern: `pattern` is not supported here: a back-reference to a group with infinitely many texts is not supported (at byte 4 of the pattern)"
        ],
    );
}

#[test]
fn the_report_says_what_became_of_each_keyword() {
    let schema = r#"{
        "title": "An order", "type": "object", "x-order": 1,
        "properties": {"id": {"type": "integer", "format": "int32"}, "when": {"format": "date"}},
        "required": ["id"],
        "$defs": {"unused": {"uniqueItems": true}}
    }"#;
    let compiled = compile_str(schema, &SchemaOptions::new().with_profile(Profile::Rust));
    expect![[r#"
        #/properties: enforced
        #/required: enforced
        #/type: enforced
        #/title: annotation
        #/x-order: annotation (not a keyword of any draft)
        #/properties/id/type: enforced
        #/properties/id/format: enforced
        #/properties/when/format: enforced
        #/properties/id/format: narrowed: numbers that the Rust type cannot hold are left out
        #/properties: narrowed: keys that the schema says nothing about are left out
    "#]]
    .assert_eq(&entries(&compiled.expect("the schema compiles").report));
    let lenient = SchemaOptions::new().with_lenient(true);
    let schema = r#"{"type": "array", "items": {"type": "string", "pattern": "(a*)\\1"}}"#;
    let compiled = compile_str(schema, &lenient).expect("what is not supported is dropped");
    expect![[r#"
        #/type: enforced
        #/items: enforced
        #/items/type: enforced
        #/items/pattern: dropped: a back-reference to a group with infinitely many texts is not supported (at byte 4 of the pattern)
    "#]]
    .assert_eq(&entries(&compiled.report));
    assert_eq!(compiled.report.dropped().count(), 1);
}

/// The report without its sizes, which every change to the compiler changes.
fn entries(report: &CompileReport) -> String {
    let line = |entry: &ReportEntry| format!("{}: {}\n", entry.pointer(), entry.effect);
    report.entries.iter().map(line).collect()
}
