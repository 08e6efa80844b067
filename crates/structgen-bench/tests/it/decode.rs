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

#[test]
fn loops_have_no_draft_model_and_no_plot() {
    for flag in ["--draft-model", "--plot"] {
        let run = run(&mut bench(["decode", "--loops", flag, "/nonexistent"]));
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains("cannot be used with"), "{run:?}");
    }
}

#[test]
fn the_number_of_threads_is_printed() {
    runtime();
    for (flags, printed) in [
        (&[][..], "; one thread;"),
        (&["--threads", "2"], "; 2 threads;"),
    ] {
        let mut command = bench(["decode", "--loops", "--rounds", "1", "--steps", "2"]);
        let run = run(command.args(flags));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.out.contains(printed), "{}", run.out);
    }
}

#[test]
fn a_folder_without_a_tokenizer_json_runs_with_the_files_that_transformers_reads() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    for name in ["config.json", "generation_config.json", "model.onnx"] {
        std::fs::copy(model_folder().join(name), dir.path().join(name)).unwrap();
    }
    write_slow_tokenizer(dir.path());
    let mut command = bench(["decode", "--loops", "--rounds", "1", "--steps", "2"]);
    let run = run(command.arg("--model").arg(dir.path()));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("unconstrained, 2 tokens: "), "{}", run.out);
}

/// Writes the tokenizer of the embedded model as `vocab.json`, `merges.txt` and their configuration.
fn write_slow_tokenizer(folder: &std::path::Path) {
    let tokenizer = std::fs::read(model_folder().join("tokenizer.json")).unwrap();
    let tokenizer: Value = serde_json::from_slice(&tokenizer).unwrap();
    let model = &tokenizer["model"];
    write(folder, "vocab.json", model["vocab"].to_string());
    let merges = model["merges"].as_array().unwrap().iter();
    let merges = merges.map(|pair| {
        let text = |at: usize| pair[at].as_str().unwrap();
        format!("{} {}\n", text(0), text(1))
    });
    let merges = "#version: 0.2\n".to_owned() + &merges.collect::<String>();
    write(folder, "merges.txt", merges);
    let added = tokenizer["added_tokens"].as_array().unwrap().iter();
    let added: serde_json::Map<_, _> = added
        .map(|token| (token["id"].to_string(), token.clone()))
        .collect();
    let config = std::fs::read(model_folder().join("tokenizer_config.json")).unwrap();
    let mut config: Value = serde_json::from_slice(&config).unwrap();
    config["tokenizer_class"] = "GPT2Tokenizer".into();
    config["added_tokens_decoder"] = added.into();
    write(folder, "tokenizer_config.json", config.to_string());
}
