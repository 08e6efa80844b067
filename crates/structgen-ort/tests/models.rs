//! Tiny decoders in every layout, against what Python's ONNX Runtime generates with the same files.
//!
//! These need the runtime library, and fetch it where it is missing, saying so.

mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use structgen_decode::{
    FinishReason, Forward, GenerateOptions, Generator, KeyValueCache, LanguageModel, ModelError,
    Unconstrained,
};
use structgen_ort::{Device, LoadOptions, ModelConfig, OrtModel};
use structgen_vocab::{TokenId, TokenMask, Vocabulary};
use support::{fixture, runtime};

const LAYOUTS: [&str; 10] = [
    "optimum",
    "no_position_ids",
    "grouped_query",
    "float16",
    "external_data",
    "merged",
    "genai",
    "genai_gpt2",
    "shared_buffer",
    "shared_float16",
];

fn open(name: &str) -> OrtModel {
    let options = LoadOptions {
        device: Device::cpu(1),
        ..LoadOptions::default()
    };
    OrtModel::open(runtime(), &fixture(name), &options).unwrap()
}

/// Prompt, greedy continuation and first logits, as Python found them.
fn golden(name: &str) -> (Vec<TokenId>, Vec<TokenId>, Vec<f32>) {
    let text = fs::read_to_string(fixture(name).join("golden.json")).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    let ids = |key: &str| {
        let list = golden[key].as_array().unwrap().iter();
        list.map(|id| TokenId(id.as_u64().unwrap() as u32))
            .collect()
    };
    let logits = golden["first_logits"].as_array().unwrap().iter();
    let logits = logits.map(|l| l.as_f64().unwrap() as f32).collect();
    (ids("prompt"), ids("greedy"), logits)
}

fn vocabulary(width: usize) -> Vocabulary {
    let tokens = (0..width).map(|id| format!("<{id}>").into_bytes());
    Vocabulary::from_tokens(tokens, &[]).unwrap()
}

fn last(model: &mut OrtModel, cache: &mut structgen_ort::OrtCache, ids: &[TokenId]) -> Vec<f32> {
    model
        .forward(Forward::last(ids), cache)
        .unwrap()
        .row(0, 0)
        .to_vec()
}

fn close(a: &[f32], b: &[f32], tolerance: f32) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= tolerance, "{x} and {y}");
    }
}

/// In half precision the last bits are larger.
fn tolerance(name: &str) -> f32 {
    if name.ends_with("float16") {
        3e-2
    } else {
        1e-4
    }
}

#[test]
fn greedy_ids_equal_those_of_python_in_every_layout() {
    for name in LAYOUTS {
        let mut model = open(name);
        let (prompt, greedy, logits) = golden(name);
        let mut cache = model.new_cache(&[0]).unwrap();
        close(
            &last(&mut model, &mut cache, &prompt),
            &logits,
            tolerance(name),
        );

        let width = model.info().logits_width;
        let vocabulary = vocabulary(width);
        let options = GenerateOptions {
            max_new_tokens: Some(greedy.len()),
            ..GenerateOptions::default()
        };
        // The recorded loop did not stop at end-of-sequence ids, either.
        let mut free = Unconstrained::new(TokenMask::full(width), &[]);
        let output = Generator::new(&mut model, &vocabulary)
            .generate(&prompt, &mut free, &options)
            .unwrap();
        let ids: Vec<TokenId> = output.tokens.iter().map(|token| token.id).collect();
        assert_eq!(ids, greedy, "{name}");
        assert_eq!(output.finish, FinishReason::MaxTokens);
        assert_eq!(output.stats.runs, greedy.len() as u64);
        assert!(output.stats.backend_time <= output.stats.model_time);
    }
}

#[test]
fn a_bare_loop_gives_the_ids_of_python() {
    let mut refused = Vec::new();
    for name in LAYOUTS {
        let mut model = open(name);
        let (prompt, greedy, _) = golden(name);
        match model.bare_greedy(&prompt, greedy.len()) {
            Ok(run) => {
                assert_eq!(run.tokens, greedy, "{name}");
                assert!(run.first <= run.total);
            }
            Err(error) => {
                let reason = error.to_string();
                let expected = match name {
                    "float16" | "shared_float16" => "f16",
                    _ => "ids are i64",
                };
                assert!(reason.contains(expected), "{name}: {reason}");
                refused.push(name);
            }
        }
    }
    assert_eq!(refused, ["float16", "genai", "shared_float16"]);
}

#[test]
fn what_the_files_say_is_known() {
    for name in LAYOUTS {
        let model = open(name);
        let info = model.info();
        assert_eq!((info.logits_width, info.context_length), (48, 64), "{name}");
        assert_eq!(info.eos, [TokenId(0), TokenId(1)], "{name}");
        assert_eq!(info.bos, Some(TokenId(2)), "{name}");
    }
}

#[test]
fn a_text_cut_into_runs_has_the_logits_of_the_whole() {
    for name in LAYOUTS {
        let mut model = open(name);
        let (prompt, ..) = golden(name);
        let mut whole = model.new_cache(&[0]).unwrap();
        let input = Forward::new(&prompt, prompt.len());
        let logits = model.forward(input, &mut whole).unwrap();
        let expected: Vec<Vec<f32>> = (0..prompt.len())
            .map(|i| logits.row(0, i).to_vec())
            .collect();
        let mut parts = model.new_cache(&[0]).unwrap();
        for (i, token) in prompt.iter().enumerate() {
            let logits = last(&mut model, &mut parts, &[*token]);
            close(&logits, &expected[i], tolerance(name));
        }
        assert_eq!(parts.len(), whole.len());
    }
}

#[test]
fn truncated_and_forked_caches_equal_replayed_ones() {
    for name in LAYOUTS {
        let mut model = open(name);
        let (prompt, greedy, _) = golden(name);
        let mut cache = model.new_cache(&[0]).unwrap();
        last(&mut model, &mut cache, &prompt);
        let mut fork = cache.fork().unwrap();
        last(&mut model, &mut cache, &greedy[..6]);
        cache.truncate(prompt.len() + 2).unwrap();
        assert_eq!(cache.len(), prompt.len() + 2);
        let continued = last(&mut model, &mut cache, &greedy[2..4]);
        let replayed = last(&mut model, &mut fork, &greedy[..4]);
        close(&continued, &replayed, tolerance(name));
        // A cut cache lies at the beginning of its memory: it is cut again, copied and chosen from there.
        cache.truncate(prompt.len() + 3).unwrap();
        cache.truncate(prompt.len() + 1).unwrap();
        let mut copy = cache.fork().unwrap();
        let mut rows = cache.fork().unwrap();
        rows.select_rows(&[0, 0]).unwrap();
        cache.select_rows(&[0, 0]).unwrap();
        fork.truncate(prompt.len()).unwrap();
        let expected = last(&mut model, &mut fork, &greedy[..2]);
        let continued = last(&mut model, &mut copy, &greedy[1..2]);
        close(&continued, &expected, tolerance(name));
        for chosen in [&mut cache, &mut rows] {
            let next = [greedy[1], greedy[1]];
            let logits = model.forward(Forward::last(&next), chosen).unwrap();
            close(logits.row(1, 0), &expected, tolerance(name));
        }
        cache.select_rows(&[1]).unwrap();
        cache.truncate(0).unwrap();
        let again = last(&mut model, &mut cache, &prompt);
        close(&again, &golden(name).2, tolerance(name));
    }
}

#[test]
fn rows_of_a_padded_batch_equal_single_runs_and_can_be_chosen() {
    for name in LAYOUTS {
        let mut model = open(name);
        let (prompt, greedy, _) = golden(name);
        let short = &prompt[..3];
        let pad = TokenId(1);
        let mut batch = model.new_cache(&[0, 2]).unwrap();
        let tokens = [&prompt[..], &[pad, pad], short].concat();
        let logits = model.forward(Forward::last(&tokens), &mut batch).unwrap();
        let rows = [logits.row(0, 0).to_vec(), logits.row(1, 0).to_vec()];
        let single = |model: &mut OrtModel, parts: &[&[TokenId]]| {
            let mut cache = model.new_cache(&[0]).unwrap();
            let mut logits = Vec::new();
            for part in parts {
                logits = last(model, &mut cache, part);
            }
            logits
        };
        close(&rows[0], &single(&mut model, &[&prompt]), tolerance(name));
        close(&rows[1], &single(&mut model, &[short]), tolerance(name));

        batch.select_rows(&[1, 0, 1]).unwrap();
        assert_eq!(batch.rows(), 3);
        let next = [greedy[0], greedy[1], greedy[2]];
        let logits = model.forward(Forward::last(&next), &mut batch).unwrap();
        let rows: Vec<Vec<f32>> = (0..3).map(|row| logits.row(row, 0).to_vec()).collect();
        close(
            &rows[0],
            &single(&mut model, &[short, &next[..1]]),
            tolerance(name),
        );
        close(
            &rows[1],
            &single(&mut model, &[&prompt, &next[1..2]]),
            tolerance(name),
        );
        close(
            &rows[2],
            &single(&mut model, &[short, &next[2..]]),
            tolerance(name),
        );
        assert!(batch.select_rows(&[3]).is_err());
        assert!(batch.select_rows(&[]).is_err());
    }
}

#[test]
fn a_text_longer_than_the_context_is_an_error_and_leaves_the_cache_as_it_was() {
    let mut model = open("optimum");
    let mut cache = model.new_cache(&[0]).unwrap();
    last(&mut model, &mut cache, &[TokenId(3); 60]);
    let error = model
        .forward(Forward::last(&[TokenId(3); 5]), &mut cache)
        .unwrap_err();
    assert!(
        matches!(
            error,
            ModelError::ContextOverflow {
                needed: 65,
                context_length: 64
            }
        ),
        "{error}"
    );
    assert_eq!(cache.len(), 60);
    last(&mut model, &mut cache, &[TokenId(3); 4]);
    let error = model
        .forward(Forward::last(&[TokenId(48)]), &mut cache)
        .unwrap_err();
    assert!(matches!(error, ModelError::UnknownToken { .. }), "{error}");
}

#[test]
fn a_cache_of_another_model_is_refused() {
    let mut other = open("grouped_query");
    let mut cache = other.new_cache(&[0]).unwrap();
    let mut model = open("optimum");
    let error = model
        .forward(Forward::last(&[TokenId(3)]), &mut cache)
        .unwrap_err();
    expect_test::expect!["4 tensors of another model's cache do not fit a cache of 1 rows"]
        .assert_eq(&error.to_string());
}

#[test]
fn a_model_in_memory_equals_its_file() {
    let bytes = fs::read(fixture("optimum").join("model.onnx")).unwrap();
    let config = fs::read_to_string(fixture("optimum").join("config.json")).unwrap();
    let config = ModelConfig::from_json(&config, None).unwrap();
    let mut model = OrtModel::from_bytes(runtime(), &bytes, &config, Device::cpu(1)).unwrap();
    assert_eq!(model.info().eos, [TokenId(0)]);
    let mut cache = model.new_cache(&[0]).unwrap();
    let (prompt, _, logits) = golden("optimum");
    close(&last(&mut model, &mut cache, &prompt), &logits, 1e-4);
}

fn refusal(bytes: &[u8], config: &str) -> String {
    let config = ModelConfig::from_json(config, None).unwrap();
    let loaded = OrtModel::from_bytes(runtime(), bytes, &config, Device::cpu(1));
    loaded
        .err()
        .map_or_else(|| "loaded".to_owned(), |error| error.to_string())
}

#[test]
fn graphs_that_are_no_decoders_are_refused_by_name() {
    let config = r#"{"max_position_embeddings": 64}"#;
    let mut report = String::new();
    let mut files: Vec<PathBuf> = fs::read_dir(fixture("hostile"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() > 15);
    for path in files {
        let refusal = refusal(&fs::read(&path).unwrap(), config);
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        report.push_str(&format!("{name}: {refusal}\n"));
    }
    report.push_str(&format!(
        "no context length: {}\n",
        refusal(
            &fs::read(fixture("optimum").join("model.onnx")).unwrap(),
            "{}"
        )
    ));
    expect_test::expect![[r#"
        constant_outputs: loaded
        double_cache: past_key_values.0.key of the model is Tensor<f64>(batch, 2, past, 4), and must be of type f32 or f16
        fixed_cache: past_key_values.0.key of the model is Tensor<f32>(1, 2, 32, 4), and must be of open length
        fixed_length: input_ids of the model is Tensor<i64>(1, 16), and must be an i64 or i32 tensor [batch, sequence] of open length
        flat_cache: past_key_values.0.key of the model is Tensor<f32>(batch, past, 4), and must be [batch, heads, past, dim] or [2, batch, heads, past, dim]
        flat_logits: logits of the model is Tensor<f32>(1, 8), and must be [batch, sequence, vocabulary]
        float_ids: input_ids of the model is Tensor<f32>(batch, sequence), and must be an i64 or i32 tensor [batch, sequence] of open length
        half_a_layer: the model has no input "past_key_values.0.value"; it has input_ids, attention_mask, past_key_values.0.key
        nested_sequence: the model in memory is no model that ONNX Runtime can run: Exception during loading: MLDataType for: seq(seq(tensor(float))) is not currently registered or supported
        no_cache: the model has no inputs for a key-value cache (such as "past_key_values.0.key"), and without one every token would cost a run over the whole text; export it with its cache (optimum: task text-generation-with-past). It has input_ids, attention_mask
        no_ids: the model has no input "input_ids"; it has attention_mask, past_key_values.0.key, past_key_values.0.value
        no_logits: the model has no output "logits"; it has present.0.key, present.0.value
        no_mask: the model has no input "attention_mask"; it has input_ids, past_key_values.0.key, past_key_values.0.value
        no_present: the model has no output "present.0.value"; it has logits, present.0.key
        open_heads: neither the model nor its configuration tells the number of key-value heads: num_key_value_heads is missing from config.json
        optional_input: optional of the model is Option<Tensor<f32>(1)>, and must be a tensor
        unknown_input: the model has an input that structgen cannot fill: token_type_ids (Tensor<i64>(batch, sequence))
        no context length: neither the model nor its configuration tells the context length: max_position_embeddings is missing from config.json
    "#]].assert_eq(&report);
}

#[test]
fn damaged_files_are_refused_without_a_panic() {
    let whole = fs::read(fixture("optimum").join("model.onnx")).unwrap();
    let config = r#"{"max_position_embeddings": 64}"#;
    for bytes in [
        &b""[..],
        b"{}",
        b"\xff\xff\xff\xff",
        b"\x0a\xff\xff\xff\xff\x0f",
        &[0; 4096],
    ] {
        assert_ne!(refusal(bytes, config), "loaded");
    }
    for cut in (0..whole.len()).step_by(whole.len() / 23) {
        assert_ne!(refusal(&whole[..cut], config), "loaded");
    }
    // A flipped byte may be harmless; it must not be more than an error.
    for at in (0..whole.len()).step_by(whole.len() / 97) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x5a;
        refusal(&flipped, config);
    }
}

#[test]
fn a_graph_that_breaks_its_promises_is_an_error_at_the_first_run() {
    let bytes = fs::read(fixture("hostile/constant_outputs.onnx")).unwrap();
    let config = ModelConfig::from_json(r#"{"max_position_embeddings": 64}"#, None).unwrap();
    let mut model = OrtModel::from_bytes(runtime(), &bytes, &config, Device::cpu(1)).unwrap();
    let mut cache = model.new_cache(&[0]).unwrap();
    let error = model
        .forward(Forward::last(&[TokenId(1), TokenId(2)]), &mut cache)
        .unwrap_err();
    expect_test::expect![
        "the model failed to run: the graph gave the cache of the unexpected shape [1, 2, 1, 4]"
    ]
    .assert_eq(&error.to_string());
    assert_eq!(cache.len(), 0);
}

#[test]
fn cuda_is_an_error_that_says_what_is_missing_where_there_is_none() {
    let options = LoadOptions {
        device: Device::cuda(),
        ..LoadOptions::default()
    };
    match OrtModel::open(runtime(), &fixture("optimum"), &options) {
        // A machine with everything in place is welcome to it.
        Ok(_) => {}
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("CUDA provider"), "{text}");
            // A file by name: the provider's own, or those that the provider lacks.
            let names = ["providers_cuda", "libcu", "nvcuda", "cudart", "cublas"];
            assert!(names.iter().any(|name| text.contains(name)), "{text}");
            assert!(text.contains("install") || text.contains("GPU 0"), "{text}");
        }
    }
}

#[test]
fn a_missing_external_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["model.onnx", "config.json"] {
        fs::copy(fixture("external_data").join(name), dir.path().join(name)).unwrap();
    }
    let error = OrtModel::open(runtime(), dir.path(), &LoadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("model.onnx_data"), "{error}");
}

#[test]
fn hidden_states_are_those_of_python_and_change_no_logits() {
    for (name, tolerance) in [("hidden_states", 1e-4), ("hidden_states_float16", 3e-2)] {
        let mut model = open(name);
        assert_eq!(model.info().hidden_width, Some(16), "{name}");
        let text = fs::read_to_string(fixture(name).join("golden.json")).unwrap();
        let expected: Value = serde_json::from_str(&text).unwrap();
        let expected: Vec<Vec<f32>> =
            serde_json::from_value(expected["hidden_states"].clone()).unwrap();
        let (prompt, ..) = golden(name);
        let mut plain = model.new_cache(&[0]).unwrap();
        let without = last(&mut model, &mut plain, &prompt);
        let mut cache = model.new_cache(&[0]).unwrap();
        // Of the last positions only, as logits are.
        let input = Forward::new(&prompt, prompt.len() - 1).with_hidden();
        let logits = model.forward(input, &mut cache).unwrap();
        assert_eq!(logits.row(0, prompt.len() - 2), without, "{name}");
        for (position, expected) in expected[1..].iter().enumerate() {
            close(logits.hidden(0, position).unwrap(), expected, tolerance);
        }
        // What was run before is not given out again.
        let logits = model
            .forward(Forward::last(&prompt[..1]), &mut cache)
            .unwrap();
        assert_eq!(logits.hidden(0, 0), None, "{name}");
    }
}

#[test]
fn hidden_states_of_a_model_without_them_are_an_error() {
    let mut model = open("optimum");
    assert_eq!(model.info().hidden_width, None);
    let mut cache = model.new_cache(&[0]).unwrap();
    let error =
        { model.forward(Forward::last(&[TokenId(3)]).with_hidden(), &mut cache) }.unwrap_err();
    assert!(matches!(error, ModelError::NoHiddenStates), "{error}");
    assert!(cache.is_empty());
}
