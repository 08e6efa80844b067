//! `structgen-bench extract`.

use crate::support::{bench, model_folder, run, runtime, write};
use serde_json::{Value, json};

const PERSON: &str = r#"{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"},
    "nick": {"type": "string"}}, "required": ["name", "age"]}"#;

/// Three texts in two languages, the last of which exceeds the embedded model's context.
fn set() -> String {
    let schema: Value = serde_json::from_str(PERSON).unwrap();
    let config = std::fs::read(model_folder().join("config.json")).unwrap();
    let config: Value = serde_json::from_slice(&config).unwrap();
    let context = config["max_position_embeddings"].as_u64().unwrap() as usize;
    let line = |value: Value| value.to_string() + "\n";
    line(
        json!({"text": "Ruben Keller, 36 years old", "schema": schema, "expected": {"name": "Ruben Keller", "age": 36},
        "id": "ruben", "kind": "note", "language": "en", "domain": "people"}),
    ) + &line(
        json!({"text": "Bob turned 7", "schema": schema, "expected": {"name": "Bob", "age": 7}, "language": "en"}),
    ) + &line(
        json!({"text": "x 1 ".repeat(context / 2), "schema": schema, "expected": {"name": "Ada", "age": 1},
            "id": "long", "language": "de"}),
    )
}

#[test]
fn answers_are_scored_in_every_mode_and_strategy() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "people.jsonl", set());
    let log = concat!(
        r#"{"tokens": 1000000, "step": 9, "loss": 2.0, "validation": [0.1, 0.4], "test": [0.0, 0.3]}"#,
        "\n",
        r#"{"tokens": 2000000, "step": 19, "loss": 1.0, "validation": [0.2, 0.6], "test": [0.1, 0.5]}"#,
        "\n"
    );
    let log = write(dir.path(), "main.jsonl", log);
    let at = |name: &str| dir.path().join(name);
    let mut command = bench([
        "extract",
        "--mode",
        "constrained,unconstrained",
        "--show",
        "all",
    ]);
    command.args([
        "--strategy",
        "greedy,beam:2,speculative",
        "--jobs",
        "2",
        "--long-text",
        "refuse",
        "--max-tokens",
        "200",
        "--set",
    ]);
    command.arg(&file).arg("--json").arg(at("out.json"));
    command
        .arg("--card")
        .arg(at("card.md"))
        .arg("--plots")
        .arg(at("plots"));
    let run = run(command.arg("--training-log").arg(&log));
    assert_eq!(run.code, 0, "{run:?}");
    for line in [
        "people, 3 texts",
        "fields exact by type",
        "no answer: does not fit",
        "ruben (people, constrained, greedy): ",
        "/nick",
    ] {
        assert!(run.out.contains(line), "{line}: {}", run.out);
    }

    let figures: Value = serde_json::from_slice(&std::fs::read(at("out.json")).unwrap()).unwrap();
    assert_eq!(figures["model"], "embedded");
    let results = figures["results"].as_array().unwrap();
    assert_eq!(results.len(), 6);
    for one in results {
        assert_eq!(one["objects"]["of"], 3.0);
        assert_eq!(one["fields"]["of"], 9.0);
        let documents = one["documents"].as_array().unwrap();
        let ids: Vec<&Value> = documents.iter().map(|document| &document["id"]).collect();
        assert_eq!(ids, ["ruben", "2", "long"]);
        assert_eq!(documents[2]["failure"]["reason"], "does_not_fit");
        let fields = documents[2]["fields"].as_array().unwrap();
        assert!(fields.iter().all(|field| field["cause"] == "does_not_fit"));
        // The counts agree with the fields.
        let right = { documents.iter() }
            .flat_map(|document| document["fields"].as_array().unwrap())
            .filter(|field| field.get("cause").is_none());
        let share = right.count() as f64 / 9.0;
        assert!((one["fields"]["share"].as_f64().unwrap() - share).abs() < 1e-12);
        let languages = one["by_language"].as_array().unwrap();
        assert_eq!(
            (&languages[0]["name"], &languages[1]["name"]),
            (&json!("de"), &json!("en"))
        );
        assert!(one["speed"]["documents_per_second"].as_f64().unwrap() > 0.0);
    }
    let of = |mode: &str, strategy: &str| {
        let mut results = results.iter();
        results
            .find(|one| one["mode"] == mode && one["strategy"] == strategy)
            .unwrap()
    };
    let greedy = of("constrained", "greedy");
    // Under the mask every answer is JSON, and every value has a confidence.
    for document in &greedy["documents"].as_array().unwrap()[..2] {
        assert!(document.get("failure").is_none(), "{document}");
        let name = &document["fields"][0];
        let confidence = |of: &str| name["confidence"][of].as_f64().unwrap();
        assert!(confidence("model") > 0.0 && confidence("model") <= confidence("allowed") + 1e-6);
    }
    assert!(greedy["calibration_model"]["fields"].as_u64().unwrap() >= 4);
    // Speculation is exact.
    let answers = |one: &Value| {
        let documents = one["documents"].as_array().unwrap().iter();
        let fields = documents.flat_map(|document| document["fields"].as_array().unwrap().clone());
        fields
            .map(|field| field["actual"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(answers(greedy), answers(of("constrained", "speculative")));

    let card = std::fs::read_to_string(at("card.md")).unwrap();
    assert!(card.starts_with("## Measured\n"), "{card}");
    for line in [
        "### people, 3 texts\n",
        "\n| constrained, beam:2 |",
        "\n| why fields are wrong |",
    ] {
        assert!(card.contains(line), "{line}: {card}");
    }
    for (name, text) in [
        ("calibration.svg", "unconstrained, greedy"),
        ("training.svg", "validation, whole answers"),
    ] {
        let svg = std::fs::read_to_string(at("plots").join(name)).unwrap();
        assert!(svg.starts_with("<svg ") && svg.contains(text), "{svg}");
    }
}

#[test]
fn confidences_are_fitted_to_what_was_right() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "people.jsonl", set());
    let out = dir.path().join("calibration.json");
    let fit = |mode: &str| {
        let mut command = bench(["extract", "--limit", "2", "--mode", mode, "--set"]);
        run(command.arg(&file).arg("--calibrate").arg(&out))
    };
    assert_eq!(fit("grounded").code, 0);
    let fitted: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    for kind in ["string", "number", "boolean", "null", "container"] {
        for name in ["intercept", "probability", "model"] {
            let number = |of: &str| fitted[of][kind][name].is_number();
            assert!(number("read") && number("unread"), "{fitted}");
        }
    }
    fit("grounded,constrained").is_bad_input(&["--calibrate", "one --mode"]);
}

#[test]
fn long_texts_are_read_in_windows() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "people.jsonl", set());
    let json = dir.path().join("out.json");
    let mut command = bench([
        "extract",
        "--only",
        "long",
        "--mode",
        "constrained,unconstrained",
    ]);
    command.args(["--max-tokens", "200", "--set"]);
    let run = run(command.arg(&file).arg("--json").arg(&json));
    assert_eq!(run.code, 0, "{run:?}");
    let figures: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let [constrained, unconstrained] = [0, 1].map(|at| &figures["results"][at]);
    assert_eq!(constrained["speed"]["in_windows"], 1);
    let document = &constrained["documents"][0];
    assert!(document.get("failure").is_none() && document["fields"][0]["actual"].is_string());
    // Without a constraint, there is no way to merge several answers.
    assert_eq!(
        unconstrained["documents"][0]["failure"]["reason"],
        "does_not_fit"
    );
}

#[test]
fn one_text_is_asked_for_by_its_id_and_sets_are_cut() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "people.jsonl", set());
    let asked = |args: &[&str]| {
        let mut command = bench(["extract", "--set"]);
        let run = run(command.arg(&file).args(args));
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    };
    let only = asked(&["--only", "2", "--show", "all"]);
    assert!(
        only.contains("people, 1 texts") && only.contains("2 (people"),
        "{only}"
    );
    assert!(asked(&["--limit", "2"]).contains("people, 2 texts"));
    let mut folder = bench(["extract", "--limit", "1", "--set"]);
    let folder = run(folder.arg(&file).arg("--model").arg(model_folder()));
    assert_eq!(folder.code, 0, "{folder:?}");
    let mut drafts = bench(["extract", "--strategy", "speculative", "--set"]);
    run(drafts.arg(&file).arg("--model").arg(model_folder())).is_bad_input(&["--draft-model"]);
}

#[test]
fn wrong_input_is_told_before_a_model_is_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let right = write(dir.path(), "right.jsonl", set());
    for (text, says) in [
        ("[]", "no texts"),
        ("[{\"text\": \"\", \"schema\": {}}]", "expected"),
        (
            "[{\"text\": \"\", \"schema\": {}, \"expected\": {}, \"answer\": 1}]",
            "answer",
        ),
    ] {
        let file = write(dir.path(), "set.json", text);
        run(bench(["extract", "--set"]).arg(&file)).is_bad_input(&[says]);
    }
    let mut command = bench(["extract", "--only", "nobody", "--set"]);
    run(command.arg(&right)).is_bad_input(&["nobody"]);
    let mut command = bench(["extract", "--set"]);
    run(command.arg(&right).arg("--set").arg(&right)).is_bad_input(&["right", "rename"]);
    let log = write(dir.path(), "log.jsonl", "{\"step\": 1}");
    let mut command = bench(["extract", "--plots", "plots", "--set"]);
    run(command.arg(&right).arg("--training-log").arg(&log)).is_bad_input(&["log.jsonl", "tokens"]);
}
