//! `structgen lab`, `params --tasks`, and the advice of `generate`.

use serde_json::Value;

use crate::support::{PERSON, model_folder, run, runtime, structgen};

const TOOLS: [&str; 9] = [
    "temperature",
    "step",
    "compare",
    "diversity",
    "repetition",
    "heldout",
    "cache",
    "strategies",
    "advise",
];

fn json(args: &[&str]) -> Value {
    let run = run(&mut structgen([&["lab"], args, &["--json"]].concat()));
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.out.lines().count(), 1, "{run:?}");
    serde_json::from_str(&run.out).unwrap()
}

#[test]
fn every_tool_shows_something_without_a_flag_and_draws_it() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    for (number, tool) in TOOLS.into_iter().enumerate() {
        let is_svg = number % 2 == 0;
        let name = format!("{tool}.{}", if is_svg { "svg" } else { "png" });
        let path = dir.path().join(name);
        let mut command = structgen(["lab", tool, "--plot"]);
        let run = run(command.arg(&path));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.out.contains("──") || run.out.contains(':'), "{run:?}");
        let picture = std::fs::read(&path).unwrap();
        match is_svg {
            true => assert!(picture.starts_with(b"<svg"), "{tool}"),
            false => assert!(picture.starts_with(b"\x89PNG"), "{tool}"),
        }
    }
}

#[test]
fn tables_and_objects_have_the_published_figures() {
    let found = json(&["temperature", "--temperatures", "1"]);
    let row = &found["temperatures"][0];
    assert!((row["entropy"].as_f64().unwrap() - 1.492).abs() < 5e-4);
    assert_eq!(row["effective"], 7);
    let recommended = found["recommended"].as_array().unwrap();
    assert!(recommended.iter().all(|row| row["is_in_band"] == true));

    let found = json(&["compare", "--draws", "10", "--sampler", "top_h=0.4"]);
    assert_eq!(found["nuclei"]["0.9"], 473);
    let methods = found["methods"].as_array().unwrap();
    let top_p = methods.iter().find(|row| row["method"] == "top-p 0.9");
    let exact = top_p.unwrap()["kl_exact"].as_f64().unwrap();
    assert!((exact - 0.105).abs() < 6e-4);
    assert_eq!(methods.last().unwrap()["method"], "top_h=0.4");

    let step = ["step", "--logits", "2 1 .5 -1", "--temperature", "0.5"];
    let found = json(&step);
    let kept = &found["kept"][0]["probability"];
    assert!((kept.as_f64().unwrap() - 0.842).abs() < 5e-4, "{found}");
}

#[test]
fn a_step_under_a_schema_shows_what_the_mask_took() {
    runtime();
    let found = json(&[
        "step",
        "--json-schema",
        PERSON,
        "--prompt",
        "Ada is 36.",
        "--after",
        "{\"name\":\"Ada\",",
    ]);
    let allowed = found["mask"]["allowed"].as_u64().unwrap();
    assert!(allowed > 0 && allowed < found["tokens"].as_u64().unwrap());
    let refused = found["mask"]["refused"].as_array().unwrap();
    assert!(!refused.is_empty());
    assert!(found["drawn"]["probability"].as_f64().unwrap() > 0.0);

    let after = ["--json-schema", PERSON, "--prompt", "Ada", "--after", "[1"];
    let wrong = run(structgen(["lab", "step"]).args(after));
    wrong.is_bad_input(&["\"[1\"", "no beginning"]);
}

#[test]
fn a_step_of_an_extraction_has_the_preferences_of_the_reader() {
    runtime();
    let [with, without] = [&["step"][..], &["step", "--no-reader"]].map(json);
    assert_eq!(with["model"], without["model"]);
    assert_ne!(with["kept"], without["kept"]);
    let first = |found: &Value| found["stages"][0]["sampler"].clone();
    assert_eq!(
        (first(&with), first(&without)),
        ("reader".into(), "temperature".into())
    );
}

#[test]
fn a_step_of_a_grammar_has_the_temperature_of_the_grammar() {
    runtime();
    let step = |grammar: &str| {
        let args = [
            "step",
            "--prompt",
            "x",
            "--temperature",
            "1",
            "--grammar",
            grammar,
        ];
        json(&args)
    };
    let draws = step("root ::= (\"a\" | \"b\")");
    assert!(
        draws["drawn"]["probability"].as_f64().unwrap() < 1.0,
        "{draws}"
    );
    let takes = step("root ::= %temperature{0}(\"a\" | \"b\")");
    assert_eq!(takes["drawn"]["probability"], 1.0, "{takes}");
    assert_eq!(takes["stages"], serde_json::json!([]), "{takes}");
}

#[test]
fn a_step_without_a_constraint_allows_what_decoding_allows() {
    runtime();
    let model = model_folder();
    let found = json(&["step", "--model", model.to_str().unwrap(), "--prompt", "x"]);
    let [allowed, tokens] = [&found["mask"]["allowed"], &found["tokens"]];
    // Special tokens other than the end are refused.
    assert!(
        allowed.as_u64().unwrap() < tokens.as_u64().unwrap(),
        "{found}"
    );
    let refused = found["mask"]["refused"].as_array().unwrap();
    assert!(!refused.is_empty(), "{found}");
    assert!(
        refused
            .iter()
            .all(|token| !token["text"].as_str().unwrap().starts_with('"')),
        "{found}"
    );
}

#[test]
fn an_extraction_needs_a_text() {
    runtime();
    run(&mut structgen(["lab", "step", "--prompt", ""])).is_bad_input(&["the prompt is empty"]);
}

#[test]
fn the_seeds_after_the_largest_go_on_from_zero() {
    runtime();
    let found = json(&[
        "strategies",
        "--tokens",
        "2",
        "--seed",
        "18446744073709551615",
    ]);
    for row in found["strategies"].as_array().unwrap() {
        let name = row["strategy"].as_str().unwrap();
        let count = if matches!(name, "greedy" | "beams 4") {
            1
        } else {
            3
        };
        assert_eq!(row["texts"].as_array().unwrap().len(), count, "{name}");
    }
}

#[test]
fn what_xtc_draws_from_does_not_depend_on_the_seed() {
    let exact = |seed| {
        let sampler = ["--sampler", "xtc.probability=0.5,xtc.threshold=0.05"];
        let found = json(&[&["compare", "--draws", "10", "--seed", seed], &sampler[..]].concat());
        let row = found["methods"].as_array().unwrap().last().unwrap().clone();
        ["kl_exact", "mass", "kept"].map(|column| row[column].clone())
    };
    let seeds = ["1", "2", "3", "4", "5", "6"].map(exact);
    assert!(seeds.iter().all(|found| *found == seeds[0]), "{seeds:?}");
}

#[test]
fn what_cannot_be_looked_at_is_refused() {
    let cases: [(&[&str], &str); 27] = [
        (&["temperature", "--logits", "1, x"], "\"x\""),
        (&["temperature", "--logits", ","], "no number"),
        (&["temperature", "--logits", "1 nan"], "number 2 is NaN"),
        (
            &["temperature", "--temperatures", "-1"],
            "temperature is -1",
        ),
        (&["temperature", "--device", "cuda"], "--device"),
        (
            &["temperature", "--logits", "1", "--threads", "2"],
            "--threads",
        ),
        (
            &["temperature", "--logits", "1", "--no-reader"],
            "--no-reader",
        ),
        (&["compare", "--runtime", "x"], "--runtime"),
        (
            &["compare", "--distribution", "flat", "--no-cache"],
            "--no-cache",
        ),
        (&["step", "--logits", "1 2", "--after", "x"], "--after"),
        (&["step", "--logits", "1 2", "--device", "cpu"], "--device"),
        (
            &["compare", "--sampler", "max_new_tokens=5"],
            "max_new_tokens",
        ),
        (&["compare", "--sampler", "strategy=beam"], "strategy"),
        (&["compare", "--sampler", "temperature=0.7,seed=3"], "seed"),
        (&["compare", "--sampler", "seed=0"], "seed"),
        (&["advise", "--symptom", "loops", "--model", "x"], "--model"),
        (
            &["advise", "--symptom", "loops", "--set", "nonsense=1"],
            "--set",
        ),
        (&["advise", "--symptom", "loops", "TEXT"], "TEXT"),
        (
            &["advise", "--symptom", "loops", "--runtime", "x"],
            "--runtime",
        ),
        (&["compare", "--distribution", "normal"], "zipf"),
        (&["compare", "--sampler", "top_h"], "top_h"),
        (&["compare", "--draws", "0"], "--draws"),
        (&["temperature", "--plot", "x.jpg"], ".svg"),
        (
            &["compare", "--distribution", "flat", "--model", "x"],
            "--model",
        ),
        (&["step", "--max-tokens", "5"], "sampling parameters alone"),
        (&["advise", "--strategy", "beam"], "one output"),
        (&["advise", "--symptom", "slow", "--plot", "x"], ".png"),
    ];
    for (args, says) in cases {
        let run = run(&mut structgen([&["lab"], args].concat()));
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{args:?} {run:?}");
        assert!(run.err.contains(says), "{says:?} is not said: {run:?}");
    }
}

#[test]
fn tasks_have_ranges_and_parameters_know_them() {
    let tasks = run(&mut structgen(["params", "--tasks"]));
    assert_eq!(tasks.code, 0, "{tasks:?}");
    for part in ["factual      0.1–0.3", "brainstorm"] {
        assert!(tasks.out.contains(part), "{part}: {}", tasks.out);
    }
    let lines = run(&mut structgen(["params", "--tasks", "--json"])).out;
    assert_eq!(lines.lines().count(), 5);
    let top_k = run(&mut structgen(["params", "top_k"])).out;
    assert!(top_k.contains("creative 80–200"), "{top_k}");
}

#[test]
fn strategies_by_name_are_checked_before_a_model_is_loaded() {
    let generate = |flags: &[&str]| {
        let mut command = structgen(["generate", "x", "--model", "/nowhere"]);
        run(command.args(flags))
    };
    let unknown = generate(&["--strategy", "beams"]);
    unknown.is_bad_input(&["beams", "greedy", "sample", "contrastive_search"]);
    let both = generate(&["--strategy", "greedy", "--temperature", "0.5"]);
    both.is_bad_input(&["greedy", "0.5"]);
}

#[test]
fn a_loop_and_a_cut_are_advised_on_in_a_line_each() {
    runtime();
    let generate = |flags: &[&str]| {
        let mut command = structgen(["generate", "--max-tokens", "60", "--regex", "(ab)*"]);
        run(command.args(flags).arg("x"))
    };
    let looping = generate(&["--strategy", "greedy", "--set", "min_new_tokens=60"]);
    assert_eq!(looping.code, 0, "{looping:?}");
    let advice = |run: &crate::support::Run| run.err.matches("advice: ").count();
    assert!(looping.err.contains("repeats itself"), "{looping:?}");
    assert!(advice(&looping) <= 2, "{looping:?}");
    let quiet = generate(&["--quiet", "--set", "min_new_tokens=60"]);
    assert_eq!(advice(&quiet), 0, "{quiet:?}");
    let mut command = structgen(["generate", "--choice", "yes", "x"]);
    let fine = run(command.args(["--strategy", "sample", "--seed", "1"]));
    assert_eq!((fine.code, advice(&fine)), (0, 0), "{fine:?}");
}
