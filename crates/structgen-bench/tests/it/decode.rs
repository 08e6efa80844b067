//! `structgen-bench decode`.

use crate::support::{PERSON, bench, model_folder, run, runtime, write};
use serde_json::Value;

#[test]
fn every_strategy_is_timed_and_writes_what_the_plain_one_writes() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let tasks = format!(
        r#"{{"schema": {PERSON}, "text": "Ada is 36 years old"}} {{"schema": {PERSON}, "text": "Bob turned 7"}}"#
    );
    let tasks = write(dir.path(), "tasks.jsonl", &tasks);
    let (json, plot) = (dir.path().join("out.json"), dir.path().join("out.svg"));
    let mut command = bench(["decode", "--rounds", "2", "--steps", "9", "--tasks"]);
    command.arg(&tasks).arg("--json").arg(&json);
    let run = run(command.arg("--plot").arg(&plot));
    assert_eq!(run.code, 0, "{run:?}");
    for line in [
        "2 tasks",
        "unconstrained, 9 tokens: ",
        "of the tokens per second of bare Session::run, 9 tokens",
        "JSON Schema, plain: ",
        "draft + lookup + forced",
        "one more token, by the length of the text",
        "bytes a token",
    ] {
        assert!(run.out.contains(line), "{line}: {}", run.out);
    }

    let figures: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let contender = |name: &str| {
        let all = figures["strategies"].as_array().unwrap().iter();
        let mut all = all.chain(figures["loops"].as_array().unwrap());
        all.find(|one| one["contender"] == name).unwrap().clone()
    };
    let plain = contender("JSON Schema, plain");
    let texts = plain["texts"].as_array().unwrap();
    assert_eq!(texts.len(), 2);
    for text in texts {
        let value: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        assert!(value["name"].is_string(), "{value}");
    }
    for name in ["lookup", "forced", "draft", "draft + lookup + forced"] {
        let one = contender(&format!("JSON Schema, {name}"));
        assert_eq!(one["texts"], plain["texts"], "{name}");
        assert_eq!(one["rounds"].as_array().unwrap().len(), 2);
        // Drafts must save runs, or they would be useless.
        assert!(one["rounds"][0]["runs"].as_u64() < plain["rounds"][0]["runs"].as_u64());
    }
    let bare = contender("bare Session::run, 9 tokens");
    assert_eq!(bare["rounds"][0]["tokens"], 18);
    let tasks = figures["tasks"].as_array().unwrap();
    assert!(tasks[1]["prompt_ids"].as_array().unwrap().len() > 10);
    let lengths = figures["lengths"].as_array().unwrap();
    assert_eq!(lengths.first().unwrap()["length"], 16);
    assert_eq!(lengths.last().unwrap()["length"], 4096);

    let svg = std::fs::read_to_string(&plot).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    // Axes are thinner.
    let is_drawn =
        |line: &&str| line.starts_with("<polyline") && line.contains("stroke-width=\"2\"");
    assert_eq!(svg.lines().filter(is_drawn).count(), 2);
    assert!(svg.contains("with the cache") && svg.contains("all of the text again"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn a_folder_without_a_draft_model_has_the_strategies_that_need_none() {
    runtime();
    let folder = model_folder();
    let mut command = bench(["decode", "--rounds", "1", "--steps", "4", "--model"]);
    let run = run(command.arg(folder));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("lookup + forced"), "{}", run.out);
    assert!(!run.out.contains("draft"), "{}", run.out);
}

#[test]
fn wrong_tasks_are_told_by_their_file() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    for (text, expected) in [("[]", "no tasks"), ("[{\"text\": 1}]", "cannot be used")] {
        let tasks = write(dir.path(), "tasks.json", text);
        let run = run(bench(["decode", "--tasks"]).arg(&tasks));
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains(expected), "{}", run.err);
    }
}
