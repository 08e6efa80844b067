//! `structgen lab`, `params --tasks`, and the advice of `generate`.

use serde_json::Value;

use crate::support::{PERSON, run, runtime, structgen};

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
fn what_cannot_be_looked_at_is_refused() {
    let cases: [(&[&str], &str); 12] = [
        (&["temperature", "--logits", "1, x"], "\"x\""),
        (&["temperature", "--logits", ","], "no number"),
        (&["temperature", "--logits", "nan"], "distribution"),
        (&["temperature", "--temperatures", "-1"], "distribution"),
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
