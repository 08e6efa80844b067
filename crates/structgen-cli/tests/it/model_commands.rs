//! The commands that run the model: `demo`, `extract`, `generate`, `doctor`.

use crate::support::{PERSON, model_folder, run, run_with, runtime, structgen, write};
use serde_json::{Value, json};

#[test]
fn the_demonstration_shows_texts_schemas_and_valid_json() {
    runtime();
    let run = run(&mut structgen(["demo"]));
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.out.matches("valid: yes").count(), 10, "{}", run.out);
    for word in [
        "Text ",
        "Schema ",
        "JSON ",
        "tokens/s",
        "10 of 10 outputs match",
    ] {
        assert!(run.out.contains(word), "{word}: {}", run.out);
    }
    // Colours are for terminals only.
    assert!(!run.out.contains('\u{1b}'));
}

#[test]
fn standard_output_has_one_document_and_nothing_else() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let text = write(dir.path(), "t.txt", "Ada is 36 years old");
    let by_argument = run(structgen(["extract", "--schema"])
        .arg(&schema)
        .arg("Ada is 36 years old"));
    let by_file = run(structgen(["extract", "--schema"])
        .arg(&schema)
        .arg("--file")
        .arg(&text));
    let by_input = run_with(
        structgen(["extract", "--schema"]).arg(&schema).arg("-"),
        b"Ada is 36 years old",
    );
    assert_eq!(
        (by_argument.code, by_argument.err.as_str()),
        (0, ""),
        "{by_argument:?}"
    );
    let value: Value = serde_json::from_str(&by_argument.out).unwrap();
    assert!(
        value["age"].as_u64().unwrap() <= 150 && value["name"].is_string(),
        "{value}"
    );
    assert_eq!(by_argument.out.lines().count(), 1);
    assert_eq!(by_argument.out, by_file.out);
    assert_eq!(by_argument.out, by_input.out);
    // The same files as a folder in optimum's layout.
    let mut folder = structgen(["extract", "--model"]);
    folder
        .arg(model_folder())
        .arg("--schema")
        .arg(&schema)
        .arg("Ada is 36 years old");
    let by_folder = run(&mut folder);
    assert_eq!(by_folder.code, 0, "{by_folder:?}");
    assert!(serde_json::from_str::<Value>(&by_folder.out).is_ok());
}

#[test]
fn choices_have_shares_that_come_to_one() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let more = write(dir.path(), "more.txt", "Turin\nTurin\n");
    let choose = |more_args: &[&str]| {
        let mut command = structgen(["choose", "--json", "--choice", "Rome", "--choice", "Paris"]);
        command.arg("--choices-file").arg(&more).args(more_args);
        run(command.arg("The city is "))
    };
    for more_args in [
        &[][..],
        &["--no-end"],
        &["--all-tokenizations", "--max-runs", "50"],
    ] {
        let run = choose(more_args);
        assert_eq!(run.code, 0, "{run:?}");
        let lines = run
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let lines: Vec<Value> = lines.collect();
        assert_eq!(lines.len(), 4, "{}", run.out);
        assert_eq!(lines[2], lines[3]);
        let number = |line: &Value, key: &str| line[key].as_f64().unwrap();
        let shares: f64 = lines[..3].iter().map(|line| number(line, "share")).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{}", run.out);
        for line in &lines {
            let most = number(line, "probability") + number(line, "left_out");
            assert!((0.0..=1.0).contains(&most), "{line}");
        }
    }
    let none = run(&mut structgen(["choose", "text"]));
    assert_eq!(none.code, 2, "{none:?}");
    assert!(none.err.contains("--choice"), "{none:?}");
}

#[test]
fn a_folder_in_the_layout_of_onnxruntime_genai_answers_alike() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let genai = dir.path().join("genai");
    let config = std::fs::read_to_string(model_folder().join("config.json")).unwrap();
    let config: Value = serde_json::from_str(&config).unwrap();
    let genai_config = json!({"model": {
        "type": "llama",
        "context_length": config["max_position_embeddings"],
        "vocab_size": config["vocab_size"],
        "eos_token_id": config["eos_token_id"],
        "decoder": {
            "filename": "decoder.onnx",
            "head_size": config["head_dim"],
            "num_key_value_heads": config["num_key_value_heads"],
            "num_hidden_layers": config["num_hidden_layers"],
            "inputs": {
                "input_ids": "input_ids",
                "attention_mask": "attention_mask",
                "position_ids": "position_ids",
                "past_key_names": "past_key_values.%d.key",
                "past_value_names": "past_key_values.%d.value",
            },
            "outputs": {
                "logits": "logits",
                "present_key_names": "present.%d.key",
                "present_value_names": "present.%d.value",
            },
        },
    }});
    write(&genai, "genai_config.json", genai_config.to_string());
    for (from, to) in [
        ("model.onnx", "decoder.onnx"),
        ("reader.onnx", "reader.onnx"),
        ("tokenizer.json", "tokenizer.json"),
        ("tokenizer_config.json", "tokenizer_config.json"),
    ] {
        std::fs::copy(model_folder().join(from), genai.join(to)).unwrap();
    }
    let extract = |folder: &std::path::Path| {
        let mut command = structgen(["extract", "--model"]);
        run(command
            .arg(folder)
            .arg("--schema")
            .arg(&schema)
            .arg("Ada is 36 years old"))
    };
    let (genai, optimum) = (extract(&genai), extract(&model_folder()));
    assert_eq!(
        (genai.code, genai.out.as_str()),
        (0, optimum.out.as_str()),
        "{genai:?}"
    );
    assert!(serde_json::from_str::<Value>(&genai.out).is_ok());
}

#[test]
fn many_texts_keep_their_order_and_bad_lines_their_place() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(
        dir.path(),
        "s.json",
        r#"{"type": "integer", "minimum": 0, "maximum": 99}"#,
    );
    let input = b"one is 1\n{\"text\": \"two is 2\"}\n\n\xFF\n{\"txt\": \"x\"}\nlast is 9";
    let run = run_with(
        structgen(["extract", "--jsonl", "--schema"]).arg(&schema),
        input,
    );
    let lines: Vec<Value> = run
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((run.code, lines.len()), (2, 6), "{run:?}");
    for good in [0, 1, 5] {
        assert!(lines[good].as_u64().unwrap() <= 99, "{run:?}");
    }
    for bad in [2, 3, 4] {
        assert!(lines[bad]["error"].is_string(), "{run:?}");
        assert_eq!(lines[bad]["line"], bad + 1);
        assert!(run.err.contains(&format!("line {}: ", bad + 1)), "{run:?}");
    }
    let good = run_with(
        structgen(["extract", "--jsonl", "--schema"]).arg(&schema),
        b"a 1\nb 2\n",
    );
    assert_eq!(
        (good.code, good.err.as_str(), good.out.lines().count()),
        (0, "", 2),
        "{good:?}"
    );
}

#[test]
fn several_sequences_come_as_json_lines_and_begin_with_the_single_one() {
    runtime();
    let generate = |more: &[&str]| {
        let run = run(structgen(["generate", "Some prompt"])
            .args(["--regex", "[a-z]{6}-[0-9]{4}", "--seed", "3"])
            .args(["--temperature", "1.5"])
            .args(more));
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    };
    let lines = generate(&["-n", "4"]);
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut texts: Vec<&str> = lines
        .iter()
        .map(|line| line["text"].as_str().unwrap())
        .collect();
    assert_eq!(format!("{}\n", texts[0]), generate(&[]));
    assert!(texts.iter().all(|text| text.len() == 11), "{texts:?}");
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), 4, "{texts:?}");
    let cut = run(&mut structgen([
        "generate", "x", "--regex", "abcdef", "--stop", "d", "-n", "2",
    ]));
    assert_eq!(cut.code, 1, "{cut:?}");
    assert_eq!(cut.out.matches("\"error\"").count(), 2, "{cut:?}");
}

#[test]
fn beams_come_best_first_and_one_is_greedy() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let generate = |more: &[&str]| {
        let mut command = structgen(["generate", "Ada is 36 years old"]);
        let run = run(command.arg("--json-schema").arg(&schema).args(more));
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    };
    let lines = |out: String| -> Vec<Value> {
        out.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let greedy = generate(&[]);
    let one = lines(generate(&["--strategy", "beam", "--set", "width=1"]));
    assert_eq!(one[0]["text"].as_str(), Some(greedy.trim_end()));
    for more in [
        &["--set", "distinct=json_value"][..],
        &["--set", "groups=2", "--set", "diversity_penalty=1.5"],
        &[
            "--set",
            "beam.sample=true",
            "--temperature",
            "1",
            "--seed",
            "1",
        ],
        &[
            "--set",
            "renormalize=true",
            "--set",
            "length_penalty=-0.5",
            "--set",
            "early_stopping=never",
        ],
    ] {
        let found = lines(generate(
            &[&["--strategy", "beam", "--set", "width=4", "-n", "3"], more].concat(),
        ));
        assert!(!found.is_empty() && found.len() <= 3, "{found:?}");
        let scores: Vec<f64> = { found.iter() }
            .map(|line| line["score"].as_f64().unwrap())
            .collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        for line in &found {
            let person: Value = serde_json::from_str(line["text"].as_str().unwrap()).unwrap();
            assert!(person["name"].is_string(), "{person}");
        }
    }
    let uneven = run(&mut structgen([
        "generate",
        "x",
        "--strategy",
        "beam",
        "--set",
        "width=3",
        "--set",
        "groups=2",
    ]));
    assert_eq!(uneven.code, 2, "{uneven:?}");
    assert!(uneven.err.contains("groups of the same size"), "{uneven:?}");
}

#[test]
fn faithful_samples_fit_and_tell_their_probability() {
    runtime();
    let generate = |more: &[&str]| {
        let choices = ["--choice", "36", "--choice", "thirty-six", "--choice", "37"];
        let mut command = structgen(["generate", "Ada is 36 years old"]);
        run(command.args(choices).args(["--strategy"]).args(more))
    };
    for how in [
        &["asap", "-n", "8"][..],
        &["rejection", "-n", "8", "--set", "attempts=100000"],
        &["smc", "-n", "8", "--set", "forced_end=free"],
    ] {
        let run = generate(how);
        assert_eq!(run.code, 0, "{run:?}");
        let lines: Vec<Value> = { run.out.lines() }
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(!lines.is_empty() && lines.len() <= 8, "{lines:?}");
        let number = |line: &Value, key: &str| line[key].as_f64().unwrap();
        let weights: f64 = lines.iter().map(|line| number(line, "weight")).sum();
        assert!((weights - 1.0).abs() < 1e-9, "{lines:?}");
        for line in &lines {
            assert!(number(line, "log_prob") <= number(line, "masked_log_prob"));
            assert!(["36", "thirty-six", "37"].contains(&line["text"].as_str().unwrap()));
        }
    }
    let warm = generate(&["asap", "--temperature", "0.5"]);
    assert_eq!(warm.code, 2, "{warm:?}");
}

#[test]
fn contrast_and_guidance_keep_the_constraint() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let generate = |more: &[&str]| {
        let mut command = structgen(["generate", "Ada is 36 years old"]);
        run(command
            .arg("--json-schema")
            .arg(&schema)
            .arg("--strategy")
            .args(more))
    };
    let plain = generate(&["sample"]);
    for (more, is_off) in [
        (&["guidance", "--set", "scale=2.5"][..], false),
        (
            &[
                "guidance",
                "--set",
                "scale=1",
                "--set",
                "guidance_prompt=Bob",
            ],
            true,
        ),
        (&["contrastive", "--set", "beta=2"], false),
        (&["contrastive", "--set", "beta=0"], true),
        (&["contrastive_search"], false),
        (&["contrastive_search", "--set", "alpha=0"], true),
        (
            &["contrastive_search", "--set", "contrastive_search.top_k=1"],
            true,
        ),
    ] {
        let run = generate(more);
        assert_eq!(run.code, 0, "{run:?}");
        let person: Value = serde_json::from_str(&run.out).unwrap();
        assert!(person["name"].is_string(), "{person}");
        assert!(!is_off || run.out == plain.out, "{more:?}: {run:?}");
    }
    let wrong = generate(&["contrastive", "--set", "alpha=2"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.err.contains("from 0 to 1"), "{wrong:?}");
    let wrong = generate(&["contrastive_search", "--set", "strategy.top_k=0"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.err.contains("1 or more"), "{wrong:?}");
}

/// The strategy `speculate` with these parameters.
fn speculate<'a>(parameters: &[&'a str]) -> Vec<&'a str> {
    let set = parameters.iter().flat_map(|parameter| ["--set", parameter]);
    ["--strategy", "speculate"].into_iter().chain(set).collect()
}

#[test]
fn drafts_change_nothing_about_a_greedy_output() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let generate = |more: &[&str]| {
        let mut command = structgen(["generate", "Ada is 36 years old", "-v"]);
        run(command.arg("--json-schema").arg(&schema).args(more))
    };
    let plain = generate(&[]);
    for sources in [
        &["model=true"][..],
        &["lookup=on"],
        &["forced_text=true"],
        &["forced_text=true", "lookup=on", "speculate.model=true"],
        &["speculate.heads=true"],
        &["forced_text=true", "heads=true"],
    ] {
        let drafted = generate(&speculate(sources));
        assert_eq!((drafted.code, &drafted.out), (0, &plain.out), "{drafted:?}");
        assert!(drafted.err.contains("tokens for each of"), "{drafted:?}");
    }
    let jumped = generate(&["--set", "jump_forward=canonical"]);
    assert_eq!(jumped.code, 0, "{jumped:?}");
    serde_json::from_str::<Value>(&jumped.out).unwrap();
    let folder = model_folder();
    let folder = folder.to_str().unwrap();
    let by_folder = generate(&speculate(&[
        "speculate.model=true",
        &format!("model.draft={folder}"),
    ]));
    assert_eq!(
        (by_folder.code, &by_folder.out),
        (0, &plain.out),
        "{by_folder:?}"
    );
    let lost = generate(
        &[
            &speculate(&["speculate.model=true"])[..],
            &["--model", folder],
        ]
        .concat(),
    );
    assert_eq!(lost.code, 2, "{lost:?}");
    assert!(lost.err.contains("model.draft=DIR"), "{lost:?}");
}

#[test]
fn generated_text_fits_its_constraint() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let grammar = write(
        dir.path(),
        "g.gbnf",
        "root ::= (\"left\" | \"right\") \" \" [0-9]{2}",
    );
    let schema = write(dir.path(), "s.json", PERSON);
    let generate = |args: &[&str]| {
        let run = run(structgen(["generate", "Some prompt"]).args(args));
        let note = match args[0] {
            "--json-schema" => "note: the text has no value for /properties/age\n",
            _ => "",
        };
        assert_eq!((run.code, run.err.as_str()), (0, note), "{run:?}");
        run.out.strip_suffix('\n').unwrap().to_owned()
    };
    assert!(["yes", "no"].contains(&generate(&["--choice", "yes", "--choice", "no"]).as_str()));
    let matched = generate(&["--regex", "[a-c]{5}-x"]);
    assert!(matched.len() == 7 && matched.ends_with("-x"), "{matched}");
    let sentence = generate(&["--grammar", grammar.to_str().unwrap()]);
    assert!(
        sentence.starts_with("left ") || sentence.starts_with("right "),
        "{sentence}"
    );
    serde_json::from_str::<Value>(&generate(&["--json", "--max-tokens", "40"])).unwrap();
    let sampled = [
        "--temperature",
        "1.2",
        "--top-k",
        "50",
        "--top-p",
        "0.95",
        "--seed",
        "7",
    ];
    let json_schema = ["--json-schema", schema.to_str().unwrap()];
    let first = generate(&[&json_schema[..], &sampled].concat());
    assert!(serde_json::from_str::<Value>(&first).unwrap()["age"].is_u64());
    assert_eq!(
        first,
        generate(&[&json_schema[..], &sampled].concat()),
        "equal seeds, equal output"
    );
}

#[test]
fn a_budget_that_is_too_small_is_told_before_anything_is_written() {
    runtime();
    let mut command = structgen([
        "generate",
        "x",
        "--regex",
        "[a-z]{100}",
        "--max-tokens",
        "3",
    ]);
    let run = run(&mut command);
    assert_eq!(run.code, 2, "{run:?}");
    assert_eq!(run.out.trim(), "");
    assert!(
        run.err.contains("raise the number of new tokens"),
        "{run:?}"
    );
}

#[test]
fn an_output_that_a_stop_string_cuts_is_no_success() {
    runtime();
    let mut command = structgen(["generate", "x", "--regex", "abcdef", "--stop", "d"]);
    let run = run(&mut command);
    assert_eq!((run.code, run.out.as_str()), (1, "abc\n"), "{run:?}");
    assert!(run.err.contains("before it was complete"), "{run:?}");
}

#[test]
fn the_doctor_tries_everything_and_fails_with_what_fails() {
    runtime();
    let good = run(structgen(["doctor", "--model"]).arg(model_folder()));
    assert_eq!(good.code, 0, "{good:?}");
    for word in [
        "ONNX Runtime",
        "providers",
        "onnxruntime-genai's layout, past and present in one buffer",
        "input_ids",
        "a constrained run",
    ] {
        assert!(good.out.contains(word), "{word}: {}", good.out);
    }
    let bad = run(structgen(["doctor"]).env("ORT_DYLIB_PATH", "/nowhere/libonnxruntime.so"));
    assert_eq!(bad.code, 2, "{bad:?}");
    assert!(bad.out.contains("FAILED  ONNX Runtime"), "{bad:?}");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    use std::process::Stdio;
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", r#"{"type": "boolean"}"#);
    let input = write(dir.path(), "in.txt", "yes\n".repeat(2_000));
    let mut command = structgen(["extract", "--jsonl", "--schema"]);
    command
        .arg(&schema)
        .arg("--file")
        .arg(&input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_text_goes_on_after_the_context_where_that_is_asked_for() {
    runtime();
    let generate = |extra: &[&str]| {
        let words = "one two three ".repeat(600);
        let mut command = structgen(["generate", "--max-tokens", "900", "--regex", "[a-z ]{890}"]);
        run(command.args(extra).arg(words))
    };
    let refused = generate(&[]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("context of 4096"), "{}", refused.err);
    let cropped = generate(&["--set", "overflow=crop:8"]);
    assert_eq!(cropped.code, 0, "{cropped:?}");
    assert_eq!(cropped.out.trim_end_matches('\n').len(), 890);
    let keeps = generate(&["--set", "overflow=crop:4095"]);
    assert_eq!(keeps.code, 2, "{keeps:?}");
    assert!(keeps.err.contains("keep at most 4094"), "{}", keeps.err);
}

#[test]
fn grounded_values_are_reported_with_their_places() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let extract = |extra: &[&str], text: &str| {
        let mut command = structgen(["extract", "--schema"]);
        run(command.arg(&schema).args(extra).arg(text))
    };
    let found = extract(&["--spans"], "Zoë is 36 years old");
    assert_eq!((found.code, found.err.as_str()), (0, ""), "{found:?}");
    let line: Value = serde_json::from_str(&found.out).unwrap();
    let age = { line["fields"].as_array().unwrap().iter() }
        .find(|field| field["pointer"] == "/age")
        .unwrap();
    // "36", and "36 years" as a duration.
    let span = json!({"bytes": {"start": 8, "end": 10}, "characters": {"start": 7, "end": 9}});
    assert_eq!((&age["spans"][0], &age["grounded"]), (&span, &json!(true)));
    assert_eq!(
        (&age["value"], &line["value"]["age"]),
        (&json!(36), &json!(36))
    );
    assert_eq!(line["ungrounded"], json!([]));
    let found = extract(
        &[
            "--spans",
            "--confidence",
            "--alternatives",
            "2",
            "--details",
        ],
        "Zoë is 36 years old",
    );
    let line: Value = serde_json::from_str(&found.out).unwrap();
    for field in line["fields"].as_array().unwrap() {
        assert!(field["confidence"].as_f64().unwrap() > 0.0, "{field}");
        assert!(field["alternatives"].is_array() && field["spans"].is_array());
    }
    assert!(line["outputs"][0]["tokens"].is_array());
    let found = extract(&[], "Zoë is old");
    assert_eq!(found.code, 0, "{found:?}");
    assert!(
        found.err.contains("no value for /properties/age"),
        "{found:?}"
    );
}

#[test]
fn values_come_from_the_text_unless_that_is_lifted() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let year = r#"{"type": "integer", "minimum": 1000, "maximum": 2999}"#;
    let schema = write(dir.path(), "s.json", year);
    let extract = |extra: &[&str]| {
        let mut command = structgen(["extract", "--schema"]);
        run(command.arg(&schema).args(extra).arg("no number at all"))
    };
    let note = "the text has no value for";
    assert!(extract(&[]).err.contains(note));
    for lifted in [&["--ungrounded"][..], &["--set", "schema.source=model"]] {
        assert!(!extract(lifted).err.contains(note), "{lifted:?}");
    }
    let folder = model_folder();
    let folder = folder.to_str().unwrap();
    assert!(!extract(&["--model", folder]).err.contains(note));
    assert!(
        extract(&["--model", folder, "--grounded"])
            .err
            .contains(note)
    );
    assert_eq!(extract(&["--grounded", "--ungrounded"]).code, 2);
}

#[test]
fn a_larger_model_is_asked_for_what_the_small_one_is_not_sure_of() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let folder = model_folder();
    let extract = |below: &str, extra: &[&str]| {
        let mut command = structgen(["extract", "--small-first", "--below", below, "--model"]);
        command.arg(&folder).arg("--schema").arg(&schema);
        let run = run(command.args(extra).arg("Zoë is 36 years old"));
        assert_eq!(run.code, 0, "{run:?}");
        run
    };
    let none = extract("0", &[]);
    let alone = run(structgen(["extract", "--schema"])
        .arg(&schema)
        .arg("Zoë is 36 years old"));
    assert_eq!(none.out, alone.out);
    assert!(none.err.contains("0 of 2 fields"), "{none:?}");
    let all = extract("1.1", &["--confidence"]);
    assert!(all.err.contains("2 of 2 fields"), "{all:?}");
    let line: Value = serde_json::from_str(&all.out).unwrap();
    assert_eq!(line["passed_on"], json!(["/name", "/age"]));
    let mut alone = structgen(["extract", "--small-first", "--schema"]);
    let alone = run(alone.arg(&schema).arg("x"));
    assert!(
        alone.code == 2 && alone.err.contains("--model"),
        "{alone:?}"
    );
}

#[test]
fn generate_asks_the_embedded_model_as_extract_does() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let output = |command: &str, schema_flag: &str, extra: &[&str]| {
        let mut command = structgen([command, schema_flag]);
        let run = run(command.arg(&schema).args(extra).arg("Zoë is 36 years old"));
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    };
    let indented = ["--set", "schema.whitespace=indent:2"];
    for extra in [&[][..], &indented] {
        let extracted = output("extract", "--schema", extra);
        assert_eq!(output("generate", "--json-schema", extra), extracted);
        let value: Value = serde_json::from_str(&extracted).unwrap();
        let expected = match extra.is_empty() {
            true => value.to_string(),
            false => serde_json::to_string_pretty(&value).unwrap(),
        };
        assert_eq!(extracted.trim_end(), expected);
    }
}

#[test]
fn kept_beginnings_change_no_extraction() {
    runtime();
    let dir = tempfile::tempdir().unwrap();
    let schema = write(dir.path(), "s.json", PERSON);
    let extract = |extra: &[&str]| {
        let mut command = structgen(["extract", "--jsonl", "--schema"]);
        command.arg(&schema).args(extra).arg("-");
        let lines = b"\"Ada is 36 years old\"\n\"Bob turned 7\"\n\"Ada is 36 years old\"\n";
        let run = run_with(&mut command, lines);
        assert_eq!(run.code, 0, "{run:?}");
        let values = run.out.lines().map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            assert!(value["name"].is_string(), "{value}");
            value
        });
        values.collect::<Vec<_>>()
    };
    let plain = extract(&[]);
    assert_eq!(plain.len(), 3);
    assert_eq!(extract(&["--set", "prefix_cache=4"]), plain);
}

#[test]
fn the_doctor_says_what_the_cache_takes() {
    runtime();
    let run = run(&mut structgen(["doctor"]));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.out.contains("bytes a token") && run.out.contains("for the whole context"),
        "{}",
        run.out
    );
}
