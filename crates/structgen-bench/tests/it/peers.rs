//! `structgen-bench peers`.

use crate::support::{bench, model_folder, run, write};

#[test]
fn a_flag_that_a_way_to_run_would_ignore_is_refused() {
    let all = [
        ("--alone", None),
        ("--jsonl", Some("out.jsonl")),
        ("--explain", None),
        ("--every", Some("2")),
        ("--sample", None),
        ("--any-order", None),
        ("--runs", Some("2")),
        ("--steps-over", Some("1")),
        ("--memory", None),
    ];
    for (way, honoured) in [
        (&["--grammars"][..], &["--runs", "--steps-over"][..]),
        (&["--choices", "3"], &[]),
        (
            &["--memory", "files"],
            &["--every", "--sample", "--any-order", "--memory"],
        ),
    ] {
        for (flag, value) in all {
            let mut command = bench(["peers", "--tokenizer", "nonexistent.json"]);
            let run = run(command.args(way).arg(flag).args(value));
            assert_eq!(run.code, 2, "{run:?}");
            assert_eq!(
                run.err.contains("cannot be used with"),
                !honoured.contains(&flag),
                "{way:?} {flag}: {}",
                run.err
            );
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_record_that_cannot_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let content = r#"{"schema": {"type": "integer"}, "tests": [{"data": 1, "valid": true}]}"#;
    let file = write(dir.path(), "a.json", content);
    let mut command = bench(["peers", "--alone", "--jsonl", "/dev/full", "--tokenizer"]);
    command.arg(model_folder().join("tokenizer.json"));
    let run = run(command.arg(&file));
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.err.contains("/dev/full cannot be written"),
        "{}",
        run.err
    );
}
