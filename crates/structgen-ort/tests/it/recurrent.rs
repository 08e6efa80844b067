//! Recurrent and hybrid models, whose rows have states of fixed size: what is cut or forked is run again from a
//! snapshot.
//!
//! That their texts are those of a reference without states, in any order of runs, cuts and forks, is in `models.rs`
//! and `programs.rs`, as for every layout.

use std::sync::Arc;

use structgen_decode::{
    Constraint, GenerateOptions, LanguageModel, Request, Scheduler, SchedulerLimits,
    constraint::{ConstraintError, PlainMask},
    model::{Packing, RowId, RowRun},
    request::Report,
    strategies::{PromptLookup, Speculation},
};
use structgen_ort::{Device, LoadNote, LoadOptions, ModelConfig, OrtModel};
use structgen_vocab::{TokenId, TokenMask};

use crate::support::{
    WIDTH, argmax, assert_close, fixture, fresh, golden, last, open, options, runtime, tokens,
    vocabulary,
};

const MODELS: [&str; 6] = [
    "short_conv",
    "genai_short_conv",
    "shared_short_conv",
    "gated_delta",
    "state_space",
    "state_space_attention",
];

/// Of every five tokens two are forced, and the others are one of sixteen.
#[derive(Debug, Clone)]
struct Periodic {
    taken: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("not here")]
struct NotHere;

impl Periodic {
    fn allowed(&self) -> TokenMask {
        let at = self.taken as u32;
        let is_allowed = |id: &u32| match at % 5 {
            3 => *id == 20,
            4 => *id == 21,
            _ => id % 3 == at % 3,
        };
        let mut mask = TokenMask::new(WIDTH);
        mask.allow_all(&tokens((2..WIDTH as u32).filter(is_allowed)));
        mask
    }
}

impl Constraint for Periodic {
    type Mask = PlainMask;

    fn mask(&mut self) -> Result<Arc<PlainMask>, ConstraintError> {
        Ok(Arc::new(PlainMask::new(self.allowed())))
    }

    fn accept_token(&mut self, token: TokenId) -> Result<(), ConstraintError> {
        if !self.allowed().contains(token) {
            return Err(ConstraintError::new(NotHere));
        }
        self.taken += 1;
        Ok(())
    }

    fn is_accepting(&self) -> bool {
        true
    }

    fn is_finished(&self) -> bool {
        false
    }

    fn rollback(&mut self, n: usize) -> Result<(), ConstraintError> {
        self.taken = { self.taken.checked_sub(n) }.ok_or_else(|| ConstraintError::new(NotHere))?;
        Ok(())
    }

    fn forced_token(&mut self) -> Result<Option<TokenId>, ConstraintError> {
        let mut allowed = self.allowed().iter().collect::<Vec<_>>().into_iter();
        Ok(allowed.next().filter(|_| allowed.next().is_none()))
    }

    fn completion_cost(&mut self) -> Result<u64, ConstraintError> {
        Ok(0)
    }

    fn completion_cost_after(&mut self, _: TokenId) -> Result<u64, ConstraintError> {
        Ok(0)
    }

    fn eos(&self) -> &[TokenId] {
        &[]
    }

    fn has_structure(&self) -> bool {
        false
    }
}

/// The ids, one run each, of the constraint's best tokens.
fn one_by_one(name: &str, prompt: &[TokenId], steps: usize) -> Vec<TokenId> {
    let mut model = open(name);
    let mut constraint = Periodic { taken: 0 };
    let row = model.open_row().unwrap();
    let mut logits = last(&mut model, row, prompt);
    let mut ids = Vec::new();
    while ids.len() < steps {
        let allowed = constraint.allowed();
        for (id, logit) in logits.iter_mut().enumerate() {
            if !allowed.contains(TokenId(id as u32)) {
                *logit = f32::NEG_INFINITY;
            }
        }
        let best = argmax(&logits);
        constraint.accept_token(best).unwrap();
        ids.push(best);
        logits = last(&mut model, row, &[best]);
    }
    ids
}

#[test]
fn drafts_and_forced_tokens_change_no_text_under_a_constraint() {
    let mut refused = 0;
    for name in MODELS {
        // A prompt that repeats itself, so that lookups find drafts, some of them wrong.
        let prompt = tokens((0..15).map(|i| 3 + i * 5 % 7));
        let expected = one_by_one(name, &prompt, 40);
        let options = GenerateOptions {
            max_new_tokens: Some(40),
            ..GenerateOptions::default()
        };
        for is_speculative in [false, true] {
            let speculation = Speculation {
                model: false,
                lookup: Some(PromptLookup::default()),
                forced_text: false,
                ..Speculation::default()
            };
            let request = Request::new(&prompt[..], Periodic { taken: 0 });
            let mut request = request.with_options(options.clone());
            if is_speculative {
                request = request.with_strategy(speculation);
            }
            for most in [usize::MAX, 4] {
                let mut limits = SchedulerLimits::default();
                limits.prefill_most = most;
                let scheduler = Scheduler::new(open(name), vocabulary());
                let mut scheduler = scheduler.with_limits(limits);
                let outputs = scheduler.run(request.clone()).unwrap();
                if let Report::Speculation(stats) = &outputs.report {
                    refused += stats.lookup.tested - stats.lookup.kept;
                }
                let output = outputs.single().unwrap();
                let ids: Vec<TokenId> = output.tokens.iter().map(|token| token.id).collect();
                assert_eq!(ids, expected, "{name} {is_speculative} {most}");
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn requests_side_by_side_and_of_one_beginning_have_the_texts_that_they_have_alone() {
    for name in MODELS {
        let prompts: Vec<Vec<TokenId>> = (0..4)
            .map(|at| tokens((0..12).map(|i| 3 + if i < 7 { i } else { i * at } % 29)))
            .collect();
        let expected: Vec<_> = { prompts.iter() }
            .map(|prompt| one_by_one(name, prompt, 12))
            .collect();
        let mut limits = SchedulerLimits::default();
        limits.prefix_bytes = 1 << 20;
        let scheduler = Scheduler::new(open(name), vocabulary());
        let mut scheduler = scheduler.with_limits(limits);
        let options = GenerateOptions {
            max_new_tokens: Some(12),
            ..GenerateOptions::default()
        };
        let request = |prompt: &Vec<TokenId>| {
            Request::new(&prompt[..], Periodic { taken: 0 }).with_options(options.clone())
        };
        // The second time, prompts are forks of rows that were kept.
        for round in 0..2 {
            let tickets: Vec<_> = { prompts.iter() }
                .map(|prompt| scheduler.submit(request(prompt)).unwrap())
                .collect();
            let mut left = tickets.len();
            while left > 0 {
                for (ticket, outputs) in scheduler.step() {
                    let at = tickets.iter().position(|&one| one == ticket).unwrap();
                    let output = outputs.unwrap().single().unwrap();
                    let ids: Vec<TokenId> = output.tokens.iter().map(|token| token.id).collect();
                    assert_eq!(ids, expected[at], "{name}");
                    left -= 1;
                }
            }
            assert!(round == 0 || scheduler.prefix_stats().reused_tokens > 20);
        }
    }
}

/// The runs of the session and the tokens in them that something takes.
fn cost(model: &mut OrtModel, what: impl FnOnce(&mut OrtModel)) -> (u64, u64) {
    let before = model.stats();
    what(model);
    let after = model.stats();
    (after.runs - before.runs, after.tokens - before.tokens)
}

#[test]
fn what_a_cut_costs_is_what_is_documented() {
    for name in MODELS {
        let mut model = open(name);
        let text = tokens((0..40).map(|i| 2 + i * 11 % 46));
        let row = model.open_row().unwrap();
        last(&mut model, row, &text[..20]);
        // A draft of which two tokens are kept: these are run again with the next ones, in one run.
        last(&mut model, row, &text[20..25]);
        model.cut_row(row, 22).unwrap();
        assert_eq!(model.row_len(row), Some(22));
        let spent = cost(&mut model, |model| drop(last(model, row, &text[22..26])));
        assert_eq!(spent, (1, 6), "{name}");
        // The step before the last is kept, so that taking the last one back costs nothing.
        let before = last(&mut model, row, &text[26..27]);
        last(&mut model, row, &text[27..28]);
        model.cut_row(row, 27).unwrap();
        let spent = cost(&mut model, |model| drop(last(model, row, &text[27..28])));
        assert_eq!(spent, (1, 1));
        assert_close(&before, &fresh(&mut model, &text[..27]), 1e-4);
        // A fork at the end costs nothing, a fork in the middle of a long run what is before it; that much is a run
        // of its own, whose end is kept.
        let spent = cost(&mut model, |model| {
            let fork = model.fork_row(row, 28).unwrap();
            last(model, fork, &text[28..29]);
        });
        assert_eq!(spent, (1, 1));
        let fork = model.fork_row(row, 15).unwrap();
        let spent = cost(&mut model, |model| drop(last(model, fork, &text[15..16])));
        assert_eq!(spent, (2, 16));
        model.cut_row(fork, 15).unwrap();
        let mut logits = Vec::new();
        let spent = cost(&mut model, |model| {
            logits = last(model, fork, &text[15..18])
        });
        assert_eq!(spent, (1, 3));
        assert_close(&logits, &fresh(&mut model, &text[..18]), 1e-4);
    }
}

#[test]
fn rows_share_the_memory_of_their_states_and_give_it_back() {
    let mut model = open("state_space");
    // Of two layers: 40 channels of two positions, two cells of 4 times 6.
    let state = 2 * (28 * 2 + 2 * 4 * 6) * 4;
    let rows: Vec<RowId> = (0..4).map(|_| model.open_row().unwrap()).collect();
    let run = |model: &mut OrtModel, rows: &[RowId]| {
        let text = tokens([5]);
        let runs: Vec<RowRun<'_>> = rows.iter().map(|&row| RowRun::last(row, &text)).collect();
        model.run(&runs, false).unwrap();
    };
    let all = |model: &OrtModel| -> usize { rows.iter().map(|&row| model.row_bytes(row)).sum() };
    run(&mut model, &rows);
    assert_eq!(all(&model), 4 * state);
    // However long the text becomes, no more than six snapshots of it are kept.
    for _ in 0..30 {
        run(&mut model, &rows);
    }
    assert_eq!(all(&model), 6 * 4 * state);
    let fork = model.fork_row(rows[0], 31).unwrap();
    assert!(model.row_bytes(fork) + all(&model) <= 6 * 4 * state);
    model.close_row(fork);
    // Those that stay when the others have left do not keep the memory of all.
    model.close_row(rows[2]);
    model.close_row(rows[3]);
    model.close_row(rows[1]);
    run(&mut model, &rows[..1]);
    assert_eq!(all(&model), 6 * state);
    model.close_row(rows[0]);
    assert_eq!(all(&model), 0);
}

#[test]
fn an_error_leaves_rows_as_they_were() {
    for name in MODELS {
        let mut model = open(name);
        let text = tokens((0..60).map(|i| 2 + i * 11 % 46));
        let row = model.open_row().unwrap();
        last(&mut model, row, &text[..30]);
        model.cut_row(row, 25).unwrap();
        let long = [&text[..], &text[..]].concat();
        assert!(model.run(&[RowRun::last(row, &long)], false).is_err());
        assert!(model.cut_row(row, 26).is_err());
        assert!(model.fork_row(row, 26).is_err());
        assert_eq!(model.row_len(row), Some(25));
        let logits = last(&mut model, row, &text[25..27]);
        assert_close(&logits, &fresh(&mut model, &text[..27]), 1e-4);
    }
}

#[test]
fn a_token_at_a_time_gives_the_same_text() {
    for name in MODELS {
        let alone = LoadOptions {
            single_tokens: true,
            ..options()
        };
        let mut model = OrtModel::open(runtime(), &fixture(name), &alone).unwrap();
        assert_eq!(model.info().packing, Packing::Apart);
        let golden = golden(name);
        let row = model.open_row().unwrap();
        let logits = last(&mut model, row, &golden.prompt);
        assert_close(&logits, &golden.first_logits, 1e-4);
        last(&mut model, row, &golden.greedy[..9]);
        model.cut_row(row, golden.prompt.len() + 3).unwrap();
        let logits = last(&mut model, row, &golden.greedy[3..4]);
        assert_eq!(argmax(&logits), golden.greedy[4], "{name}");
    }
}

#[test]
fn a_model_without_attention_has_a_context_though_its_configuration_names_none() {
    let bytes = std::fs::read(fixture("state_space/model.onnx")).unwrap();
    let config = ModelConfig::from_json("{}", None).unwrap();
    let mut model = OrtModel::from_bytes(runtime(), bytes, &config, Device::cpu(1)).unwrap();
    assert_eq!(model.info().context_length, 2048);
    let golden = golden("state_space");
    let long = golden.prompt.repeat(60);
    let row = model.open_row().unwrap();
    let whole = last(&mut model, row, &long);
    model.cut_row(row, 100).unwrap();
    assert_close(&last(&mut model, row, &long[100..]), &whole, 1e-4);
}

#[test]
fn graphs_that_forget_are_run_with_care() {
    let cases = [
        // Several tokens after a past are taken for a beginning.
        (
            "forgetful_conv",
            LoadNote::OneTokenAtATime,
            Packing::Uniform,
        ),
        // A prompt leaves no state.
        ("decoding_conv", LoadNote::OneTokenAtATime, Packing::Uniform),
        // All rows have the state of the first.
        ("joined_conv", LoadNote::RowsAlone, Packing::Apart),
    ];
    for (name, note, packing) in cases {
        let mut model = open(name);
        assert_eq!(model.notes(), [note], "{name}");
        assert_eq!(model.info().packing, packing, "{name}");
        let golden = golden(name);
        let text = [&golden.prompt[..], &golden.greedy].concat();
        let rows = [(); 3].map(|()| model.open_row().unwrap());
        let n = golden.prompt.len();
        let runs = [
            RowRun::last(rows[0], &golden.prompt),
            RowRun::last(rows[1], &text[..n + 4]),
            RowRun::last(rows[2], &text[3..7]),
        ];
        let output = model.run(&runs, false).unwrap();
        assert_close(output.row(0).last(), &golden.first_logits, 1e-4);
        assert_eq!(argmax(output.row(1).last()), golden.greedy[4], "{name}");
        // A draft, of which a part is refused.
        last(&mut model, rows[1], &text[n + 4..n + 9]);
        model.cut_row(rows[1], n + 6).unwrap();
        let runs = [
            RowRun::last(rows[0], &golden.greedy[..1]),
            RowRun::last(rows[1], &golden.greedy[6..8]),
            RowRun::last(rows[2], &text[7..8]),
        ];
        let output = model.run(&runs, false).unwrap();
        assert_eq!(argmax(output.row(0).last()), golden.greedy[1], "{name}");
        assert_eq!(argmax(output.row(1).last()), golden.greedy[8], "{name}");
    }
}
