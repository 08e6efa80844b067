//! `structgen check`.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use crate::support::{PERSON, run, run_with, structgen, write};
use serde_json::{Value, json};

#[test]
fn a_text_fits_in_any_order_and_any_form() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    for text in [
        r#"{"name": "x", "age": 36}"#,
        "\n{ \"age\" : 3.6e1,\t\"n\\u0061me\":\"\\ud83d\\ude00\" }\n",
    ] {
        let run = run(structgen(["check", "--schema"]).arg(&schema).arg(text));
        assert_eq!(
            (run.code, run.out.as_str()),
            (0, "the text matches\n"),
            "{run:?}"
        );
    }
}

#[test]
fn relations_between_values_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let schema = r#"{
        "type": "object",
        "properties": {
            "start": {"type": "string", "format": "date"},
            "end": {"type": "string", "format": "date", "x-structgen": {"at-least": "/start"}}
        },
        "required": ["start", "end"]
    }"#;
    let schema = write(dir.path(), "s.json", schema);
    let check = |text: &str| run(structgen(["check", "--schema"]).arg(&schema).arg(text));
    let kept = check(r#"{"start": "2024-05-12", "end": "2024-05-12"}"#);
    assert_eq!(kept.code, 0, "{kept:?}");
    let broken = check(r#"{"start": "2024-05-12", "end": "2024-05-11"}"#);
    assert_eq!(broken.code, 1);
    expect_test::expect![[r#"
        the text does not match: at byte 41 (line 1, column 42): found '1', expected `2`, `3`, `4`, `5`, `6`, `7`, `8`, `9` or `\`
          "start": "2024-05-12", "end": "2024-05-11"}
                                                  ^
        the value at /end breaks no keyword of JSON Schema: what is refused is how it is written (order of keys, whitespace, escapes, the form of a number), or a relation to other values
    "#]]
    .assert_eq(&broken.err);
}

#[test]
fn a_refusal_says_where_and_what_was_expected() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let text = "{\n  \"name\": \"é\",\n  \"nick\": 1}";
    let run = run(structgen(["check", "--schema"]).arg(&schema).arg(text));
    assert_eq!((run.code, run.out.as_str()), (1, ""), "{run:?}");
    expect_test::expect![[r#"
        the text does not match: at byte 21 (line 3, column 4): found 'n', expected `\` or `a`
            "nick": 1}
             ^
        the value at /nick must not be there: its schema is `false` (#/additionalProperties)
    "#]]
    .assert_eq(&run.err);
}

#[test]
fn a_text_that_ends_early_is_refused_at_its_end() {
    let run = run_with(
        &mut structgen(["check", "--regex", "[0-9]{4}", "-"]),
        b"123",
    );
    assert_eq!(run.code, 1);
    assert!(run.err.contains("at byte 3"), "{run:?}");
    assert!(
        run.err.contains("the text ends, expected a digit"),
        "{run:?}"
    );
}

#[test]
fn regular_expressions_have_dialects_and_options() {
    let python = [
        "--regex-dialect",
        "python",
        "--regex",
        "(?P<n>a)$",
        "--regex-search",
        "-",
    ];
    let operators = ["--regex", "[a-z]+&~(no)", "--regex-operators", "-"];
    for (arguments, text, code) in [
        (&python[..], "xa\n", 0),
        (&python, "ab", 1),
        (&operators, "yes", 0),
        (&operators, "no", 1),
    ] {
        let run = run_with(structgen(["check"]).args(arguments), text.as_bytes());
        assert_eq!(run.code, code, "{arguments:?} on {text:?}: {}", run.err);
    }
}

#[test]
fn grammars_and_files_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let grammar = write(
        dir.path(),
        "g.gbnf",
        "root ::= \"a\" rest*\nrest ::= [0-9] \",\"",
    );
    let good = write(dir.path(), "good.txt", "a1,2,");
    let check = |file| {
        run(structgen(["check", "--grammar"])
            .arg(&grammar)
            .arg("--file")
            .arg(file))
    };
    assert_eq!(check(&good).code, 0);
    assert_eq!(check(&write(dir.path(), "bad.txt", "a12,")).code, 1);
}

#[test]
fn a_text_need_not_be_utf_8_to_be_refused() {
    let run = run_with(&mut structgen(["check", "--regex", ".", "-"]), b"\xFF");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("at byte 0"), "{run:?}");
}

#[test]
fn formats_are_enforced_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(
        dir.path(),
        "s.json",
        r#"{"type": "string", "format": "ipv4"}"#,
    );
    let check = |formats| {
        let mut command = structgen(["check", "--formats", formats, "--schema"]);
        run(command.arg(&schema).arg("\"1.2.3.400\"")).code
    };
    assert_eq!((check("assert"), check("annotate")), (1, 0));
}

#[test]
fn references_may_name_documents_by_path_and_by_id() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "docs/sub/number.json", r#"{"type": "integer"}"#);
    write(
        dir.path(),
        "docs/named.json",
        r#"{"$id": "https://example.org/word", "type": "string"}"#,
    );
    let schema = r#"{"items": {"anyOf": [
        {"$ref": "http://localhost:1234/sub/number.json"}, {"$ref": "https://example.org/word"}]}, "type": "array"}"#;
    let schema = write(dir.path(), "s.json", schema);
    let check = |text: &str| {
        let mut command = structgen(["check", "--schema"]);
        run(command
            .arg(&schema)
            .arg("--documents")
            .arg(dir.path().join("docs"))
            .arg(text))
        .code
    };
    assert_eq!((check(r#"[1, "a"]"#), check("[null]")), (0, 1));
    // Nothing is ever fetched.
    let run = run(structgen(["check", "--schema"]).arg(&schema).arg("[]"));
    run.is_bad_input(&["/$ref", "cannot be resolved"]);
}

#[test]
fn bulk_answers_every_line_and_goes_on_behind_bad_ones() {
    let input = [
        r#"{"id": 1, "json_schema": {"type": "integer"}, "instances": ["1", "1.0", "\"a\"", "{"]}"#,
        r#"{"id": "b", "regex": "a+", "instances": ["aa", ""]}"#,
        r#"{"id": "c", "gbnf": "root ::= \"x\" | root \"y\"", "instances": ["xyy", "y"]}"#,
        r#"{"id": "d", "json_schema": {"items": [{}], "additionalItems": false}, "draft": "draft7", "instances": ["[1]", "[1,2]"]}"#,
        r#"{"id": "e", "json_schema": {"type": "nonsense"}, "instances": ["1"]}"#,
        "",
        r#"{"id": "f", "json_schema": true, "regex": "x", "instances": []}"#,
    ]
    .join("\n");
    let good = run_with(&mut structgen(["check", "--jsonl"]), input.as_bytes());
    let answers: Vec<Value> = good
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(good.code, 0, "{good:?}");
    assert_eq!(
        answers[0],
        json!({"id": 1, "ok": true, "accepted": [true, true, false, false]})
    );
    assert_eq!(
        answers[1],
        json!({"id": "b", "ok": true, "accepted": [true, false]})
    );
    assert_eq!(
        answers[2],
        json!({"id": "c", "ok": true, "accepted": [true, false]})
    );
    assert_eq!(
        answers[3],
        json!({"id": "d", "ok": true, "accepted": [true, false]})
    );
    for (answer, says) in [(&answers[4], "#/type"), (&answers[5], "exactly one of")] {
        assert_eq!(
            (&answer["ok"], &answer["accepted"]),
            (&json!(false), &json!([]))
        );
        assert!(answer["error"].as_str().unwrap().contains(says), "{answer}");
    }

    let input = br#"{"id": 1, "regex": "a\\Z", "instances": ["a", "aZ", "ba"]}"#;
    for (options, accepted) in [
        (&["--regex-dialect", "python"][..], [true, false, false]),
        (
            &["--regex-dialect", "python", "--regex-search"],
            [true, false, true],
        ),
    ] {
        let args = [&["check", "--jsonl"], options].concat();
        let good = run_with(&mut structgen(args), input);
        let answer: Value = serde_json::from_str(&good.out).unwrap();
        assert_eq!(answer["accepted"], json!(accepted), "{good:?}");
    }

    let input = b"nonsense\n{\"id\": 2, \"regex\": \"a\", \"instances\": [\"a\"]}\n\xFF\n";
    let bad = run_with(&mut structgen(["check", "--jsonl"]), input);
    let answers: Vec<Value> = bad
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((bad.code, answers.len()), (2, 3), "{bad:?}");
    assert_eq!(answers[1]["accepted"], json!([true]));
    assert!(
        bad.err.contains("line 1 ") && bad.err.contains("line 3 "),
        "{bad:?}"
    );
}

#[test]
fn what_to_check_against_has_to_be_said_once() {
    for args in [
        vec!["check", "text"],
        vec!["check", "--regex", "a", "--schema", "s.json", "text"],
        vec!["check", "--regex", "a"],
    ] {
        let run = run(&mut structgen(&args));
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.starts_with("error: "), "{run:?}");
    }
}

#[test]
fn a_grammar_that_is_not_utf8_is_bad_input() {
    let dir = tempfile::tempdir().unwrap();
    let grammar = dir.path().join("g.gbnf");
    std::fs::write(&grammar, b"root ::= \"a\xff\"\n").unwrap();
    let run = run(structgen(["check", "--grammar"]).arg(&grammar).arg("a"));
    assert_eq!((run.code, run.out.as_str()), (2, ""), "{run:?}");
    assert!(run.err.contains("UTF-8"), "{run:?}");
}

#[test]
fn a_line_that_cannot_be_checked_is_not_refused() {
    // Too much work, whether a limit or the deadline ends it.
    let slow = ["a"; 20_000].join("+");
    let input = format!("{slow}\na+a\nb\n");
    let args = ["check", "--jsonl", "--timeout", "20", "--grammar", SUMS];
    let done = run_with(&mut structgen(args), input.as_bytes());
    let answers: Vec<Value> = { done.out.lines() }
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let accepted: Vec<&Value> = answers.iter().map(|answer| &answer["accepted"]).collect();
    assert_eq!(
        accepted,
        [&Value::Null, &json!(true), &json!(false)],
        "{done:?}"
    );
    assert!(answers[0]["error"].is_string(), "{done:?}");
    assert_eq!(answers[1].get("error"), None);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.err.contains("could not be checked: 1"), "{done:?}");
}

#[test]
fn a_timeout_is_for_each_line() {
    let mut command = structgen(["check", "--jsonl", "--timeout", "2", "--grammar", SUMS]);
    let mut child = { command.stdin(Stdio::piped()) }
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for number in 1..=2 {
        writeln!(input, "a+a").unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer, json!({"line": number, "accepted": true}));
        // A deadline for all lines would pass now.
        std::thread::sleep(Duration::from_millis(2_100));
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// An ambiguous grammar.
const SUMS: &str = r#"root ::= root "+" root | "a""#;

#[test]
fn what_only_a_limit_of_the_profile_refuses_could_not_be_checked() {
    let digits = "1".repeat(41);
    let fraction = format!("0.{digits}");
    let spaces = format!("{}1", " ".repeat(257));
    let nested = "[".repeat(100_001);
    for (text, limit) in [
        (digits.as_str(), "40 digits before the decimal point"),
        (&fraction, "40 digits after the decimal point"),
        ("1e0001", "3 digits of an exponent"),
        ("1e1000", "3 digits of an exponent"),
        (&spaces, "256 characters of whitespace in one place"),
        (&nested, "100000 levels of nesting"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let file = write(dir.path(), "text.json", text);
        let checked = run(structgen(["check", "--schema", "{}", "--file"]).arg(&file));
        assert_eq!(checked.code, 2, "{limit}: {checked:?}");
        let says = format!("the profile `exact` accepts at most {limit}");
        for says in ["could not be checked: at byte ", &says] {
            assert!(checked.err.contains(says), "{says}: {checked:?}");
        }
        let lines = run_with(
            &mut structgen(["check", "--jsonl", "--schema", "{}"]),
            format!("{text}\n1\n").as_bytes(),
        );
        let answers: Vec<Value> = { lines.out.lines() }
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!((lines.code, answers.len()), (2, 2), "{limit}: {lines:?}");
        assert_eq!(answers[0]["accepted"], Value::Null);
        let error = answers[0]["error"].as_str().unwrap();
        assert!(error.contains(&says), "{error}");
        assert_eq!(answers[1]["accepted"], json!(true));
    }
    // In another profile the limit is part of what is asked.
    let long = "1".repeat(16);
    let generate = ["check", "--profile", "generate", "--schema", "{}", &long];
    let refused = run(&mut structgen(generate));
    assert_eq!(refused.code, 1, "{refused:?}");
    let says = "the profile `generate` accepts at most 15 digits before the decimal point";
    assert!(refused.err.contains(says), "{refused:?}");
    // A keyword decides where it can.
    let small = ["check", "--schema", r#"{"maximum": 1e39}"#, &digits];
    let refused = run(&mut structgen(small));
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("#/maximum"), "{refused:?}");
}

#[test]
fn whether_a_name_that_is_left_out_of_a_format_is_valid_is_not_said() {
    let schema = r#"{"properties": {"host": {"type": "string", "format": "hostname"}}}"#;
    let text = r#"{"host": "xn--ihqwcrb4cv8a8dqg056pqjye"}"#;
    let refused = run(&mut structgen(["check", "--schema", schema, text]));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("could not be checked"), "{refused:?}");
    let says = "the value at /host violates no keyword, but the format is accepted in part only: \
        A-labels (`xn--`) are left out (#/properties/host/format)";
    assert!(refused.err.contains(says), "{refused:?}");
    let lines = run_with(
        &mut structgen(["check", "--jsonl", "--schema", schema]),
        format!("{text}\n{{\"host\":\"a b\"}}\n{{\"host\":\"xn--a\"}}\n").as_bytes(),
    );
    assert_eq!(lines.code, 2, "{lines:?}");
    let answers: Vec<Value> = { lines.out.lines() }
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let accepted: Vec<&Value> = answers.iter().map(|answer| &answer["accepted"]).collect();
    // The last one is no A-label, which is known.
    assert_eq!(accepted, [&Value::Null, &false.into(), &false.into()]);
    assert!(
        answers[0]["error"]
            .as_str()
            .unwrap()
            .contains("accepted in part only"),
        "{lines:?}"
    );
    let schema = r#"{"type": "string", "format": "idn-hostname"}"#;
    let refused = run(&mut structgen(["check", "--schema", schema, "\"a--é\""]));
    assert!(
        refused.err.contains("accepted in part only") && refused.err.contains("(#/format)"),
        "{refused:?}"
    );
}

#[test]
fn json_that_is_not_utf_8_is_bad_input() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("text.json");
    std::fs::write(&file, b"{\"a\":\"\xff\"}").unwrap();
    for command in ["check", "explain"] {
        let refused = run(structgen([command, "--schema", "{}", "--file"]).arg(&file));
        refused.is_bad_input(&["is not UTF-8", "offset 6"]);
    }
    let lines = run_with(
        &mut structgen(["check", "--jsonl", "--schema", "{}"]),
        b"\"\xff\"\n1\n",
    );
    let first: Value = serde_json::from_str(lines.out.lines().next().unwrap()).unwrap();
    assert_eq!(
        (lines.code, &first["accepted"]),
        (2, &Value::Null),
        "{lines:?}"
    );
    assert!(
        first["error"].as_str().unwrap().contains("not UTF-8"),
        "{first}"
    );
}
