//! `structgen grammar`.

use std::path::Path;

use crate::support::{Run, run, run_with, structgen, write};

fn grammar(args: &[&str]) -> Run {
    run(&mut structgen(["grammar"].iter().chain(args)))
}

/// The path of a file with this content.
fn file(dir: &Path, name: &str, content: &str) -> String {
    write(dir, name, content).display().to_string()
}

#[test]
fn grammars_are_printed_and_written_in_gbnf() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(
        dir.path(),
        "g.gbnf",
        "root ::= a a\na ::= \"x\" | \"y\"\nb ::= \"z\"",
    );
    let printed = grammar(&["print", &source]);
    assert_eq!(
        printed.out,
        "root ::= a a\na ::= \"x\" | \"y\"\nb ::= \"z\"\n"
    );
    let passed = grammar(&["print", "--passes", &source]);
    assert!(passed.out.starts_with("root ::= regular("), "{passed:?}");
    let written = grammar(&["to-gbnf", &source]);
    assert_eq!(written.out, "root ::= a a\na ::= \"x\" | \"y\"\n");

    let schema = r#"{"type": "object", "properties": {"a": {"const": null}, "b": {"enum": ["x", "y"]}}, "required": ["a"], "additionalProperties": false}"#;
    let schema = file(dir.path(), "s.json", schema);
    let written = grammar(&["to-gbnf", &schema, "--whitespace", "compact"]);
    expect_test::expect![[r#"
        root ::= "{\"a\":" properties-a (",\"b\":" properties-b)? "}"
        properties-a ::= "null"
        properties-b ::= "\"x\"" | "\"y\""
    "#]]
    .assert_eq(&written.out);
    let refused = grammar(&["to-gbnf", &schema, "--order", "any"]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    assert!(
        refused
            .err
            .contains("that keys come in any order, each once takes a memory"),
        "{refused:?}"
    );
}

#[test]
fn what_is_written_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let written = grammar(&["to-gbnf", r"regex:\d{2}\b.[^a]*"]);
    let again = file(dir.path(), "again.gbnf", &written.out);
    let same = grammar(&["compare", r"regex:\d{2}\b.[^a]*", &again]);
    assert_eq!(
        (same.code, same.out.as_str()),
        (0, "the texts are the same\n")
    );
}

#[test]
fn texts_are_shown_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), "g.gbnf", "root ::= \"(\" root \")\" | [0-9]{3}");
    let shortest = grammar(&["shortest", &source]);
    assert_eq!((shortest.code, shortest.out.as_str()), (0, "000\n"));
    assert_eq!(grammar(&["count", &source]).out, "infinite\n");
    assert_eq!(
        grammar(&["count", "regex:[a-z]{20}"]).out,
        "19928148895209409152340197376\n"
    );

    let sample = |seed| {
        grammar(&[
            "sample",
            &source,
            "-n",
            "5",
            "--seed",
            seed,
            "--max-bytes",
            "9",
            "--json",
        ])
    };
    let first = sample("1");
    assert_eq!((first.code, first.out.lines().count()), (0, 5), "{first:?}");
    assert_eq!(first.out, sample("1").out);
    assert_ne!(first.out, sample("2").out);
    for line in first.out.lines() {
        let text: String = serde_json::from_str(line).unwrap();
        let checked = run(&mut structgen(["check", "--grammar", &source, &text]));
        assert_eq!(checked.code, 0, "{line}");
    }
}

#[test]
fn an_empty_grammar_is_found_empty() {
    let dir = tempfile::tempdir().unwrap();
    let empty = file(dir.path(), "g.gbnf", "root ::= \"a\" root");
    for command in ["empty", "shortest", "sample"] {
        let run = grammar(&[command, &empty]);
        assert_eq!(
            (run.code, run.out.as_str()),
            (1, "no text matches\n"),
            "{command}"
        );
    }
    assert_eq!(grammar(&["count", &empty]).out, "0\n");
    let some = grammar(&["empty", "regex:a*"]);
    assert_eq!((some.code, some.out.as_str()), (0, "some text matches\n"));
}

#[test]
fn comparisons_show_a_text() {
    let differs = grammar(&["compare", "regex:[a-y]+", "regex:[a-z]+"]);
    assert_eq!(
        (differs.code, differs.out.as_str()),
        (1, "only in regex:[a-z]+: \"z\"\n")
    );
    let within = grammar(&["compare", "--within", "regex:[a-y]+", "regex:[a-z]+"]);
    assert_eq!(within.code, 0, "{within:?}");
    let limit = grammar(&[
        "compare",
        "regex:a{900}",
        "regex:a{900}b?",
        "--max-states",
        "50",
    ]);
    assert_eq!(limit.code, 2);
    assert!(limit.err.contains("exceed the limit of 50"), "{limit:?}");
}

#[test]
fn a_timeout_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let sums = file(dir.path(), "g.gbnf", "root ::= root \"+\" root | \"a\"");
    // The clock is read after some steps only.
    let schema = format!("%json {{\"enum\": {:?}}}\n", Vec::from_iter(0..9_000));
    let json = file(dir.path(), "j.gbnf", &format!("root ::= {schema}"));
    let lark = file(dir.path(), "j.lark", &format!("start: {schema}"));
    for arguments in [
        ["grammar", "count", &sums, "--timeout", "0"].as_slice(),
        &["grammar", "print", &json, "--timeout", "0"],
        &[
            "grammar",
            "convert",
            "--from",
            "lark",
            &lark,
            "--timeout",
            "0",
        ],
        &["check", "--grammar", &sums, "--timeout", "0", "a"],
    ] {
        let run = run(&mut structgen(arguments.iter().copied()));
        assert_eq!(run.code, 2, "{run:?}");
        assert!(
            run.err
                .contains("milliseconds of work exceed the limit of 0"),
            "{run:?}"
        );
    }
}

#[test]
fn a_number_of_states_is_for_analyses_only() {
    let lark = ["--from", "lark", "g.lark"];
    for command in [
        &["print", "regex:a"][..],
        &[&["convert"][..], &lark].concat(),
    ] {
        let refused = grammar(&[command, &["--max-states", "9"]].concat());
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(
            refused.err.contains("unexpected argument '--max-states'"),
            "{refused:?}"
        );
    }
}

#[test]
fn intersections_are_grammars() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), "g.gbnf", "root ::= \"(\" root \")\" | [a-zé]+");
    let made = grammar(&[
        "intersect",
        &source,
        "--without",
        "bad",
        "--ascii",
        "--max-characters",
        "6",
    ]);
    assert_eq!(made.code, 0, "{made:?}");
    let made = file(dir.path(), "made.gbnf", &made.out);
    for (text, code) in [
        ("((ab))", 0),
        ("(dab)", 0),
        ("(bad)", 1),
        ("abcdefg", 1),
        ("é", 1),
        ("((abc))", 1),
    ] {
        let checked = run(&mut structgen(["check", "--grammar", &made, text]));
        assert_eq!(checked.code, code, "{text}");
    }
    let nothing = grammar(&["intersect", &source, "--regex", "[0-9]+"]);
    assert_eq!(
        (nothing.code, nothing.out.as_str()),
        (1, "no text matches\n")
    );
    assert_eq!(grammar(&["intersect", &source]).code, 2);
    let token = file(dir.path(), "token.gbnf", "root ::= <think> \"a\"");
    let refused = grammar(&["intersect", &token, "--ascii"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("<think>"), "{refused:?}");
}

#[test]
fn other_notations_become_gbnf() {
    let dir = tempfile::tempdir().unwrap();
    let abnf = "date = year \"-\" month ; in part\r\nyear = 4DIGIT\r\nmonth = 2DIGIT\r\n";
    let source = file(dir.path(), "date.abnf", abnf);
    let expected = "root ::= date\ndate ::= year \"-\" month\nyear ::= digit{4}\nmonth ::= digit{2}\ndigit ::= [0-9]\n";
    let printed = grammar(&["convert", "--from", "abnf", &source]);
    assert_eq!((printed.code, printed.out.as_str()), (0, expected));
    let made = dir.path().join("date.gbnf").display().to_string();
    let written = grammar(&["convert", "--from", "abnf", "--output", &made, &source]);
    assert_eq!((written.code, written.out.as_str()), (0, ""), "{written:?}");
    let checked = run(&mut structgen(["check", "--grammar", &made, "2024-05"]));
    assert_eq!(checked.code, 0, "{checked:?}");
    let month = grammar(&["convert", "--from", "abnf", "--root", "month", &source]);
    assert!(month.out.starts_with("root ::= month\n"), "{month:?}");

    let ebnf = b"name ::= [a-z]+ - 'xml'";
    let piped = run_with(
        &mut structgen(["grammar", "convert", "--from", "ebnf", "-"]),
        ebnf,
    );
    assert_eq!(piped.out, "root ::= name\nname ::= [a-z]+ & ~\"xml\"\n");

    let lark = "start: \"call\" %json {\"type\": \"integer\"} (\",\" WORD)*\n%import common.WORD\n%ignore \" \"\n";
    let source = file(dir.path(), "call.lark", lark);
    let made = dir.path().join("call.gbnf").display().to_string();
    let written = grammar(&["convert", "--from", "lark", "-o", &made, &source]);
    assert_eq!((written.code, written.err.as_str()), (0, ""), "{written:?}");
    for (text, code) in [
        ("call 12 ,a, b", 0),
        ("call12", 0),
        (" call 12", 1),
        ("call x", 1),
    ] {
        let checked = run(&mut structgen(["check", "--grammar", &made, text]));
        assert_eq!(checked.code, code, "{text}: {checked:?}");
    }
}

#[test]
fn what_cannot_be_converted_is_named_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text, said) in [
        ("no.abnf", "a = b", "line 1, column 5: there is no rule `b`"),
        ("no.lark", "start: X\nX[lazy]: /a/", "line 2, column 2"),
        (
            "no.ebnf",
            "a ::= ('b'",
            "line 1, column 7: the group is not closed",
        ),
        (
            "deep.ebnf",
            "a ::= '(' a ')' | ''\nb ::= a - '()'",
            "is not regular",
        ),
    ] {
        let source = file(dir.path(), name, text);
        let from = name.rsplit('.').next().unwrap();
        let refused = grammar(&["convert", "--from", from, &source]);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{name}");
        assert!(
            refused.err.contains(said) && refused.err.contains(name),
            "{refused:?}"
        );
    }
    let source = file(dir.path(), "a.abnf", "a = \"b\"");
    assert_eq!(grammar(&["convert", &source]).code, 2);
    assert_eq!(grammar(&["convert", "--from", "yacc", &source]).code, 2);
    let nowhere = grammar(&["convert", "--from", "abnf", "--output", "/", &source]);
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
    let missing = grammar(&["convert", "--from", "abnf", "no-such-file"]);
    assert!(
        missing.err.contains("no-such-file cannot be read"),
        "{missing:?}"
    );
}

#[test]
fn grammars_name_files_of_their_folder() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("grammars");
    let main = "%import date \"types/date.gbnf\"\nroot ::= date \" \" %json \"types/id.json\"";
    let main = file(&folder, "main.gbnf", main);
    file(
        &folder,
        "types/date.gbnf",
        "root ::= [0-9]{4} \"-\" [0-9]{2}",
    );
    file(&folder, "types/id.json", "{\"type\": \"integer\"}");
    let checked = run(&mut structgen(["check", "--grammar", &main, "2024-05 17"]));
    assert_eq!(checked.code, 0, "{checked:?}");
    let checked = run(&mut structgen(["check", "--grammar", &main, "2024-05 x"]));
    assert_eq!(checked.code, 1, "{checked:?}");

    file(dir.path(), "secret.gbnf", "root ::= \"a\"");
    for (name, text, said) in [
        (
            "out.gbnf",
            "%import s \"../secret.gbnf\"\nroot ::= s",
            "leads out of the folder",
        ),
        (
            "gone.gbnf",
            "%import s \"gone/s.gbnf\"\nroot ::= s",
            "gone/s.gbnf cannot be read",
        ),
        (
            "self.gbnf",
            "%import s \"self.gbnf\"\nroot ::= s",
            "self.gbnf -> self.gbnf",
        ),
        ("dir.gbnf", "%import s \"types\"\nroot ::= s", "is a folder"),
        (
            "abs.gbnf",
            "root ::= %json \"/etc/hostname\"",
            "relative to the file",
        ),
    ] {
        let source = file(&folder, name, text);
        let refused = grammar(&["print", &source]);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{name}");
        assert!(refused.err.contains(said), "{refused:?}");
    }
    #[cfg(unix)]
    {
        let link = folder.join("link.gbnf");
        std::os::unix::fs::symlink(dir.path().join("secret.gbnf"), link).unwrap();
        let source = file(
            &folder,
            "linked.gbnf",
            "%import s \"link.gbnf\"\nroot ::= s",
        );
        let refused = grammar(&["print", &source]);
        assert!(
            refused.err.contains("outside of the grammar's folder"),
            "{refused:?}"
        );
    }
}
