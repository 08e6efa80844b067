//! What is printed, where, and how.

use std::fs;

use crate::support::{PERSON, Run, run, runtime, structgen, write};

#[test]
fn results_go_into_a_file_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.txt");
    let shortest = |source: &str| run(structgen(["grammar", "shortest", source, "-o"]).arg(&file));
    let done = shortest("regex:abc");
    assert_eq!(
        (done.code, done.out.as_str(), done.err.as_str()),
        (0, "", "")
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "abc\n");
    shortest("regex:a(").is_bad_input(&["unclosed group"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "abc\n");
    // Nothing else is left in the folder.
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    let before = run(structgen(["--output"])
        .arg(&file)
        .args(["grammar", "shortest", "regex:x"]));
    assert_eq!(before.code, 0, "{before:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "x\n");
    let mut command = structgen(["grammar", "shortest", "regex:a", "-o"]);
    run(command.arg(dir.path())).is_bad_input(&["cannot be written", "folder"]);
    let mut command = structgen(["grammar", "shortest", "regex:a", "-o"]);
    run(command.arg(dir.path().join("none/out"))).is_bad_input(&["there is no folder"]);
    let kept = run(&mut structgen([
        "grammar", "shortest", "regex:a", "-o", "-",
    ]));
    assert_eq!(kept.out, "a\n");
}

#[test]
fn answers_of_no_and_lines_that_failed_are_results() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "out", "older");
    let output = |args: &[&str]| run(structgen(args).arg("-o").arg(&file));
    let refused = output(&["check", "--regex", "a", "b"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    let lines = write(dir.path(), "in.jsonl", "Ada is 36\n{}\n");
    let lines = lines.to_str().unwrap();
    let done = output(&["extract", "--jsonl", "--schema", PERSON, "--file", lines]);
    assert_eq!(done.code, 2, "{done:?}");
    let written = fs::read_to_string(&file).unwrap();
    assert_eq!(written.lines().count(), 2, "{written}");
    let cut = output(&["generate", "--regex", "a+[a-z]", "--stop", "a", "x"]);
    assert_eq!(cut.code, 1, "{cut:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), written);
}

#[test]
fn an_input_is_not_replaced_by_the_results() {
    let dir = tempfile::tempdir().unwrap();
    let lines = "Ada is 36\n{}\n";
    let input = write(dir.path(), "in.jsonl", lines);
    let schema = write(dir.path(), "s.json", PERSON);
    let refuses = |run: &Run| {
        run.is_bad_input(&["is an input, and --output would replace it"]);
        assert_eq!(fs::read_to_string(&input).unwrap(), lines);
        assert_eq!(fs::read_to_string(&schema).unwrap(), PERSON);
    };
    let mut extract = structgen(["extract", "--jsonl", "--schema"]);
    extract.arg(&schema).arg("--file").arg(&input);
    refuses(&run(extract.arg("-o").arg(&input)));
    let mut check = structgen(["check", "--schema"]);
    check.arg(&schema).arg("x");
    refuses(&run(check.arg("-o").arg(dir.path().join("./s.json"))));
    let mut check = structgen(["check", "--jsonl", "--regex", "a"]);
    refuses(&run(check.arg(&input).arg("-o").arg(&input)));
    let mut resume = structgen(["extract", "--jsonl", "--schema"]);
    resume.arg(&schema).arg("--file").arg(&input);
    let resumed = run(resume.arg("--resume").arg(&input));
    resumed.is_bad_input(&["in.jsonl is the input", "--resume"]);
    assert_eq!(fs::read_to_string(&input).unwrap(), lines);
    #[cfg(target_os = "linux")]
    {
        let redirected = { structgen(["check", "--jsonl", "--regex", "a", "-", "-o"]) }
            .arg(&input)
            .stdin(fs::File::open(&input).unwrap())
            .output()
            .unwrap();
        assert_eq!(redirected.status.code(), Some(2), "{redirected:?}");
        assert_eq!(fs::read_to_string(&input).unwrap(), lines);
    }
}

#[test]
fn colours_are_on_where_they_are_asked_for() {
    let error = |args: &[&str]| {
        let mut command = structgen(args);
        run(command
            .env_remove("NO_COLOR")
            .args(["check", "--schema", "none.json", "x"]))
        .err
    };
    assert!(error(&[]).starts_with("error: "));
    assert!(error(&["--color", "never"]).starts_with("error: "));
    assert!(error(&["--color=always"]).starts_with("\u{1b}[1;31merror:\u{1b}[0m "));
    // The parser of the command line has messages of its own.
    let usage = run(&mut structgen(["--color", "always", "chekc"]));
    assert!(usage.err.contains("\u{1b}["), "{usage:?}");
    let usage = run(&mut structgen(["chekc"]));
    assert!(!usage.err.contains("\u{1b}["), "{usage:?}");
}

#[test]
fn more_or_less_is_said() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let extract = |flag: &[&str]| {
        let mut command = structgen(flag);
        run(command
            .args(["extract", "--schema"])
            .arg(&schema)
            .arg("nothing"))
    };
    let plain = extract(&[]);
    assert!(
        plain.err.contains("note: the text has no value"),
        "{plain:?}"
    );
    let quiet = extract(&["-q"]);
    assert_eq!(
        (quiet.err.as_str(), &quiet.out),
        ("", &plain.out),
        "{quiet:?}"
    );
    let verbose = extract(&["-v"]);
    assert!(
        verbose.err.contains("s.json was compiled in") && verbose.err.contains("was loaded in"),
        "{verbose:?}"
    );
    assert_eq!(verbose.out, plain.out);
    let both = extract(&["-q", "-v"]);
    assert_eq!(both.code, 2, "{both:?}");
}

#[test]
fn json_is_indented_where_that_is_asked_for() {
    runtime();
    let schema = r#"{"type": "object", "properties": {"a": {"enum": [1.5]}}, "required": ["a"]}"#;
    let indented = "{\n  \"a\": 1.5\n}\n";
    let extracted = run(&mut structgen([
        "extract", "--pretty", "--schema", schema, "x",
    ]));
    assert_eq!(extracted.out, indented, "{extracted:?}");
    let generated = run(&mut structgen([
        "generate",
        "--pretty",
        "--json-schema",
        schema,
        "x",
    ]));
    assert_eq!(generated.out, indented, "{generated:?}");
    let details = run(&mut structgen([
        "extract", "--pretty", "--spans", "--schema", schema, "x",
    ]));
    assert!(
        details
            .out
            .starts_with("{\n  \"value\": {\n    \"a\": 1.5\n  },\n"),
        "{details:?}"
    );
    for (args, says) in [
        (&["generate", "--pretty", "x"][..], "--pretty is for JSON"),
        (
            &["generate", "--json", "--pretty", "--events", "x"],
            "cannot be used with",
        ),
        (
            &[
                "generate",
                "--json",
                "--pretty",
                "--set",
                "sequences=2",
                "x",
            ],
            "--pretty is for one output",
        ),
        (
            &["extract", "--schema", "{}", "--pretty", "--jsonl"],
            "cannot be used with",
        ),
    ] {
        let refused = run(&mut structgen(args));
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(says), "{refused:?}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&mut structgen(["completions", shell]));
        assert_eq!(script.code, 0, "{script:?}");
        assert!(script.out.contains("strict-schema"), "{shell}");
    }
    let page = run(&mut structgen(["man"]));
    assert!(
        page.out.contains(".TH structgen 1") && page.out.contains("extract"),
        "{page:?}"
    );
    let page = run(&mut structgen(["man", "grammar", "compare"]));
    assert!(
        page.out.contains(".TH structgen-grammar-compare 1"),
        "{page:?}"
    );
    run(&mut structgen(["man", "grammer"])).is_bad_input(&["\"grammer\""]);
}

#[test]
fn that_no_text_fits_is_an_answer_whoever_finds_it_out() {
    let schema = r#"{"type": "integer", "minimum": 5, "maximum": 4}"#;
    let grammar = "root ::= \"a\" root";
    for source in [schema, grammar] {
        for command in ["empty", "shortest", "sample"] {
            let run = run(&mut structgen(["grammar", command, source]));
            assert_eq!(
                (run.code, run.out.as_str()),
                (1, "no text matches\n"),
                "{run:?}"
            );
        }
        let count = run(&mut structgen(["grammar", "count", source]));
        assert_eq!((count.code, count.out.as_str()), (0, "0\n"), "{count:?}");
    }
    run(&mut structgen(["grammar", "print", schema])).is_bad_input(&["no value is valid"]);
}
