//! Decoders of several graphs, and caches of whole numbers.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use structgen_decode::{LanguageModel, model::RowRun};
use structgen_ort::{LoadError, ModelSource, OrtModel};

use crate::support::{
    apart, argmax, assert_close, copied_folder, fixture, golden, last, open, options, runtime,
    tokens,
};

fn refusal(folder: &Path) -> String {
    let opened: Result<OrtModel, LoadError> = OrtModel::open(runtime(), folder, &options());
    opened.err().unwrap().to_string()
}

/// A copy of a folder of onnxruntime-genai's whose configuration is changed.
fn configured(name: &str, change: impl FnOnce(&mut Value)) -> tempfile::TempDir {
    let folder = copied_folder(name);
    let file = folder.path().join("genai_config.json");
    let mut config = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    change(&mut config);
    fs::write(file, config.to_string()).unwrap();
    folder
}

/// Python's greedy ids, and its logits of the prompt's end.
fn assert_golden(model: &mut OrtModel, name: &str, tolerance: f32) {
    let golden = golden(name);
    let row = model.open_row().unwrap();
    let mut logits = last(model, row, &golden.prompt);
    assert_close(&logits, &golden.first_logits, tolerance);
    let mut ids = Vec::new();
    while ids.len() < golden.greedy.len() {
        ids.push(argmax(&logits));
        logits = last(model, row, &ids[ids.len() - 1..]);
    }
    assert_eq!(ids, golden.greedy, "{name}");
    model.close_row(row);
}

#[test]
fn a_graph_of_embeddings_that_the_decoder_does_not_take_is_closed_again() {
    let folder = copied_folder("optimum");
    let table = fixture("embeddings").join("onnx/embed_tokens.onnx");
    fs::copy(table, folder.path().join("embed_tokens.onnx")).unwrap();
    let mut model = OrtModel::open(runtime(), folder.path(), &options()).unwrap();
    assert_eq!(model.inputs(), open("optimum").inputs());
    assert_golden(&mut model, "optimum", 1e-4);
    // Where it is taken, both are there.
    let names = |pairs: Vec<(String, String)>| pairs.into_iter().map(|(name, _)| name);
    let both: Vec<String> = names(open("embeddings").inputs()).collect();
    assert_eq!(both[..2], ["input_ids", "inputs_embeds"]);
}

#[test]
fn embeddings_that_no_graph_makes_are_refused() {
    let folder = copied_folder("embeddings");
    fs::remove_file(folder.path().join("onnx/embed_tokens.onnx")).unwrap();
    expect_test::expect!["the model takes embeddings (inputs_embeds) instead of token ids, and the folder has no graph that looks them up (embed_tokens.onnx, or model.embedding in genai_config.json)"].assert_eq(&refusal(folder.path()));
    let half = folder.path().join("in_half_precision.onnx");
    fs::rename(half, folder.path().join("onnx/embed_tokens.onnx")).unwrap();
    expect_test::expect!["inputs_embeds of the model is Tensor<f32>(batch, sequence, 16), and must be of the type of the output of this name"].assert_eq(&refusal(folder.path()));
}

#[test]
fn stages_of_a_pipeline_are_checked() {
    let text = fs::read_to_string(fixture("genai_pipeline").join("genai_config.json")).unwrap();
    let errors = [
        ("\"context.onnx\"", "\"../context.onnx\""),
        ("\"context.onnx\"", "\"missing.onnx\""),
        ("\"run_on_prompt\": false", "\"run_on_prompt\": 0"),
        ("\"context_states\": \"states\"", "\"context_states\": 1"),
        // What one stage hands on has no other name than that by which it is taken.
        (
            "\"context_states\": \"states\"",
            "\"context_states\": \"other\"",
        ),
        ("\"filename\": \"head.onnx\",", ""),
    ]
    .map(|(from, to)| {
        let folder = copied_folder("genai_pipeline");
        assert!(text.contains(from), "{from}");
        let changed = text.replace(from, to);
        fs::write(folder.path().join("genai_config.json"), changed).unwrap();
        refusal(folder.path()).replace(&folder.path().display().to_string(), "DIR")
    });
    expect_test::expect![[r#"
        genai_config.json: filename "../context.onnx" leads out of the folder
        DIR has no model: genai_config.json names "missing.onnx", which is not there
        genai_config.json: run_on_prompt must be true or false, and is 0
        genai_config.json: output_names_forwarder must be an object of names, and is 1
        the model has an input that structgen cannot fill: states (Tensor<f32>(batch, sequence, 16))
        genai_config.json: filename is missing"#]]
    .assert_eq(&errors.join("\n"));
}

#[test]
fn every_tensor_of_the_cache_has_an_input_and_an_output_of_its_own() {
    // A tensor that no output is for would keep what was in its memory before.
    let named = |side: &'static str, name: &'static str, pattern: &'static str| {
        configured("genai", move |config| {
            config["model"]["decoder"][side][name] = json!(pattern);
        })
    };
    let twice = |change: fn(&mut Value)| {
        configured("genai_pipeline", |config| {
            let decoder = &mut config["model"]["decoder"];
            let stages = decoder["pipeline"].as_array_mut().unwrap();
            stages.push(json!({"again": {"filename": "head.onnx"}}));
            change(decoder);
        })
    };
    let taken = twice(|decoder| {
        decoder["outputs"]["present_key_names"] = json!("past_key_values.%d.key");
        let [first, second] = ["past_key_values.0.key", "past_key_values.1.key"];
        decoder["pipeline"][0]["head"]["output_names_forwarder"] =
            json!({"present.0.key": first, "present.1.key": second});
    });
    let folders = [
        named("outputs", "present_value_names", "kv_out_%d.key"),
        named("inputs", "past_value_names", "kv_in_%d.key"),
        taken,
        twice(|_| {}),
    ];
    let errors = folders.map(|folder| refusal(folder.path()));
    expect_test::expect![[r#"
        the model's cache is ambiguous: kv_out_0.key is fed to kv_in_0.key and to kv_in_0.value
        the model's cache is ambiguous: kv_in_0.key is fed with kv_out_0.key and with kv_out_0.value
        the model's cache is ambiguous: past_key_values.0.key is fed to past_key_values.0.key of the next run, and is something else as well
        the model's cache is ambiguous: present.0.key is an output of several graphs"#]]
    .assert_eq(&errors.join("\n"));
}

#[test]
fn a_name_that_a_graph_of_other_runs_takes_is_the_caches_all_the_same() {
    // The outputs of each have the names of the inputs of the other, and the two never run one after the other.
    let folder = configured("genai_pipeline", |config| {
        let decoder = &mut config["model"]["decoder"];
        let mut renamed = json!({});
        for part in ["key", "value"] {
            let name = |layer: &str| format!("past_key_values.{layer}.{part}");
            decoder["outputs"][format!("present_{part}_names")] = json!(name("%d"));
            for layer in ["0", "1"] {
                renamed[format!("present.{layer}.{part}")] = json!(name(layer));
            }
        }
        decoder["pipeline"] = json!([
            {"context": {"filename": "decoder_model.onnx", "run_on_token_gen": false,
                         "output_names_forwarder": renamed}},
            {"iterator": {"filename": "decoder_with_past_model.onnx", "run_on_prompt": false,
                          "output_names_forwarder": renamed}},
        ]);
    });
    for name in ["decoder_model.onnx", "decoder_with_past_model.onnx"] {
        fs::copy(fixture("pair").join(name), folder.path().join(name)).unwrap();
    }
    let mut model = OrtModel::open(runtime(), folder.path(), &options()).unwrap();
    assert_golden(&mut model, "pair", 1e-4);
}

#[test]
fn a_number_that_is_nowhere_is_asked_for_in_the_file_of_the_folder() {
    let without = |number: &str| {
        let folder = configured("genai", |config| {
            let model = config["model"].as_object_mut().unwrap();
            model.remove(number);
        });
        refusal(folder.path())
    };
    expect_test::expect!["neither the model nor its configuration specifies the context length: model.context_length is missing from genai_config.json"].assert_eq(&without("context_length"));
}

#[test]
fn caches_of_whole_numbers_are_run_and_counted() {
    // Two layers of two heads of sixteen numbers, keys and values.
    for (name, bytes) in [("cache_of_8_bits", 128), ("cache_of_4_bits", 64)] {
        let mut model = open(name);
        assert_eq!(model.info().cache_bytes_per_token, bytes, "{name}");
        assert_golden(&mut model, name, 1e-4);
        let source = ModelSource::folder(&fixture(name), &options()).unwrap();
        let mut in_one_buffer = source.sharing_buffers().open(runtime()).unwrap();
        assert!(in_one_buffer.shares_buffers());
        assert_golden(&mut in_one_buffer, name, 1e-4);

        // Rows that are forked, cut and run together are those that are run alone. Where a sum in another order is
        // rounded to the next whole number, logits are apart by some hundredths.
        for model in [&mut model, &mut in_one_buffer] {
            let text = tokens((0..9).map(|i| (i * 11 + 5) % 48));
            let row = model.open_row().unwrap();
            let expected = last(model, row, &text);
            let fork = model.fork_row(row, 4).unwrap();
            model.cut_row(row, 6).unwrap();
            let runs = [
                RowRun::last(fork, &text[4..]),
                RowRun::last(row, &text[6..]),
            ];
            let output = model.run(&runs, false).unwrap();
            for row in output.rows() {
                assert!(apart(row.last(), &expected) < 0.2, "{name}");
            }
        }
    }
}
