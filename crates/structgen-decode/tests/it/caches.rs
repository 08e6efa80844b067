//! The prefix cache, and texts that outgrow the context: outputs are the same as without a cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use structgen_decode::{
    GenerateError, GenerateOptions, LanguageModel, MockModel, ModelError, Request, SamplingParams,
    SchedulerLimits, Unconstrained,
    model::{OutputStart, RowRun},
    request::ContextOverflow,
    strategies::{BeamOptions, PromptLookup, Speculation},
};
use structgen_vocab::{TokenId, TokenMask};

use crate::support::{
    EOS, constraint, constraints, essence, generate, hooked, logits_after, prompt, run, run_all,
    scheduler, vocabulary,
};

fn options(number: u64, max_new_tokens: usize) -> GenerateOptions {
    GenerateOptions {
        sampling: SamplingParams {
            temperature: if number.is_multiple_of(3) { 0.0 } else { 1.1 },
            presence_penalty: 0.2,
            seed: number,
            ..SamplingParams::default()
        },
        max_new_tokens: Some(max_new_tokens),
        log_probs: number.is_multiple_of(2),
        ..GenerateOptions::default()
    }
}

fn lookup() -> Speculation {
    Speculation {
        lookup: Some(PromptLookup::default()),
        ..Speculation::default()
    }
}

#[test]
fn what_was_run_before_changes_nothing_and_is_not_run_again() {
    let vocabulary = vocabulary();
    let compiled = constraints(&vocabulary);
    let counted = |prefix_bytes| {
        let tokens_run = Arc::new(AtomicUsize::new(0));
        let model = MockModel::new(vocabulary.len(), 160, [EOS]).with_seed(7);
        let count = Arc::clone(&tokens_run);
        let model = hooked(model, move |_: &MockModel, rows: &[RowRun<'_>]| {
            let tokens: usize = rows.iter().map(|row| row.tokens.len()).sum();
            count.fetch_add(tokens, Ordering::Relaxed);
            Ok(())
        });
        let mut limits = SchedulerLimits::default();
        limits.prefix_bytes = prefix_bytes;
        (
            scheduler(model, &vocabulary).with_limits(limits),
            tokens_run,
        )
    };
    // A limit that nothing exceeds, one that few texts fit into, and one that none does.
    for limit in [1 << 20, 1200, 8] {
        let (mut reusing, tokens_reusing) = counted(limit);
        let (mut plain, tokens_plain) = counted(0);
        let mut reused = 0;
        for number in 0..60u64 {
            // Prompts that are equal, that share a prefix, and that continue others.
            let mut prompt = prompt(20 + number as u32 % 4 * 9, number as u32 / 20);
            prompt.extend((0..number % 3).map(|extra| TokenId(60 + extra as u32)));
            let mut options = options(number / 2, 40);
            if number % 4 == 0 {
                options.sequences = 3;
            }
            let matcher = compiled[number as usize % compiled.len()].matcher();
            let mut request = Request::new(prompt, matcher).with_options(options);
            if number % 4 == 1 {
                request = request.with_strategy(lookup());
            }
            let without = plain.run(request.clone()).unwrap().outputs;
            let with = reusing.run(request).unwrap().outputs;
            assert_eq!(with.len(), without.len());
            for (with, without) in with.into_iter().zip(without) {
                let [with, without] =
                    [with, without].map(|output| output.map(|output| output.generation));
                assert_eq!(essence(&with), essence(&without), "{number}");
                if let Ok(with) = with {
                    reused += with.stats.reused_tokens;
                }
            }
            assert!(reusing.prefix_stats().bytes <= limit);
            assert_eq!(reusing.cache_bytes(), reusing.prefix_stats().bytes);
        }
        // Sequences of one request share their prompt even without a cache.
        let (stats, alone) = (reusing.prefix_stats(), plain.prefix_stats());
        let [with, without] =
            [tokens_reusing, tokens_plain].map(|tokens| tokens.load(Ordering::Relaxed) as u64);
        assert_eq!(without - with, stats.reused_tokens - alone.reused_tokens);
        if limit == 8 {
            assert_eq!(stats, alone);
            assert_eq!((stats.kept, stats.evicted, without), (0, 0, with));
        } else {
            assert!(stats.hits - alone.hits >= 30 && reused > 500, "{stats:?}");
            assert!(stats.kept > 0);
            assert_eq!(stats.evicted > 0, limit == 1200);
        }
    }
}

/// Returns greedy tokens without a cache: each step runs everything anew.
fn replayed(model: &MockModel, prompt: &[TokenId], keep: usize, steps: usize) -> Vec<TokenId> {
    let context_length = model.info().context_length;
    let mut all = prompt.to_vec();
    let mut shown = all.clone();
    for _ in 0..steps {
        if shown.len() > context_length {
            let keep = keep.min(prompt.len());
            let tail = ((context_length - keep) / 2).max(2);
            shown = [&all[..keep], &all[all.len() - tail..]].concat();
        }
        let logits = logits_after(model, &shown);
        let largest = (0..logits.len())
            .rev()
            .max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
        let token = TokenId(largest.unwrap() as u32);
        all.push(token);
        shown.push(token);
    }
    all.split_off(prompt.len())
}

#[test]
fn a_text_that_outgrows_the_context_goes_on_without_its_oldest_tokens() {
    let vocabulary = vocabulary();
    let model = MockModel::new(vocabulary.len(), 24, [EOS]).with_seed(2);
    let free = Unconstrained::new(TokenMask::full(vocabulary.len()), &[]);
    for keep in [0, 1, 5, 18] {
        let options = GenerateOptions {
            max_new_tokens: Some(70),
            overflow: ContextOverflow::Crop { keep },
            ..GenerateOptions::default()
        };
        let prompts = [4, 12, 23, 24, 25, 40, 200].map(|len| prompt(len, 9));
        let request = |prompt: &Vec<TokenId>| {
            Request::new(&prompt[..], free.clone()).with_options(options.clone())
        };
        let mut singles = Vec::new();
        for prompt in &prompts {
            let single = generate(&model, &vocabulary, prompt, &free, &options).unwrap();
            let ids: Vec<TokenId> = single.tokens.iter().map(|token| token.id).collect();
            assert_eq!(ids, replayed(&model, prompt, keep, 70));
            assert!(single.stats.crops > 2, "{:?}", single.stats);
            // Drafts are verified before they could be cropped.
            let speculative = request(prompt).with_strategy(lookup());
            let drafted = run(&model, &vocabulary, speculative).unwrap().single();
            assert_eq!(drafted.unwrap().tokens, single.tokens);
            singles.push(single);
        }
        let mut scheduler = scheduler(model.clone(), &vocabulary);
        let batch = run_all(&mut scheduler, prompts.iter().map(request));
        for (batched, single) in batch.iter().zip(&singles) {
            assert_eq!(batched.as_ref().unwrap().tokens, single.tokens);
        }
    }
}

#[test]
fn a_prompt_that_is_too_long_is_cut_and_forced_text_goes_through() {
    let vocabulary = vocabulary();
    let model = MockModel::new(vocabulary.len(), 24, [EOS]).with_seed(2);
    let long = "the quick brown fox jumps over the lazy dog";
    let schemas = [
        json!({"const": long}),
        json!({"type": "object", "properties": {"a": {"enum": [long, "b"]}, "c": {"type": "boolean"}, "d": {"const": long}}, "required": ["a", "c", "d"]}),
    ];
    for schema in &schemas {
        let compiled = constraint(&vocabulary, schema);
        for (len, keep, log_probs) in [
            (3, 0, true),
            (40, 10, true),
            (200, 22, true),
            (40, 3, false),
        ] {
            let options = GenerateOptions {
                max_new_tokens: Some(150),
                overflow: ContextOverflow::Crop { keep },
                log_probs,
                ..GenerateOptions::default()
            };
            let prompt = prompt(len, 1);
            let request = |prompt: &[TokenId]| {
                Request::new(prompt, compiled.matcher()).with_options(options.clone())
            };
            let single = run(&model, &vocabulary, request(&prompt)).unwrap().single();
            let single = single.unwrap();
            assert!(single.text.contains(long) || single.text.contains("\"b\""));
            let mut chosen = single.tokens.iter().filter(|token| !token.forced);
            assert!(chosen.all(|token| token.log_probs.is_some() == log_probs));
            let speculative = request(&prompt).with_strategy(Speculation::default());
            let drafted = run(&model, &vocabulary, speculative).unwrap().single();
            assert_eq!(drafted.unwrap().text, single.text);
            let mut scheduler = scheduler(model.clone(), &vocabulary);
            let requests = [&prompt[..], &prompt[..2]].map(request);
            for output in run_all(&mut scheduler, requests) {
                assert!(output.is_ok());
            }
        }
    }
}

#[test]
fn cropping_is_asked_for_and_has_to_leave_room() {
    let vocabulary = vocabulary();
    let model = MockModel::new(vocabulary.len(), 24, [EOS]);
    let free = Unconstrained::new(TokenMask::full(vocabulary.len()), &[]);
    let prompt = prompt(4, 0);
    let generate =
        |options: &GenerateOptions| generate(&model, &vocabulary, &prompt, &free, options);
    let mut options = GenerateOptions {
        max_new_tokens: Some(30),
        ..GenerateOptions::default()
    };
    assert!(matches!(
        generate(&options),
        Err(GenerateError::ContextOverflow { new: 30, .. })
    ));
    options.overflow = ContextOverflow::Crop { keep: 23 };
    expect_test::expect!["23 tokens are to be kept at the beginning, and the model's context of 24 has no room after them; keep at most 22"]
        .assert_eq(&generate(&options).unwrap_err().to_string());
    options.overflow = ContextOverflow::Crop { keep: 22 };
    assert_eq!(generate(&options).unwrap().tokens.len(), 30);
    // Beams would have to be cropped alike.
    let request = Request::new(&prompt[..], free.clone())
        .with_options(options.clone())
        .with_strategy(BeamOptions {
            width: 2,
            ..BeamOptions::default()
        });
    let error = run(&model, &vocabulary, request).unwrap_err();
    let GenerateError::NotHonoured {
        strategy, option, ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!((strategy, option.as_str()), ("beam", "overflow"));
    // Without a limit, there are as many tokens as the context is long.
    options.max_new_tokens = None;
    assert_eq!(generate(&options).unwrap().tokens.len(), 24);
}

#[test]
fn a_row_reports_what_it_takes_and_a_fork_of_its_beginning_takes_less() {
    let mut model = MockModel::new(10, 24, [EOS]);
    let per_token = model.info().cache_bytes_per_token;
    let rows = [(); 2].map(|()| model.open_row().unwrap());
    let tokens = [1, 2, 3, 4, 5, 6].map(TokenId);
    let runs = [
        RowRun::last(rows[0], &tokens[..3]),
        RowRun::last(rows[1], &tokens[3..]),
    ];
    model.run(&runs, false).unwrap();
    assert_eq!(rows.map(|row| model.row_bytes(row)), [3 * per_token; 2]);
    let fork = model.fork_row(rows[0], 2).unwrap();
    assert_eq!(
        (model.row_len(fork), model.row_bytes(fork)),
        (Some(2), 2 * per_token)
    );
    let error = model.fork_row(fork, 9);
    assert!(matches!(
        error,
        Err(ModelError::RowLength {
            len: 2,
            wanted: 9,
            ..
        })
    ));
    model.close_row(fork);
    assert_eq!((model.row_len(fork), model.row_bytes(fork)), (None, 0));
}

#[test]
fn a_text_that_is_cropped_needs_no_more_cache_than_the_context() {
    let vocabulary = vocabulary();
    let model = MockModel::new(vocabulary.len(), 24, [EOS]);
    let free = Unconstrained::new(TokenMask::full(vocabulary.len()), &[]);
    let mut limits = SchedulerLimits::default();
    limits.cache_bytes = Some(24 * model.info().cache_bytes_per_token);
    let mut scheduler = scheduler(model, &vocabulary).with_limits(limits);
    let requests = [30, 300].map(|max_new_tokens| {
        let options = GenerateOptions {
            max_new_tokens: Some(max_new_tokens),
            overflow: ContextOverflow::Crop { keep: 3 },
            ..GenerateOptions::default()
        };
        Request::new(prompt(10, 1), free.clone()).with_options(options)
    });
    let outputs = run_all(&mut scheduler, requests);
    let lengths: Vec<usize> = { outputs.into_iter() }
        .map(|output| output.unwrap().tokens.len())
        .collect();
    assert_eq!(lengths, [30, 300]);
}

#[test]
fn an_encoder_decoder_generates_as_much_as_its_decoder_has_room_for_and_is_never_cropped() {
    let vocabulary = vocabulary();
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[]);
    let model = MockModel::new(vocabulary.len(), 40, []).with_output_start(OutputStart {
        end: None,
        start: TokenId(255),
        forced: vec![TokenId(254)],
        longest: 20,
    });
    let run = |options| {
        let request = Request::new(prompt(10, 1), free.clone()).with_options(options);
        run(&model, &vocabulary, request)?.single()
    };
    let whole = run(GenerateOptions::default()).unwrap();
    assert_eq!(whole.tokens.len(), 18);
    // The prefill is part of the decoder's text.
    let prefilled = GenerateOptions {
        prefill: vec![TokenId(97); 5],
        ..GenerateOptions::default()
    };
    assert_eq!(run(prefilled.clone()).unwrap().tokens.len(), 13);
    let too_many = GenerateOptions {
        max_new_tokens: Some(14),
        ..prefilled
    };
    assert!(matches!(
        run(too_many),
        Err(GenerateError::ContextOverflow { new: 14, .. })
    ));
    let cropped = GenerateOptions {
        max_new_tokens: Some(30),
        overflow: ContextOverflow::Crop { keep: 0 },
        ..GenerateOptions::default()
    };
    expect_test::expect!["the text of an encoder-decoder cannot be cropped; leave the context overflow out, and ask for at most 18 new tokens"]
        .assert_eq(&run(cropped).unwrap_err().to_string());
}
