//! `structgen play`, as far as it works without a terminal; its screens are tested in `structgen-play`.

use crate::support::{PERSON, run, runtime, structgen, write};

#[test]
fn a_terminal_is_asked_for() {
    run(&mut structgen(["play"])).is_bad_input(&["a terminal is needed", "--plot FILE.svg"]);
    let unknown = run(&mut structgen(["play", "--scene", "dance"]));
    assert_eq!(unknown.code, 2, "{unknown:?}");
    assert!(
        unknown.err.contains("temperature, top-k, top-p"),
        "{unknown:?}"
    );
    run(&mut structgen(["play", "--plot", "x.gif"])).is_bad_input(&["end in .svg or .png"]);
}

/// Returns the texts of a screenshot.
fn screen(args: &[&str]) -> String {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("screen.svg");
    let run = run(structgen(["play", "--plot"]).arg(&path).args(args));
    assert_eq!(run.code, 0, "{run:?}");
    let svg = std::fs::read_to_string(path).unwrap();
    let texts = svg.lines().filter(|line| line.starts_with("<text"));
    let texts = texts.filter_map(|line| Some(line.split_once('>')?.1.split_once('<')?.0));
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn each_scene_goes_to_its_end_on_the_embedded_model() {
    let found = screen(&["--scene", "temperature"]);
    assert!(found.contains("temperature ● 2.00"), "{found}");
    // The default is a text with a wide choice.
    let found = screen(&["--scene", "top-k"]);
    assert!(found.contains(" 10 of "), "{found}");
    assert!(!found.contains("no step allows"), "{found}");
    let found = screen(&["--scene", "top-p"]);
    assert!(found.contains("0.50"), "{found}");
    let found = screen(&["--scene", "together"]);
    assert!(found.contains("The output has ended"), "{found}");
}

#[test]
fn a_constraint_that_is_refused_is_shown_in_the_editor() {
    let found = screen(&["--json-schema", r#"{"type": "objekt"}"#]);
    assert!(found.contains("line 1, column 10: #/type:"), "{found}");
    let found = screen(&["--grammar", "root ::= a\n"]);
    assert!(
        found.contains("line 1, column 10: there is no rule `a`"),
        "{found}"
    );
}

#[test]
fn a_grammar_in_a_file_imports_others_and_its_warnings_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "digit.gbnf", "root ::= [0-9]\n");
    let main = "%import d \"digit.gbnf\"\nroot ::= d d\nspare ::= \"x\"\n";
    let main = write(dir.path(), "main.gbnf", main);
    let found = screen(&["--grammar", main.to_str().unwrap(), "--tokens", "1"]);
    assert!(found.contains("token 1 of 1"), "{found}");
    assert!(found.contains("(line 3, column 1: nothing"), "{found}");
    // A mistake in the file itself is marked, and one in another file is named with that file.
    let broken = write(dir.path(), "broken.gbnf", "root ::= a\n");
    let found = screen(&["--grammar", broken.to_str().unwrap()]);
    assert!(
        found.contains("line 1, column 10: there is no rule `a`"),
        "{found}"
    );
    let other = write(
        dir.path(),
        "other.gbnf",
        "%import b \"broken.gbnf\"\nroot ::= b\n",
    );
    let found = screen(&["--grammar", other.to_str().unwrap()]);
    assert!(found.contains("broken.gbnf, line 1, column 10"), "{found}");
}

#[test]
fn an_extraction_is_shown_with_its_reader() {
    let found = screen(&[]);
    assert!(found.contains("reader"), "{found}");
    let found = screen(&["--no-reader"]);
    assert!(!found.contains("reader"), "{found}");
}

#[test]
fn tokens_that_are_taken_at_once_are_those_of_the_steps() {
    let args = [
        "--prompt",
        "Mia is 31.",
        "--json-schema",
        PERSON,
        "--seed",
        "1",
    ];
    let found = screen(&[&args[..], &["--tokens", "999"]].concat());
    assert!(
        found.contains("The output has ended") && found.contains("\"Mia\""),
        "{found}"
    );
    let found = screen(&[&args[..], &["--tokens", "3"]].concat());
    assert!(found.contains("token 3 of 3"), "{found}");
}
