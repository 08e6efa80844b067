//! Required values that the text lacks are announced, however an extraction is asked for.

use crate::support::{run, run_with, runtime, structgen};

const AGED: &str =
    r#"{"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}"#;

#[test]
fn a_missing_value_is_announced_whatever_is_printed() {
    runtime();
    let extract = ["extract", "--schema", AGED];
    let generate = ["generate", "--json-schema", AGED];
    for (command, flags) in [
        (extract, &[][..]),
        (extract, &["-n", "2"]),
        (extract, &["--strategy", "beam"]),
        (extract, &["--events"]),
        (extract, &["--spans"]),
        (generate, &[]),
        (generate, &["-n", "2"]),
        (generate, &["--strategy", "beam"]),
        (generate, &["--events"]),
        (generate, &["--details"]),
    ] {
        let err = |text: &str| {
            let run = run(structgen(command).args(flags).arg(text));
            assert_eq!(run.code, 0, "{flags:?} {run:?}");
            run.err
        };
        let note = "note: the text has no value for /properties/age\n";
        assert_eq!(err("Ada"), note, "{command:?} {flags:?}");
        assert_eq!(err("Ada is 36"), "", "{command:?} {flags:?}");
    }
}

#[test]
fn the_missing_values_of_many_texts_are_announced_by_line() {
    runtime();
    let extract = |flags: &[&str]| {
        let mut command = structgen(["extract", "--jsonl", "--schema", AGED, "-"]);
        let lines = b"{\"text\": \"Ada\", \"id\": 7}\nAda is 36\nnobody\n";
        let run = run_with(command.args(flags), lines);
        assert_eq!((run.code, run.out.lines().count()), (0, 3), "{run:?}");
        run.err
    };
    let notes = "note: line 1: the text has no value for /properties/age\n\
        note: line 3: the text has no value for /properties/age\n";
    assert_eq!(extract(&[]), notes);
    assert_eq!(extract(&["--quiet"]), "");
}

#[test]
fn a_missing_document_is_named() {
    runtime();
    let whole = run(&mut structgen([
        "extract",
        "--schema",
        r#"{"type": "integer"}"#,
        "Ada",
    ]));
    assert_eq!(
        whole.err, "note: the text has no value for the document\n",
        "{whole:?}"
    );
}
