//! Forms of input: files, standard input, inline text; JSON and YAML; lines.

use serde_json::{Value, json};

use crate::support::{run, run_with, runtime, structgen, write};

const NAMED: &str =
    r#"{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}"#;

const NAMED_YAML: &str =
    "# A schema\ntype: object\nproperties:\n  name: {type: string}\nrequired: [name]\n";

#[test]
fn schemas_and_grammars_come_from_the_command_line_and_from_standard_input() {
    runtime();
    for (input, text, code) in [(NAMED, "{\"name\": \"a\"}", 0), (NAMED_YAML, "{}", 1)] {
        let piped = run_with(
            &mut structgen(["check", "--schema", "-", text]),
            input.as_bytes(),
        );
        assert_eq!(piped.code, code, "{piped:?}");
    }
    let inline = run(&mut structgen(["check", "--schema", NAMED, "{}"]));
    assert_eq!(inline.code, 1, "{inline:?}");
    let grammar = "root ::= \"a\" | \"b\"";
    assert_eq!(
        run(&mut structgen(["check", "--grammar", grammar, "b"])).code,
        0
    );
    let shortest = run(&mut structgen(["grammar", "shortest", NAMED]));
    assert_eq!(shortest.out, "{\"name\":\"\"}\n", "{shortest:?}");
    let shortest = run_with(
        &mut structgen(["grammar", "shortest", "-"]),
        grammar.as_bytes(),
    );
    assert_eq!(shortest.out, "a\n", "{shortest:?}");
    let extracted = run_with(
        &mut structgen(["extract", "--schema", "-", "Ada"]),
        NAMED.as_bytes(),
    );
    assert_eq!(extracted.code, 0, "{extracted:?}");
    let twice = run_with(&mut structgen(["check", "--schema", "-", "-"]), b"{}");
    twice.is_bad_input(&["standard input"]);
}

#[test]
fn schemas_data_and_parameters_may_be_yaml() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.yaml", NAMED_YAML);
    let check = |name, data| {
        let data = write(dir.path(), name, data);
        run(structgen(["check", "--schema"])
            .arg(&schema)
            .arg("--file")
            .arg(data))
    };
    assert_eq!(check("good.yaml", "name: Ada\n").code, 0);
    let bad = check("bad.yml", "name: [1]\n");
    assert_eq!(bad.code, 1, "{bad:?}");
    assert!(
        bad.err.contains("bad.yml (as JSON)") && bad.err.contains("{\"name\": [1]}"),
        "{bad:?}"
    );
    check("broken.yaml", "name: [1\n").is_bad_input(&["broken.yaml", "line 2"]);
    check("twice.yaml", "name: a\nname: b\n").is_bad_input(&["line 2, column 1", "twice"]);
    let parameters = write(dir.path(), "p.yaml", "options: {sampling: {top_p: 2}}\n");
    run(structgen(["generate", "x", "--params"]).arg(parameters)).is_bad_input(&["top_p"]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_any_input() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let mark = |text: &str| format!("\u{FEFF}{text}");
    let schema = write(dir.path(), "s.json", mark(NAMED));
    let yaml = write(dir.path(), "s.yaml", mark(NAMED_YAML));
    let data = write(dir.path(), "d.json", mark("{\"name\": \"a\"}"));
    for schema in [&schema, &yaml] {
        let mut command = structgen(["check", "--schema"]);
        let run = run(command.arg(schema).arg("--file").arg(&data));
        assert_eq!(run.code, 0, "{run:?}");
    }
    let grammar = write(dir.path(), "g.gbnf", mark("root ::= \"a\""));
    assert_eq!(
        run(structgen(["check", "--grammar"]).arg(grammar).arg("a")).code,
        0
    );
    let lines = write(dir.path(), "d.jsonl", mark("{\"name\": \"a\"}\n"));
    let mut command = structgen(["check", "--jsonl", "--schema"]);
    assert_eq!(run(command.arg(&schema).arg("--file").arg(&lines)).code, 0);
    let texts = write(
        dir.path(),
        "t.jsonl",
        mark("{\"text\": \"Ada\", \"id\": 1}\n"),
    );
    let mut command = structgen(["extract", "--jsonl", "--schema"]);
    let extracted = run(command.arg(&schema).arg("--file").arg(&texts));
    assert!(extracted.out.starts_with("{\"id\":1"), "{extracted:?}");
    let wide = write(dir.path(), "wide.json", b"\xFF\xFE{\0}\0");
    run(structgen(["check", "--schema"]).arg(wide).arg("{}")).is_bad_input(&["UTF-16"]);
}

#[test]
fn lines_are_texts_where_a_constraint_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let lines = "{\"name\": \"a\"}\n\n{\"name\": 1}\r\n{\"name\": \"b\"}\r\nnone\n";
    let lines = write(dir.path(), "d.jsonl", lines);
    let mut command = structgen(["check", "--jsonl", "--schema", NAMED, "--file"]);
    let checked = run(command.arg(&lines));
    let answers: Vec<Value> = checked
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(checked.code, 1, "{checked:?}");
    let verdicts: Vec<Value> = answers
        .iter()
        .map(|it| json!([it["line"], it["accepted"]]))
        .collect();
    assert_eq!(
        Value::from(verdicts),
        json!([[1, true], [2, false], [3, false], [4, true], [5, false]])
    );
    assert!(
        answers[2]["error"]
            .as_str()
            .unwrap()
            .starts_with("at byte 9"),
        "{checked:?}"
    );
    let good = run_with(
        &mut structgen(["check", "--jsonl", "--regex", "[a-z]*"]),
        b"abc\n\nd",
    );
    assert_eq!((good.code, good.out.lines().count()), (0, 3), "{good:?}");
    // Without a constraint, each line must have its own.
    let mut command = structgen(["check", "--jsonl", "--file"]);
    let none = run(command.arg(&lines));
    assert_eq!(none.code, 2, "{none:?}");
    assert!(none.err.contains("--schema"), "{none:?}");
}

#[test]
fn the_name_of_a_file_as_text_is_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "letter.txt", "abc");
    let mut command = structgen(["check", "--regex", ".*", "letter.txt"]);
    let checked = run(command.current_dir(dir.path()));
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(checked.err.contains("--file letter.txt"), "{checked:?}");
}

#[test]
fn an_argument_that_names_lines_is_a_file() {
    for command in [
        &["extract", "--schema", "{}"][..],
        &["check", "--regex", "a"],
    ] {
        let mut lines = structgen(command);
        run(lines.args(["--jsonl", "Ada was 36"]))
            .is_bad_input(&["there is no file Ada was 36", "with --jsonl"]);
        let help = run(structgen(&command[..1]).arg("-h")).out;
        assert!(
            help.contains("With --jsonl, the name of the file"),
            "{help}"
        );
    }
}

#[test]
fn values_may_begin_with_a_minus_sign() {
    let check = |pattern, text| run(&mut structgen(["check", "--regex", pattern, text])).code;
    assert_eq!(check("-?[0-9]+", "-5"), 0);
    assert_eq!(check("[0-9]+", "-5"), 1);
    for text in ["-5 degrees", "--five degrees", "-x = 3"] {
        assert_eq!(check(".* .*", text), 0, "{text}");
        let after_options = run(&mut structgen(["check", text, "--regex", ".* .*"]));
        assert_eq!(after_options.code, 0, "{after_options:?}");
    }
    for misspelt in [&["--regexx", "a"][..], &["--regexx=a b"], &["-y"]] {
        let refused = run(structgen(["check"]).args(misspelt));
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains("unexpected argument"), "{refused:?}");
    }
    let no_model = ["--model", "/nonexistent"];
    for flags in [
        &["generate", "x", "--chat", "--system", "-x y"][..],
        &["generate", "x", "--stop", "-x y"],
        &["lab", "temperature", "--prompt", "-x y"],
        &["serve", "--api-key=-xy"],
    ] {
        let refused = run(structgen(flags).args(no_model));
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains("/nonexistent"), "{refused:?}");
    }
    for command in [&["generate"][..], &["extract", "--schema", "{}"]] {
        let flags = ["x", "--server", "nowhere", "--set", "api_key=-xy"];
        let refused = run(structgen(command).args(flags));
        assert!(refused.err.contains("nowhere"), "{refused:?}");
    }
    for (flags, says) in [
        (
            &["generate", "x", "--top-k", "-5"][..],
            "top_k is \"-5\", and must be a whole number",
        ),
        (&["generate", "x", "-n", "-5"], "must be a whole number"),
        (
            &["generate", "x", "--max-tokens", "-1"],
            "must be a whole number",
        ),
        (
            &["choose", "x", "--threads", "-1"],
            "it must be a whole number, 1 or more",
        ),
        (
            &["generate", "x", "--set", "threads=-1"],
            "model.threads is \"-1\", and must be a whole number, 1 or more",
        ),
        (
            &["choose", "x", "--choice", "a", "--threads", "100000"],
            "times the number of cores",
        ),
        (
            &["generate", "x", "--set", "threads=100000"],
            "the number of threads is 100000, and it must be at most",
        ),
        (
            &["extract", "--jsonl", "--schema", "{}", "--jobs", "100000"],
            "--jobs is 100000, and it must be at most",
        ),
        (
            &["extract", "x", "--schema", "{}", "--alternatives", "0"],
            "it must be a whole number, 1 or more",
        ),
        (
            &["grammar", "sample", "regex:a", "-n", "-1"],
            "it must be a whole number, 0 or more",
        ),
        (
            &[
                "choose",
                "x",
                "--choice",
                "a",
                "--all-tokenizations",
                "--tolerance",
                "-1",
            ],
            "between 0 and 1",
        ),
    ] {
        let refused = run(&mut structgen(flags));
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(says), "{refused:?}");
    }
}
