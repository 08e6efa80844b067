//! Texts in every layout, against what Python's ONNX Runtime generates with the same files; refusals of other graphs.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use structgen_decode::{
    FinishReason, GenerateOptions, LanguageModel, ModelError, Request, Scheduler, Unconstrained,
    model::{ModelStats, Packing, RowRun},
};
use structgen_ort::{Device, LoadOptions, ModelConfig, OrtHeads, OrtModel};
use structgen_vocab::{TokenId, TokenMask};

use crate::support::{
    CONTEXT, LAYOUTS, WIDTH, argmax, assert_close, fixture, fresh, golden, last, open, runtime,
    tokens, tolerance, vocabulary,
};

#[test]
fn greedy_ids_equal_those_of_python_in_every_layout() {
    for name in LAYOUTS {
        let mut model = open(name);
        assert_eq!(model.stats(), ModelStats::default(), "{name}");
        let golden = golden(name);
        let row = model.open_row().unwrap();
        let mut logits = last(&mut model, row, &golden.prompt);
        assert_close(&logits, &golden.first_logits, tolerance(name));
        let mut ids = Vec::new();
        while ids.len() < golden.greedy.len() {
            ids.push(argmax(&logits));
            logits = last(&mut model, row, &ids[ids.len() - 1..]);
        }
        assert_eq!(ids, golden.greedy, "{name}");
        assert_eq!(model.stats().runs, 1 + ids.len() as u64);
    }
}

#[test]
fn the_scheduler_makes_one_run_for_each_token() {
    for name in LAYOUTS {
        let golden = golden(name);
        let options = GenerateOptions {
            max_new_tokens: Some(golden.greedy.len()),
            ..GenerateOptions::default()
        };
        // The recorded loop did not stop at end-of-sequence ids, either.
        let free = Unconstrained::new(TokenMask::full(WIDTH), &[]);
        let request = Request::new(&golden.prompt[..], free).with_options(options);
        let mut scheduler = Scheduler::new(open(name), vocabulary());
        let output = scheduler.run(request).unwrap().single().unwrap();
        let ids: Vec<TokenId> = output.tokens.iter().map(|token| token.id).collect();
        assert_eq!(ids, golden.greedy, "{name}");
        assert_eq!(output.finish, FinishReason::MaxTokens);
        assert_eq!(output.stats.runs, golden.greedy.len() as u64);
        // The graph's own time is a part of the model's, and is reported.
        assert!(!output.stats.backend_time.is_zero());
        assert!(output.stats.backend_time <= output.stats.model_time);
    }
}

#[test]
fn a_bare_loop_gives_the_ids_of_python() {
    let mut refused = Vec::new();
    for name in LAYOUTS {
        let mut model = open(name);
        let golden = golden(name);
        match model.bare_greedy(&golden.prompt, golden.greedy.len()) {
            Ok(run) => {
                assert_eq!(run.tokens, golden.greedy, "{name}");
                assert!(run.first <= run.total);
            }
            Err(error) => {
                let reason = error.to_string();
                let expected = match name.ends_with("float16") {
                    true => "f16",
                    false => "ids are i64",
                };
                assert!(reason.contains(expected), "{name}: {reason}");
                refused.push(name);
            }
        }
    }
    assert_eq!(
        refused,
        [
            "float16",
            "genai",
            "shared_float16",
            "genai_embeddings",
            "state_space_attention_float16"
        ]
    );
}

#[test]
fn what_the_files_say_is_known() {
    for name in LAYOUTS {
        let model = open(name);
        let info = model.info();
        assert_eq!(
            (info.logits_width, info.context_length),
            (WIDTH, CONTEXT),
            "{name}"
        );
        assert_eq!(info.eos, [TokenId(0), TokenId(1)], "{name}");
        assert_eq!(info.bos, Some(TokenId(2)), "{name}");
        let packing = match name.starts_with("shared") {
            true => Packing::Slots,
            false => Packing::Uniform,
        };
        assert_eq!(info.packing, packing, "{name}");
        assert_eq!(model.shares_buffers(), packing == Packing::Slots);
    }
}

#[test]
fn a_text_cut_into_runs_has_the_logits_of_the_whole() {
    for name in LAYOUTS {
        let mut model = open(name);
        let prompt = golden(name).prompt;
        let whole = model.open_row().unwrap();
        let run = RowRun {
            positions: prompt.len(),
            ..RowRun::last(whole, &prompt)
        };
        let output = model.run(&[run], false).unwrap().row(0);
        let expected: Vec<Vec<f32>> = (0..prompt.len())
            .map(|position| output.logits(position).to_vec())
            .collect();
        let parts = model.open_row().unwrap();
        for (token, expected) in prompt.chunks(1).zip(&expected) {
            let logits = last(&mut model, parts, token);
            assert_close(&logits, expected, tolerance(name));
        }
        assert_eq!(model.row_len(parts), model.row_len(whole));
        // Without logits, the beginning of a prompt counts all the same.
        let silent = model.open_row().unwrap();
        let run = RowRun {
            positions: 0,
            ..RowRun::last(silent, &prompt[..3])
        };
        assert_eq!(model.run(&[run], false).unwrap().row(0).positions(), 0);
        let logits = last(&mut model, silent, &prompt[3..]);
        assert_close(&logits, &expected[prompt.len() - 1], tolerance(name));
    }
}

#[test]
fn cut_and_forked_rows_equal_replayed_ones() {
    for name in LAYOUTS {
        let mut model = open(name);
        let golden = golden(name);
        let (prompt, greedy) = (&golden.prompt, &golden.greedy);
        let row = model.open_row().unwrap();
        last(&mut model, row, prompt);
        let fork = model.fork_row(row, prompt.len()).unwrap();
        last(&mut model, row, &greedy[..6]);
        model.cut_row(row, prompt.len() + 2).unwrap();
        assert_eq!(model.row_len(row), Some(prompt.len() + 2));
        let continued = last(&mut model, row, &greedy[2..4]);
        let replayed = last(&mut model, fork, &greedy[..4]);
        assert_close(&continued, &replayed, tolerance(name));
        // Rows are cut again, forked and run together from there.
        model.cut_row(row, prompt.len() + 3).unwrap();
        model.cut_row(row, prompt.len() + 1).unwrap();
        let forks = [(); 3].map(|()| model.fork_row(row, prompt.len() + 1).unwrap());
        let expected = fresh(&mut model, &[prompt, &greedy[..2]].concat());
        let next = &greedy[1..2];
        let alone = last(&mut model, forks[0], next);
        assert_close(&alone, &expected, tolerance(name));
        let runs = [forks[2], row, forks[1]].map(|row| RowRun::last(row, next));
        let output = model.run(&runs, false).unwrap();
        for row in output.rows() {
            assert_close(row.last(), &expected, tolerance(name));
        }
        model.cut_row(row, 0).unwrap();
        let again = last(&mut model, row, prompt);
        assert_close(&again, &golden.first_logits, tolerance(name));
    }
}

#[test]
fn rows_of_different_lengths_equal_single_runs() {
    for name in LAYOUTS {
        let mut model = open(name);
        let golden = golden(name);
        let (long, short) = (&golden.prompt[..], &golden.prompt[..3]);
        let rows = [(); 2].map(|()| model.open_row().unwrap());
        let runs = [RowRun::last(rows[0], long), RowRun::last(rows[1], short)];
        let output = model.run(&runs, false).unwrap();
        let logits = [0, 1].map(|row| output.row(row).last().to_vec());
        for (logits, text) in logits.iter().zip([long, short]) {
            assert_close(logits, &fresh(&mut model, text), tolerance(name));
        }
        let fork = model.fork_row(rows[1], short.len()).unwrap();
        let next = [0, 1, 2].map(|at| &golden.greedy[at..at + 1]);
        let runs = [
            RowRun::last(rows[1], next[0]),
            RowRun::last(rows[0], next[1]),
            RowRun::last(fork, next[2]),
        ];
        let output = model.run(&runs, false).unwrap();
        let logits = [0, 1, 2].map(|row| output.row(row).last().to_vec());
        for ((logits, text), next) in logits.iter().zip([short, long, short]).zip(next) {
            let alone = fresh(&mut model, &[text, next].concat());
            assert_close(logits, &alone, tolerance(name));
        }
    }
}

#[test]
fn errors_leave_rows_as_they_were() {
    for name in ["optimum", "shared_buffer"] {
        let mut model = open(name);
        let [row, other] = [(); 2].map(|()| model.open_row().unwrap());
        let text = tokens((0..60).map(|i| i * 7 % 48));
        last(&mut model, row, &text);
        last(&mut model, other, &text[..5]);
        let long = RowRun::last(row, &text[..5]);
        let unknown = [TokenId(48)];
        let fine = RowRun::last(other, &text[5..8]);
        let mut refuse = |runs: &[RowRun<'_>]| model.run(runs, false).unwrap_err();
        let error = refuse(&[fine, long]);
        let is_overflow = matches!(
            error,
            ModelError::ContextOverflow {
                needed: 65,
                context_length: 64
            }
        );
        assert!(is_overflow, "{error}");
        let error = refuse(&[fine, RowRun::last(row, &unknown)]);
        assert!(matches!(error, ModelError::UnknownToken { .. }), "{error}");
        let error = refuse(&[fine, fine]);
        assert!(matches!(error, ModelError::UnknownRow { .. }), "{error}");
        assert!(matches!(
            model.cut_row(other, 6),
            Err(ModelError::RowLength {
                len: 5,
                wanted: 6,
                ..
            })
        ));
        assert!(model.fork_row(other, 6).is_err());
        let closed = model.open_row().unwrap();
        model.close_row(closed);
        model.close_row(closed);
        assert_eq!(model.row_len(closed), None);
        assert!(model.fork_row(closed, 0).is_err());
        assert_eq!(
            (model.row_len(row), model.row_len(other)),
            (Some(60), Some(5))
        );
        let logits = last(&mut model, other, &text[5..8]);
        assert_close(&logits, &fresh(&mut model, &text[..8]), 1e-4);
        let logits = last(&mut model, row, &text[..4]);
        let whole = [&text[..], &text[..4]].concat();
        assert_close(&logits, &fresh(&mut model, &whole), 1e-4);
    }
}

#[test]
fn a_model_in_memory_equals_its_file() {
    let bytes = fs::read(fixture("optimum").join("model.onnx")).unwrap();
    let config = fs::read_to_string(fixture("optimum").join("config.json")).unwrap();
    let config = ModelConfig::from_json(&config, None).unwrap();
    let mut model = OrtModel::from_bytes(runtime(), bytes, &config, Device::cpu(1)).unwrap();
    assert_eq!(model.info().eos, [TokenId(0)]);
    let golden = golden("optimum");
    let logits = fresh(&mut model, &golden.prompt);
    assert_close(&logits, &golden.first_logits, 1e-4);
}

fn refusal(bytes: &[u8], config: &str) -> String {
    let config = ModelConfig::from_json(config, None).unwrap();
    let loaded = OrtModel::from_bytes(runtime(), bytes.to_vec(), &config, Device::cpu(1));
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
        bfloat16_cache: past_key_values.0.key of the model is Tensor<bf16>(batch, 2, past, 4), and must be of type f32, f16, i8 or u8
        constant_outputs: loaded
        constant_state: loaded
        double_cache: past_key_values.0.key of the model is Tensor<f64>(batch, 2, past, 4), and must be of type f32, f16, i8 or u8
        double_state: past_ssm.0 of the model is Tensor<f64>(batch, 4, 3), and must be of type f32 or f16
        fixed_cache: past_key_values.0.key of the model is Tensor<f32>(1, 2, 32, 4), and must be of open length
        fixed_length: input_ids of the model is Tensor<i64>(1, 16), and must be an i64 or i32 tensor [batch, sequence] of open length
        flat_cache: past_key_values.0.key of the model is Tensor<f32>(batch, past), and must be [batch, heads, past, dim], or one of the other orders of docs/model-folders.md
        flat_logits: logits of the model is Tensor<f32>(1, 8), and must be [batch, sequence, vocabulary]
        float_ids: input_ids of the model is Tensor<f32>(batch, sequence), and must be an i64 or i32 tensor [batch, sequence] of open length
        half_a_layer: the model has no input "past_key_values.0.value"; it has input_ids, attention_mask, past_key_values.0.key
        int8_cache: loaded
        nested_sequence: the model in memory is no model that ONNX Runtime can run: Exception during loading: MLDataType for: seq(seq(tensor(float))) is not currently registered or supported
        no_cache: the model has no inputs for a key-value cache (such as "past_key_values.0.key"), and without one every token would cost a run over the whole text; export it with its cache (optimum: task text-generation-with-past). It has input_ids, attention_mask
        no_ids: the model has no input "input_ids"; it has attention_mask, past_key_values.0.key, past_key_values.0.value
        no_logits: the model has no output "logits"; it has present.0.key, present.0.value
        no_mask: the model has no input "attention_mask"; it has input_ids, past_key_values.0.key, past_key_values.0.value
        no_present: the model has no output "present.0.value"; it has logits, present.0.key
        open_heads: neither the model nor its configuration specifies the number of key-value heads: num_key_value_heads is missing from config.json
        optional_input: optional of the model is Option<Tensor<f32>(1)>, and must be a tensor
        paged_attention: the model in memory keeps its cache with the operator PagedAttention, which structgen does not run: export the model with a cache that grows (optimum), or with GroupQueryAttention (onnxruntime-genai's model builder)
        state_of_another_size: present_conv.1 of the model is Tensor<f32>(1, 4, 2), and must be of the same type and size as its past
        state_of_no_size: past_conv.1 of the model is Tensor<f32>(batch), and must be a state of fixed size, [batch, sizes] with an open batch alone
        state_of_open_size: past_conv.1 of the model is Tensor<f32>(batch, channels, 3), and must be a state of fixed size, [batch, sizes] with an open batch alone
        state_without_present: the model has no output "present_conv.1"; it has logits, present.0.key, present.0.value
        tensor_scatter: the model in memory keeps its cache with the operator TensorScatter, which structgen does not run: export the model with a cache that grows (optimum), or with GroupQueryAttention (onnxruntime-genai's model builder)
        unknown_input: the model has an input that structgen cannot fill: token_type_ids (Tensor<i64>(batch, sequence))
        unknown_state: the model has an input that structgen cannot fill: past_states.0.wkv_max (Tensor<f32>(batch, 4))
        vast_cache: past_key_values.0.key of the model is Tensor<f32>(batch, 1099511627776, past, 1099511627776), and must be of a size that memory holds
        vast_logits: logits of the model is Tensor<f32>(batch, sequence, 4294967296), and must be of at most 2147483648 logits
        vast_state: past_conv.1 of the model is Tensor<f32>(batch, 1099511627776, 1099511627776), and must be of a size that memory holds
        no context length: neither the model nor its configuration specifies the context length: max_position_embeddings is missing from config.json
    "#]].assert_eq(&report);
}

#[test]
fn heads_of_more_logits_than_can_be_counted_are_refused() {
    let file = fixture("hostile_heads").join("vast.onnx");
    let error = OrtHeads::open(runtime(), &file, Device::cpu(1)).unwrap_err();
    expect_test::expect!["logits of the model is Tensor<f32>(8589934592, n, 8589934592), and must be f32 [heads, n, vocabulary], with fixed heads and vocabulary"].assert_eq(&error.to_string());
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
    for at in (0..whole.len()).step_by(whole.len() / 500) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x5a;
        refusal(&flipped, config);
    }
}

#[test]
fn a_graph_that_breaks_its_promises_is_an_error_at_the_first_run() {
    let bytes = fs::read(fixture("hostile/constant_outputs.onnx")).unwrap();
    let config = ModelConfig::from_json(r#"{"max_position_embeddings": 64}"#, None).unwrap();
    let mut model = OrtModel::from_bytes(runtime(), bytes, &config, Device::cpu(1)).unwrap();
    assert_eq!(model.info().packing, Packing::Apart);
    let row = model.open_row().unwrap();
    let error = model
        .run(&[RowRun::last(row, &tokens([1, 2]))], false)
        .unwrap_err();
    let error = error.to_string();
    // The runtime's own sentence, with the output's name.
    assert!(error.contains("present.0.key"), "{error}");
    assert_eq!(model.row_len(row), Some(0));
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
        let prompt = golden(name).prompt;
        let without = fresh(&mut model, &prompt);
        // Of the last positions only, as logits are.
        let row = model.open_row().unwrap();
        let run = RowRun {
            positions: prompt.len() - 1,
            ..RowRun::last(row, &prompt)
        };
        let output = model.run(&[run], true).unwrap().row(0);
        assert_eq!(output.last(), without, "{name}");
        for (position, expected) in expected[1..].iter().enumerate() {
            assert_close(output.hidden(position).unwrap(), expected, tolerance);
        }
        // What was run before is not returned again.
        let output = model.run(&[RowRun::last(row, &prompt[..1])], false);
        assert_eq!(output.unwrap().row(0).hidden(0), None, "{name}");
    }
}

#[test]
fn hidden_states_of_a_model_without_them_are_an_error() {
    let mut model = open("optimum");
    assert_eq!(model.info().hidden_width, None);
    let row = model.open_row().unwrap();
    let error = { model.run(&[RowRun::last(row, &tokens([3]))], true) }.unwrap_err();
    assert!(matches!(error, ModelError::NoHiddenStates), "{error}");
    assert_eq!(model.row_len(row), Some(0));
}
