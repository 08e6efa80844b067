//! Invalid rows, damaged files, full disks: the outcomes that the guide promises.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BinaryArray, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use serde_json::Value;

use crate::support::{Tables, extract_args, ids, run};

/// Returns the errors of an error file: row numbers and reasons.
fn errors(tables: &Tables, name: &str) -> Vec<(u64, String)> {
    let lines = tables.read(name);
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = lines.map(|it| {
        (
            it["row"].as_u64().unwrap(),
            it["error"].as_str().unwrap().into(),
        )
    });
    lines.collect()
}

#[test]
fn bad_rows_of_parquet_are_in_the_side_file_and_in_their_places() {
    let tables = Tables::new();
    let huge = vec![b'a'; 10 << 20];
    let bodies: Vec<Option<&[u8]>> = vec![
        Some(b"Ada from Graz"),
        None,
        Some(b"caf\xE9"),
        Some(&huge),
        Some(b"\0\x01\x02\x03"),
        Some(b""),
    ];
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..6))),
        ("body", Arc::new(BinaryArray::from(bodies))),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(a, b)| (a, b, true))).unwrap();
    let file = fs::File::create(tables.path().join("t.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let outcome = tables.extract("t.parquet", "out.jsonl", &["--keep", "id"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.err.contains("2 rows have no value"), "{outcome:?}");
    let rows = tables.read("out.jsonl");
    assert_eq!(ids(&rows), [0, 1, 2, 3, 4, 5]);
    let found = errors(&tables, "out.jsonl.errors.jsonl");
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0].0, 2);
    assert!(found[0].1.contains("not UTF-8: the byte at offset 3"));
    assert_eq!(found[1].0, 3);
    assert!(found[1].1.contains("10485760 bytes"));
}

#[test]
fn bad_lines_keep_their_places() {
    let tables = Tables::new();
    let lines: [&[u8]; 7] = [
        br#"{"id": 0, "body": "Ada from Graz"}"#,
        b"{\"id\": 1, \"body\": ",
        b"",
        br#"{"id": 2}"#,
        br#"{"id": 3, "body": 7}"#,
        b"{\"id\": 4, \"body\": \"caf\xE9\"}",
        br#"{"id": 5, "body": "Mia from Oslo"}"#,
    ];
    tables.write("t.jsonl", lines.join(&b'\n'));
    let outcome = tables.extract(
        "t.jsonl",
        "out.jsonl",
        &["--keep", "id", "--part-rows", "2"],
    );
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let rows = tables.read("out.jsonl");
    let found: Vec<Value> = rows
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let id = |row: usize| found[row]["id"].as_u64();
    // A line that is not JSON has no id to keep; the empty line is not a row.
    let all: Vec<_> = (0..found.len()).map(id).collect();
    assert_eq!(all, [Some(0), None, Some(2), Some(3), None, Some(5)]);
    assert!(found[5]["city"].is_string());
    let rows: Vec<u64> = { errors(&tables, "out.jsonl.errors.jsonl").into_iter() }
        .map(|(row, _)| row)
        .collect();
    assert_eq!(rows, [1, 3, 4]);
}

#[test]
fn csv_with_bad_rows_keeps_their_places() {
    let tables = Tables::new();
    let csv = b"id,body,note\n0,Ada from Graz,a\n1,\"two\nlines\",b\n2,short\n3,caf\xE9,c\n4,x,n\xF6\n5,,d\n";
    tables.write("t.csv", csv);
    let outcome = tables.extract("t.csv", "out.csv", &["--keep", "id,note"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let rows: Vec<u64> = { errors(&tables, "out.csv.errors.jsonl").into_iter() }
        .map(|(row, _)| row)
        .collect();
    assert_eq!(rows, [2, 3, 4]);
    let out = tables.read("out.csv");
    let first = |line: &str| line.split(',').next().unwrap().to_owned();
    let first: Vec<_> = out.lines().map(first).collect();
    assert_eq!(first, ["id", "0", "1", "2", "3", "4", "5"]);
}

#[test]
fn what_cannot_be_planned_is_said_before_anything_is_written() {
    let tables = Tables::new().with_mails(3);
    tables.write("bad.json", r#"{"type": "strin"}"#);
    tables.write("broken.json", "{");
    tables.write("empty.jsonl", "");
    tables.write("not.parquet", "no");
    let args = |column: &'static str, schema: &'static str, input: &'static str| {
        [
            "extract",
            "--output",
            "out.parquet",
            "--column",
            column,
            "--schema",
            schema,
            "--input",
            input,
        ]
    };
    for (args, expected) in [
        (
            args("text", "contact.json", "mails.jsonl"),
            "has no column \"text\"; it has id, body, from",
        ),
        (args("body", "bad.json", "mails.jsonl"), "strin"),
        (args("body", "broken.json", "mails.jsonl"), "not JSON"),
        (args("body", "none.json", "mails.jsonl"), "none.json"),
        (args("body", "contact.json", "none.jsonl"), "none.jsonl"),
        (args("body", "contact.json", "not.parquet"), "not.parquet"),
        (args("body", "contact.json", "mails.txt"), "has to end in"),
        (
            args("body", "contact.json", "empty.jsonl"),
            "has no column \"body\"",
        ),
    ] {
        let outcome = tables.run(args);
        assert_eq!(outcome.code, Some(2), "{args:?}: {outcome:?}");
        assert!(outcome.err.contains(expected), "{args:?}: {outcome:?}");
        assert!(
            !tables.path().join("out.parquet.parts").exists(),
            "{args:?}"
        );
    }
    let taken = tables.run(args(
        "body",
        r#"{"type": "object", "properties": {"id": {"type": "integer"}}}"#,
        "mails.jsonl",
    ));
    assert_eq!(taken.code, Some(2), "{taken:?}");
    assert!(
        taken
            .err
            .contains("\"id\" is one of the input and one of the schema"),
        "{taken:?}"
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_said_at_once() {
    let tables = Tables::new().with_mails(3);
    // A file in place of a folder fails even for users who may write everywhere.
    tables.write("file", "");
    let outcome = tables.extract("mails.jsonl", "file/out.parquet", &[]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(
        outcome.err.contains("nothing can be written in"),
        "{outcome:?}"
    );
    let outcome = tables.run(["sql", "SELECT 1", "--output", "file/out.parquet"]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(
        outcome.err.contains("nothing can be written in"),
        "{outcome:?}"
    );
}

/// Returns a command with a limit on file sizes, in kibibytes: writing fails as on a full disk.
#[cfg(unix)]
fn with_small_files(tables: &Tables, kibibytes: u32, args: &[&str]) -> Command {
    let program = tables.command::<&str>([]).get_program().to_owned();
    let mut command = Command::new("bash");
    // With the signal ignored, a write reports the error to the program.
    let script = format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(program).args(args);
    command.current_dir(tables.path());
    command
}

#[test]
#[cfg(unix)]
fn a_full_disk_ends_the_run_and_a_later_one_goes_on() {
    let tables = Tables::new().with_mails(200);
    let more = ["--part-rows", "50", "--keep", "id"];
    let args = [extract_args("mails.jsonl", "out.jsonl"), more.to_vec()].concat();
    // Each part fits, but all of them together do not.
    let full = run(&mut with_small_files(&tables, 8, &args));
    assert_eq!(full.code, Some(2), "{full:?}");
    assert!(full.err.contains("out.jsonl cannot be written"), "{full:?}");
    assert!(!tables.path().join("out.jsonl").exists());
    assert!(no_temporary_files(tables.path()));
    let rest = run(&mut tables.command(&args));
    assert_eq!(rest.code, Some(0), "{rest:?}");
    assert!(rest.err.contains("200 rows, 0 of them now"), "{rest:?}");
    assert_eq!(ids(&tables.read("out.jsonl")), (0..200).collect::<Vec<_>>());
}

#[cfg(unix)]
fn no_temporary_files(folder: &Path) -> bool {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().file_name());
    names
        .into_iter()
        .all(|name| !name.to_string_lossy().starts_with(".structgen-"))
}
