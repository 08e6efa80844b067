//! `structgen params`, `--set` and `--params`.

use serde_json::Value;

use crate::support::{run, runtime, structgen, write};

#[test]
fn every_parameter_is_listed_and_each_is_explained() {
    let list = run(&mut structgen(["params"]));
    assert_eq!(list.code, 0, "{list:?}");
    for name in [
        "top_h ",
        "beam.width ",
        "schema.order ",
        "model.prefix_cache ",
    ] {
        assert!(
            list.out.lines().any(|line| line.starts_with(name)),
            "{name}: {}",
            list.out
        );
    }
    let lines = run(&mut structgen(["params", "--json"])).out;
    assert_eq!(lines.lines().count(), list.out.lines().count());
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let strategies = row["strategies"].as_array().unwrap();
        assert!(
            !strategies.is_empty() && !row["help"].as_str().unwrap().is_empty(),
            "{row}"
        );
    }
    let one = run(&mut structgen(["params", "typical_p"])).out;
    for part in [
        "above 0, and at most 1",
        "default     1.0",
        "options.sampling.typical_p",
        "sample, speculate",
    ] {
        assert!(one.contains(part), "{part}: {one}");
    }
    assert!(!one.contains("smc"), "{one}");
    let several = run(&mut structgen(["params", "alpha"])).out;
    assert!(
        several.contains("contrastive.alpha: ") && several.contains("contrastive_search.alpha: ")
    );
    run(&mut structgen(["params", "tpo_k"])).is_bad_input(&["no parameter", "top_k"]);
}

#[test]
fn what_makes_no_sense_is_told_before_a_model_is_loaded() {
    let cases: [(&[&str], &[&str]); 11] = [
        (&["--set", "top_hh=1"], &["top_hh", "top_h"]),
        (
            &["--set", "tempereture=1"],
            &["\"tempereture\"; did you mean temperature?"],
        ),
        (&["--set", "max_tokens=1"], &["max_new_tokens"]),
        (&["--set", "=3"], &["\"=3\" has no name"]),
        (&["-n", "0"], &["sequences", "1 or more"]),
        (&["--set", "top_h=2"], &["top_h", "from 0 to 1"]),
        (&["--top-p", "x"], &["top_p", "\"x\"", "from 0 to 1"]),
        (&["--set", "width=4"], &["beam.width", "sample"]),
        (
            &["--strategy", "beam", "--top-p", "0.5"],
            &["beam", "sampling.top_p", "0.5"],
        ),
        (&["--strategy", "asap", "--stop", "x"], &["asap", "stop"]),
        (&["--strategy", "smc", "--details"], &["smc", "token_times"]),
    ];
    for (flags, says) in cases {
        let mut command = structgen(["generate", "x", "--model", "/nowhere"]);
        run(command.args(flags)).is_bad_input(says);
    }
}

#[test]
fn a_parameter_that_a_command_would_ignore_is_refused_with_both_names() {
    let schema = ["--json-schema", "{}"];
    let cases: [(&[&str], &str, &str); 22] = [
        (&[], "regex.search=true", "without --regex"),
        (&schema, "regex.dialect=ecma", "without --regex"),
        (&["--regex", "a"], "schema.order=any", "without --json,"),
        (&["--json"], "schema.at=/a", "without --json-schema"),
        (&[], "tools.format=llama3", "without --tools"),
        (&["--json"], "tools.choice=none", "without --tools"),
        (&[], "tools.reasoning=off", "without --tools"),
        (&[], "tools.reasoning_tokens=3", "without --tools"),
        (&[], "chat.variables={\"a\": 1}", "without --chat"),
        (&[], "chat.template=x", "without --chat"),
        (&[], "chat.documents=x", "without --chat"),
        (&[], "chat.generation_prompt=false", "without --chat"),
        (
            &["--chat"],
            "chat.continue_final_message=true",
            "without --messages",
        ),
        (&["--regex", "a"], "choices_file=x", "another constraint"),
        (&["--choice", "a"], "structural_tag=x", "another constraint"),
        (&["--json"], "structural_tag=x", "another constraint"),
        (&[], "api_key=x", "without --server"),
        (&[], "alternatives=3", "without --details"),
        (&[], "refused=3", "without --details"),
        (&[], "token_times=true", "without --details"),
        (&["--strategy", "beam"], "guidance_prompt=x", "beam"),
        (&[], "model.draft=x", "sample"),
    ];
    for (flags, set, says) in cases {
        let mut command = structgen(["generate", "x", "--set", set]);
        let name = set.split_once('=').unwrap().0;
        run(command.args(flags)).is_bad_input(&[name, says]);
    }
    for set in ["model.variant=q4", "model.single_tokens=true"] {
        let name = set.split_once('=').unwrap().0;
        for command in [&["generate", "x"][..], &["extract", "x", "--schema", "{}"]] {
            let refused = run(structgen(command).args(["--set", set]));
            refused.is_bad_input(&[name, command[0], "without --model"]);
        }
    }
    for set in [
        "regex.search=true",
        "tools.choice=none",
        "chat.template=x",
        "choices_file=x",
        "structural_tag=x",
    ] {
        let name = set.split_once('=').unwrap().0;
        let mut command = structgen(["extract", "x", "--schema", "{}", "--set", set]);
        run(&mut command).is_bad_input(&[name, "is for generate", "no effect on extract"]);
    }
    let mut command = structgen(["lab", "advise", "--set", "model.rows=2"]);
    run(&mut command).is_bad_input(&["model.rows", "no effect on lab advise"]);
    for set in [
        "max_new_tokens=3",
        "model.rows=2",
        "strategy=beam",
        "sequences=2",
    ] {
        let name = set.split_once('=').unwrap().0;
        let mut command = structgen(["lab", "step", "--logits", "1 2", "--set", set]);
        run(&mut command).is_bad_input(&["lab step", name]);
    }
}

/// Files of parameters are checked like `--set`.
#[test]
fn a_flag_that_is_a_parameter_is_told_how_to_set_it() {
    let tips = |command, flag: &str| -> Vec<String> {
        let refused = run(&mut structgen([command, flag, "text"]));
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(flag), "{refused:?}");
        let tips = refused.err.split("--set ").skip(1);
        tips.map(|tip| tip.split('=').next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(tips("generate", "--device"), ["model.device"]);
    assert_eq!(tips("extract", "--top-h"), ["top_h"]);
    let documents = ["chat.documents", "schema.documents"];
    assert_eq!(tips("generate", "--documents"), documents);
    // Chats are for `generate` alone, and other commands have no parameters.
    assert_eq!(tips("extract", "--documents"), documents[1..]);
    for (command, flag) in [("check", "--device"), ("generate", "--devicee")] {
        assert!(tips(command, flag).is_empty());
    }
}

#[test]
fn a_file_of_parameters_has_the_tables_of_models_chats_and_tools() {
    let dir = tempfile::tempdir().unwrap();
    let generate = |toml: &str, flags: &[&str]| {
        let file = write(dir.path(), "p.toml", toml);
        let mut command = structgen(["generate", "x", "--model", "/nowhere", "--params"]);
        run(command.arg(file).args(flags))
    };
    let all = "[chat]\nvariables = { thinks = false }\n[tools]\nchoice = 'f'\nreasoning = 'off'\n\
        [model]\nthreads = 1\nreader = false\nvariant = 'q4'\n";
    let tools = r#"[{"name": "f", "parameters": {"type": "object"}}]"#;
    generate(all, &["--chat", "--tools", tools]).is_bad_input(&["/nowhere"]);
    generate(all, &["--chat"]).is_bad_input(&["tools.choice", "without --tools"]);
    for (wrong, says) in [
        ("[tools]\nreasoning = 'some'\n", "some"),
        ("[chat]\nvariables = 3\n", "map"),
        ("[model]\nthreads = 0\n", "nonzero"),
        ("[model]\nthread = 1\n", "thread"),
    ] {
        generate(wrong, &[]).is_bad_input(&["p.toml", says]);
    }
}

#[test]
fn a_file_of_parameters_is_as_good_as_flags() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let toml = "[options]\nmax_new_tokens = 30\n[options.sampling]\ntemperature = 1.5\nseed = 5\ntop_h = 0.9\n[regex]\nsearch = true\n";
    let toml = write(dir.path(), "p.toml", toml);
    let json = r#"{"options": {"max_new_tokens": 30, "sampling": {"temperature": 1.5, "seed": 5, "top_h": 0.9}}, "regex": {"search": true}}"#;
    let json = write(dir.path(), "p.json", json);
    let generate = |flags: &[&str]| {
        let mut command = structgen(["generate", "Some prompt", "--regex", "[0-9]{3}"]);
        let run = run(command.args(flags));
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
        run.out
    };
    let [toml, json] = [&toml, &json].map(|path| generate(&["--params", path.to_str().unwrap()]));
    let by_flags = [
        "--max-tokens",
        "30",
        "--temperature",
        "1.5",
        "--seed",
        "5",
        "--set",
        "top_h=0.9",
        "--set",
        "regex.search=true",
    ];
    assert_eq!(toml, generate(&by_flags));
    assert_eq!(toml, json);
    let wrong = write(dir.path(), "w.toml", "[options]\nmax_tokens = 30\n");
    let mut command = structgen(["generate", "x", "--params"]);
    run(command.arg(wrong)).is_bad_input(&["w.toml", "max_tokens", "max_new_tokens"]);
}

#[test]
fn objects_in_a_file_of_parameters_are_no_lists() {
    let dir = tempfile::tempdir().unwrap();
    let generate = |file: &str| {
        let file = write(dir.path(), "p.json", file);
        let mut command = structgen(["generate", "x", "--model", "/nowhere", "--params"]);
        run(command.arg(file))
    };
    for (file, pointer) in [
        ("[]", "they"),
        (r#"[{"sampling": {"temperature": 1}}]"#, "they"),
        (r#"{"options": []}"#, "/options"),
        (r#"{"options": {"sampling": []}}"#, "/options/sampling"),
        (
            r#"{"options": {"sampling": {"dry": [0.8]}}}"#,
            "/options/sampling/dry",
        ),
        (r#"{"strategy": ["beam"]}"#, "/strategy"),
        (r#"{"schema": []}"#, "/schema"),
    ] {
        generate(file).is_bad_input(&["p.json", &format!("{pointer} must be an object")]);
    }
    generate(r#"{"options": {"sequences": 0}}"#).is_bad_input(&["sequences is 0"]);
    // Lists of values are lists.
    let lists = r#"{"options": {"stop": ["x"], "sampling": {"bad_words": [[1, 2]]}}}"#;
    generate(lists).is_bad_input(&["/nowhere"]);
}

#[test]
fn a_draw_without_a_seed_is_random_and_names_the_seed_that_repeats_it() {
    runtime();
    let generate = |flags: &[&str]| {
        let mut command = structgen(["generate", "x", "--regex", "[a-z]{20}"]);
        let run = run(command.args(flags));
        assert_eq!(run.code, 0, "{run:?}");
        run
    };
    let warm = ["--temperature", "2"];
    let (first, second) = (generate(&warm), generate(&warm));
    assert_ne!(first.out, second.out);
    let seed = first.err.trim().strip_prefix("seed ").unwrap();
    assert_eq!(first.err.lines().count(), 1);
    let again = generate(&[&warm[..], &["--seed", seed]].concat());
    assert_eq!((again.out, again.err.as_str()), (first.out, ""));
    // Where nothing is drawn, no seed decides anything.
    assert_eq!(generate(&[]).err, "");
}

#[test]
fn a_task_keeps_what_a_file_sets_besides_its_parameters() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let toml = "[options.sampling]\ntemperature = 0.1\nseed = 5\nrepetition_penalty = 1.7\n";
    let file = write(dir.path(), "p.toml", toml);
    let generate = |flags: &[&str]| {
        let mut command = structgen(["generate", "x", "--regex", "[a-z]{40}"]);
        let run = run(command.args(flags));
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    };
    let by_file = generate(&["--params", file.to_str().unwrap(), "--task", "chat"]);
    let chat = ["--task", "chat", "--set", "repetition_penalty=1.7"];
    assert_eq!(by_file, generate(&[&chat[..], &["--seed", "5"]].concat()));
    // Both are in effect.
    assert_ne!(by_file, generate(&[&chat[..], &["--seed", "0"]].concat()));
    assert_ne!(by_file, generate(&["--task", "chat", "--seed", "5"]));
}
