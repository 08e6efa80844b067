//! The runtime, the models that are tested, and what the tests do with them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use structgen_decode::{
    LanguageModel,
    model::{RowId, RowRun},
};
use structgen_ort::{Device, LoadOptions, ModelConfig, OrtModel, Runtime, ensure_runtime};
use structgen_vocab::{TokenId, Vocabulary};

pub(crate) const WIDTH: usize = 48;
pub(crate) const CONTEXT: usize = 64;

/// The fixtures, one for each layout.
pub(crate) const LAYOUTS: [&str; 26] = [
    "optimum",
    "no_position_ids",
    "grouped_query",
    "float16",
    "external_data",
    "logits_to_keep",
    "merged",
    "pair",
    "genai",
    "genai_gpt2",
    "shared_buffer",
    "shared_float16",
    "fused_heads",
    "turned_keys",
    "key_value",
    "key_value_one_head",
    "embeddings",
    "genai_embeddings",
    "genai_pipeline",
    "short_conv",
    "genai_short_conv",
    "shared_short_conv",
    "gated_delta",
    "state_space",
    "state_space_attention",
    "state_space_attention_float16",
];

/// The runtime library, which is fetched where it is missing.
pub(crate) fn runtime() -> &'static Runtime {
    let say = |line: &str| drop(writeln!(std::io::stderr(), "{line}"));
    ensure_runtime(say).unwrap()
}

/// The folder of a tiny model.
pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// A copy of the folder of a tiny model.
pub(crate) fn copied_folder(name: &str) -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        for entry in fs::read_dir(from).unwrap() {
            let (entry, to) = (entry.unwrap().path(), to.to_owned());
            let to = to.join(entry.file_name().unwrap());
            match entry.is_dir() {
                true => {
                    fs::create_dir(&to).unwrap();
                    copy(&entry, &to);
                }
                false => drop(fs::copy(entry, to).unwrap()),
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&fixture(name), folder.path());
    folder
}

/// One thread: the models are tiny.
pub(crate) fn options() -> LoadOptions {
    LoadOptions {
        device: Device::cpu(1),
        ..LoadOptions::default()
    }
}

pub(crate) fn open(name: &str) -> OrtModel {
    OrtModel::open(runtime(), &fixture(name), &options()).unwrap()
}

/// The weights of `shared_buffer` with attention in ordinary operators, whose cache grows.
pub(crate) fn copied() -> OrtModel {
    let bytes = fs::read(fixture("shared_buffer/copied.onnx")).unwrap();
    let config = r#"{"max_position_embeddings": 64, "eos_token_id": [0, 1]}"#;
    let config = ModelConfig::from_json(config, None).unwrap();
    OrtModel::from_bytes(runtime(), bytes, &config, Device::cpu(1)).unwrap()
}

/// What Python generated with a model.
pub(crate) struct Golden {
    pub(crate) prompt: Vec<TokenId>,
    pub(crate) greedy: Vec<TokenId>,
    pub(crate) first_logits: Vec<f32>,
}

pub(crate) fn golden(name: &str) -> Golden {
    let text = fs::read_to_string(fixture(name).join("golden.json")).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    let ids = |key: &str| {
        let list = golden[key].as_array().unwrap().iter();
        list.map(|id| TokenId(id.as_u64().unwrap() as u32))
            .collect()
    };
    let logits = golden["first_logits"].as_array().unwrap().iter();
    Golden {
        prompt: ids("prompt"),
        greedy: ids("greedy"),
        first_logits: logits.map(|l| l.as_f64().unwrap() as f32).collect(),
    }
}

pub(crate) fn vocabulary() -> Vocabulary {
    let tokens = (0..WIDTH).map(|id| format!("<{id}>").into_bytes());
    Vocabulary::from_tokens(tokens, &[]).unwrap()
}

pub(crate) fn tokens(ids: impl IntoIterator<Item = u32>) -> Vec<TokenId> {
    ids.into_iter().map(TokenId).collect()
}

/// Runs tokens of one row; the logits of the last.
pub(crate) fn last(model: &mut OrtModel, row: RowId, tokens: &[TokenId]) -> Vec<f32> {
    let output = model.run(&[RowRun::last(row, tokens)], false).unwrap();
    output.row(0).last().to_vec()
}

/// The logits after a text, in a row of its own.
pub(crate) fn fresh(model: &mut OrtModel, tokens: &[TokenId]) -> Vec<f32> {
    let row = model.open_row().unwrap();
    let logits = last(model, row, tokens);
    model.close_row(row);
    logits
}

pub(crate) fn argmax(logits: &[f32]) -> TokenId {
    let best = (0..logits.len()).fold(0, |best, id| match logits[id] > logits[best] {
        true => id,
        false => best,
    });
    TokenId(best as u32)
}

/// The largest difference of two lists of numbers.
pub(crate) fn apart(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let apart = a.iter().zip(b).map(|(x, y)| (x - y).abs());
    apart.fold(0.0, |worst, apart| {
        if apart > worst || apart.is_nan() {
            apart
        } else {
            worst
        }
    })
}

pub(crate) fn assert_close(a: &[f32], b: &[f32], tolerance: f32) {
    let apart = apart(a, b);
    assert!(apart <= tolerance, "{apart} apart");
}

/// How far equal computations may be apart. In half precision the last bits are larger.
pub(crate) fn tolerance(name: &str) -> f32 {
    match name.ends_with("float16") {
        true => 3e-2,
        false => 1e-4,
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}
