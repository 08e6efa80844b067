//! Probable mistakes: which constructs cause a warning, and which do not.

use expect_test::{Expect, expect};

use crate::json_schema::{
    FormatMode, SchemaError, SchemaOptions, SchemaWarning, compile_str, compile_str_at,
};

fn warnings(schema: &str) -> Vec<SchemaWarning> {
    let compiled = compile_str(schema, &SchemaOptions::new()).expect("the schema compiles");
    compiled.report.warnings
}

#[track_caller]
fn warned(schema: &str, expect: Expect) {
    let lines: Vec<String> = warnings(schema).iter().map(ToString::to_string).collect();
    expect.assert_eq(&lines.join("\n"));
}

#[test]
fn misspelt_keywords_and_formats_are_warned_of_where_they_matter() {
    warned(
        r##"{
            "propertees": {"a": true},
            "properties": {"a/b": {"minLenght": 1, "format": "emial"}, "c": {"$ref": "#/$defs/used"}},
            "$defs": {"used": {"Enum": [1]}, "unused": {"tpye": "null"}},
            "items": {"minitems": "1", "titel": "a", "exmaples": []}
        }"##,
        expect![[r#"
            #/propertees: `propertees` is not a keyword and asserts nothing; did you mean `properties`?
            #/properties/a~1b/minLenght: `minLenght` is not a keyword and asserts nothing; did you mean `minLength`?
            #/properties/a~1b/format: `emial` is not a format and is not enforced; did you mean `email`?
            #/$defs/used/Enum: `Enum` is not a keyword and asserts nothing; did you mean `enum`?
            #/items/minitems: `minitems` is not a keyword and asserts nothing; did you mean `minItems`?"#]],
    );
    let annotated = SchemaOptions::new().with_formats(FormatMode::Annotate);
    let compiled = compile_str(r#"{"format": "emial"}"#, &annotated).expect("it compiles");
    assert_eq!(compiled.report.warnings, []);
}

#[test]
fn documents_that_are_no_schema_are_warned_of() {
    warned(
        r#"{"name": "Ada", "age": 36, "born": null, "address": {}, "likes": []}"#,
        expect![
            "#: no member of this is a keyword of JSON Schema (`name`, `age`, `born`, `address`, …), so every value is valid; is it an instance, or the `properties` of a schema?"
        ],
    );
    warned(
        r#"{"name": "search", "description": "…", "parameters": {"type": "object"}}"#,
        expect![
            "#: this is a function of OpenAI's API, not a schema; its schema is at #/parameters"
        ],
    );
    warned(
        r#"{"name": "answer", "strict": true, "schema": {"type": "object"}}"#,
        expect![
            "#: this is a named schema of OpenAI's API, not a schema; its schema is at #/schema"
        ],
    );
    warned(
        r#"{"name": "search", "input_schema": {"type": "object"}}"#,
        expect![
            "#: this is a tool of Anthropic's API, not a schema; its schema is at #/input_schema"
        ],
    );
    warned(
        r#"{"openapi": "3.1.0", "info": {}, "components": {"schemas": {}}}"#,
        expect![
            "#: this is an OpenAPI description, not a schema; name one of its schemas by a JSON Pointer"
        ],
    );
}

#[test]
fn wrappers_whose_type_is_no_type_are_refused_by_what_they_are() {
    let refused = |schema, expect: Expect| {
        let error = compile_str(schema, &SchemaOptions::new()).expect_err("it is no schema");
        expect.assert_eq(&error.to_string());
    };
    let format =
        r#"{"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "null"}}}"#;
    refused(
        format,
        expect![
            "#: this is a response format of OpenAI's API, not a schema; its schema is at #/json_schema/schema"
        ],
    );
    refused(
        r#"{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}"#,
        expect![
            "#: this is a tool of OpenAI's API, not a schema; its schema is at #/function/parameters"
        ],
    );
    refused(
        r#"{"type": "function", "name": "a", "parameters": {"type": "object"}}"#,
        expect!["#: this is a tool of OpenAI's API, not a schema; its schema is at #/parameters"],
    );
    refused(
        r#"{"type": "function", "name": "a"}"#,
        expect![
            "#/type: `type` must be null, boolean, integer, number, string, object or array, or a list of these"
        ],
    );
    let schema = compile_str_at(format, "/json_schema/schema", &SchemaOptions::new());
    assert_eq!(schema.expect("it is a schema").report.warnings, []);
}

#[test]
fn schemas_and_extensions_are_not_warned_of() {
    for schema in [
        "{}",
        "true",
        r#"{"title": "anything"}"#,
        r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "name": "anything"}"#,
        r#"{"x-order": 3, "_comment": "a", "definitions": {}}"#,
        r#"{"type": "object", "name": "a", "parameters": {"type": "object"}, "example": {}, "nullable": true}"#,
        r#"{"note": ["a"], "cost": 3, "refs": {}, "types": {"a": {}}, "type": "null", "multiple": true}"#,
        r#"{"properties": {"minLenght": {"type": "null"}}, "const": {"propertees": 1}, "default": {"tpye": 1}}"#,
    ] {
        assert_eq!(warnings(schema), [], "{schema}");
    }
}

#[test]
fn a_misspelt_keyword_is_named_where_it_leaves_no_value() {
    let schema = r#"{"type": "object", "propertees": {"a": true}, "required": ["a"], "additionalProperties": false}"#;
    let error = compile_str(schema, &SchemaOptions::new()).expect_err("no value is valid");
    expect!["#: no value is valid under this schema; contradicting: #/additionalProperties, #/required, #/type; #/propertees: `propertees` is not a keyword and asserts nothing; did you mean `properties`?"].assert_eq(&error.to_string());
}

#[test]
fn strict_options_make_warnings_errors() {
    let strict = SchemaOptions::new().with_strict(true);
    let schema = r#"{"minLenght": 1, "items": {"format": "emial"}}"#;
    let error = compile_str(schema, &strict).expect_err("it has mistakes");
    expect!["#/minLenght: `minLenght` is not a keyword and asserts nothing; did you mean `minLength`?; #/items/format: `emial` is not a format and is not enforced; did you mean `email`?"].assert_eq(&error.to_string());
    assert!(matches!(error, SchemaError::Mistaken(warnings) if warnings.len() == 2));
    assert!(compile_str(r#"{"minLength": 1}"#, &strict).is_ok());
}

#[test]
fn many_misspelt_keywords_are_answered() {
    let many = |count: usize| {
        let members: Vec<String> = (0..count)
            .map(|i| format!("\"a{i}\": {{\"minLeng{i}\": [], \"tpye\": \"null\"}}"))
            .collect();
        format!("{{\"properties\": {{{}}}}}", members.join(", "))
    };
    assert_eq!(warnings(&many(20_000)).len(), 100);
}
