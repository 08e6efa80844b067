//! Graphs that are right only if they are run with care, and what is said about them when they are loaded.

use structgen_decode::{
    LanguageModel,
    model::{Packing, RowId, RowRun},
};
use structgen_ort::{Device, LoadNote, LoadOptions, LongRope, ModelConfig, OrtModel};
use structgen_vocab::TokenId;

use crate::support::{
    CONTEXT, LAYOUTS, apart, assert_close, fixture, fresh, golden, last, open, options, runtime,
    tokens,
};

/// The logits after each token of a text, each run by itself.
fn one_by_one(model: &mut OrtModel, text: &[TokenId]) -> Vec<Vec<f32>> {
    let row = model.open_row().unwrap();
    let logits = text
        .chunks(1)
        .map(|token| last(model, row, token))
        .collect();
    model.close_row(row);
    logits
}

/// The logits of the last positions of a run.
fn run(model: &mut OrtModel, row: RowId, tokens: &[TokenId], positions: usize) -> Vec<Vec<f32>> {
    let run = RowRun {
        row,
        tokens,
        positions,
    };
    let output = model.run(&[run], false).unwrap().row(0);
    (0..positions)
        .map(|at| output.logits(at).to_vec())
        .collect()
}

#[test]
fn ordinary_graphs_are_loaded_without_a_word() {
    for name in LAYOUTS {
        assert_eq!(open(name).notes(), [], "{name}");
    }
}

#[test]
fn several_tokens_after_a_past_equal_single_ones_whatever_the_graph_makes_of_them() {
    for name in [
        "optimum",
        "last_alone",
        "future_seen",
        "future_seen_last_alone",
        "one_after_past",
        "shared_buffer",
    ] {
        let mut model = open(name);
        let text = tokens((0..12).map(|i| (i * 11 + 5) % 48));
        let single = one_by_one(&mut model, &text);
        // A prompt from nothing is one run where that is right, and must be at least the same at its end.
        let row = model.open_row().unwrap();
        let mut logits = run(&mut model, row, &text[..1], 1);
        for (range, positions) in [(1..4, 3), (4..8, 1), (8..12, 4)] {
            let end = range.end;
            logits = run(&mut model, row, &text[range], positions);
            for (logits, expected) in logits.iter().rev().zip(single[..end].iter().rev()) {
                assert_close(logits, expected, 1e-4);
            }
        }
        assert_eq!(logits.len(), 4);
        assert_eq!(model.row_len(row), Some(12));
        // Rows that take different numbers of tokens at once, one of them from nothing.
        model.cut_row(row, 5).unwrap();
        let other = model.open_row().unwrap();
        let runs = [
            RowRun {
                row,
                tokens: &text[5..9],
                positions: 2,
            },
            RowRun::last(other, &text[..1]),
        ];
        let output = model.run(&runs, false).unwrap();
        assert_close(output.row(0).logits(0), &single[7], 1e-4);
        assert_close(output.row(0).logits(1), &single[8], 1e-4);
        assert_close(output.row(1).last(), &single[0], 1e-4);
    }
}

#[test]
fn what_costs_speed_is_noted() {
    let notes = |name| open(name).notes().to_vec();
    assert_eq!(notes("future_seen"), [LoadNote::OneTokenAtATime]);
    assert_eq!(notes("one_after_past"), [LoadNote::OneTokenAtATime]);
    assert_eq!(notes("last_alone"), [LoadNote::LastPositionAlone]);
    assert_eq!(
        notes("future_seen_last_alone"),
        [LoadNote::OneTokenAtATime, LoadNote::LastPositionAlone]
    );
}

#[test]
fn dynamic_quantisation_is_noted_and_can_be_made_independent_of_the_cut() {
    let mut model = open("dynamic_int8");
    let operator = "DynamicQuantizeLinear";
    assert_eq!(model.notes(), [LoadNote::DynamicQuantization { operator }]);
    let text = golden("optimum").prompt;
    let whole = fresh(&mut model, &text);
    let single = one_by_one(&mut model, &text).pop().unwrap();
    assert!(
        apart(&whole, &single) > 1e-3,
        "the cut does not matter here"
    );
    let alone = LoadOptions {
        single_tokens: true,
        ..options()
    };
    let mut model = OrtModel::open(runtime(), &fixture("dynamic_int8"), &alone).unwrap();
    assert_eq!(model.info().packing, Packing::Apart);
    assert!(!model.notes().iter().any(LoadNote::is_about_output));
    assert_eq!(fresh(&mut model, &text), single);
    // Beside another row as well.
    let rows = [(); 2].map(|()| model.open_row().unwrap());
    let runs = [
        RowRun::last(rows[0], &text[..3]),
        RowRun::last(rows[1], &text),
    ];
    assert_eq!(model.run(&runs, false).unwrap().row(1).last(), single);
}

/// A graph with two sets of factors of positions, the second for texts of more than 16 tokens.
fn long_rope(name: &str) -> OrtModel {
    let bytes = std::fs::read(fixture(name).join("model.onnx")).unwrap();
    let config = std::fs::read_to_string(fixture(name).join("config.json")).unwrap();
    let mut config = ModelConfig::from_json(&config, None).unwrap();
    config.long_rope = Some(LongRope::ByLength { border: 16 });
    OrtModel::from_bytes(runtime(), bytes, &config, Device::cpu(1)).unwrap()
}

fn long_text() -> Vec<TokenId> {
    tokens((0..CONTEXT as u32 - 8).map(|i| (i * 13 + 7) % 48))
}

/// What a graph computes of each beginning of a text that it sees at once.
fn of_beginnings(name: &str, text: &[TokenId]) -> Vec<Vec<f32>> {
    let mut model = long_rope(name);
    let lens = 1..=text.len();
    lens.map(|len| fresh(&mut model, &text[..len])).collect()
}

#[test]
fn texts_that_cross_the_border_of_long_rope_are_run_again() {
    let text = long_text();
    let expected = of_beginnings("long_rope", &text[..24]);
    let mut model = long_rope("long_rope");
    assert_eq!(model.info().packing, Packing::Apart);
    let [row, short] = [(); 2].map(|()| model.open_row().unwrap());
    last(&mut model, short, &text[..3]);
    for (at, expected) in expected.iter().enumerate() {
        let runs = [row, short].map(|row| RowRun::last(row, &text[at..=at]));
        // A short row beside it keeps its own factors.
        let beside = at == 18;
        let output = model.run(&runs[..1 + usize::from(beside)], false).unwrap();
        assert_close(output.row(0).last(), expected, 1e-4);
    }
    // Cut back, forked on either side, and grown again.
    let fork = model.fork_row(row, 20).unwrap();
    model.cut_row(row, 10).unwrap();
    let back = model.fork_row(row, 9).unwrap();
    assert_close(&last(&mut model, row, &text[10..12]), &expected[11], 1e-4);
    assert_close(&last(&mut model, fork, &text[20..21]), &expected[20], 1e-4);
    assert_close(&last(&mut model, back, &text[9..18]), &expected[17], 1e-4);
    assert_eq!(
        [row, fork, back].map(|row| model.row_len(row)),
        [Some(12), Some(21), Some(18)]
    );
    // After an error a row is what it was, whether its text would have been run again or not.
    let too_long = tokens(0..40);
    assert!(
        model
            .run(
                &[RowRun::last(back, &too_long), RowRun::last(fork, &too_long)],
                false
            )
            .is_ok()
    );
    assert!(
        model
            .run(
                &[RowRun::last(row, &text), RowRun::last(back, &too_long)],
                false
            )
            .is_err()
    );
    assert_close(&last(&mut model, row, &text[12..13]), &expected[12], 1e-4);
}

#[test]
fn a_run_across_the_border_of_long_rope_has_the_logits_of_its_beginnings() {
    let text = long_text();
    for name in ["long_rope", "long_rope_last_alone"] {
        let expected = of_beginnings(name, &text[..24]);
        let mut model = long_rope(name);
        // From nothing, with a draft, up to the border, from there on, and with fewer positions than it has tokens.
        for (start, end, positions) in [
            (0, 20, 20),
            (14, 19, 5),
            (9, 16, 7),
            (16, 20, 4),
            (12, 22, 8),
            (12, 22, 6),
        ] {
            let [row, short] = [(); 2].map(|()| model.open_row().unwrap());
            if start > 0 {
                last(&mut model, row, &text[..start]);
            }
            let crossing = RowRun {
                row,
                tokens: &text[start..end],
                positions,
            };
            // A row beside it that stays below.
            let runs = [RowRun::last(short, &text[..3]), crossing];
            let output = model.run(&runs, false).unwrap();
            assert_close(output.row(0).last(), &expected[2], 1e-4);
            let logits = (0..positions).map(|at| output.row(1).logits(at));
            for (logits, expected) in logits.zip(&expected[end - positions..end]) {
                assert_close(logits, expected, 1e-4);
            }
            assert_eq!(
                [row, short].map(|row| model.row_len(row)),
                [Some(end), Some(3)]
            );
            // A draft that is refused in part, and the next one.
            model.cut_row(row, end - 2).unwrap();
            let logits = run(&mut model, row, &text[end - 2..end + 1], 3);
            for (logits, expected) in logits.iter().zip(&expected[end - 2..=end]) {
                assert_close(logits, expected, 1e-4);
            }
        }
    }
}

#[test]
fn ends_that_the_model_lacks_are_ignored_and_noted() {
    let bytes = std::fs::read(fixture("optimum/model.onnx")).unwrap();
    let config = r#"{"max_position_embeddings": 64, "eos_token_id": [3, 48, 99]}"#;
    let config = ModelConfig::from_json(config, None).unwrap();
    let model = OrtModel::from_bytes(runtime(), bytes, &config, Device::cpu(1)).unwrap();
    assert_eq!(model.info().eos, tokens([3]));
    let ids = tokens([48, 99]);
    assert_eq!(model.notes(), [LoadNote::UnknownEnds { ids }]);
    let model = model.ignoring_ends(&tokens([3]));
    assert!(model.info().eos.is_empty());
    expect_test::expect!["end-of-sequence ids of the configuration that model or tokenizer do not have are ignored: 3"]
        .assert_eq(&model.notes()[1].to_string());
}

#[test]
fn sliding_windows_that_graph_and_configuration_do_not_share_are_noted() {
    let open = |file: &str, window: usize| {
        let bytes = std::fs::read(fixture(file)).unwrap();
        let config = format!(r#"{{"max_position_embeddings": 64, "sliding_window": {window}}}"#);
        let config = ModelConfig::from_json(&config, None).unwrap();
        let model = OrtModel::from_bytes(runtime(), bytes, &config, Device::cpu(1)).unwrap();
        model.notes().to_vec()
    };
    let window = 32;
    assert_eq!(
        open("optimum/model.onnx", window),
        [LoadNote::WindowUnseen { window }]
    );
    assert_eq!(open("optimum/model.onnx", 64), []);
    let notes = open("shared_buffer/model.onnx", window);
    assert!(
        notes.contains(&LoadNote::WindowNotInGraph { window }),
        "{notes:?}"
    );
}

#[test]
fn the_context_of_a_graph_with_short_rotary_factors_alone_is_theirs() {
    let bytes = std::fs::read(fixture("optimum/model.onnx")).unwrap();
    // Beside the factors' kind, too, as later versions of transformers have it.
    for config in [
        r#"{"max_position_embeddings": 64, "original_max_position_embeddings": 16,
            "rope_scaling": {"rope_type": "longrope"}}"#,
        r#"{"max_position_embeddings": 64,
            "rope_scaling": {"type": "su", "original_max_position_embeddings": 16}}"#,
        r#"{"max_position_embeddings": 64, "text_config": {
            "rope_parameters": {"rope_type": "longrope", "original_max_position_embeddings": 16}}}"#,
    ] {
        let config = ModelConfig::from_json(config, None).unwrap();
        let model =
            OrtModel::from_bytes(runtime(), bytes.clone(), &config, Device::cpu(1)).unwrap();
        assert_eq!(model.info().context_length, 16);
        let (border, context_length) = (16, 64);
        let note = LoadNote::ShortContext {
            border,
            context_length,
        };
        assert_eq!(model.notes(), [note]);
    }
}
