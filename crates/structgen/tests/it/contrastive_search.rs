//! Contrastive search on a small model against transformers' own, in PyTorch.

use serde_json::Value;
use structgen::decode::strategies::ContrastiveSearch;
use structgen::vocab::TokenId;
use structgen::{GenerateOptions, Request};

use crate::support::golden_model;

/// Recorded by `training/contrastive_search_goldens.py`, which omits cases that depend on rounding.
const GOLDENS: &str = include_str!("../goldens/contrastive_search.json");

fn tokens(list: &Value) -> Vec<TokenId> {
    let ids = list.as_array().unwrap().iter();
    ids.map(|id| TokenId(id.as_u64().unwrap() as u32)).collect()
}

#[test]
fn outputs_are_those_of_transformers() {
    let model = golden_model();
    let goldens: Value = serde_json::from_str(GOLDENS).unwrap();
    let prompts: Vec<Vec<TokenId>> = { goldens["prompts"].as_array().unwrap().iter() }
        .map(tokens)
        .collect();
    let options = GenerateOptions {
        max_new_tokens: Some(goldens["new_tokens"].as_u64().unwrap() as usize),
        ..GenerateOptions::default()
    };
    let cases = goldens["cases"].as_array().unwrap();
    let mut unlike_greedy = 0;
    for case in cases {
        let prompt = &prompts[case["prompt"].as_u64().unwrap() as usize];
        let search = ContrastiveSearch {
            alpha: case["alpha"].as_f64().unwrap() as f32,
            top_k: case["top_k"].as_u64().unwrap() as usize,
        };
        let request = Request::new(&prompt[..], None)
            .with_options(options.clone())
            .with_strategy(search);
        let output = model.submit(request).unwrap().wait().unwrap().single();
        let output = output.unwrap();
        let found = output.tokens.iter().chain(&output.end);
        let found: Vec<TokenId> = found.map(|token| token.id).collect();
        assert_eq!(found, tokens(&case["tokens"]), "{search:?} {prompt:?}");
        let greedy = model.generate(prompt, None, &options).unwrap();
        unlike_greedy += u32::from(greedy.text != output.text);
    }
    assert!(cases.len() >= 20 && unlike_greedy > 10, "{unlike_greedy}");
}
