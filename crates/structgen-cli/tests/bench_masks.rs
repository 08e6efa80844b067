//! `structgen bench masks`.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "a test; its support is shared"
)]

mod support;

use serde_json::Value;
use support::{model_folder, run, structgen, write};

const FILES: [(&str, &str); 5] = [
    (
        "a_ok.json",
        r#"{"schema": {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}, "required": ["a"]},
            "tests": [{"data": {"a": "é", "b": 1}, "valid": true}, {"data": {"b": 1}, "valid": false}], "meta": {}}"#,
    ),
    (
        "b_refused.json",
        r#"{"schema": {"pattern": "(a)\\1"}, "tests": [{"data": "", "valid": true}]}"#,
    ),
    (
        "c_mislabelled.json",
        r#"{"schema": {"type": "integer"}, "tests": [{"data": 1, "valid": false}]}"#,
    ),
    (
        "d_rejected.json",
        r#"{"schema": {"type": "integer"}, "tests": [{"data": "x", "valid": true}]}"#,
    ),
    (
        "e_empty.json",
        r#"{"schema": {"type": "integer", "enum": ["x"]}, "tests": [{"data": 1, "valid": false}]}"#,
    ),
];

#[test]
fn every_file_has_a_record_and_the_summary_counts_them() {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in FILES {
        write(dir.path(), &format!("files/{name}"), content);
    }
    let out = dir.path().join("out.jsonl");
    for order in ["any", "declared"] {
        let mut command = structgen(["bench", "masks", "--order", order, "--tokenizer"]);
        command.arg(model_folder().join("tokenizer.json"));
        let run = run(command
            .arg("--jsonl")
            .arg(&out)
            .arg(dir.path().join("files")));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(
            run.out.contains("valid instances accepted   1 of 2")
                && run.out.contains("p99.9")
                && run.out.contains("for each computed mask"),
            "{}",
            run.out
        );

        let written = std::fs::read_to_string(&out).unwrap();
        let records: Vec<Value> = written
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let of = |key: &str| {
            records
                .iter()
                .map(|record| record[key].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(of("file"), FILES.map(|(name, _)| name));
        assert_eq!(
            of("status"),
            [
                "ok",
                "compile_error",
                "invalidation_error",
                "validation_error",
                "unsatisfiable"
            ]
        );
        let ok = &records[0];
        assert_eq!(
            (&ok["error"], &ok["valid"], &ok["invalid"]),
            (&Value::Null, &[1, 1].into(), &[1, 1].into())
        );
        assert!(ok["ttfm_us"].as_f64().unwrap() > 0.0);
        assert!(ok["tbm_ns"].as_array().unwrap().len() > 8, "{ok}");
        assert!(
            records[1]["error"].as_str().unwrap().contains("pattern"),
            "{}",
            records[1]
        );
        let keys: Vec<&String> = ok.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "file", "status", "error", "ttfm_us", "tbm_ns", "valid", "invalid"
            ]
        );
    }
}

#[test]
fn a_folder_without_files_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = structgen(["bench", "masks", "--tokenizer"]);
    let run = run(command
        .arg(model_folder().join("tokenizer.json"))
        .arg(dir.path()));
    run.is_bad_input(&["no MaskBench files"]);
}
