//! `extract`: between all formats, with parts, samples and estimates.

use crate::support::{Tables, ids, mails};

#[test]
fn all_formats_come_to_the_same_rows() {
    let tables = Tables::new().with_mails(23);
    let outcome = tables.extract("mails.jsonl", "all.parquet", &["--part-rows", "5"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.err.contains("23 rows"), "{outcome:?}");
    // From Parquet to JSON Lines, and from CSV.
    let again = tables.extract("all.parquet", "again.jsonl", &["--keep", "id"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let query = "SELECT id, name, city, tags FROM 'all.parquet'";
    let queried = tables.run(["sql", query, "--format", "jsonl"]).out;
    let lines = tables.read("again.jsonl");
    assert_eq!(ids(&lines), (0..23).collect::<Vec<_>>());
    let parsed = |lines: &str| -> Vec<serde_json::Value> {
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    assert_eq!(parsed(&lines), parsed(&queried));
    let csv = tables.run([
        "sql",
        "SELECT id, body FROM 'all.parquet'",
        "--output",
        "mails.csv",
    ]);
    assert_eq!(csv.code, Some(0), "{csv:?}");
    let flat = tables.extract(
        "mails.csv",
        "flat.csv",
        &["--keep", "id", "--part-rows", "7"],
    );
    assert_eq!(flat.code, Some(0), "{flat:?}");
    let flat = tables.read("flat.csv");
    assert_eq!(flat.lines().next(), Some("id,name,city,tags"));
    assert_eq!(flat.lines().count(), 24);
    let first = &parsed(&lines)[0];
    let (name, city) = (
        first["name"].as_str().unwrap(),
        first["city"].as_str().unwrap(),
    );
    assert!(
        flat.lines()
            .nth(1)
            .unwrap()
            .starts_with(&format!("0,{name},{city},")),
        "{flat}"
    );
    assert!(!tables.path().join("all.parquet.parts").exists());
}

#[test]
fn parts_workers_and_rows_before_a_row_do_not_change_its_value() {
    let tables = Tables::new().with_mails(40);
    let columns = ["--columns", "error,confidence,spans"];
    let one = tables.extract("mails.jsonl", "one.jsonl", &columns);
    assert_eq!(one.code, Some(0), "{one:?}");
    for (name, more) in [
        (
            "parts.jsonl",
            ["--part-rows", "3", "--keep", "id,body,from"],
        ),
        ("drawn.jsonl", ["--part-rows", "1000", "--limit", "1000"]),
    ] {
        let again = tables.extract("mails.jsonl", name, &[&columns[..], &more].concat());
        assert_eq!(again.code, Some(0), "{again:?}");
        assert_eq!(tables.read(name), tables.read("one.jsonl"));
    }
    let mut three = tables.command(crate::support::extract_args("mails.jsonl", "three.jsonl"));
    three.args(columns).args(["--part-rows", "4"]);
    assert_eq!(crate::support::run(&mut three).code, Some(0));
    assert_eq!(tables.read("three.jsonl"), tables.read("one.jsonl"));
}

#[test]
fn limits_and_samples_are_of_the_rows_of_all_files() {
    let tables = Tables::new();
    for (name, rows) in [("a.jsonl", 10), ("b.jsonl", 20)] {
        tables.write(name, mails(rows));
    }
    let common = [
        "--column",
        "body",
        "--schema",
        "contact.json",
        "--part-rows",
        "4",
    ];
    let both = ["extract", "--input", "a.jsonl", "b.jsonl"]
        .iter()
        .chain(&common);
    let limited = tables.run(
        both.clone()
            .chain(&["--output", "l.jsonl", "--limit", "13"]),
    );
    assert_eq!(limited.code, Some(0), "{limited:?}");
    let expected: Vec<u64> = (0..10).chain(0..3).collect();
    assert_eq!(ids(&tables.read("l.jsonl")), expected);
    let sampled = tables.run(both.chain(&["--output", "s.jsonl", "--sample", "6"]));
    assert_eq!(sampled.code, Some(0), "{sampled:?}");
    assert_eq!(ids(&tables.read("s.jsonl")), [4, 9, 4, 9, 14, 19]);
}

#[test]
fn a_dry_run_estimates_and_writes_nothing() {
    let tables = Tables::new().with_mails(500);
    let outcome = tables.extract("mails.jsonl", "out.parquet", &["--dry-run"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.err.starts_with("64 rows tried in "), "{outcome:?}");
    assert!(
        outcome.err.contains("All 500 rows would take about"),
        "{outcome:?}"
    );
    let files = std::fs::read_dir(tables.path()).unwrap().count();
    assert_eq!(files, 2);
}

#[test]
fn what_is_there_is_not_replaced_by_accident() {
    let tables = Tables::new().with_mails(3);
    assert_eq!(
        tables
            .extract("mails.jsonl", "out.csv", &["--keep", "id"])
            .code,
        Some(0)
    );
    let first = tables.read("out.csv");
    let again = tables.extract("mails.jsonl", "out.csv", &["--keep", "id"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.err.contains("--overwrite"), "{again:?}");
    let again = tables.extract("mails.jsonl", "out.csv", &["--keep", "id", "--overwrite"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(tables.read("out.csv"), first);
}
