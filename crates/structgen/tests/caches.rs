//! The cache on the embedded model: what comes out with it is what comes out without, up to rounding.

#![allow(missing_docs, reason = "a test")]

use std::io::Write;
use std::num::NonZeroUsize;

use structgen::decode::{
    ContextOverflow, Forward, Generator, KeyValueCache, LanguageModel, PrefixCache, Unconstrained,
};
use structgen::ort::OrtModel;
use structgen::vocab::{TokenId, TokenMask};
use structgen::{Constraint, GenerateOptions, Model, ModelOptions, SchemaOptions};

/// Logits change in their last bits when a text is cut into other runs.
const MARGIN: f32 = 1e-4;

const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "required": ["name", "age"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}}}"#;

fn model(options: &ModelOptions) -> Model {
    structgen::ort::ensure_runtime(|line| drop(writeln!(std::io::stderr(), "{line}"))).unwrap();
    Model::embedded(options).unwrap()
}

fn tokens(n: usize) -> Vec<TokenId> {
    (0..n as u32).map(|i| TokenId(5 + i * 31 % 990)).collect()
}

fn last(model: &mut OrtModel, cache: &mut structgen::ort::OrtCache, ids: &[TokenId]) -> Vec<f32> {
    let logits = model.forward(Forward::last(ids), cache).unwrap();
    logits.row(0, 0).to_vec()
}

fn assert_close(a: &[f32], b: &[f32]) {
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() < MARGIN, "{x} and {y}");
    }
}

#[test]
fn cached_cut_and_forked_runs_equal_uncached_ones() {
    let mut model = model(&ModelOptions::new());
    let model = model.language_model();
    let tokens = tokens(300);
    let mut cached = model.new_cache(&[0]).unwrap();
    last(model, &mut cached, &tokens[..40]);
    for length in [41, 64, 65, 130, 131, 300] {
        let mut fresh = model.new_cache(&[0]).unwrap();
        let uncached = last(model, &mut fresh, &tokens[..length]);
        let so_far = cached.len();
        assert_close(
            &last(model, &mut cached, &tokens[so_far..length]),
            &uncached,
        );
        // Cut by more and more, and run again.
        for back in [1, 2, 17] {
            cached.truncate(length - back).unwrap();
            assert_close(
                &last(model, &mut cached, &tokens[length - back..length]),
                &uncached,
            );
        }
        let mut fork = cached.fork_prefix(length - 5).unwrap();
        assert_close(
            &last(model, &mut fork, &tokens[length - 5..length]),
            &uncached,
        );
        // The formula is what the tensors take.
        assert_eq!(fork.bytes(), length * model.info().cache_bytes_per_token);
    }
}

#[test]
fn a_prompt_that_begins_like_another_is_run_from_where_it_parts() {
    let mut plain = model(&ModelOptions::new());
    let mut reusing = model(&ModelOptions::new().with_prefix_cache(4_000_000));
    let schema = Constraint::json_schema_str(SCHEMA, &SchemaOptions::new()).unwrap();
    let compiled = plain.compile(&schema).unwrap();
    let options = GenerateOptions {
        max_new_tokens: Some(80),
        ..GenerateOptions::default()
    };
    let texts = ["Ada is 36 years old", "Bob turned 7", "Ada is 36 years old"];
    let mut reused = Vec::new();
    for text in texts {
        let prompt = format!("<schema>{{\"name\":string,\"age\":int}}<text>{text}<json>");
        let prompt = plain.encode_prompt(&prompt).unwrap();
        let expected = plain.generate(&prompt, Some(&compiled), &options).unwrap();
        let output = reusing
            .generate(&prompt, Some(&compiled), &options)
            .unwrap();
        assert_eq!(output.text, expected.text);
        reused.push((output.stats.reused_tokens, prompt.len()));
    }
    let [(first, _), (second, _), (third, len)] = reused[..] else {
        panic!("three texts");
    };
    // Nothing, the schema, and all but the last token, whose logits are asked for.
    assert!(first == 0 && second > 8, "{reused:?}");
    assert!(third >= len - 1, "{reused:?}");
    let prefixes = reusing.prefixes().unwrap();
    assert_eq!(prefixes.stats().hits, 2);
    assert!(prefixes.bytes() <= prefixes.max_bytes() && !prefixes.is_empty());
    assert!(plain.prefixes().is_none());
}

#[test]
fn prompts_in_pieces_and_cropped_texts_equal_runs_without_a_cache() {
    let mut model = model(&ModelOptions::new());
    let vocabulary = model.tokenizer().vocabulary().clone();
    let model = model.language_model();
    let mut prefixes = PrefixCache::new(100_000_000);
    let context_length = model.info().context_length;
    let width = model.info().logits_width;
    let prompt = tokens(context_length - 3);
    let options = GenerateOptions {
        max_new_tokens: Some(8),
        overflow: ContextOverflow::Crop { keep: 20 },
        ..GenerateOptions::default()
    };
    let mut outputs = Vec::new();
    for chunk in [usize::MAX, 100] {
        let output = Generator::new(model, &vocabulary)
            .with_prefill_chunk(NonZeroUsize::new(chunk).unwrap())
            .with_prefix_cache(&mut prefixes)
            .generate(
                &prompt,
                &mut Unconstrained::new(TokenMask::full(width), &[]),
                &options,
            )
            .unwrap();
        assert_eq!((output.tokens.len(), output.stats.crops), (8, 1));
        outputs.push(output);
        prefixes.clear();
    }
    // Each token has the largest logit, or nearly, of a run over what the model is shown.
    for output in &outputs {
        let mut shown = prompt.clone();
        for token in &output.tokens {
            if shown.len() > context_length {
                let tail = shown.len() - (context_length - 20) / 2;
                shown = [&shown[..20], &shown[tail..]].concat();
            }
            let mut cache = model.new_cache(&[0]).unwrap();
            let logits = last(model, &mut cache, &shown);
            let largest = logits.iter().copied().fold(f32::MIN, f32::max);
            assert!(largest - logits[token.id.index()] < MARGIN);
            shown.push(token.id);
        }
    }
}
