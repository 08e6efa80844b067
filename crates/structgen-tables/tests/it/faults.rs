//! Invalid rows, damaged files, full disks: the outcomes that the guide promises.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
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
fn a_csv_file_that_ends_within_quotes_is_refused() {
    let tables = Tables::new();
    let csv = "id,body\r\n0,Ada\r\n1,\"two\r\nlines\"\r\n2,\"Mia from Oslo\r\n3,x\r\n4,y\r\n";
    tables.write("t.csv", csv);
    let outcome = tables.extract("t.csv", "out.csv", &[]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    let expected = "t.csv cannot be read: the quoted field that begins in line 5 is not closed";
    assert!(outcome.err.contains(expected), "{outcome:?}");
    assert!(!tables.path().join("out.csv.parts").exists());
    let queried = tables.run(["sql", "SELECT id FROM 't.csv'"]);
    assert_eq!(queried.code, Some(2), "{queried:?}");
    assert!(queried.err.contains("line 5 is not closed"), "{queried:?}");
}

#[test]
fn numbers_are_kept_as_they_are_written() {
    let tables = Tables::new();
    let lines = [
        r#"{"body": "Ada", "id": 9007199254740993, "tiny": 1e-400, "sum": 0.30000000000000004}"#,
        r#"{"body": "Mia", "id": 0.5, "tiny": 2, "sum": 1}"#,
    ];
    tables.write("t.jsonl", lines.join("\n"));
    let outcome = tables.extract("t.jsonl", "out.jsonl", &["--keep", "id,tiny,sum"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let rows = tables.read("out.jsonl");
    for row in [
        r#"{"id":"9007199254740993","tiny":"1e-400","sum":0.30000000000000004,"#,
        r#"{"id":"0.5","tiny":"2","sum":1.0,"#,
    ] {
        assert!(rows.contains(row), "{rows}");
    }
}

#[test]
fn a_value_that_cannot_be_read_is_reported() {
    let tables = Tables::new();
    let lines = [
        r#"{"id": 0, "body": "Ada from Graz", "note": "fine"}"#,
        r#"{"id": 1, "body": "Mia from Oslo", "note": "half a pair: \ud800"}"#,
    ];
    tables.write("t.jsonl", lines.join("\n"));
    let outcome = tables.extract("t.jsonl", "out.jsonl", &["--keep", "id,note"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let found = errors(&tables, "out.jsonl.errors.jsonl");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, 1);
    assert!(found[0].1.contains("the column \"note\""), "{found:?}");
    let rows = tables.read("out.jsonl");
    assert!(
        rows.contains(r#"{"id":1,"note":null,"name":"Mia""#),
        "{rows}"
    );
}

#[test]
fn reasons_are_in_the_column_as_in_the_side_file() {
    let tables = Tables::new();
    let lines = ["{\"body\": \"Ada from Graz\"}", "{", "{\"body\": 7}"];
    tables.write("t.jsonl", lines.join("\n"));
    let csv = b"id,body\n0,Ada from Graz\n1\n2,caf\xE9\nn\xF6,Mia from Oslo\n";
    tables.write("t.csv", csv);
    for (input, expected) in [("t.jsonl", &[1, 2][..]), ("t.csv", &[1, 2, 3])] {
        for output in ["out.jsonl", "out.csv"] {
            let more = ["--columns", "error", "--overwrite"];
            let outcome = tables.extract(input, output, &more);
            assert_eq!(outcome.code, Some(1), "{outcome:?}");
            let query = format!("SELECT _error AS error FROM '{output}'");
            let column = tables.run(["sql", &query, "--format", "jsonl"]).out;
            let column = column.lines().enumerate().filter_map(|(row, line)| {
                let line: Value = serde_json::from_str(line).unwrap();
                Some((row as u64, line["error"].as_str()?.to_owned()))
            });
            let found = errors(&tables, &format!("{output}.errors.jsonl"));
            assert_eq!(column.collect::<Vec<_>>(), found);
            let rows: Vec<u64> = found.iter().map(|(row, _)| *row).collect();
            assert_eq!(rows, expected);
        }
    }
}

#[test]
fn parquet_that_declares_another_number_of_rows_is_damaged() {
    let tables = Tables::new();
    let bodies: ArrayRef = Arc::new(StringArray::from(vec!["Ada", "Mia", "Jo"]));
    let batch = RecordBatch::try_from_iter([("body", bodies)]).unwrap();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    // In Thrift's compact format: 3 rows, followed by a list of one row group.
    let declaration = b"\x16\x06\x19\x1C";
    let at = file.windows(4).rposition(|it| it == declaration).unwrap();
    for rows in [
        &b"\x04"[..],
        b"\x08",
        b"\x05",
        b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",
    ] {
        let mut damaged = file.clone();
        damaged.splice(at + 1..at + 2, rows.iter().copied());
        let end = damaged.len() - 8;
        let length = u32::from_le_bytes(damaged[end..end + 4].try_into().unwrap());
        let length = length + rows.len() as u32 - 1;
        damaged[end..end + 4].copy_from_slice(&length.to_le_bytes());
        tables.write("t.parquet", damaged);
        let outcome = tables.extract("t.parquet", "out.jsonl", &[]);
        assert_eq!(outcome.code, Some(2), "{rows:?}: {outcome:?}");
        assert!(
            outcome
                .err
                .contains("t.parquet cannot be read: it is damaged"),
            "{outcome:?}"
        );
    }
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
