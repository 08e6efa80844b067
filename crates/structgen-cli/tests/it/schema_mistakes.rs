//! Schemas that do not mean what they say, and documents that are not schemas.

use serde_json::Value;

use crate::support::{run, run_with, runtime, structgen, write};

const TYPO: &str = r#"{"type": "object", "properties": {"mail": {"type": "string", "format": "emial", "minLenght": 3}}, "required": ["mail"]}"#;

const WRAPPED: &str = r#"{"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}}"#;

#[test]
fn a_misspelt_keyword_is_warned_of_by_every_command_that_takes_a_schema() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "typo.json", TYPO);
    let warnings = [
        "warning: ",
        "typo.json: #/properties/mail/minLenght: `minLenght` is not a keyword and asserts nothing; did you mean `minLength`?\n",
        "typo.json: #/properties/mail/format: `emial` is not a format and is not enforced; did you mean `email`?\n",
    ];
    for (before, after) in [
        (&["check", "--schema"][..], &[r#"{"mail": "x"}"#][..]),
        (&["compile", "--schema"], &[]),
        (&["grammar", "shortest"], &[]),
        (&["extract", "--schema"], &["my mail"]),
        (&["generate", "my mail", "--json-schema"], &[]),
    ] {
        let mut command = structgen(before);
        let warned = run(command.arg(&schema).args(after));
        assert_eq!(warned.code, 0, "{warned:?}");
        for text in warnings {
            assert_eq!(
                warned.err.matches(text).count(),
                if text == "warning: " { 2 } else { 1 },
                "{warned:?}"
            );
        }
        assert!(!warned.out.contains("did you mean"), "{warned:?}");
        let mut command = structgen(before);
        let strict = match before[0] {
            "extract" | "generate" => &["--set", "schema.strict=true"][..],
            _ => &["--strict-schema"],
        };
        run(command.arg(&schema).args(after).args(strict)).is_bad_input(&[
            "typo.json",
            "`minLength`",
            "`email`",
        ]);
    }
    let quiet = run(structgen(["-q", "check", "--schema"])
        .arg(&schema)
        .arg(r#"{"mail": "x"}"#));
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""), "{quiet:?}");
}

#[test]
fn warnings_are_in_the_report_and_in_the_answers_of_many_schemas() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "typo.json", TYPO);
    let compiled = run(structgen(["compile", "--json", "--schema"]).arg(&schema));
    let report: Value = serde_json::from_str(&compiled.out).unwrap();
    assert_eq!(report["warnings"].as_array().unwrap().len(), 2, "{report}");
    let request = r#"{"id": 1, "json_schema": {"tpye": "null"}, "instances": ["1"]}"#;
    let many = run_with(&mut structgen(["check", "--jsonl"]), request.as_bytes());
    let answer: Value = serde_json::from_str(&many.out).unwrap();
    assert_eq!(answer["accepted"][0], true, "{answer}");
    assert!(
        answer["warnings"][0].as_str().unwrap().contains("`type`"),
        "{answer}"
    );
    let strict = ["check", "--jsonl", "--strict-schema"];
    let many = run_with(&mut structgen(strict), request.as_bytes());
    let answer: Value = serde_json::from_str(&many.out).unwrap();
    assert_eq!(answer["ok"], false, "{answer}");
}

#[test]
fn a_wrapper_is_told_with_the_flag_that_takes_its_schema() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "wrapped.json", WRAPPED);
    let says = [
        "a response format of OpenAI's API",
        "--at /json_schema/schema",
    ];
    run(structgen(["check", "--schema"]).arg(&schema).arg("{}")).is_bad_input(&says);
    run(structgen(["extract", "--schema"]).arg(&schema).arg("5")).is_bad_input(&says);
    for at in ["/json_schema/schema", "#/json_schema/schema"] {
        let mut command = structgen(["check", "--at", at, "--schema"]);
        let good = run(command.arg(&schema).arg(r#"{"a": 1}"#));
        assert_eq!((good.code, good.err.as_str()), (0, ""), "{good:?}");
        let mut command = structgen(["extract", "--set", &format!("schema.at={at}"), "--schema"]);
        let good = run(command.arg(&schema).arg("there are 5 apples"));
        assert_eq!(
            (good.code, good.out.as_str()),
            (0, "{\"a\":5}\n"),
            "{good:?}"
        );
    }
    let tool = r#"{"name": "a", "parameters": {"type": "object"}}"#;
    let warned = run(&mut structgen(["check", "--schema", tool, "{}"]));
    assert_eq!(warned.code, 0, "{warned:?}");
    assert!(warned.err.contains("--at /parameters"), "{warned:?}");
    let instance = r#"{"name": "Ada", "age": 36}"#;
    let warned = run(&mut structgen(["check", "--schema", instance, "{}"]));
    assert!(warned.err.contains("is it an instance"), "{warned:?}");
    run(&mut structgen([
        "check",
        "--strict-schema",
        "--schema",
        instance,
        "{}",
    ]))
    .is_bad_input(&["is it an instance"]);
}

#[test]
fn a_pointer_that_leads_nowhere_is_told_with_what_is_there() {
    let at = |pointer| {
        run(&mut structgen([
            "check", "--schema", WRAPPED, "--at", pointer, "{}",
        ]))
    };
    at("/json_schema/schma")
        .is_bad_input(&["`#/json_schema` has no member `schma`; its members: name, schema"]);
    at("json_schema/schema").is_bad_input(&["a JSON Pointer begins with `/`"]);
    run(&mut structgen(["check", "--regex", "a", "--at", "/a", "a"]))
        .is_bad_input(&["--at is for --schema"]);
    at("/type/x").is_bad_input(&["`#/type` has no members"]);
}

#[test]
fn what_is_no_json_is_shown_with_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let check = |name: &str, text: &str| {
        let schema = write(dir.path(), name, text);
        run(structgen(["check", "--schema"]).arg(schema).arg("{}"))
    };
    check("trailing.json", "{\n  \"type\": \"object\",\n}").is_bad_input(&[
        "trailing comma",
        "line 3",
        "\n  }\n  ^",
    ]);
    check("quotes.json", "{'type': 'object'}").is_bad_input(&["double quotes"]);
    check("comment.json", "{\n  // a comment\n}").is_bad_input(&["no comments", ".yaml"]);
    check("grammar.json", "root ::= \"a\"").is_bad_input(&["GBNF", "--grammar"]);
    check("empty.json", " \n").is_bad_input(&["empty.json is empty"]);
    check("reference.json", r#"{"$ref": "other.json"}"#)
        .is_bad_input(&["other.json", "--documents"]);
    let schema = write(dir.path(), "schema.json", "{}");
    run(structgen(["check", "--grammar"]).arg(schema).arg("{}"))
        .is_bad_input(&["JSON Schema", "--schema"]);
}
