//! JSON Schemas as terminals.

use expect_test::expect;

use super::files;
use super::messages::refused;
use super::*;

#[test]
fn schemas_become_rules_of_the_grammar() {
    let text = "root ::= \"a: \" %json {\"type\": \"integer\"} | \"}\" %json { \"enum\": [\"{\", \"\\\"}\", null], # \n \"x-\": {} } b\nb ::= %json {\"type\": \"integer\"}+";
    let error = parse(text, &GbnfOptions::default()).expect_err("a comment is no JSON");
    expect![[r#"
        line 1, column 84: the schema is not JSON: key must be a string
          |
        1 | type": "integer"} | "}" %json { "enum": ["{", "\"}", null], # 
          |                                                             ^"#]]
    .assert_eq(&error.to_string());
    let text = text.replace("# ", "");
    expect![[r#"
        root ::= "a: " json-1 # | "}" json-2 # b
        b ::= json-1 #+
        json-1 # ::= json-number(multiple of 1, written whole)
        json-2 # ::= json-string("\"}" | "{") | "null"
    "#]]
    .assert_eq(&grammar(&text).to_string());
}

#[test]
fn what_is_wrong_with_a_schema_is_said_at_its_place() {
    refused(
        &[
            "root ::= %json {\"type\": \"integer\"",
            "root ::= %json {\"a\": \"}",
            "root ::= %json true",
            "root ::= %json",
            "root ::= \"é\" %json {\"a\": [1,\n  \"é\" 2]}",
            "root ::= %json {\"a\": 1, \"a\": 2}",
            "root ::= %json {\"type\": \"whole\"}",
            "root ::= %json {\"type\": \"string\", \"minLength\": 2, \"maxLength\": 1}",
            "root ::= %json {\"pattern\": \"(a*)\\\\1\"}",
            "root ::= %json \"types.json\"",
            "root ::= ~%json {}",
            "root ::= \"a\" & b\nb ::= (%json {\"const\": 1})",
            "root ::= %json {\"x-structgen\": {\"whitespace\": \"one-space\"}} %json {}",
            "root ::= %jsonx {}",
        ],
        expect![[r#"
            line 1, column 16: expected a schema in braces or a literal
              |
            1 | root ::= %json {"type": "integer"
              |                ^
            hint: the braces of the schema are not closed

            line 1, column 16: expected a schema in braces or a literal
              |
            1 | root ::= %json {"a": "}
              |                ^
            hint: the braces of the schema are not closed

            line 1, column 16: expected a schema in braces or a literal
              |
            1 | root ::= %json true
              |                ^
            hint: a schema is written `%json {…}`, or `%json "file.json"` if a file has it

            line 1, column 15: expected a schema in braces or a literal
              |
            1 | root ::= %json
              |               ^
            hint: a schema is written `%json {…}`, or `%json "file.json"` if a file has it

            line 2, column 7: the schema is not JSON: expected `,` or `]`
              |
            2 |   "é" 2]}
              |       ^

            line 1, column 27: the schema is not JSON: the key "a" comes twice
              |
            1 | root ::= %json {"a": 1, "a": 2}
              |                           ^

            line 1, column 10: in the schema: #/type: `type` must be null, boolean, integer, number, string, object or array, or a list of these
              |
            1 | root ::= %json {"type": "whole"}
              |          ^

            line 1, column 10: in the schema: #: no value is valid under this schema; contradicting: #/type, #/minLength, #/maxLength
              |
            1 | root ::= %json {"type": "string", "minLength": 2, "maxLength": 1}
              |          ^

            line 1, column 10: in the schema: #/pattern: `pattern` is not supported here: a back-reference to a group with infinitely many texts is not supported (at byte 4 of the pattern)
              |
            1 | root ::= %json {"pattern": "(a*)\\1"}
              |          ^

            line 1, column 16: a grammar given as text cannot use files
              |
            1 | root ::= %json "types.json"
              |                ^

            line 1, column 10: an operand of `&` or `~` is not regular: it comes back to itself
              |
            1 | root ::= ~%json {}
              |          ^
            hint: operands are made of literals, classes, patterns and rules that do not come back to themselves

            line 1, column 14: an operand of `&` or `~` is not regular: it names tokens or has JSON in it
              |
            1 | root ::= "a" & b
              |              ^
            hint: operands are made of literals, classes, patterns and rules that do not come back to themselves

            line 1, column 61: the schemas of one grammar write JSON in one way, and this one in another
              |
            1 | root ::= %json {"x-structgen": {"whitespace": "one-space"}} %json {}
              |                                                             ^
            hint: `x-structgen` says the same about whitespace and escapes in all of them

            line 1, column 15: expected a schema in braces or a literal
              |
            1 | root ::= %jsonx {}
              |               ^
            hint: a schema is written `%json {…}`, or `%json "file.json"` if a file has it"#]],
    );
    let strict = GbnfOptions {
        strict: true,
        ..GbnfOptions::default()
    };
    for text in [
        "root ::= %json {}",
        "%import a \"a\"\nroot ::= a",
        "root ::= a::b",
        "root ::= %chars{1}(\"a\")",
    ] {
        let error = parse(text, &strict).expect_err(text).to_string();
        assert!(error.contains("is not part of llama.cpp's GBNF"), "{error}");
    }
}

#[test]
fn schemas_come_from_files() {
    let options = files(&[
        (
            "types.json",
            "{\"$defs\": {\"id\": {\"type\": \"integer\", \"minimum\": 1}, \"no\": {\"$ref\": \"#/$defs/id\"}}, \"title\": \"x\"}",
        ),
        ("null.json", "{\"type\": \"null\", \"$defs\": {\"a\": {}}}"),
        ("no.json", "{\"type\": 3}"),
        ("broken.json", "{\"type\":\n  \"null\",}"),
    ]);
    let text = "root ::= %json \"types.json\" %json \"./types.json#/$defs/id\" %json \"types.json#/$defs/no\" %json \"null.json\" %json \"null.json#/$defs/a\"";
    let grammar = parse(text, &options).unwrap_or_else(|error| panic!("{error}"));
    expect![[r#"
        root ::= json-1 json-value json-2 #/$defs/id json-3 #/$defs/id json-4 # json-5 json-value
        json-1 json-value ::= json-object({ *: json-1 json-value }) | json-array([*: json-1 json-value]) | json-string() | json-number() | "true" | "false" | "null"
        json-2 #/$defs/id ::= json-number(>= 1, multiple of 1, written whole)
        json-3 #/$defs/id ::= json-number(>= 1, multiple of 1, written whole)
        json-4 # ::= "null"
        json-5 json-value ::= json-object({ *: json-5 json-value }) | json-array([*: json-5 json-value]) | json-string() | json-number() | "true" | "false" | "null"
    "#]].assert_eq(&grammar.to_string());
    let mut report = String::new();
    for text in [
        "root ::= %json \"no.json\"",
        "root ::= %json \"broken.json\"",
        "root ::= %json \"other.json\"",
        "root ::= %json \"../types.json\"",
        "root ::= %json \"/types.json\"",
        "root ::= %json \"types.json#/$defs/name\"",
        "root ::= %json \"types.json#id\"",
    ] {
        let error = parse(text, &options).expect_err(text);
        report += &format!("{error}\n\n");
    }
    expect![[r##"
        line 1, column 10: in the schema no.json: #/type: `type` must be null, boolean, integer, number, string, object or array, or a list of these
          |
        1 | root ::= %json "no.json"
          |          ^

        line 1, column 10: in the schema broken.json: the schema is not JSON: trailing comma (line 2, column 10)
          |
        1 | root ::= %json "broken.json"
          |          ^

        line 1, column 16: the file other.json cannot be read: there is no such file
          |
        1 | root ::= %json "other.json"
          |                ^

        line 1, column 16: the path "../types.json" leads out of the folder
          |
        1 | root ::= %json "../types.json"
          |                ^

        line 1, column 16: the path "/types.json" is invalid: parts between slashes, relative to the file that contains it
          |
        1 | root ::= %json "/types.json"
          |                ^

        line 1, column 10: in the schema types.json: #: the reference "#/$defs/name" cannot be resolved: `#/$defs` has no member `name`; its members: id, no
          |
        1 | root ::= %json "types.json#/$defs/name"
          |          ^

        line 1, column 10: in the schema types.json: #: the reference "#id" cannot be resolved: a JSON Pointer begins with `/`
          |
        1 | root ::= %json "types.json#id"
          |          ^

    "##]].assert_eq(&report);
}

#[test]
fn dropped_assertions_are_warned_of() {
    let options = GbnfOptions {
        schema: SchemaOptions::new().with_lenient(true),
        ..GbnfOptions::default()
    };
    let text = "root ::= a\na ::= \"x\" %json {\"pattern\": \"(a*)\\\\1\"}";
    let (_, warnings) = parse_with_warnings(text, &options).expect("it is read");
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "line 2, column 11: the schema's assertion at #/pattern is not supported, and was dropped"
        ]
    );
}

#[test]
fn probable_mistakes_in_schemas_are_warned_of() {
    let text = "root ::= %json {\"minLenght\": 1}";
    let (_, warnings) = parse_with_warnings(text, &GbnfOptions::default()).expect("it is read");
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "line 1, column 10: in the schema: #/minLenght: `minLenght` is not a keyword and asserts nothing; did you mean `minLength`?"
        ]
    );
}

#[test]
fn warnings_of_schemas_stand_where_each_schema_does() {
    let text = "root ::= \"é\" %json {\"a\": 1} %json {\"b\": 1} | # é\r\n\r \"ü\" %json {\n\"c\": 1} %json {\"d\": 1}\nb ::= \"b\" %json {\"e\": 1}";
    let (_, warnings) = parse_with_warnings(text, &GbnfOptions::default()).expect("it is read");
    let places: Vec<(usize, usize)> = { warnings.iter() }
        .map(|warning| (warning.line, warning.column))
        .collect();
    assert_eq!(places, [(5, 1), (1, 14), (1, 29), (3, 6), (4, 9), (5, 11)]);
}

#[test]
fn hostile_schemas_are_answered() {
    let deep = format!(
        "root ::= %json {}{}",
        "{\"a\":".repeat(100_000),
        "}".repeat(100_000)
    );
    let error = parse(&deep, &GbnfOptions::default())
        .expect_err("deep")
        .to_string();
    assert!(error.contains("levels of nesting"), "{error}");
    for text in [
        format!("root ::= %json {}", "{".repeat(100_000)),
        format!("root ::= %json {{{}", "\"a\"".repeat(100_000)),
        format!("root ::= %json {{{}", "\\\"".repeat(100_000)),
    ] {
        let error = parse(&text, &GbnfOptions::default()).expect_err("open");
        assert_eq!(error.column, 16, "{error}");
    }
    // Equal schemas are compiled once; different ones have one limit of steps together.
    let many = |same: bool| {
        let schema = |i: u32| format!("%json {{\"maxLength\": {}}}", if same { 1 } else { i + 1 });
        let body: Vec<String> = (0..2_000).map(schema).collect();
        format!("root ::= {}", body.join(" "))
    };
    let limits = crate::json_schema::SchemaLimits {
        max_steps: 2_000,
        ..Default::default()
    };
    let options = GbnfOptions {
        schema: SchemaOptions::new().with_limits(limits),
        ..GbnfOptions::default()
    };
    assert!(parse(&many(true), &options).is_ok());
    let error = parse(&many(false), &options).expect_err("many").to_string();
    assert!(error.contains("exceed the limit"), "{error}");
}
