//! What `structgen generate` reports about outputs besides their text.

use crate::support::{PERSON, run, runtime, structgen, write};
use serde_json::{Value, json};

fn lines(out: &str) -> Vec<Value> {
    let lines = out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn events_are_lines_that_tell_the_output() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let command = |flags: &[&str]| {
        let mut command = structgen(["generate", "--json-schema"]);
        let run = run(command.arg(&schema).args(flags).arg("Ada is 36"));
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    };
    let text = command(&[]);
    for flags in [
        &["--events"][..],
        &[
            "--events",
            "--strategy",
            "speculate",
            "--set",
            "lookup=on",
            "--set",
            "forced_text=true",
        ],
    ] {
        let told = lines(&command(flags));
        assert_eq!(
            told[0],
            json!({"event": "started", "pointer": "", "kind": "object", "start": 0})
        );
        let name: String = { told.iter() }
            .filter(|line| line["event"] == "delta" && line["pointer"] == "/name")
            .map(|line| line["text"].as_str().unwrap())
            .collect();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["name"], name);
        let done = &told[told.len() - 2];
        assert_eq!(done["event"], "done");
        assert_eq!(
            done["span"],
            json!({"start": 0, "end": text.trim_end().len()})
        );
        let end = told.last().unwrap();
        assert_eq!(
            (&end["event"], end["finish"].is_string()),
            (&json!("end"), true)
        );
        assert_eq!(end.get("fields"), None);
    }
    let told = lines(&command(&["--events", "--confidence"]));
    assert_eq!(told.last().unwrap()["fields"][0]["pointer"], "");
}

#[test]
fn captures_and_text_have_events_as_well() {
    runtime();
    let events = |pattern: &str| {
        let run = run(&mut structgen([
            "generate", "--events", "--regex", pattern, "one",
        ]));
        assert_eq!(run.code, 0, "{run:?}");
        lines(&run.out)
    };
    let told = events("(?<word>[a-c]{3})-(?<rest>x)");
    let started = told.iter().filter(|line| line["event"] == "started");
    let names: Vec<&Value> = started.map(|line| &line["name"]).collect();
    assert_eq!(names, ["word", "rest"]);
    let told = events("[a-c]{3}");
    assert!(
        told[..told.len() - 1]
            .iter()
            .all(|line| line["event"] == "text")
    );
}

#[test]
fn details_and_confidence_are_one_object_of_the_output() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let run_with = |flags: &[&str]| {
        let mut command = structgen(["generate", "--json-schema"]);
        let run = run(command.arg(&schema).args(flags).arg("Ada is 36"));
        assert_eq!(run.code, 0, "{run:?}");
        lines(&run.out)
    };
    let told = run_with(&[
        "--confidence",
        "--details",
        "--set",
        "alternatives=3",
        "--set",
        "refused=2",
    ]);
    let [output] = &told[..] else {
        panic!("{told:?}")
    };
    let text = output["text"].as_str().unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    for field in output["fields"].as_array().unwrap() {
        let place = |end: &str| field["span"][end].as_u64().unwrap() as usize;
        let written: Value = serde_json::from_str(&text[place("start")..place("end")]).unwrap();
        assert_eq!(
            value.pointer(field["pointer"].as_str().unwrap()),
            Some(&written)
        );
        let (model, allowed) = (&field["model"]["log_prob"], &field["allowed"]["log_prob"]);
        assert!(model.as_f64().unwrap() <= allowed.as_f64().unwrap() + 1e-4);
    }
    let tokens = output["tokens"].as_array().unwrap();
    let joined: String = tokens
        .iter()
        .map(|token| token["text"].as_str().unwrap())
        .collect();
    assert!(joined.starts_with(text));
    for token in tokens.iter().filter(|token| token["forced"] == false) {
        assert_eq!(token["alternatives"][0]["id"], token["id"]);
        assert!(token["seconds"].as_f64().unwrap() > 0.0);
        assert!(token["mask"]["allowed"].as_u64().unwrap() > 1);
        for refused in token["mask"]["refused"].as_array().unwrap() {
            assert!(refused["log_prob"].as_f64().unwrap() <= 0.0);
        }
    }
    assert!(output["stats"]["seconds"]["model"].as_f64().unwrap() > 0.0);
    for flags in [
        &["-n", "2", "--confidence"][..],
        &["--strategy", "beam", "--set", "width=2", "--confidence"],
        &[
            "--strategy",
            "asap",
            "--set",
            "forced_end=free",
            "--confidence",
        ],
    ] {
        let told = run_with(flags);
        assert_eq!(told[0]["fields"][0]["kind"], "object");
    }
}

#[test]
fn confidence_of_what_is_no_json_is_refused_before_a_model_is_loaded() {
    for constraint in [&[][..], &["--regex", "[a-z]+"]] {
        let mut command = structgen(["generate", "--model", "/nowhere", "--confidence"]);
        let run = run(command.args(constraint).arg("x"));
        assert_eq!((run.code, run.out.as_str()), (2, ""));
        assert!(run.err.contains("--json-schema"), "{}", run.err);
    }
}

#[test]
fn each_of_several_documents_is_on_one_line_whatever_whitespace_the_model_writes() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../structgen/tests/goldens/model"
    );
    let indented = ["--set", "schema.whitespace=indent:2", "--model", model];
    let extract = |flags: &[&str]| {
        let mut command = structgen(["extract", "--schema"]);
        let command = command.arg(&schema).args(indented).args(flags);
        let run = run(command.arg("Ada is 36"));
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    };
    // Alone, the document is as the model wrote it.
    assert!(extract(&[]).starts_with("{\n  \""));
    let several = extract(&["-n", "2", "--temperature", "1", "--seed", "1"]);
    assert_eq!(lines(&several).len(), 2, "{several}");
}

#[test]
fn free_text_is_done_at_its_limit_and_constrained_text_is_cut() {
    runtime();
    let generate = |flags: &[&str]| {
        let mut command = structgen(["generate", "--max-tokens", "3", "Hi"]);
        run(command.args(flags))
    };
    let free = generate(&[]);
    assert_eq!(free.code, 0, "{free:?}");
    generate(&["--regex", "[a-z]{200}"]).is_bad_input(&["3 are allowed"]);
    let cut = generate(&["--regex", "a+[a-z]", "--stop", "a"]);
    assert_eq!(cut.code, 1, "{cut:?}");
    assert!(cut.err.contains("before it was complete"), "{cut:?}");
}
