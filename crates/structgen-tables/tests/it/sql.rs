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
