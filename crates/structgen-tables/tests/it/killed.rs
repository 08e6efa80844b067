//! Runs that are killed, and resumed.

use std::thread;
use std::time::Duration;

use crate::support::{Run, Tables, extract_args, ids};

const ROWS: usize = 400;

#[test]
fn a_run_that_is_killed_ten_times_has_each_row_once() {
    let tables = Tables::new().with_mails(ROWS);
    let more = ["--part-rows", "10", "--keep", "id"];
    let whole = tables.extract("mails.jsonl", "whole.jsonl", &more);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let mut kills = 0;
    // Pseudorandom delays without a clock, a different one per kill: a linear congruential generator.
    let mut random = 12_345_u64;
    while kills < 10 && !tables.path().join("out.jsonl").exists() {
        let mut command = tables.command(extract_args("mails.jsonl", "out.jsonl"));
        let mut child = command.args(more).spawn().unwrap();
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        thread::sleep(Duration::from_millis(random >> 54));
        // SIGKILL on Unix.
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    if !tables.path().join("out.jsonl").exists() {
        let last = tables.extract("mails.jsonl", "out.jsonl", &more);
        assert_eq!(last.code, Some(0), "{last:?}");
    }
    let lines = tables.read("out.jsonl");
    assert_eq!(ids(&lines), (0..ROWS as u64).collect::<Vec<_>>());
    assert_eq!(lines, tables.read("whole.jsonl"));
}

fn assert_is_of_another_model(run: &Run) {
    assert_eq!(run.code, Some(2), "{run:?}");
    let reason = "the model or an option of it was different";
    assert!(run.err.contains(reason), "{run:?}");
}

/// Starts a run that does all parts but cannot finish, since a folder blocks its error file.
fn leave_parts(tables: &Tables, more: &[&str]) {
    let blocking = tables.path().join("out.jsonl.errors.jsonl");
    std::fs::create_dir(&blocking).unwrap();
    let blocked = tables.extract("mails.jsonl", "out.jsonl", more);
    assert_eq!(blocked.code, Some(2), "{blocked:?}");
    std::fs::remove_dir(&blocking).unwrap();
}

#[test]
fn only_what_is_missing_is_done_again() {
    let tables = Tables::new().with_mails(40);
    let more = ["--part-rows", "10", "--keep", "id"];
    let parts = tables.path().join("out.jsonl.parts");
    leave_parts(&tables, &more);
    std::fs::remove_file(parts.join("part-00000002.jsonl")).unwrap();
    let rest = tables.extract("mails.jsonl", "out.jsonl", &more);
    assert_eq!(rest.code, Some(0), "{rest:?}");
    assert!(rest.err.contains("40 rows, 10 of them now"), "{rest:?}");
    assert_eq!(ids(&tables.read("out.jsonl")), (0..40).collect::<Vec<_>>());
}

#[test]
fn parts_of_another_run_are_not_taken() {
    let tables = Tables::new().with_mails(20);
    leave_parts(&tables, &[]);
    let other = tables.extract("mails.jsonl", "out.jsonl", &["--temperature", "1"]);
    assert_is_of_another_model(&other);
    // The same number of bytes, but different ones.
    let mails = tables.read("mails.jsonl");
    tables.write("mails.jsonl", mails.replacen("Oslo", "Rome", 1));
    let other = tables.extract("mails.jsonl", "out.jsonl", &[]);
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(other.err.contains("the input was different"), "{other:?}");
    let anew = tables.extract("mails.jsonl", "out.jsonl", &["--overwrite"]);
    assert_eq!(anew.code, Some(0), "{anew:?}");
    assert!(anew.err.contains("20 rows, 20 of them now"), "{anew:?}");
}

#[test]
fn parts_without_a_plan_are_computed_again() {
    let tables = Tables::new().with_mails(20);
    let parts = tables.path().join("out.jsonl.parts");
    leave_parts(&tables, &[]);
    // As if the run had been killed while it removed the folder.
    std::fs::remove_file(parts.join("plan.json")).unwrap();
    std::fs::create_dir(parts.join("folder")).unwrap();
    tables.write(
        "mails.jsonl",
        tables.read("mails.jsonl").replace("Oslo", "Rome"),
    );
    let other = tables.extract("mails.jsonl", "out.jsonl", &[]);
    assert_eq!(other.code, Some(0), "{other:?}");
    assert!(other.err.contains("20 rows, 20 of them now"), "{other:?}");
    assert!(tables.read("out.jsonl").contains("Rome"));
    assert!(!parts.exists());
}

#[test]
fn parts_of_another_model_are_not_taken() {
    let tables = Tables::new().with_mails(3);
    let model = tables.path().join("model");
    let main = &structgen_model::MAIN;
    std::fs::create_dir(&model).unwrap();
    for (name, content) in [
        ("model.onnx", main.model),
        ("tokenizer.json", main.tokenizer),
        ("tokenizer_config.json", main.tokenizer_config.as_bytes()),
        ("config.json", main.config.as_bytes()),
        ("generation_config.json", main.generation_config.as_bytes()),
        ("genai_config.json", main.genai_config.unwrap().as_bytes()),
    ] {
        std::fs::write(model.join(name), content).unwrap();
    }
    let more = ["--model", "model"];
    leave_parts(&tables, &more);
    // A file of the model that changes in place.
    let changed = format!("{}\n", main.generation_config);
    std::fs::write(model.join("generation_config.json"), changed).unwrap();
    let other = tables.extract("mails.jsonl", "out.jsonl", &more);
    assert_is_of_another_model(&other);
}

#[test]
fn two_runs_do_not_write_one_output() {
    // More rows than the first run can do before it is killed.
    let tables = Tables::new().with_mails(10 * ROWS);
    let mut first = tables.command(extract_args("mails.jsonl", "out.jsonl"));
    let mut first = first.spawn().unwrap();
    while !tables.path().join("out.jsonl.parts/plan.json").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    let second = tables.extract("mails.jsonl", "out.jsonl", &[]);
    let third = tables.extract("mails.jsonl", "out.jsonl", &["--overwrite"]);
    first.kill().unwrap();
    first.wait().unwrap();
    for other in [second, third] {
        assert_eq!(other.code, Some(2), "{other:?}");
        assert!(other.err.contains("another run is writing"), "{other:?}");
    }
}
