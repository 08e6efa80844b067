//! Caches that the graph writes in place, and what is known of their memory; graphs that cannot do with them.

use std::collections::BTreeMap;
use std::fs;

use structgen_decode::{
    GenerateOptions, LanguageModel, Request, Scheduler, Strategy, Unconstrained,
    model::{ModelStats, Packing, RowId, RowRun},
    strategies::{PromptLookup, Speculation},
};
use structgen_ort::{LoadError, OrtModel};
use structgen_vocab::{TokenId, TokenMask};

use crate::support::{
    CONTEXT, WIDTH, apart, assert_close, copied, fixture, fresh, last, open, options, runtime,
    tokens, vocabulary,
};

/// A folder of onnxruntime-genai's with another word about buffers.
fn saying(name: &str, flag: &str) -> Result<OrtModel, LoadError> {
    let dir = tempfile::tempdir().unwrap();
    let config = fs::read_to_string(fixture(name).join("genai_config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    config["search"]["past_present_share_buffer"] = serde_json::from_str(flag).unwrap();
    fs::write(dir.path().join("genai_config.json"), config.to_string()).unwrap();
    let file = config["model"]["decoder"]["filename"].as_str().unwrap();
    fs::copy(fixture(name).join(file), dir.path().join(file)).unwrap();
    OrtModel::open(runtime(), dir.path(), &options())
}

#[test]
fn rows_of_different_lengths_run_apart_where_the_graph_would_take_padding_for_text() {
    // The same graph, not told that it may share buffers.
    for name in ["shared_buffer", "shared_float16"] {
        let mut model = saying(name, "false").unwrap();
        assert!(!model.shares_buffers());
        assert_eq!(model.info().packing, Packing::Apart);
        assert_eq!(model.stats(), ModelStats::default());
        let mut shared = open(name);
        let text = tokens(4..20);
        let rows = [(); 3].map(|()| model.open_row().unwrap());
        let lens = [8, 6, 8];
        for n in 0..4 {
            let runs = rows.iter().zip(lens).map(|(&row, len)| match n {
                0 => RowRun::last(row, &text[..len]),
                n => RowRun::last(row, &text[len + n - 1..len + n]),
            });
            let runs: Vec<RowRun<'_>> = runs.collect();
            let before = model.stats().runs;
            let output = model.run(&runs, false).unwrap();
            let logits: Vec<Vec<f32>> = output
                .rows()
                .iter()
                .map(|row| row.last().to_vec())
                .collect();
            // Rows of one length have no padding.
            assert_eq!(model.stats().runs - before, 2);
            for (logits, len) in logits.iter().zip(lens) {
                assert!(
                    apart(logits, &fresh(&mut shared, &text[..len + n])) < 1e-2,
                    "{name}"
                );
            }
        }
        // Several tokens of several rows of one length, which the operator refuses, as drafts of a batch are.
        let runs = [rows[0], rows[2]].map(|row| RowRun::last(row, &text[..4]));
        let output = model.run(&runs, false).unwrap();
        let expected = fresh(&mut shared, &[&text[..11], &text[..4]].concat());
        for row in output.rows() {
            assert!(apart(row.last(), &expected) < 1e-2, "{name}");
        }
    }
    assert_eq!(copied().info().packing, Packing::Uniform);
}

#[test]
fn a_graph_that_may_share_buffers_need_not() {
    let mut plain = saying("shared_buffer", "false").unwrap();
    let mut shared = open("shared_buffer");
    assert!(!plain.shares_buffers() && shared.shares_buffers());
    let rows = [plain.open_row().unwrap(), shared.open_row().unwrap()];
    for part in tokens(3..40).chunks(5) {
        let a = last(&mut plain, rows[0], part);
        let b = last(&mut shared, rows[1], part);
        assert_close(&a, &b, 1e-5);
    }
}

/// Bytes of the cache of `shared_buffer`.
fn bytes_of(positions: usize) -> usize {
    positions * 2 * 2 * 2 * 16 * 4
}

#[test]
fn room_grows_by_half_up_to_the_context_and_is_what_bytes_say() {
    let mut model = open("shared_buffer");
    assert_eq!(model.info().cache_bytes_per_token, bytes_of(1));
    let row = model.open_row().unwrap();
    assert_eq!(model.row_bytes(row), 0);
    let mut rooms = Vec::new();
    for i in 0..CONTEXT {
        last(&mut model, row, &tokens([i as u32 % 40]));
        rooms.push(model.row_bytes(row) / bytes_of(1));
    }
    rooms.dedup();
    assert_eq!(rooms, [16, 24, 32, 48, 64]);
    model.cut_row(row, 3).unwrap();
    assert_eq!(model.row_bytes(row), bytes_of(64));
    // A copy has room for what is copied and a little more.
    let fork = model.fork_row(row, 3).unwrap();
    assert_eq!(model.row_bytes(fork), bytes_of(16));
    model.close_row(fork);
    assert_eq!(model.row_bytes(fork), 0);
}

/// Opens rows with texts of these lengths.
fn filled(model: &mut OrtModel, lens: &[usize]) -> Vec<RowId> {
    let text = tokens((0..64).map(|i| i * 11 % 48));
    let fill = |&len: &usize| {
        let row = model.open_row().unwrap();
        last(model, row, &text[..len]);
        row
    };
    lens.iter().map(fill).collect()
}

#[test]
fn one_token_of_each_of_any_rows_is_one_run() {
    let mut model = open("shared_buffer");
    let rows = filled(&mut model, &[3, 20, 9, 1, 14]);
    let mut runs_of = |rows: &[RowId], ns: &[usize]| {
        let before = model.stats();
        let text = tokens(0..8);
        let runs = rows
            .iter()
            .zip(ns)
            .map(|(&row, &n)| RowRun::last(row, &text[..n]));
        let runs: Vec<RowRun<'_>> = runs.collect();
        model.run(&runs, false).unwrap();
        let stats = model.stats();
        (stats.runs - before.runs, stats.tokens - before.tokens)
    };
    assert_eq!(runs_of(&rows, &[1; 5]), (1, 5));
    // Rows that are not named cost no run of their own, and are not counted.
    assert_eq!(runs_of(&rows[1..4], &[1; 3]), (1, 3));
    // A row that takes several tokens is run beside the others.
    assert_eq!(runs_of(&rows, &[1, 1, 4, 1, 1]), (2, 8));
    assert_eq!(runs_of(&rows, &[1; 5]), (1, 5));
    assert_eq!(runs_of(&rows[..2], &[2, 3]), (2, 5));
}

#[test]
fn rows_that_leave_make_room_for_others() {
    let mut model = open("shared_buffer");
    let mut rows = filled(&mut model, &[3; 8]);
    let one = |model: &mut OrtModel, rows: &[RowId]| {
        let token = [TokenId(5)];
        let runs: Vec<RowRun<'_>> = rows.iter().map(|&row| RowRun::last(row, &token)).collect();
        model.run(&runs, false).unwrap();
    };
    one(&mut model, &rows);
    let of_all = |model: &OrtModel, rows: &[RowId]| {
        let bytes = rows.iter().map(|&row| model.row_bytes(row));
        bytes.sum::<usize>() / bytes_of(16)
    };
    // Each row has a slot, and no buffer of its own any more.
    assert_eq!(of_all(&model, &rows), 8);
    for row in rows.split_off(6) {
        model.close_row(row);
    }
    rows.extend(filled(&mut model, &[7, 9]));
    one(&mut model, &rows);
    assert_eq!(of_all(&model, &rows), 8);
    // A row that takes several tokens at times has both.
    let text = tokens(0..2);
    model.run(&[RowRun::last(rows[0], &text)], false).unwrap();
    one(&mut model, &rows);
    assert_eq!(of_all(&model, &rows), 9);
    // Rows that are not run any more give up their slots for buffers of their own.
    let (active, kept) = rows.split_at(2);
    for _ in 0..6 {
        one(&mut model, active);
    }
    assert_eq!(of_all(&model, kept), 6);
    let expected = fresh(&mut model, &tokens([0, 11, 22, 5, 5, 5, 7]));
    let logits = last(&mut model, rows[2], &tokens([7]));
    assert_close(&logits, &expected, 1e-4);
}

#[test]
fn rows_that_fill_the_context_give_up_their_slots() {
    let mut model = open("shared_buffer");
    let full = filled(&mut model, &[CONTEXT - 1; 2]);
    let step = |model: &mut OrtModel, rows: &[RowId]| -> Vec<Vec<f32>> {
        let token = [TokenId(5)];
        let runs: Vec<RowRun<'_>> = rows.iter().map(|&row| RowRun::last(row, &token)).collect();
        let output = model.run(&runs, false).unwrap();
        output
            .rows()
            .iter()
            .map(|row| row.last().to_vec())
            .collect()
    };
    step(&mut model, &full);
    model.close_row(full[1]);
    let rows = filled(&mut model, &[4, 2]);
    let expected = [tokens([0, 11, 22, 33, 5]), tokens([0, 11, 5])];
    for (logits, text) in step(&mut model, &rows).iter().zip(expected) {
        assert_close(logits, &fresh(&mut model, &text), 1e-4);
    }
    // What is full can still be cut, and goes on from there.
    model.cut_row(full[0], 4).unwrap();
    let logits = step(&mut model, &[full[0], rows[0]]).swap_remove(0);
    assert_close(
        &logits,
        &fresh(&mut model, &tokens([0, 11, 22, 33, 5])),
        1e-4,
    );
}

#[test]
fn every_strategy_gives_what_it_gives_with_a_cache_that_grows() {
    let prompts = [&[7, 19, 3, 42, 11][..], &[5, 5], &[40, 2, 31, 8, 8, 17, 9]];
    let lookup = Speculation {
        lookup: Some(PromptLookup::default()),
        ..Speculation::default()
    };
    let texts = |model: OrtModel| {
        let mut scheduler = Scheduler::new(model, vocabulary());
        for strategy in [Strategy::Sample, lookup.into()] {
            for prompt in prompts {
                let options = GenerateOptions {
                    max_new_tokens: Some(20),
                    ..GenerateOptions::default()
                };
                let free = Unconstrained::new(TokenMask::full(WIDTH), &[]);
                let request = Request::new(tokens(prompt.iter().copied()), free)
                    .with_options(options)
                    .with_strategy(strategy.clone());
                scheduler.submit(request).unwrap();
            }
        }
        let mut texts = BTreeMap::new();
        while !scheduler.is_idle() {
            for (ticket, outputs) in scheduler.step() {
                texts.insert(ticket, outputs.unwrap().single().unwrap().text);
            }
        }
        texts
    };
    let expected = texts(copied());
    assert_eq!(expected.len(), 6);
    assert_eq!(texts(open("shared_buffer")), expected);
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
