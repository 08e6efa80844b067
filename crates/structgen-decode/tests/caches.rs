//! What was run before, and texts that outgrow the context: outputs are what they would be without a cache.

mod support;

use serde_json::json;
use structgen_decode::{
    BeamOptions, ContextOverflow, Forward, GenerateError, GenerateOptions, Generator,
    KeyValueCache, LanguageModel, MockModel, PrefixCache, PromptLookup, Request, SamplingParams,
    Speculation, Unconstrained,
};
use structgen_vocab::{TokenId, TokenMask};
use support::{EOS, constraint, essence, prompt, schemas, vocabulary};

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

#[test]
fn what_was_run_before_changes_nothing_and_is_not_run_again() {
    let vocabulary = vocabulary();
    let fresh = || MockModel::new(vocabulary.len(), 160, [EOS]).with_seed(7);
    let schemas = schemas();
    let compiled: Vec<_> = { schemas.iter() }
        .map(|schema| constraint(&vocabulary, schema))
        .collect();
    // A limit that nothing exceeds, one that few texts fit, and one that none does.
    for limit in [1 << 20, 1200, 8] {
        let mut prefixes = PrefixCache::new(limit);
        let (mut reusing, mut plain) = (fresh(), fresh());
        let mut reused = 0;
        for number in 0..60u64 {
            // Prompts that are the same, that begin alike, and that go on behind others.
            let mut prompt = prompt(20 + number as u32 % 4 * 9, number as u32 / 20);
            prompt.extend((0..number % 3).map(|extra| TokenId(60 + extra as u32)));
            let options = options(number / 2, 40);
            let matcher = compiled[number as usize % compiled.len()].matcher();
            let run = |model: &mut MockModel, prefixes: Option<&mut PrefixCache<_>>| {
                let mut generator = Generator::new(model, &vocabulary);
                if let Some(prefixes) = prefixes {
                    generator = generator.with_prefix_cache(prefixes);
                }
                match number % 4 {
                    0 => generator
                        .generate_many(&prompt, &matcher, 3, &options)
                        .unwrap(),
                    1 => {
                        let mut speculation =
                            Speculation::new().with_lookup(PromptLookup::default());
                        let mut matcher = matcher.clone();
                        vec![generator.generate_speculative(
                            &prompt,
                            &mut matcher,
                            &options,
                            &mut speculation,
                        )]
                    }
                    _ => vec![generator.generate(&prompt, &mut matcher.clone(), &options)],
                }
            };
            let without = run(&mut plain, None);
            let with = run(&mut reusing, Some(&mut prefixes));
            assert_eq!(with.len(), without.len());
            for (with, without) in with.iter().zip(&without) {
                assert_eq!(essence(with), essence(without), "{number}");
                if let Ok(with) = with {
                    reused += with.stats.reused_tokens;
                }
            }
            assert!(prefixes.bytes() <= limit);
        }
        let stats = prefixes.stats();
        if limit == 8 {
            assert_eq!((stats.hits, stats.misses, prefixes.len()), (0, 60, 0));
            assert_eq!(reusing.stats().tokens, plain.stats().tokens);
        } else {
            assert!(stats.hits >= 30 && reused > 500, "{stats:?}");
            assert_eq!(stats.evicted > 0, limit == 1200);
            let saved = plain.stats().tokens - reusing.stats().tokens;
            assert_eq!(saved, stats.reused_tokens);
        }
    }
}

/// Greedy tokens without a cache: each step runs what is shown anew.
fn replayed(model: &mut MockModel, prompt: &[TokenId], keep: usize, steps: usize) -> Vec<TokenId> {
    let context_length = model.info().context_length;
    let mut all = prompt.to_vec();
    let mut shown = all.clone();
    for _ in 0..steps {
        if shown.len() > context_length {
            let keep = keep.min(prompt.len());
            let tail = ((context_length - keep) / 2).max(2);
            shown = [&all[..keep], &all[all.len() - tail..]].concat();
        }
        let mut cache = model.new_cache(&[0]).unwrap();
        let logits = model.forward(Forward::last(&shown), &mut cache).unwrap();
        let logits = logits.row(0, 0);
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
    let fresh = || MockModel::new(vocabulary.len(), 24, [EOS]).with_seed(2);
    let free = Unconstrained::new(TokenMask::full(vocabulary.len()), &[]);
    for keep in [0, 1, 5, 18] {
        let options = GenerateOptions {
            max_new_tokens: Some(70),
            overflow: ContextOverflow::Crop { keep },
            ..GenerateOptions::default()
        };
        let prompts = [4, 12, 23, 24].map(|len| prompt(len, 9));
        let mut singles = Vec::new();
        for prompt in &prompts {
            let mut model = fresh();
            let mut generator = Generator::new(&mut model, &vocabulary);
            let single = generator
                .generate(prompt, &mut free.clone(), &options)
                .unwrap();
            let ids: Vec<TokenId> = single.tokens.iter().map(|token| token.id).collect();
            assert_eq!(ids, replayed(&mut fresh(), prompt, keep, 70));
            assert!(single.stats.crops > 2, "{:?}", single.stats);
            // Drafts are looked at before they could be cut.
            let mut speculation = Speculation::new().with_lookup(PromptLookup::default());
            let drafted = generator
                .generate_speculative(prompt, &mut free.clone(), &options, &mut speculation)
                .unwrap();
            assert_eq!(drafted.tokens, single.tokens);
            singles.push(single);
        }
        let requests = prompts.iter();
        let requests = requests.map(|prompt| Request::new(prompt, free.clone(), &options));
        let mut model = fresh();
        let mut generator = Generator::new(&mut model, &vocabulary);
        let batch = generator.generate_batch(requests.collect()).unwrap();
        for (batched, single) in batch.iter().zip(&singles) {
            assert_eq!(batched.as_ref().unwrap().tokens, single.tokens);
        }
    }
}

#[test]
fn a_prompt_that_is_too_long_is_cut_and_forced_text_goes_through() {
    let vocabulary = vocabulary();
    let mut model = MockModel::new(vocabulary.len(), 24, [EOS]).with_seed(2);
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
            let mut generator = Generator::new(&mut model, &vocabulary);
            let single = generator.generate(&prompt, &mut compiled.matcher(), &options);
            let single = single.unwrap();
            assert!(single.text.contains(long) || single.text.contains("\"b\""));
            let chosen = single.tokens.iter().filter(|token| !token.forced);
            assert!(
                chosen
                    .clone()
                    .all(|token| token.log_probs.is_some() == log_probs)
            );
            let mut speculation = Speculation::new();
            let drafted = generator
                .generate_speculative(&prompt, &mut compiled.matcher(), &options, &mut speculation)
                .unwrap();
            assert_eq!(drafted.text, single.text);
            let requests = [&prompt[..], &prompt[..2]]
                .map(|prompt| Request::new(prompt, compiled.matcher(), &options));
            for output in generator.generate_batch(requests.into()).unwrap() {
                assert!(output.is_ok());
            }
        }
    }
}

#[test]
fn cropping_is_asked_for_and_has_to_leave_room() {
    let vocabulary = vocabulary();
    let mut model = MockModel::new(vocabulary.len(), 24, [EOS]);
    let free = Unconstrained::new(TokenMask::full(vocabulary.len()), &[]);
    let mut generator = Generator::new(&mut model, &vocabulary);
    let mut options = GenerateOptions {
        max_new_tokens: Some(30),
        ..GenerateOptions::default()
    };
    let prompt = prompt(4, 0);
    let error = generator.generate(&prompt, &mut free.clone(), &options);
    assert!(matches!(
        error,
        Err(GenerateError::ContextOverflow { new: 30, .. })
    ));
    options.overflow = ContextOverflow::Crop { keep: 23 };
    let error = generator.generate(&prompt, &mut free.clone(), &options);
    expect_test::expect!["23 tokens are to be kept at the beginning, and the model's context of 24 has no room behind them; keep at most 22"]
        .assert_eq(&error.unwrap_err().to_string());
    options.overflow = ContextOverflow::Crop { keep: 22 };
    let output = generator.generate(&prompt, &mut free.clone(), &options);
    assert_eq!(output.unwrap().tokens.len(), 30);
    // Beams of one cache would have to be cut alike.
    let beams = BeamOptions {
        width: 2,
        ..BeamOptions::default()
    };
    let error = generator.beam_search(&prompt, &free, &options, &beams);
    assert!(matches!(error, Err(GenerateError::ContextOverflow { .. })));
    // Without a number, there are as many tokens as the context is long.
    options.max_new_tokens = None;
    let output = generator.generate(&prompt, &mut free.clone(), &options);
    assert_eq!(output.unwrap().tokens.len(), 24);
}

#[test]
fn a_cache_says_what_it_takes_and_a_part_of_it_less() {
    let mut model = MockModel::new(10, 24, [EOS]);
    let mut cache = model.new_cache(&[0, 0]).unwrap();
    let tokens = [1, 2, 3, 4, 5, 6].map(TokenId);
    model.forward(Forward::last(&tokens), &mut cache).unwrap();
    let per_token = model.info().cache_bytes_per_token;
    assert_eq!(cache.bytes(), 2 * 3 * per_token);
    let part = cache.fork_prefix(2).unwrap();
    assert_eq!((part.len(), part.bytes()), (2, 2 * 2 * per_token));
    assert_eq!(cache.fork_prefix(9).unwrap(), cache);
}
