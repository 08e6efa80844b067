//! `structgen-bench masks`.

use crate::support::{PERSON, bench, model_folder, run, write};
use serde_json::Value;

const FILES: [(&str, &str); 5] = [
    (
        "a_ok.json",
        r#"{"schema": {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}, "required": ["a"]},
            "tests": [{"data": {"a": "é", "b": 1}, "valid": true}, {"data": {"b": 1}, "valid": false}], "meta": {}}"#,
    ),
    (
        "b_refused.json",
        r#"{"schema": {"pattern": "(a*)\\1"}, "tests": [{"data": "", "valid": true}]}"#,
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
        let mut command = bench(["masks", "--order", order, "--tokenizer"]);
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
                "file",
                "status",
                "error",
                "ttfm_us",
                "tbm_ns",
                "valid",
                "invalid",
                "undecided"
            ]
        );
    }
}

#[test]
fn forced_tokens_are_counted_when_they_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in FILES {
        write(dir.path(), &format!("files/{name}"), content);
    }
    let out = dir.path().join("out.jsonl");
    let masks = |flags: &[&str]| {
        let mut command = bench(["masks", "--order", "declared", "--tokenizer"]);
        command.arg(model_folder().join("tokenizer.json"));
        let run = run(command
            .args(flags)
            .arg("--jsonl")
            .arg(&out)
            .arg(dir.path().join("files")));
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    };
    // The other counts are the same as without the option.
    let work = |out: &str| {
        let lines = out.lines().filter(|line| {
            ["masks ", "trie nodes walked", "states "]
                .iter()
                .any(|head| line.starts_with(head))
        });
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let plain = masks(&[]);
    assert!(
        !plain.contains("tokens that forcing saves") && work(&plain).len() == 3,
        "{plain}"
    );
    let forced = masks(&["--forced"]);
    assert_eq!(work(&forced), work(&plain));

    let written = std::fs::read_to_string(&out).unwrap();
    let records: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(records.len(), FILES.len());
    for (form, row) in [
        ("forced_exact", "profile exact "),
        ("forced_generate", "profile generate, one-space "),
    ] {
        let of = |key: &str| {
            let counts = records.iter().map(|record| &record[form]);
            counts
                .map(|counts| counts[key].as_u64())
                .collect::<Vec<_>>()
        };
        // Accepted valid instances; the second schema and the last are refused.
        assert_eq!(
            of("instances"),
            [Some(1), None, Some(0), Some(0), None],
            "{form}"
        );
        let tokens = of("tokens")[0].unwrap();
        let row = forced.lines().find_map(|line| line.strip_prefix(row));
        let row: Vec<&str> = row.unwrap().split_whitespace().collect();
        let share =
            |key: &str| format!("{:.1}%", 100.0 * of(key)[0].unwrap() as f64 / tokens as f64);
        assert_eq!(
            row[..4],
            ["1", &tokens.to_string(), &share("exact"), &share("jumped")]
        );
        assert_eq!(row[5], of("differing")[0].unwrap().to_string());
    }
    // `{"b": 1, "a": "é"}`: the profile exact allows whitespace everywhere, the other one does not.
    let of = |form: &str| records[0][form]["jumped"].as_u64().unwrap();
    assert!(
        of("forced_generate") >= 4 && of("forced_generate") > of("forced_exact"),
        "{forced}"
    );
}

#[test]
fn a_folder_without_files_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = bench(["masks", "--tokenizer"]);
    let run = run(command
        .arg(model_folder().join("tokenizer.json"))
        .arg(dir.path()));
    run.is_bad_input(&["no MaskBench files"]);
}

#[test]
fn a_tokenizer_that_is_none_is_told_by_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "s.json", PERSON);
    run(bench(["masks", "--tokenizer"]).arg(&file).arg(&file))
        .is_bad_input(&["s.json", "tokenizer"]);
}

#[test]
fn tables_are_kept_in_the_cache_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (name, content) = FILES[0];
    let file = write(dir.path(), name, content);
    let cache = dir.path().join("cache");
    for (flag, said, kept) in [
        (Some("--no-cache"), "vocabulary: computed in", false),
        (None, "computed for the cache", true),
        (None, "loaded from the cache", true),
    ] {
        let mut command = bench(["masks", "--tokenizer"]);
        command.arg(model_folder().join("tokenizer.json"));
        let run = run(command.args(flag).arg(&file).env("STRUCTGEN_CACHE", &cache));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.out.contains(said), "{}", run.out);
        assert_eq!(cache.join("tables").is_dir(), kept);
    }
}

#[test]
fn masks_are_compared_when_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in FILES {
        write(dir.path(), &format!("files/{name}"), content);
    }
    let mut command = bench(["masks", "--compare", "3", "--tokenizer"]);
    command.arg(model_folder().join("tokenizer.json"));
    let run = run(command.arg(dir.path().join("files")));
    assert_eq!(run.code, 0, "{run:?}");
    let line = run
        .out
        .lines()
        .find(|line| line.starts_with("masks compared"));
    let words: Vec<&str> = line.expect("a line").split_whitespace().collect();
    // The two schemas that are refused, or that nothing fits, have no masks.
    assert_eq!(
        words[3..],
        [
            "of", "3", "files,", "0", "wrong,", "0", "files", "ended", "by", "a", "limit"
        ],
        "{}",
        run.out
    );
    let masks: usize = words[2].parse().unwrap();
    assert!((4..=12).contains(&masks), "{masks}");
}

#[test]
fn an_instance_that_is_nested_too_deeply_is_an_error_of_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let content =
        format!(r#"{{"schema": {{}}, "tests": [{{"data": {open}{close}, "valid": true}}]}}"#);
    write(dir.path(), "files/deep.json", content);
    let (name, content) = FILES[0];
    write(dir.path(), &format!("files/{name}"), content);
    let mut command = bench(["masks", "--no-cache", "--tokenizer"]);
    command.arg(model_folder().join("tokenizer.json"));
    let run = run(command.arg(dir.path().join("files")));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.out.contains("or is nested too deeply")
            && run.out.contains("valid instances accepted   1 of 1"),
        "{}",
        run.out
    );
}
