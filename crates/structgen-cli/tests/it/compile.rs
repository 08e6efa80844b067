//! `structgen compile`.

use std::sync::Arc;

use crate::support::{model_folder, run, structgen, write};
use serde_json::{Value, json};
use structgen::constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen::vocab::{TokenId, Tokenizer};

const SCHEMA: &str = r#"{
  "type": "object",
  "title": "A visit",
  "properties": {"at": {"type": "string", "format": "date"}, "host": {"type": "string", "format": "hostname"}},
  "required": ["at"]
}"#;

#[test]
fn the_report_has_a_line_for_each_keyword_and_the_sizes() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", SCHEMA);
    let run = run(structgen(["compile", "--schema"]).arg(&schema));
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    for line in [
        "#/title: annotation",
        "#/required: enforced",
        "#/properties/at/format: enforced",
        "#/properties/host/format: narrowed: A-labels (`xn--`) are left out",
        "#/properties: narrowed: keys that the schema says nothing about are left out",
    ] {
        assert!(
            run.out.lines().any(|found| found == line),
            "{line}: {run:?}"
        );
    }
    for start in [
        "steps of the compilation: ",
        "rules of the grammar: ",
        "nodes of the automaton: ",
    ] {
        assert!(
            run.out.lines().any(|found| found.starts_with(start)),
            "{start}: {run:?}"
        );
    }
}

#[test]
fn the_report_as_json_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", SCHEMA);
    let run = run(structgen([
        "compile",
        "--json",
        "--formats",
        "annotate",
        "--profile",
        "exact",
        "--schema",
    ])
    .arg(&schema));
    assert_eq!(run.code, 0, "{run:?}");
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["profile"], "exact");
    let keywords = report["keywords"].as_array().unwrap();
    let format = json!({
        "pointer": "#/properties/at/format", "effect": "annotation", "note": "formats are annotations here",
    });
    assert!(keywords.contains(&format), "{report:#}");
    assert!(
        !keywords.iter().any(|entry| entry["effect"] == "narrowed"),
        "{report:#}"
    );
    let usage = report["usage"].as_array().unwrap();
    assert!(
        usage.iter().all(|usage| usage["used"].as_u64() > Some(0)),
        "{report:#}"
    );
}

#[test]
fn what_leniency_drops_is_in_the_report_and_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(
        dir.path(),
        "s.json",
        r#"{"type": "string", "pattern": "(a*)\\1"}"#,
    );
    let refused = run(structgen(["compile", "--schema"]).arg(&schema));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("#/pattern"), "{refused:?}");
    let lenient = run(structgen(["compile", "--lenient", "--schema"]).arg(&schema));
    assert_eq!(lenient.code, 0, "{lenient:?}");
    assert!(lenient.out.contains("#/pattern: dropped: "), "{lenient:?}");
    assert!(
        lenient.err.contains("1 assertions were dropped"),
        "{lenient:?}"
    );
}

#[test]
fn options_in_the_schema_hold_unless_the_command_line_says_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"{"x-structgen": {"order": "any"}, "type": "object", "properties": {"a": true, "b": true}}"#;
    let schema = write(dir.path(), "s.json", text);
    let fits = |options: &[&str]| {
        let mut command = structgen(["check", "--profile", "generate"]);
        let run = run(command
            .args(options)
            .arg("--schema")
            .arg(&schema)
            .arg(r#"{"b":1,"a":2}"#));
        run.code
    };
    assert_eq!(fits(&[]), 0);
    assert_eq!(fits(&["--order", "declared"]), 1);
}

#[test]
fn a_compiled_constraint_is_what_a_program_loads() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", r#"{"enum": ["yes", "no"]}"#);
    let tokenizer = model_folder().join("tokenizer.json");
    let out = dir.path().join("yes-or-no");
    let mut command = structgen(["compile", "--no-cache", "--eos", "0", "--schema"]);
    command.arg(&schema).arg("--tokenizer").arg(&tokenizer);
    let run = run(command.arg("--out").arg(&out));
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert!(run.out.contains("states, all there are\n"), "{run:?}");

    let tokenizer = Tokenizer::from_file(&tokenizer).unwrap();
    let tables = Arc::new(VocabularyTables::new(tokenizer.vocabulary().clone()));
    let options = ConstraintOptions {
        eos: vec![TokenId(0)],
        ..ConstraintOptions::default()
    };
    let constraint = CompiledConstraint::load(&tables, &options, &out).unwrap();
    let mut matcher = constraint.matcher();
    for token in tokenizer.encode("\"yes\"").unwrap() {
        assert!(matcher.mask().unwrap().contains(token));
        matcher.accept_token(token).unwrap();
    }
    assert!(matcher.mask().unwrap().contains(TokenId(0)) && matcher.is_finished());
    assert_eq!(constraint.statistics().masks_computed, 0);
}

#[test]
#[cfg(unix)]
fn a_pipe_gets_the_constraint_and_is_not_replaced() {
    use std::io::Read;
    use std::os::unix::fs::FileTypeExt;

    let dir = tempfile::tempdir().unwrap();
    let tokenizer = model_folder().join("tokenizer.json");
    let compile = |out: &std::path::Path| {
        let mut command = structgen(["compile", "--no-cache", "--schema", "{\"enum\": [1, 2]}"]);
        let done = run(command
            .arg("--tokenizer")
            .arg(&tokenizer)
            .arg("--out")
            .arg(out));
        assert_eq!(done.code, 0, "{done:?}");
    };
    let [file, pipe] = ["file", "pipe"].map(|name| dir.path().join(name));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // Open at both ends, so that nobody waits.
    let mut options = std::fs::OpenOptions::new();
    let mut opened = options.read(true).write(true).open(&pipe).unwrap();
    compile(&pipe);
    let found = std::fs::metadata(&pipe).unwrap().file_type();
    assert!(found.is_fifo());
    compile(&file);
    let expected = std::fs::read(&file).unwrap();
    let mut read = vec![0; expected.len()];
    opened.read_exact(&mut read).unwrap();
    assert_eq!(read, expected);
}

#[test]
fn a_file_for_no_tokenizer_is_bad_usage() {
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", "true");
    let mut command = structgen(["compile", "--out", "file", "--schema"]);
    let run = run(command.arg(schema));
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("--tokenizer"), "{run:?}");
}
