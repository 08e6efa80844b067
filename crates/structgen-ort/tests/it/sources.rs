//! One model opened several times, on threads side by side.

use std::fs;
use std::thread;

use structgen_decode::LanguageModel;
use structgen_ort::{Device, ModelConfig, ModelSource, OrtModel};
use structgen_vocab::TokenId;

use crate::support::{argmax, fixture, golden, last, options, runtime};

/// Prompts and continues a row by `steps` tokens of the largest logit.
fn greedy(model: &mut OrtModel, prompt: &[TokenId], steps: usize) -> Vec<TokenId> {
    let row = model.open_row().unwrap();
    let mut logits = last(model, row, prompt);
    let mut ids = Vec::new();
    while ids.len() < steps {
        ids.push(argmax(&logits));
        logits = last(model, row, &ids[ids.len() - 1..]);
    }
    model.close_row(row);
    ids
}

#[test]
fn models_of_one_source_run_side_by_side_and_agree() {
    let bytes = fs::read(fixture("optimum").join("model.onnx")).unwrap();
    let config = ModelConfig::from_json(r#"{"max_position_embeddings": 64}"#, None).unwrap();
    let in_memory = ModelSource::bytes(bytes, config, Device::default()).on(Device::cpu(1));
    let folder = |name| ModelSource::folder(&fixture(name), &options()).unwrap();
    let sources = [
        ("optimum", in_memory),
        ("optimum", folder("optimum")),
        ("external_data", folder("external_data")),
        ("shared_buffer", folder("shared_buffer")),
    ];
    for (name, source) in &sources {
        let golden = &golden(name);
        thread::scope(|scope| {
            for _ in 0..3 {
                let mut model = source.open(runtime()).unwrap();
                scope.spawn(move || {
                    for _ in 0..5 {
                        let ids = greedy(&mut model, &golden.prompt, golden.greedy.len());
                        assert_eq!(ids, golden.greedy, "{name}");
                    }
                });
            }
        });
    }
}
