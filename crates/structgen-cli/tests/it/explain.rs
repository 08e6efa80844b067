//! `structgen explain` and `structgen mask`.

use serde_json::{Value, json};

use crate::support::{PERSON, run, structgen};

const SUMS: &str = "root ::= term (\"+\" term)*\nterm ::= [0-9]+ | \"(\" root \")\"";

fn explain(args: &[&str]) -> crate::support::Run {
    run(structgen(["explain"]).args(args))
}

fn as_json(args: &[&str]) -> Value {
    let run = run(structgen(args.iter().copied()).arg("--json"));
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{run:?}"))
}

#[test]
fn a_missing_key_is_explained_by_the_keyword_that_requires_it() {
    let run = explain(&["--schema", PERSON, r#"{"name":"Ada"}"#]);
    assert_eq!(run.code, 1, "{run:?}");
    expect_test::expect![[r#"
        the text does not match: at byte 13 (line 1, column 14): found '}', expected `,` or whitespace
          {"name":"Ada"}
                       ^
        the document must have the key "age" (#/required)

        expected  `,` or whitespace
        tokens    6 of 4096: "," (16), "\t" (202), "\n" (203), "\r" (206), " " (225), ",\"" (264)
        nearest   {"name":"Ada","age":0}
                  (8 characters changed)
    "#]]
    .assert_eq(&run.out);
}

#[test]
fn a_text_that_fits_is_no_error() {
    let fits = explain(&["--schema", PERSON, r#"{"name":"Ada","age":36}"#]);
    assert_eq!(
        (fits.code, &*fits.out),
        (0, "the text matches\n"),
        "{fits:?}"
    );
}

#[test]
fn a_grammar_is_explained_by_its_rules() {
    let run = explain(&["--grammar", SUMS, "1+(2-3)"]);
    assert_eq!(run.code, 1, "{run:?}");
    for line in [
        "within the rules `root` (line 1) > `term` (line 2) > `root` (line 1) > `term` (line 2)",
        "`root` (line 1): `+`",
        "nearest   1+(2+3)",
    ] {
        assert!(run.out.contains(line), "{line}: {run:?}");
    }
}

#[test]
fn explanations_are_json_too() {
    let text = r#"{"name":"Ada","age":200}"#;
    let found = as_json(&["explain", "--schema", PERSON, text]);
    assert_eq!(found["value"], "/age");
    assert_eq!(found["keyword"], "#/properties/age/maximum");
    assert_eq!(found["demand"], "must be at most 150");
    assert_eq!(found["offset"], 23);
    assert_eq!(found["expected"]["tokens"]["count"], 4);
    let nearest = found["nearest"]["text"].as_str().unwrap();
    let checked = run(structgen(["check", "--schema", PERSON]).arg(nearest));
    assert_eq!(checked.code, 0, "{nearest}");
}

#[test]
fn a_token_after_a_text_is_explained() {
    let before = r#"{"name":"Ada","age":15"#;
    let fits = explain(&["--schema", PERSON, before, "--token", "20"]);
    assert_eq!(
        (fits.code, &*fits.out),
        (0, "the token matches\n"),
        "{fits:?}"
    );
    let too_large = format!("{before}1");
    let found = as_json(&["explain", "--schema", PERSON, &too_large, "--token", "20"]);
    assert_eq!(found["keyword"], "#/properties/age/maximum", "{found}");
    assert_eq!(found["token"], json!({"id": 20, "offset": 0}));
    let unknown = explain(&["--schema", PERSON, before, "--token", "9999"]);
    unknown.is_bad_input(&["there is no token 9999"]);
}

#[test]
fn a_mask_has_the_keys_that_remain() {
    let found = as_json(&["mask", "--schema", PERSON, r#"{"name":"Ada", "#]);
    assert_eq!(found["keys"], json!([{"key": "age", "required": true}]));
    assert_eq!(found["other_keys"], false);
    assert!(found["tokens"]["count"].as_u64().unwrap() > 0);
    let start = run(&mut structgen(["mask", "--schema", PERSON]));
    assert!(
        start.out.starts_with("next      `{` or whitespace\n"),
        "{start:?}"
    );
    let refused = run(&mut structgen(["mask", "--schema", PERSON, r#"{"nick"#]));
    assert_eq!((refused.code, &*refused.out), (1, ""), "{refused:?}");
    assert!(
        refused.err.contains("#/additionalProperties"),
        "{refused:?}"
    );
}

#[test]
fn a_mask_has_the_rules_that_may_go_on() {
    let found = as_json(&["mask", "--grammar", SUMS, "1+(2"]);
    let rules = found["rules"].as_array().unwrap();
    let names: Vec<_> = rules
        .iter()
        .map(|rule| (&rule["rule"], &rule["line"]))
        .collect();
    assert!(names.contains(&(&json!("root"), &json!(1))), "{found}");
    assert!(names.contains(&(&json!("term"), &json!(2))), "{found}");
}

#[test]
fn a_constraint_has_to_be_named() {
    let none = explain(&["text"]);
    none.is_bad_input(&["--schema, --regex, --grammar, --tools or --structural-tag"]);
}

#[test]
fn data_may_be_yaml_as_for_check() {
    let dir = tempfile::tempdir().unwrap();
    let schema = r#"{"properties": {"a": {"type": "integer"}}}"#;
    let explained = |name: &str, data: &str| {
        let file = crate::support::write(dir.path(), name, data);
        explain(&["--schema", schema, "--file", file.to_str().unwrap()])
    };
    assert_eq!(explained("good.yaml", "a: 1\n").out, "the text matches\n");
    let refused = explained("bad.yml", "a: x\n");
    assert_eq!(refused.code, 1, "{refused:?}");
    for says in ["bad.yml (as JSON) does not match", "#/properties/a/type"] {
        assert!(refused.out.contains(says), "{says}: {refused:?}");
    }
    explained("broken.yaml", "a: [1\n").is_bad_input(&["broken.yaml", "line 2"]);
}

#[test]
fn a_nearest_text_that_is_too_far_away_is_not_searched_for_without_end() {
    let schema = r#"{"type": "array", "minItems": 60000, "items": {"type": "boolean"}}"#;
    let far = explain(&["--schema", schema, "[]"]);
    assert_eq!(far.code, 1, "{far:?}");
    assert!(
        far.out
            .contains("nearest   none was found in 100000 steps\n"),
        "{far:?}"
    );
}

/// An object without other keys than one.
const ONLY_NAME: &str = r#"{"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": false}"#;

#[test]
fn a_beginning_that_stops_after_a_key_names_what_forbids_the_key() {
    for text in [
        r#"{"nme"#,
        r#"{"nme""#,
        r#"{"nme" "#,
        r#"{"nme":"#,
        r#"{"nme":1"#,
    ] {
        let masked = run(&mut structgen(["mask", "--schema", ONLY_NAME, text]));
        assert_eq!(masked.code, 1, "{masked:?}");
        let says =
            "the value at /nme must not be there: its schema is `false` (#/additionalProperties)";
        assert!(masked.err.contains(says), "{text}: {masked:?}");
        let explained = explain(&["--schema", ONLY_NAME, text]);
        assert!(explained.out.contains(says), "{text}: {explained:?}");
    }
    // A key that may be there is not blamed for the value it lacks.
    let form = [
        "mask",
        "--profile",
        "generate",
        "--schema",
        ONLY_NAME,
        r#"{"name" :"#,
    ];
    let refused = run(&mut structgen(form));
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("how it is written"), "{refused:?}");
}

#[test]
fn the_reason_of_a_union_is_that_of_the_schema_that_fails_last() {
    let schema = r#"{"anyOf": [{"type": "string"},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}]}"#;
    let run = explain(&["--schema", schema, r#"{"a":"x"}"#]);
    for says in [
        "at byte 5 ",
        "under one of the schemas of `anyOf` (#/anyOf)\n  the value at /a must be an integer (#/anyOf/1/properties/a/type)",
    ] {
        assert!(run.out.contains(says), "{says}: {run:?}");
    }
}
