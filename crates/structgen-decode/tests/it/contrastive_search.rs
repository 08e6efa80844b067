//! Contrastive search against the same steps, one at a time.

use std::sync::Arc;

use expect_test::expect;
use serde_json::Value;
use structgen_constraint::Matcher;
use structgen_decode::{
    Constraint, FinishReason, GenerateError, GenerateOptions, Generation, LanguageModel, MockModel,
    ModelError, ModelInfo, Request, SamplingParams, Scheduler, SchedulerLimits, Strategy,
    Unconstrained,
    model::{ModelStats, RowId, RowOutput, RowRun, RunOutput},
    strategies::ContrastiveSearch,
};
use structgen_vocab::{TokenId, TokenMask, Vocabulary};

use crate::support::{self, EOS, constraint, prefilled, prompt, schemas, vocabulary};

fn model(seed: u64) -> MockModel {
    MockModel::new(270, 400, [EOS])
        .with_seed(seed)
        .with_hidden_width(5)
}

fn options() -> GenerateOptions {
    GenerateOptions {
        max_new_tokens: Some(300),
        ..GenerateOptions::default()
    }
}

fn ids(output: &Generation) -> Vec<TokenId> {
    output.tokens.iter().map(|token| token.id).collect()
}

/// Returns the output of a request on its own model.
fn run<C: Constraint + Clone + 'static>(
    model: &MockModel,
    prompt: &[TokenId],
    constraint: C,
    options: &GenerateOptions,
    strategy: impl Into<Strategy>,
) -> Result<Generation, GenerateError> {
    let request = Request::new(prompt, constraint)
        .with_options(options.clone())
        .with_strategy(strategy);
    support::run(model, &vocabulary(), request)?.single()
}

/// Returns the logits after some tokens, and the states of all of them.
fn after(model: &MockModel, tokens: &[TokenId]) -> (Vec<f32>, Vec<Vec<f32>>) {
    let mut model = model.clone();
    let row = model.open_row().unwrap();
    let positions = tokens.len();
    let run = RowRun {
        row,
        tokens,
        positions,
    };
    let output = model.run(&[run], true).unwrap().row(0);
    let states = (0..positions).map(|i| output.hidden(i).unwrap().to_vec());
    (output.last().to_vec(), states.collect())
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let pairs = a.iter().zip(b);
        pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Returns the output by the formula, in double precision, running every text anew.
fn by_hand(
    model: &MockModel,
    prompt: &[TokenId],
    mut matcher: Matcher,
    search: &ContrastiveSearch,
) -> Vec<TokenId> {
    let mut all = prompt.to_vec();
    while !matcher.is_finished() {
        let mask = matcher.mask().unwrap();
        let (logits, states) = after(model, &all);
        let mut allowed: Vec<(TokenId, f64)> = { mask.bits().iter() }
            .map(|id| (id, f64::from(logits[id.index()]).exp()))
            .collect();
        let total: f64 = allowed.iter().map(|(_, weight)| weight).sum();
        allowed.sort_by(|a, b| b.1.total_cmp(&a.1));
        allowed.truncate(search.top_k);
        let alpha = f64::from(search.alpha);
        let score = |&(id, weight): &(TokenId, f64)| {
            let (_, with) = after(model, &[&all[..], &[id]].concat());
            let state = &with[all.len()];
            let cosines = states.iter().map(|other| cosine(state, other));
            (1.0 - alpha) * weight / total - alpha * cosines.fold(-1.0, f64::max)
        };
        let best = allowed.iter().map(|one| (score(one), one.0));
        let (_, token) = best.reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap();
        matcher.accept_token(token).unwrap();
        if token == EOS {
            break;
        }
        all.push(token);
    }
    all.split_off(prompt.len())
}

#[test]
fn outputs_are_those_of_the_formula_under_every_constraint() {
    let vocabulary = vocabulary();
    let (mut changed, mut runs) = (0, 0);
    // Bounded texts, so that the budget never steers.
    for (number, schema) in schemas().iter().skip(2).enumerate() {
        let constraint = constraint(&vocabulary, schema);
        for (alpha, top_k) in [(0.6, 4), (0.2, 9), (1.0, 3), (0.5, 1)] {
            let search = ContrastiveSearch { alpha, top_k };
            for seed in 1..4 {
                let prompt = prompt(5, number as u32);
                let model = model(seed);
                let expected = by_hand(&model, &prompt, constraint.matcher(), &search);
                let matcher = constraint.matcher();
                let found = run(&model, &prompt, matcher, &options(), search).unwrap();
                assert_eq!(ids(&found), expected, "{schema} {search:?} {seed}");
                serde_json::from_str::<Value>(&found.text).unwrap();
                runs += 1;
                let matcher = constraint.matcher();
                let plain = run(&model, &prompt, matcher, &options(), Strategy::Sample).unwrap();
                changed += u32::from(plain.text != found.text);
                assert!(top_k > 1 || plain.text == found.text);
            }
        }
    }
    assert!(changed > runs / 4, "{changed} of {runs}");
}

#[test]
fn an_alpha_of_zero_and_one_token_are_greedy_decoding() {
    let vocabulary = vocabulary();
    let sampling = SamplingParams {
        repetition_penalty: 1.3,
        ..SamplingParams::default()
    };
    for schema in schemas() {
        let constraint = constraint(&vocabulary, &schema);
        let options = GenerateOptions {
            log_probs: true,
            alternatives: 2,
            sampling: sampling.clone(),
            max_new_tokens: Some(60),
            ..GenerateOptions::default()
        };
        let model = model(5);
        let run = |strategy: Strategy| {
            run(
                &model,
                &prompt(4, 1),
                constraint.matcher(),
                &options,
                strategy,
            )
            .unwrap()
        };
        let plain = run(Strategy::Sample);
        for (alpha, top_k) in [(0.0, 6), (0.7, 1)] {
            let search = ContrastiveSearch { alpha, top_k };
            let found = run(search.into());
            assert_eq!(found.tokens, plain.tokens, "{schema} {search:?}");
            assert_eq!(found.end, plain.end);
            assert_eq!(found.finish, plain.finish);
            // More tokens are tried, so more are refused.
            assert!(found.stats.steered_steps >= plain.stats.steered_steps);
        }
    }
}

#[test]
fn outputs_are_whole_at_the_least_budget() {
    let vocabulary = vocabulary();
    let mut steered = 0;
    for schema in schemas() {
        let constraint = constraint(&vocabulary, &schema);
        let needed = constraint.matcher().completion_cost().unwrap() as usize;
        for more in [0, 1, 9] {
            let options = GenerateOptions {
                max_new_tokens: Some(needed + more),
                min_new_tokens: more,
                ..GenerateOptions::default()
            };
            // The model's favourite token never ends anything, and all others have probabilities too small for a float.
            for bias in [4.0, 500.0] {
                let model = model(5)
                    .preferring(TokenId(u32::from(b'1')), bias)
                    .preferring(TokenId(u32::from(b'a')), bias);
                let search = ContrastiveSearch::default();
                let found = run(
                    &model,
                    &[TokenId(1)],
                    constraint.matcher(),
                    &options,
                    search,
                );
                let found = found.unwrap();
                assert!(found.tokens.len() <= needed + more);
                serde_json::from_str::<Value>(&found.text).unwrap();
                steered += found.stats.steered_steps;
            }
        }
    }
    assert!(steered > 0);
}

/// Logits and states that depend on the last token alone.
struct Table {
    inner: MockModel,
    /// By token.
    logits: Vec<Vec<f32>>,
    states: Vec<Vec<f32>>,
    /// By row of the last run.
    given: Vec<(Vec<f32>, Vec<f32>)>,
}

impl LanguageModel for Table {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn open_row(&mut self) -> Result<RowId, ModelError> {
        self.inner.open_row()
    }

    fn fork_row(&mut self, row: RowId, len: usize) -> Result<RowId, ModelError> {
        self.inner.fork_row(row, len)
    }

    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError> {
        self.inner.cut_row(row, len)
    }

    fn close_row(&mut self, row: RowId) {
        self.inner.close_row(row);
    }

    fn row_len(&self, row: RowId) -> Option<usize> {
        self.inner.row_len(row)
    }

    fn run(&mut self, rows: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError> {
        self.inner.run(rows, hidden)?;
        self.given.clear();
        for run in rows {
            let last = &run.tokens[run.tokens.len() - run.positions..];
            let of_tokens = |table: &[Vec<f32>]| -> Vec<f32> {
                last.iter().flat_map(|t| table[t.index()].clone()).collect()
            };
            let given = (of_tokens(&self.logits), of_tokens(&self.states));
            self.given.push(given);
        }
        let rows = self.given.iter().map(|(logits, states)| {
            let output = RowOutput::new(logits, self.logits[0].len());
            output.with_hidden(states, self.states[0].len())
        });
        Ok(RunOutput::new(rows.collect()))
    }

    fn stats(&self) -> ModelStats {
        self.inner.stats()
    }
}

#[test]
fn a_likely_token_gives_way_to_one_that_is_new() {
    // After every token: a .5, b .3, c .2. States: a and b are nearly equal, c is orthogonal, the prompt's token is
    // like a.
    let vocabulary = Vocabulary::from_tokens(
        ["a", "b", "c", "p"].map(|token| token.as_bytes().to_vec()),
        &[],
    );
    let vocabulary = Arc::new(vocabulary.unwrap());
    let logits = [0.5f32, 0.3, 0.2].map(f32::ln);
    let logits = [&logits[..], &[f32::NEG_INFINITY]].concat();
    let table = || Table {
        inner: MockModel::new(4, 32, []).with_hidden_width(2),
        logits: vec![logits.clone(); 4],
        states: vec![
            vec![1.0, 0.0],
            vec![0.6, 0.8],
            vec![0.0, -3.0],
            vec![2.0, 0.0],
        ],
        given: Vec::new(),
    };
    let run = |alpha, top_k, allowed: &[u32]| {
        let mut mask = TokenMask::new(4);
        allowed.iter().for_each(|&id| mask.allow(TokenId(id)));
        let options = GenerateOptions {
            max_new_tokens: Some(3),
            ..GenerateOptions::default()
        };
        let request = Request::new([TokenId(3)], Unconstrained::new(mask, &[]))
            .with_options(options)
            .with_strategy(ContrastiveSearch { alpha, top_k });
        let mut scheduler = Scheduler::new(table(), Arc::clone(&vocabulary));
        let output = scheduler.run(request).unwrap().single().unwrap();
        assert_eq!(output.finish, FinishReason::MaxTokens);
        output.text
    };
    // Equal weights. First: a .25-.5, b .15-.3, c .1-0, so c. Now c is known: a .25-.5, b .15-.3, c .1-.5, so b, after
    // which all are equally known: a .25-.5.
    assert_eq!(run(0.5, 3, &[0, 1, 2]), "cba");
    // Between the first two: b, and then a, since all are known.
    assert_eq!(run(0.5, 2, &[0, 1, 2]), "baa");
    // Too little weight on novelty: a .4-.2, b .24-.12, c .16-0.
    assert_eq!(run(0.2, 3, &[0, 1, 2]), "aaa");
    // Without a, the others have more: b .6, c .4.
    assert_eq!(run(0.4, 3, &[1, 2]), "cbb");
    assert_eq!(run(0.1, 3, &[1, 2]), "bbb");
}

#[test]
fn a_prefill_belongs_to_the_text_and_chunks_change_nothing() {
    let vocabulary = vocabulary();
    let mut allowed = TokenMask::new(270);
    allowed.allow_all(&[97, 98, 99].map(TokenId));
    let free = Unconstrained::new(allowed, &[EOS]);
    let options = prefilled();
    let run = |chunk: usize| {
        let mut limits = SchedulerLimits::default();
        limits.prefill_chunk = chunk;
        limits.prefill_most = chunk;
        let model = model(8).preferring(EOS, -30.0);
        let mut scheduler = support::scheduler(model, &vocabulary).with_limits(limits);
        let request = Request::new(prompt(90, 2), free.clone())
            .with_options(options.clone())
            .with_strategy(ContrastiveSearch::default());
        let output = scheduler.run(request).unwrap().single().unwrap();
        // The prompt in pieces, and one run for each step.
        let pieces = 92usize.div_ceil(chunk) as u64;
        assert_eq!(output.stats.runs, pieces + 12);
        ids(&output)
    };
    let output = run(400);
    assert_eq!(output.len(), 12);
    assert_eq!(run(33), output);
}

#[test]
fn what_makes_no_sense_is_told() {
    let vocabulary = vocabulary();
    let constraint = constraint(&vocabulary, &schemas()[2]);
    let mut told = Vec::new();
    let mut tell = |model: MockModel, alpha, top_k| {
        let search = ContrastiveSearch { alpha, top_k };
        let error = run(
            &model,
            &prompt(3, 1),
            constraint.matcher(),
            &options(),
            search,
        );
        told.push(error.unwrap_err().to_string());
    };
    tell(model(1), 1.5, 4);
    tell(model(1), -0.1, 4);
    tell(model(1), f32::NAN, 4);
    tell(model(1), 0.5, 0);
    tell(MockModel::new(270, 400, [EOS]), 0.5, 4);
    expect![[r#"
        contrastive_search.alpha is 1.5, and must be from 0 to 1
        contrastive_search.alpha is -0.1, and must be from 0 to 1
        contrastive_search.alpha is infinite or NaN, and must be from 0 to 1
        contrastive_search.top_k is 0, and must be 1 or more
        the model returns no hidden states: export it with the output hidden_states, the last layer's normalised states"#]].assert_eq(&told.join("\n"));
}
