//! Caches that are one buffer for past and present give what caches give that each run copies.
//!
//! These need the runtime library, and fetch it where it is missing, saying so.

mod support;

use std::fs;
use std::path::Path;

use structgen_decode::{
    BeamOptions, Forward, GenerateOptions, Generator, KeyValueCache, LanguageModel, ModelError,
    ModelStats, PromptLookup, Request, Speculation, Unconstrained,
};
use structgen_ort::{Device, LoadError, LoadOptions, ModelConfig, OrtCache, OrtModel};
use structgen_vocab::{TokenId, TokenMask, Vocabulary};
use support::{fixture, runtime};

const WIDTH: usize = 48;
const CONTEXT: usize = 64;

fn load(folder: &Path) -> Result<OrtModel, LoadError> {
    let options = LoadOptions {
        device: Device::cpu(1),
        ..LoadOptions::default()
    };
    OrtModel::open(runtime(), folder, &options)
}

fn shared() -> OrtModel {
    load(&fixture("shared_buffer")).unwrap()
}

/// The same weights with attention in ordinary operators, whose cache is copied in every run.
fn copied() -> OrtModel {
    let bytes = fs::read(fixture("shared_buffer/copied.onnx")).unwrap();
    let config = r#"{"max_position_embeddings": 64, "eos_token_id": [0, 1]}"#;
    let config = ModelConfig::from_json(config, None).unwrap();
    OrtModel::from_bytes(runtime(), &bytes, &config, Device::cpu(1)).unwrap()
}

/// A folder of onnxruntime-genai's with another word about buffers.
fn saying(name: &str, flag: &str) -> Result<OrtModel, LoadError> {
    let dir = tempfile::tempdir().unwrap();
    let config = fs::read_to_string(fixture(name).join("genai_config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    config["search"]["past_present_share_buffer"] = serde_json::from_str(flag).unwrap();
    fs::write(dir.path().join("genai_config.json"), config.to_string()).unwrap();
    let file = config["model"]["decoder"]["filename"].as_str().unwrap();
    fs::copy(fixture(name).join(file), dir.path().join(file)).unwrap();
    load(dir.path())
}

#[test]
fn rows_of_different_lengths_are_an_error_where_the_graph_would_take_padding_for_text() {
    // The same graph, not told that it may share buffers.
    for name in ["shared_buffer", "shared_float16"] {
        let mut model = saying(name, "false").unwrap();
        assert!(!model.shares_buffers());
        let error = model.new_cache(&[0, 2]).err().unwrap();
        assert!(matches!(error, ModelError::LeftPadding), "{error}");
        assert_eq!(model.stats(), ModelStats::default());
        // Rows of one length have no padding.
        let tokens: Vec<TokenId> = (4..12).map(TokenId).collect();
        let mut rows = model.new_cache(&[0, 0]).unwrap();
        let both = [&tokens[..], &tokens].concat();
        let logits = model.forward(Forward::last(&both), &mut rows).unwrap();
        let rows = [logits.row(0, 0).to_vec(), logits.row(1, 0).to_vec()];
        let mut shared = load(&fixture(name)).unwrap();
        let mut cache = shared.new_cache(&[0]).unwrap();
        let alone = shared.forward(Forward::last(&tokens), &mut cache).unwrap();
        for row in rows {
            let apart = row.iter().zip(alone.row(0, 0)).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f32::max) < 1e-2, "{name}");
        }
    }
    assert!(copied().new_cache(&[0, 2]).is_ok());
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// Two models, and a cache of each, which have seen the same.
struct Pair {
    shared: (OrtModel, OrtCache),
    copied: (OrtModel, OrtCache),
    padding: Vec<usize>,
}

impl Pair {
    fn restart(&mut self, padding: Vec<usize>) {
        self.shared.1 = self.shared.0.new_cache(&padding).unwrap();
        self.copied.1 = self.copied.0.new_cache(&padding).unwrap();
        self.padding = padding;
    }

    fn change(&mut self, change: impl Fn(&mut OrtCache)) {
        change(&mut self.shared.1);
        change(&mut self.copied.1);
    }

    /// Runs tokens in both; says by how much logits and hidden states of what is no padding differ.
    fn run(&mut self, tokens: &[TokenId], positions: usize) -> f32 {
        let input = Forward {
            positions,
            hidden: positions != 2,
            ..Forward::last(tokens)
        };
        let end = self.copied.1.len() + tokens.len() / self.padding.len();
        let a = self.shared.0.forward(input, &mut self.shared.1).unwrap();
        let b = self.copied.0.forward(input, &mut self.copied.1).unwrap();
        let mut worst = 0f32;
        for (row, &padding) in self.padding.iter().enumerate() {
            for i in (0..positions).filter(|i| end - positions + i >= padding) {
                let (a, b) = (
                    (a.row(row, i), a.hidden(row, i)),
                    (b.row(row, i), b.hidden(row, i)),
                );
                assert!(a.1.is_some() == input.hidden && b.1.is_some() == input.hidden);
                let hidden = a.1.into_iter().flatten().zip(b.1.into_iter().flatten());
                for (x, y) in a.0.iter().zip(b.0).chain(hidden) {
                    worst = worst.max((x - y).abs());
                }
            }
        }
        assert_eq!(self.shared.1.len(), self.copied.1.len());
        worst
    }
}

#[test]
fn whatever_is_done_to_a_cache_logits_are_those_of_copied_caches() {
    let (mut a, mut b) = (shared(), copied());
    assert!(a.shares_buffers() && !b.shares_buffers());
    let caches = (a.new_cache(&[0]).unwrap(), b.new_cache(&[0]).unwrap());
    let mut pair = Pair {
        shared: (a, caches.0),
        copied: (b, caches.1),
        padding: vec![0],
    };
    let mut random = Random(5);
    let (mut runs, mut batches) = (0, 0);
    for _ in 0..1500 {
        let len = pair.shared.1.len();
        let rows = pair.padding.len();
        match random.below(9) {
            0 => {
                let rows = 1 + random.below(4);
                let padding = (0..rows).map(|_| random.below(2) * random.below(6));
                pair.restart(padding.collect());
            }
            1 => {
                let len = len - random.below(len.min(7) + 1);
                pair.change(|cache| cache.truncate(len).unwrap());
            }
            2 => {
                let kept = random.below(len + 1);
                pair.change(|cache| *cache = cache.fork_prefix(kept).unwrap());
            }
            3 => {
                let chosen: Vec<usize> = (0..1 + random.below(4))
                    .map(|_| random.below(rows))
                    .collect();
                pair.change(|cache| cache.select_rows(&chosen).unwrap());
                pair.padding = chosen.iter().map(|&row| pair.padding[row]).collect();
            }
            most => {
                let n = 1 + random.below(if most < 6 { 9 } else { 1 });
                if len + n > CONTEXT {
                    continue;
                }
                let tokens: Vec<TokenId> = (0..rows * n)
                    .map(|_| TokenId(random.below(WIDTH) as u32))
                    .collect();
                let positions = 1 + random.below(n);
                let worst = pair.run(&tokens, positions);
                assert!(worst < 1e-4, "{worst} after {len}, {:?}", pair.padding);
                runs += 1;
                batches += usize::from(rows > 1);
            }
        }
    }
    assert!(runs > 600 && batches > 200, "{runs} {batches}");
}

#[test]
fn a_graph_that_may_share_buffers_need_not() {
    let mut plain = saying("shared_buffer", "false").unwrap();
    assert!(!plain.shares_buffers());
    let mut shared = shared();
    let tokens: Vec<TokenId> = (3..40).map(TokenId).collect();
    let mut caches = [
        plain.new_cache(&[0]).unwrap(),
        shared.new_cache(&[0]).unwrap(),
    ];
    for part in tokens.chunks(5) {
        let a = plain.forward(Forward::last(part), &mut caches[0]).unwrap();
        let b = shared.forward(Forward::last(part), &mut caches[1]).unwrap();
        for (x, y) in a.row(0, 0).iter().zip(b.row(0, 0)) {
            assert!((x - y).abs() < 1e-5);
        }
    }
    // Neither takes the other's.
    let [plain_cache, shared_cache] = &mut caches;
    let one = Forward::last(&tokens[..1]);
    let errors = [
        plain.forward(one, shared_cache).unwrap_err().to_string(),
        shared.forward(one, plain_cache).unwrap_err().to_string(),
    ];
    for error in errors {
        assert!(error.contains("another model's cache"), "{error}");
    }
}

#[test]
fn room_doubles_up_to_the_context_and_is_what_bytes_say() {
    let mut model = shared();
    let of = |positions: usize, rows: usize| positions * rows * 2 * 2 * 2 * 16 * 4;
    assert_eq!(model.info().cache_bytes_per_token, of(1, 1));
    let mut cache = model.new_cache(&[0]).unwrap();
    assert_eq!(cache.bytes(), 0);
    let mut rooms = Vec::new();
    for i in 0..CONTEXT {
        let token = [TokenId(i as u32 % 40)];
        model.forward(Forward::last(&token), &mut cache).unwrap();
        rooms.push(cache.bytes() / of(1, 1));
    }
    rooms.dedup();
    assert_eq!(rooms, [16, 32, 64]);
    cache.truncate(3).unwrap();
    assert_eq!(cache.bytes(), of(64, 1));
    // A copy has room for what is copied and a little more.
    assert_eq!(cache.fork().unwrap().bytes(), of(16, 1));
    cache.select_rows(&[0, 0, 0]).unwrap();
    assert_eq!(cache.bytes(), of(16, 3));
}

#[test]
fn every_strategy_gives_what_it_gives_with_copied_caches() {
    let (mut a, mut b) = (shared(), copied());
    let tokens = (0..WIDTH).map(|id| format!("<{id}>").into_bytes());
    let vocabulary = Vocabulary::from_tokens(tokens, &[]).unwrap();
    let free = Unconstrained::new(TokenMask::full(WIDTH), &[]);
    let options = GenerateOptions {
        max_new_tokens: Some(20),
        ..GenerateOptions::default()
    };
    let prompts: Vec<Vec<TokenId>> = [&[7, 19, 3, 42, 11][..], &[5, 5], &[40, 2, 31, 8, 8, 17, 9]]
        .iter()
        .map(|ids| ids.iter().copied().map(TokenId).collect())
        .collect();
    let outputs = |model: &mut OrtModel| {
        let mut generator = Generator::new(model, &vocabulary);
        let mut texts = Vec::new();
        let requests = prompts.iter().map(|prompt| Request {
            prompt,
            constraint: free.clone(),
            options: &options,
            sequence: 0,
        });
        let batch = generator.generate_batch(requests.collect()).unwrap();
        texts.extend(batch.into_iter().map(|one| one.unwrap().text));
        for prompt in &prompts {
            let beams = BeamOptions {
                width: 3,
                n_best: 3,
                ..BeamOptions::default()
            };
            let found = generator.beam_search(prompt, &free, &options, &beams);
            texts.extend(found.unwrap().into_iter().map(|one| one.generation.text));
            let mut speculation = Speculation::new().with_lookup(PromptLookup::default());
            let drafted = generator
                .generate_speculative(prompt, &mut free.clone(), &options, &mut speculation)
                .unwrap();
            texts.push(drafted.text);
        }
        texts
    };
    assert_eq!(outputs(&mut a), outputs(&mut b));
}

#[test]
fn graphs_that_cannot_share_buffers_are_refused_when_they_are_loaded() {
    let refusals = [("genai", "true"), ("genai_gpt2", "true"), ("genai", "1")].map(
        |(name, flag)| match saying(name, flag) {
            Err(LoadError::NotShared { reason }) => format!("not shared: {reason}"),
            Err(error) => error.to_string(),
            Ok(_) => "loaded".into(),
        },
    );
    assert!(refusals[0].starts_with("not shared: "), "{}", refusals[0]);
    expect_test::expect![[r#"
        not shared: its keys and values are one tensor
        genai_config.json: past_present_share_buffer must be true or false, and is 1"#]]
    .assert_eq(&refusals[1..].join("\n"));
}
