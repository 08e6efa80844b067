//! Drafts change how fast an output comes, and nothing about it.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use serde_json::{Value, json};
use structgen_decode::{
    Candidates, Constraint, DraftLength, Forward, GenerateError, GenerateOptions, Generator,
    LanguageModel, MockEncoder, MockModel, PromptLookup, SamplerChain, SamplingParams,
    SequenceStart, Speculation, Unconstrained,
};
use structgen_vocab::{TokenId, TokenMask, Vocabulary};
use support::{
    EOS, chi_square, chi_square_threshold, constraint, constraints, essence, prompt, vocabulary,
};

fn model(width: usize, seed: u64) -> MockModel {
    MockModel::new(width, 300, [TokenId(width as u32 - 1)]).with_seed(seed)
}

/// A draft that often agrees with the model of the same seed, and sometimes not.
fn draft(width: usize, seed: u64) -> MockModel {
    let odd = (0..width as u32).step_by(3).map(TokenId);
    odd.fold(model(width, seed), |model, id| model.preferring(id, 1.5))
}

/// Each set of sources by a number from 0 to 7.
fn speculation<'d>(
    sources: u32,
    draft: &'d mut MockModel,
    vocabulary: &Arc<Vocabulary>,
    length: DraftLength,
) -> Speculation<'d> {
    let mut speculation = Speculation::new().with_length(length);
    if sources & 1 != 0 {
        speculation = speculation.with_model(draft, vocabulary.clone());
    }
    if sources & 2 != 0 {
        speculation = speculation.with_lookup(PromptLookup::default());
    }
    if sources & 4 != 0 {
        speculation = speculation.with_forced_text();
    }
    speculation
}

fn lengths() -> [DraftLength; 4] {
    let n = |n| NonZeroUsize::new(n).unwrap();
    [
        DraftLength::default(),
        DraftLength::Fixed(n(1)),
        DraftLength::Fixed(n(7)),
        DraftLength::Adaptive(n(3)),
    ]
}

/// Options of many kinds; those of odd numbers draw.
fn options(number: u64) -> GenerateOptions {
    GenerateOptions {
        sampling: SamplingParams {
            temperature: if number % 2 == 1 { 1.3 } else { 0.0 },
            repetition_penalty: 1.1,
            top_k: 12,
            min_p: 0.01,
            seed: number,
            ..SamplingParams::default()
        },
        max_new_tokens: Some(40 + number as usize % 30),
        min_new_tokens: number as usize % 11,
        log_probs: number.is_multiple_of(3),
        stop: (number % 5 == 4)
            .then(|| "e".to_owned())
            .into_iter()
            .collect(),
        ..GenerateOptions::default()
    }
}

#[test]
fn greedy_output_is_the_same_with_every_source_and_so_is_every_seeds_without_a_draft_model() {
    let vocabulary = vocabulary();
    let encoder = MockEncoder(vocabulary.clone());
    let compiled = constraints(&vocabulary);
    let mut kept = [0; 3];
    for number in 0..500u64 {
        let options = options(number);
        let prompt = prompt(1 + number as u32 % 40, number as u32);
        let mut target = model(vocabulary.len(), number);
        let mut drafter = draft(vocabulary.len(), number);
        let mut sources = (number / 2 % 8) as u32;
        if number % 2 == 1 {
            sources &= 6;
        }
        let length = lengths()[number as usize % 4];
        let mut speculation = speculation(sources, &mut drafter, &vocabulary, length);
        let chunk = NonZeroUsize::new([usize::MAX, 3][number as usize / 7 % 2]).unwrap();
        let mut generator = Generator::new(&mut target, &vocabulary)
            .with_prefill_chunk(chunk)
            .with_encoder(&encoder);
        // One in six is free.
        let (plain, same) = if let Some(constraint) = compiled.get(number as usize % 6) {
            let mut matcher = constraint.matcher();
            let plain = generator.generate(&prompt, &mut matcher, &options);
            let mut matcher = constraint.matcher();
            let same =
                generator.generate_speculative(&prompt, &mut matcher, &options, &mut speculation);
            (plain, same)
        } else {
            let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
            let plain = generator.generate(&prompt, &mut free.clone(), &options);
            let mut free = free.clone();
            let same =
                generator.generate_speculative(&prompt, &mut free, &options, &mut speculation);
            (plain, same)
        };
        assert_eq!(essence(&same), essence(&plain), "{number}");
        let stats = speculation.stats();
        kept[0] += stats.model.kept;
        kept[1] += stats.lookup.kept;
        kept[2] += stats.forced_text.kept;
    }
    // Every source was of use.
    assert!(kept.iter().all(|&kept| kept > 10), "{kept:?}");
}

/// The probability of every output, by enumeration of what the chain would draw from.
fn enumerate<C: Constraint + Clone>(
    model: &mut MockModel,
    prompt: &[TokenId],
    start: &C,
    options: &GenerateOptions,
) -> BTreeMap<Vec<TokenId>, f64> {
    let mut chain = SamplerChain::new(&options.sampling, 0).unwrap();
    chain.reset(SequenceStart {
        prompt,
        eos: start.eos(),
    });
    let mut found = BTreeMap::new();
    let mut open = vec![(Vec::new(), start.clone(), chain, 1.0)];
    while let Some((tokens, mut constraint, chain, probability)) = open.pop() {
        if constraint.is_finished() || tokens.len() >= options.max_new_tokens.unwrap() {
            *found.entry(tokens).or_insert(0.0) += probability;
            continue;
        }
        let mut cache = model.new_cache(&[0]).unwrap();
        let all = [prompt, &tokens].concat();
        let logits = model.forward(Forward::last(&all), &mut cache).unwrap();
        let mask = constraint.mask().unwrap();
        let mut candidates = Candidates::default();
        let mut tried = chain.clone();
        tried.fill(&mut candidates, logits.row(0, 0), &*mask, &[]);
        tried.apply(&mut candidates);
        let total = candidates.weigh();
        for (&id, &weight) in candidates.ids().iter().zip(candidates.weights()) {
            if weight == 0.0 {
                continue;
            }
            let probability = probability * f64::from(weight) / total;
            let mut next = constraint.clone();
            next.accept_token(id).unwrap();
            if constraint.eos().contains(&id) {
                *found.entry(tokens.clone()).or_insert(0.0) += probability;
                continue;
            }
            let mut chain = chain.clone();
            chain.accept(structgen_decode::Accepted::drawn(id, 0.0));
            let mut tokens = tokens.clone();
            tokens.push(id);
            open.push((tokens, next, chain, probability));
        }
    }
    found
}

#[test]
fn the_threshold_is_the_tables() {
    // 99.99% points of chi-squared.
    for (degrees, table) in [(10, 35.56), (30, 67.63), (80, 135.78)] {
        let found = chi_square_threshold(degrees);
        assert!((found - table).abs() < 0.5, "{degrees}: {found}");
    }
}

#[test]
fn sampled_outputs_have_the_targets_distribution() {
    // Five letters and an end, of which the constraint forbids one; outputs of at most three tokens.
    let letters = (b'a'..=b'e').map(|letter| vec![letter]);
    let eos = TokenId(5);
    let vocabulary = Arc::new(Vocabulary::from_tokens(letters, &[(eos, "<eos>")]).unwrap());
    let encoder = MockEncoder(vocabulary.clone());
    let mut allowed = TokenMask::full(6);
    allowed.deny(TokenId(2));
    let free = Unconstrained::new(allowed, &[eos]);
    let prompt = [TokenId(0), TokenId(1), TokenId(0)];
    let samplings = [
        SamplingParams {
            temperature: 5.0,
            ..SamplingParams::default()
        },
        SamplingParams {
            temperature: 6.0,
            top_k: 3,
            frequency_penalty: 3.0,
            ..SamplingParams::default()
        },
        SamplingParams {
            temperature: 4.0,
            top_p: 0.8,
            min_p: 0.05,
            repetition_penalty: 1.7,
            ..SamplingParams::default()
        },
    ];
    const DRAWS: u32 = 200_000;
    let mut target = model(6, 11);
    // Another model altogether: drafts are kept and refused.
    let mut drafter = model(6, 12);
    for (case, sampling) in samplings.into_iter().enumerate() {
        let mut options = GenerateOptions {
            sampling,
            max_new_tokens: Some(3),
            ..GenerateOptions::default()
        };
        let expected = enumerate(&mut target, &prompt, &free, &options);
        let length = lengths()[case % 2 * 2];
        let sources = [1, 3, 1][case];
        let mut speculation = speculation(sources, &mut drafter, &vocabulary, length);
        let mut generator = Generator::new(&mut target, &vocabulary).with_encoder(&encoder);
        let mut counts = BTreeMap::new();
        for seed in 0..u64::from(DRAWS) {
            options.sampling.seed = seed;
            let mut free = free.clone();
            let output = generator
                .generate_speculative(&prompt, &mut free, &options, &mut speculation)
                .unwrap();
            let tokens = output.tokens.iter().map(|token| token.id).collect();
            *counts.entry(tokens).or_insert(0) += 1;
        }
        let (statistic, degrees) = chi_square(&expected, &counts, DRAWS);
        assert!(degrees >= 8, "{degrees}");
        assert!(
            statistic < chi_square_threshold(degrees),
            "case {case}: {statistic} with {degrees} degrees of freedom"
        );
        let model = speculation.stats().model;
        let refused = model.tested - model.kept;
        assert!(model.kept > 20_000 && refused > 5_000, "{case}: {model:?}");
    }
}

/// How often each output came in so many runs, and in how many of them the budget steered.
fn sample(
    schema: &Value,
    options: &GenerateOptions,
    draws: u32,
    sources: Option<u32>,
) -> (BTreeMap<Vec<TokenId>, u32>, u32) {
    let vocabulary = vocabulary();
    let encoder = MockEncoder(vocabulary.clone());
    let matcher = constraint(&vocabulary, schema).matcher();
    let mut target = model(vocabulary.len(), 5);
    let mut drafter = model(vocabulary.len(), 6);
    let length = DraftLength::default();
    let mut speculation = speculation(sources.unwrap_or(0), &mut drafter, &vocabulary, length);
    let mut generator = Generator::new(&mut target, &vocabulary).with_encoder(&encoder);
    let mut options = options.clone();
    let mut counts = BTreeMap::new();
    let mut steered = 0;
    for seed in 0..u64::from(draws) {
        let mut matcher = matcher.clone();
        // Other seeds for the other kind, so that the samples are independent.
        options.sampling.seed = 2 * seed + u64::from(sources.is_some());
        let output = match sources {
            Some(_) => generator.generate_speculative(
                &prompt(3, 3),
                &mut matcher,
                &options,
                &mut speculation,
            ),
            None => generator.generate(&prompt(3, 3), &mut matcher, &options),
        };
        let output = output.unwrap();
        steered += u32::from(output.stats.steered_steps > 0);
        let tokens = output.tokens.iter().map(|token| token.id).collect();
        *counts.entry(tokens).or_insert(0) += 1;
    }
    (counts, steered)
}

fn hot(temperature: f32, top_k: usize, max_new_tokens: usize) -> GenerateOptions {
    GenerateOptions {
        sampling: SamplingParams {
            temperature,
            top_k,
            ..SamplingParams::default()
        },
        max_new_tokens: Some(max_new_tokens),
        ..GenerateOptions::default()
    }
}

#[test]
fn sampled_outputs_under_a_schema_have_the_targets_distribution() {
    let vocabulary = vocabulary();
    let schema = json!({"enum": ["aa", "ab", "b", "ba", true, null]});
    let matcher = constraint(&vocabulary, &schema).matcher();
    let options = hot(8.0, 0, 12);
    let mut target = model(vocabulary.len(), 5);
    let expected = enumerate(&mut target, &prompt(3, 3), &matcher, &options);
    const DRAWS: u32 = 40_000;
    let (counts, steered) = sample(&schema, &options, DRAWS, Some(7));
    let (statistic, degrees) = chi_square(&expected, &counts, DRAWS);
    assert!(degrees >= 5 && steered == 0, "{degrees}, {steered}");
    assert!(
        statistic < chi_square_threshold(degrees),
        "{statistic}, {degrees}"
    );
}

#[test]
fn steering_by_the_budget_is_the_same_with_drafts() {
    let schema = json!({"enum": [[1, 12], [12], 1]});
    const DRAWS: u32 = 20_000;
    for top_k in [0, 3] {
        let options = hot(4.0, top_k, 9);
        let (plain, steered) = sample(&schema, &options, DRAWS, None);
        let (drafted, _) = sample(&schema, &options, DRAWS, Some(1));
        assert!(steered > 500, "{steered}");
        // Two samples of the same size: (a - b)^2 / (a + b), summed.
        let keys: BTreeSet<&Vec<TokenId>> = plain.keys().chain(drafted.keys()).collect();
        let count =
            |counts: &BTreeMap<_, u32>, key| f64::from(counts.get(key).copied().unwrap_or(0));
        let mut rare = (0.0, 0.0);
        let mut pairs = Vec::new();
        for key in keys {
            let (a, b) = (count(&plain, key), count(&drafted, key));
            if a + b < 20.0 {
                rare = (rare.0 + a, rare.1 + b);
            } else {
                pairs.push((a, b));
            }
        }
        if rare.0 + rare.1 > 0.0 {
            pairs.push(rare);
        }
        let statistic: f64 = pairs.iter().map(|(a, b)| (a - b).powi(2) / (a + b)).sum();
        let degrees = pairs.len() - 1;
        assert!(degrees > 10, "{degrees}");
        assert!(
            statistic < chi_square_threshold(degrees),
            "{statistic}, {degrees}"
        );
    }
}

#[test]
fn the_target_as_its_own_draft_is_kept_whole() {
    let vocabulary = vocabulary();
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
    for temperature in [0.0, 1.0] {
        let mut target = model(vocabulary.len(), 3).preferring(EOS, -100.0);
        let mut same = target.clone();
        let options = GenerateOptions {
            sampling: SamplingParams {
                temperature,
                ..SamplingParams::default()
            },
            max_new_tokens: Some(80),
            ..GenerateOptions::default()
        };
        let length = DraftLength::Fixed(NonZeroUsize::new(7).unwrap());
        let mut speculation = Speculation::new()
            .with_model(&mut same, vocabulary.clone())
            .with_length(length);
        let output = Generator::new(&mut target, &vocabulary)
            .generate_speculative(&prompt(4, 1), &mut free.clone(), &options, &mut speculation)
            .unwrap();
        assert_eq!(output.tokens.len(), 80);
        let stats = speculation.stats();
        assert_eq!((stats.target_runs, output.stats.runs), (10, 10));
        assert_eq!(stats.tokens_per_run(), 8.0);
        assert_eq!(stats.acceptance(), [1.0; 7]);
        assert_eq!(stats.draft_runs, 70);
    }
}

#[test]
fn a_draft_of_another_vocabulary_is_refused_and_padding_is_none() {
    let letters = |n: u8| (b'a'..b'a' + n).map(|letter| vec![letter]);
    let target = Vocabulary::from_tokens(letters(4), &[(TokenId(4), "<eos>")]).unwrap();
    let padded = target.clone().with_logits_len(9).unwrap();
    let other_end = Vocabulary::from_tokens(letters(4), &[(TokenId(4), "<end>")]).unwrap();
    let longer = Vocabulary::from_tokens(
        letters(4).chain([vec![], b"z".to_vec()]),
        &[(TokenId(4), "<eos>")],
    );
    let shifted = Vocabulary::from_tokens(letters(5), &[(TokenId(5), "<eos>")]).unwrap();
    let mut errors = Vec::new();
    for vocabulary in [padded, other_end, longer.unwrap(), shifted] {
        let mut main = model(5, 1);
        let mut drafter = model(vocabulary.len(), 2);
        let mut speculation = Speculation::new().with_model(&mut drafter, Arc::new(vocabulary));
        let mut free = Unconstrained::new(target.text_tokens().clone(), &[TokenId(4)]);
        let options = GenerateOptions {
            max_new_tokens: Some(30),
            ..GenerateOptions::default()
        };
        let output = Generator::new(&mut main, &target).generate_speculative(
            &[TokenId(0)],
            &mut free,
            &options,
            &mut speculation,
        );
        errors.push(match output {
            Ok(_) => "generated".to_owned(),
            Err(error @ GenerateError::DraftVocabulary { .. }) => error.to_string(),
            Err(error) => panic!("{error}"),
        });
    }
    expect_test::expect![[r#"
        generated
        the draft model has another vocabulary: token 4 is the special token "<eos>" for the target and the special token "<end>" for the draft
        the draft model has another vocabulary: token 5 is nothing for the target and "z" for the draft
        the draft model has another vocabulary: token 4 is the special token "<eos>" for the target and "e" for the draft"#]].assert_eq(&errors.join("\n"));
}
