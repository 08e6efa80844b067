//! Encoder-decoders: the outputs are those of transformers (`fixtures/make_encoder_decoders.py`), whatever is run
//! together and however a text is cut into runs.

use std::fs;

use serde_json::Value;
use structgen_decode::{
    LanguageModel, ModelError,
    model::{RowId, RowRun},
};
use structgen_ort::OrtModel;
use structgen_vocab::TokenId;

use crate::support::{Random, argmax, assert_close, fixture, fresh, last, open, tokens};

const MODELS: [&str; 3] = ["t5", "t5_pair", "bart"];

/// What transformers generates after a prompt, the tokens that start the output included in the prompt.
struct Golden {
    prompt: Vec<TokenId>,
    greedy: Vec<TokenId>,
    first_logits: Vec<f32>,
}

fn golden(name: &str) -> Vec<Golden> {
    let text = fs::read_to_string(fixture(name).join("golden.json")).unwrap();
    let rows: Value = serde_json::from_str(&text).unwrap();
    let ids = |value: &Value| {
        let ids = value.as_array().unwrap().iter();
        tokens(ids.map(|id| id.as_u64().unwrap() as u32))
    };
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| Golden {
        prompt: ids(&row["prompt"]),
        greedy: ids(&row["greedy"]),
        first_logits: { row["first_logits"].as_array().unwrap().iter() }
            .map(|logit| logit.as_f64().unwrap() as f32)
            .collect(),
    })
    .collect()
}

/// Greedy outputs of several prompts, whose rows are run together.
fn greedy(model: &mut OrtModel, prompts: &[Vec<TokenId>], steps: usize) -> Vec<Vec<TokenId>> {
    let rows: Vec<RowId> = prompts.iter().map(|_| model.open_row().unwrap()).collect();
    let mut next = prompts.to_vec();
    let mut outputs = vec![Vec::new(); prompts.len()];
    for _ in 0..steps {
        let runs: Vec<_> = { rows.iter().zip(&next) }
            .map(|(&row, tokens)| RowRun::last(row, tokens))
            .collect();
        let output = model.run(&runs, false).unwrap();
        let best: Vec<TokenId> = output.rows().iter().map(|row| argmax(row.last())).collect();
        for (at, token) in best.into_iter().enumerate() {
            outputs[at].push(token);
            next[at] = vec![token];
        }
    }
    rows.into_iter().for_each(|row| model.close_row(row));
    outputs
}

#[test]
fn outputs_are_those_of_transformers_alone_and_together() {
    for name in MODELS {
        let mut model = open(name);
        let golden = golden(name);
        let steps = golden[0].greedy.len();
        for row in &golden {
            assert_close(&fresh(&mut model, &row.prompt), &row.first_logits, 1e-4);
            let alone = greedy(&mut model, std::slice::from_ref(&row.prompt), steps);
            assert_eq!(alone[0], row.greedy, "{name}");
        }
        // Different inputs, and each of them twice.
        let prompts = golden.iter().chain(&golden).map(|row| row.prompt.clone());
        let together = greedy(&mut model, &prompts.collect::<Vec<_>>(), steps);
        for (got, row) in together.iter().zip(golden.iter().chain(&golden)) {
            assert_eq!(*got, row.greedy, "{name}");
        }
    }
}

#[test]
fn a_text_has_the_same_logits_however_it_is_cut_into_runs() {
    for name in MODELS {
        let mut model = open(name);
        let row = &golden(name)[0];
        let text = [&row.prompt[..], &row.greedy].concat();
        let expected = fresh(&mut model, &text);
        let mut random = Random(7);
        for _ in 0..20 {
            let id = model.open_row().unwrap();
            let mut at = 0;
            while at < text.len() {
                let end = (at + 1 + random.below(6)).min(text.len());
                let run = RowRun {
                    row: id,
                    tokens: &text[at..end],
                    positions: usize::from(end == text.len()),
                };
                let logits = model.run(&[run], false).unwrap();
                if end == text.len() {
                    assert_close(logits.row(0).last(), &expected, 1e-4);
                }
                at = end;
            }
            assert_eq!(model.row_len(id), Some(text.len()));
            model.close_row(id);
        }
    }
}

#[test]
fn rows_are_forked_and_cut_at_any_token() {
    for name in MODELS {
        let mut model = open(name);
        let golden = golden(name);
        let text = [&golden[0].prompt[..], &golden[0].greedy].concat();
        let row = model.open_row().unwrap();
        last(&mut model, row, &text);
        let start = golden[0].prompt.len();
        for len in 0..text.len() {
            let fork = model.fork_row(row, len).unwrap();
            assert_eq!(model.row_len(fork), Some(len));
            // The same text again, and another output.
            let end = (len + 1).max(start);
            let logits = last(&mut model, fork, &text[len..end]);
            assert_close(&logits, &fresh(&mut model, &text[..end]), 1e-4);
            model.cut_row(fork, len).unwrap();
            let mut other = text[..end].to_vec();
            other.extend(tokens([9, 10]));
            let logits = last(&mut model, fork, &other[len..]);
            assert_close(&logits, &fresh(&mut model, &other), 1e-4);
            model.close_row(fork);
        }
        // A row that is cut into its input may go on with another one.
        let other = &golden[1].prompt;
        model.cut_row(row, 0).unwrap();
        let logits = last(&mut model, row, other);
        assert_close(&logits, &golden[1].first_logits, 1e-4);
    }
}

#[test]
fn rows_of_one_input_share_what_it_became() {
    for name in MODELS {
        let mut model = open(name);
        let golden = &golden(name)[2];
        let one = model.open_row().unwrap();
        last(&mut model, one, &golden.prompt);
        let alone = model.row_bytes(one);
        let other = model.open_row().unwrap();
        let logits = last(&mut model, other, &golden.prompt);
        assert_close(&logits, &golden.first_logits, 1e-4);
        let both = model.row_bytes(one) + model.row_bytes(other);
        assert!(both < alone * 3 / 2, "{both} bytes, and {alone} for one");
        model.close_row(other);
        assert_eq!(model.row_bytes(one), alone);
    }
}

#[test]
fn logits_of_the_input_are_refused_and_rows_stay_as_they_were() {
    for name in MODELS {
        let mut model = open(name);
        let golden = &golden(name)[0];
        let start = model.info().output_start.clone().unwrap();
        let tokens_between: Vec<TokenId> = start.tokens().collect();
        let input = golden.prompt.strip_suffix(&tokens_between[..]).unwrap();
        let row = model.open_row().unwrap();
        let refused = model.run(&[RowRun::last(row, input)], false).map(drop);
        assert!(matches!(refused, Err(ModelError::NoOutputStart { .. })));
        let run = RowRun {
            row,
            tokens: &golden.prompt,
            positions: golden.prompt.len(),
        };
        let refused = model.run(&[run], false).map(drop);
        assert!(matches!(refused, Err(ModelError::NoOutputStart { .. })));
        // An input that is too long, though the text as a whole is not.
        let mut long = tokens((0..65).map(|at| 3 + at % 40));
        long.extend(&golden.prompt);
        let refused = model.run(&[RowRun::last(row, &long)], false).map(drop);
        assert!(
            matches!(refused, Err(ModelError::ContextOverflow { .. })),
            "{refused:?}"
        );
        assert_eq!(model.row_len(row), Some(0));
        assert_close(
            &last(&mut model, row, &golden.prompt),
            &golden.first_logits,
            1e-4,
        );
    }
}
