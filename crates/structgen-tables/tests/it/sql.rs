//! `sql`: files as tables, names of schemas, and where rows go.

use crate::support::{CONTACT, Tables, ids};

#[test]
fn a_query_reads_files_and_writes_one() {
    let tables = Tables::new().with_mails(12);
    let query =
        "SELECT id, extract(body, 'contact').* FROM '*.jsonl' WHERE id < 9 ORDER BY id DESC";
    let args = [
        "sql",
        query,
        "--schema",
        "contact=contact.json",
        "--output",
        "found.parquet",
    ];
    let outcome = tables.run(args);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let found = tables.run(["sql", "SELECT id, name FROM 'found.parquet'"]);
    assert_eq!(ids(&found.out), [8, 7, 6, 5, 4, 3, 2, 1, 0]);
}

#[test]
fn partitions_and_batches_do_not_change_rows() {
    let tables = Tables::new().with_mails(30);
    let query =
        "SELECT id, extract(body, 'contact.json', 'confidence').* FROM 'mails.jsonl' ORDER BY id";
    let one = tables.run(["sql", query, "--workers", "1"]);
    assert_eq!(one.code, Some(0), "{one:?}");
    let many = ["--workers", "3", "--partitions", "4", "--batch-rows", "2"];
    let many = tables.run(["sql", query].iter().chain(&many));
    assert_eq!(many.out, one.out);
}

#[test]
fn rows_that_cannot_be_done_are_counted() {
    let tables = Tables::new();
    tables.write(
        "t.csv",
        format!("id,body\n1,Ada from Graz\n2,{}\n", "x".repeat(200)),
    );
    let query = "SELECT id, extract(body, 'contact.json', 'error').* FROM 't.csv'";
    let outcome = tables.run(["sql", query, "--max-text-bytes", "100"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(
        outcome.err.contains("1 of 2 rows could not be done"),
        "{outcome:?}"
    );
    assert_eq!(ids(&outcome.out), [1, 2]);
    assert!(
        outcome
            .out
            .contains("the text has 200 bytes, and 100 are allowed")
    );
}

#[test]
fn types_are_those_of_all_rows() {
    let tables = Tables::new();
    let lines = "{\"price\": 1}\n".repeat(1_200) + "{\"price\": 19.99, \"late\": \"x\"}\n";
    tables.write("prices.jsonl", lines);
    let query = "SELECT max(price) AS price, max(late) AS late FROM 'prices.jsonl'";
    let json = tables.run(["sql", query]);
    assert_eq!(
        json.out.trim_end(),
        r#"{"price":19.99,"late":"x"}"#,
        "{json:?}"
    );
    tables.write(
        "prices.csv",
        format!("price\n{}19.99\n", "1\n".repeat(1_200)),
    );
    let query = "SELECT max(price) AS price FROM 'prices.csv'";
    let csv = tables.run(["sql", query]);
    assert_eq!(csv.out.trim_end(), r#"{"price":19.99}"#, "{csv:?}");
}

#[test]
fn quotes_and_backslashes_in_csv_are_text() {
    let tables = Tables::new();
    let mut csv = "n,path\n".to_owned();
    for row in 0..2_000 {
        csv += &match row {
            700 | 1_400 => format!("{row},\"C:\\\"\n"),
            _ => format!("{row},\"two\nlines, {row}\"\n"),
        };
    }
    csv += "2000.5,5\" wide\n";
    tables.write("paths.csv", csv);
    let query = "SELECT count(*) AS rows, max(n) AS n, max(path) AS path FROM 'paths.csv'";
    let found = tables.run(["sql", query]);
    let expected = r#"{"rows":2001,"n":2000.5,"path":"two\nlines, 999"}"#;
    assert_eq!(found.out.trim_end(), expected, "{found:?}");
}

#[test]
fn a_union_of_different_types_is_written_in_all_formats() {
    let tables = Tables::new();
    tables.write("ids.jsonl", "{\"n\": 1}\n");
    tables.write("names.csv", "n\nAda\n");
    let query = "SELECT n FROM 'ids.jsonl' UNION ALL SELECT n FROM 'names.csv'";
    for name in ["all.parquet", "all.csv", "all.jsonl"] {
        let written = tables.run(["sql", query, "--output", name]);
        assert_eq!(written.code, Some(0), "{name}: {written:?}");
        let read = format!("SELECT n FROM '{name}' ORDER BY n");
        let read = tables.run(["sql", &read]);
        assert_eq!(read.out, "{\"n\":\"1\"}\n{\"n\":\"Ada\"}\n", "{name}");
    }
    let numbers = "SELECT 1 AS n UNION ALL SELECT 2.5";
    let numbers = tables.run(["sql", numbers, "--output", "numbers.parquet"]);
    assert_eq!(numbers.code, Some(0), "{numbers:?}");
}

#[test]
fn mistakes_are_named() {
    let tables = Tables::new().with_mails(3);
    tables.write("bad.json", CONTACT.replace("object", "objekt"));
    for (query, expected) in [
        ("SELECT * FROM 'none.jsonl'", "none.jsonl"),
        ("SELECT * FROM 'mails.txt'", "has to end in"),
        ("SELECT nothing FROM 'mails.jsonl'", "nothing"),
        ("SELEC 1", "SELEC"),
        ("SELECT 1; SELECT 2", "one statement"),
        (
            "SELECT extract(body, 'bad.json') FROM 'mails.jsonl'",
            "the schema \"bad.json\" cannot be used: #/type",
        ),
        (
            "SELECT extract(body, 'none.json') FROM 'mails.jsonl'",
            "none.json",
        ),
    ] {
        let outcome = tables.run(["sql", query]);
        assert_eq!(outcome.code, Some(2), "{query}: {outcome:?}");
        assert!(outcome.err.contains(expected), "{query}: {outcome:?}");
        assert_eq!(outcome.out, "", "{query}");
    }
}
