//! Drafts change how fast an output is generated, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use serde_json::{Value, json};
use structgen_decode::{
    Constraint, GenerateError, GenerateOptions, LanguageModel, MockModel, Request, SamplingParams,
    Scheduler, SchedulerLimits, Unconstrained,
    model::RowRun,
    request::Report,
    samplers::{Candidates, RepetitionGuardParams, SamplerChain, SequenceStart},
    strategies::{DraftLength, PromptLookup, Speculation, SpeculationStats},
};
use structgen_vocab::{TokenId, TokenMask, Vocabulary};

use crate::support::{
    EOS, chi_square, chi_square_threshold, constraint, constraints, essence, prompt, scheduler,
    vocabulary,
};

fn model(width: usize, seed: u64) -> MockModel {
    MockModel::new(width, 300, [TokenId(width as u32 - 1)]).with_seed(seed)
}

/// A draft model that often agrees with the model of the same seed.
fn draft(width: usize, seed: u64) -> MockModel {
    let odd = (0..width as u32).step_by(3).map(TokenId);
    odd.fold(model(width, seed), |model, id| model.preferring(id, 1.5))
}

/// Returns the set of sources with a number from 0 to 7.
fn speculation(sources: u32, length: DraftLength) -> Speculation {
    Speculation {
        model: sources & 1 != 0,
        lookup: (sources & 2 != 0).then(PromptLookup::default),
        forced_text: sources & 4 != 0,
        length,
        ..Speculation::default()
    }
}

fn with_draft(target: MockModel, draft: MockModel, vocabulary: &Arc<Vocabulary>) -> Scheduler {
    let scheduler = scheduler(target, vocabulary);
    scheduler.with_draft(draft, vocabulary).unwrap()
}

fn stats(report: &Report) -> &SpeculationStats {
    let Report::Speculation(stats) = report else {
        panic!("{report:?}");
    };
    stats
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

/// Options of many kinds; those with odd numbers draw.
fn options(number: u64) -> GenerateOptions {
    GenerateOptions {
        sampling: SamplingParams {
            temperature: if number % 2 == 1 { 1.3 } else { 0.0 },
            repetition_penalty: 1.1,
            repetition_guard: (number % 4 > 1).then(RepetitionGuardParams::default),
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
    let compiled = constraints(&vocabulary);
    let mut kept = [0; 3];
    for number in 0..500u64 {
        let options = options(number);
        let prompt = prompt(1 + number as u32 % 40, number as u32);
        let target = model(vocabulary.len(), number);
        let drafter = draft(vocabulary.len(), number);
        let mut sources = (number / 2 % 8) as u32;
        if number % 2 == 1 {
            sources &= 6;
        }
        let speculation = speculation(sources, lengths()[number as usize % 4]);
        let mut limits = SchedulerLimits::default();
        limits.prefill_most = [usize::MAX, 3][number as usize / 7 % 2];
        let mut scheduler = with_draft(target, drafter, &vocabulary).with_limits(limits);
        // One in six is unconstrained.
        let (plain, same) = if let Some(constraint) = compiled.get(number as usize % 6) {
            let request = Request::new(prompt, constraint.matcher()).with_options(options);
            let plain = scheduler.run(request.clone());
            (plain, scheduler.run(request.with_strategy(speculation)))
        } else {
            let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[EOS]);
            let request = Request::new(prompt, free).with_options(options);
            let plain = scheduler.run(request.clone());
            (plain, scheduler.run(request.with_strategy(speculation)))
        };
        let same = same.unwrap();
        for (kept, source) in kept.iter_mut().zip({
            let stats = stats(&same.report);
            [stats.model, stats.lookup, stats.forced_text]
        }) {
            *kept += source.kept;
        }
        let plain = plain.unwrap().single();
        assert_eq!(essence(&same.single()), essence(&plain), "{number}");
    }
    // Every source was useful.
    assert!(kept.iter().all(|&kept| kept > 10), "{kept:?}");
}

/// Returns the probability of every output, by enumerating the distributions that the chain would draw from.
fn enumerate<C: Constraint + Clone>(
    model: &mut MockModel,
    prompt: &[TokenId],
    start: &C,
    options: &GenerateOptions,
) -> BTreeMap<Vec<TokenId>, f64> {
    let mut chain = SamplerChain::new(&options.sampling, 0).unwrap();
    chain.reset(SequenceStart {
        prompt,
        prefilled: 0,
        eos: start.eos(),
    });
    let mut found = BTreeMap::new();
    let mut open = vec![(Vec::new(), start.clone(), chain, 1.0)];
    while let Some((tokens, mut constraint, chain, probability)) = open.pop() {
        if constraint.is_finished() || tokens.len() >= options.max_new_tokens.unwrap() {
            *found.entry(tokens).or_insert(0.0) += probability;
            continue;
        }
        let row = model.open_row().unwrap();
        let all = [prompt, &tokens].concat();
        let output = model.run(&[RowRun::last(row, &all)], false).unwrap();
        let mask = constraint.mask().unwrap();
        let mut candidates = Candidates::default();
        let mut tried = chain.clone();
        tried.fill(&mut candidates, output.row(0).last(), &*mask, &[]);
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
            chain.accept(structgen_decode::samplers::Accepted::drawn(id, 0.0));
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
            repetition_guard: Some(RepetitionGuardParams {
                window: 2,
                strength: 3.0,
            }),
            ..SamplingParams::default()
        },
    ];
    const DRAWS: u32 = 200_000;
    let mut target = model(6, 11);
    // An unrelated model: drafts are accepted and rejected.
    let drafter = model(6, 12);
    for (case, sampling) in samplings.into_iter().enumerate() {
        let mut options = GenerateOptions {
            sampling,
            max_new_tokens: Some(3),
            ..GenerateOptions::default()
        };
        let expected = enumerate(&mut target, &prompt, &free, &options);
        let length = lengths()[case % 2 * 2];
        let speculation = speculation([1, 3, 1][case], length);
        let mut scheduler = with_draft(target.clone(), drafter.clone(), &vocabulary);
        let mut counts = BTreeMap::new();
        let (mut tested, mut kept) = (0, 0);
        for seed in 0..u64::from(DRAWS) {
            options.sampling.seed = seed;
            let request = Request::new(prompt, free.clone()).with_options(options.clone());
            let outputs = scheduler.run(request.with_strategy(speculation)).unwrap();
            tested += stats(&outputs.report).model.tested;
            kept += stats(&outputs.report).model.kept;
            let output = outputs.single().unwrap();
            let tokens = output.tokens.iter().map(|token| token.id).collect();
            *counts.entry(tokens).or_insert(0) += 1;
        }
        let (statistic, degrees) = chi_square(&expected, &counts, DRAWS);
        assert!(degrees >= 8, "{degrees}");
        assert!(
            statistic < chi_square_threshold(degrees),
            "case {case}: {statistic} with {degrees} degrees of freedom"
        );
        let refused = tested - kept;
        assert!(
            kept > 20_000 && refused > 5_000,
            "{case}: {kept}, {refused}"
        );
    }
}

/// Counts each output over this many runs, and the runs that the budget steered.
fn sample(
    schema: &Value,
    options: &GenerateOptions,
    draws: u32,
    sources: Option<u32>,
) -> (BTreeMap<Vec<TokenId>, u32>, u32) {
    let vocabulary = vocabulary();
    let matcher = constraint(&vocabulary, schema).matcher();
    let [target, drafter] = [5, 6].map(|seed| model(vocabulary.len(), seed));
    let mut scheduler = with_draft(target, drafter, &vocabulary);
    let mut options = options.clone();
    let mut counts = BTreeMap::new();
    let mut steered = 0;
    for seed in 0..u64::from(draws) {
        // Other seeds for the other kind, so that the samples are independent.
        options.sampling.seed = 2 * seed + u64::from(sources.is_some());
        let request = Request::new(prompt(3, 3), matcher.clone()).with_options(options.clone());
        let request = match sources {
            Some(sources) => request.with_strategy(speculation(sources, DraftLength::default())),
            None => request,
        };
        let output = scheduler.run(request).unwrap().single().unwrap();
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
    let schema = json!({"enum": [[1.5, 12.5], [12.5], 1.5]});
    const DRAWS: u32 = 20_000;
    for top_k in [0, 3] {
        let options = hot(4.0, top_k, 12);
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
        let target = model(vocabulary.len(), 3).preferring(EOS, -100.0);
        let options = GenerateOptions {
            sampling: SamplingParams {
                temperature,
                ..SamplingParams::default()
            },
            max_new_tokens: Some(80),
            ..GenerateOptions::default()
        };
        let speculation = speculation(1, DraftLength::Fixed(NonZeroUsize::new(7).unwrap()));
        let request = Request::new(prompt(4, 1), free.clone()).with_options(options);
        let outputs = with_draft(target.clone(), target, &vocabulary)
            .run(request.with_strategy(speculation))
            .unwrap();
        let stats = stats(&outputs.report).clone();
        let output = outputs.single().unwrap();
        assert_eq!(output.tokens.len(), 80);
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
        let drafter = model(vocabulary.len(), 2);
        let main = Scheduler::new(model(5, 1), target.clone());
        errors.push(match main.with_draft(drafter, &vocabulary) {
            Ok(_) => "taken".to_owned(),
            Err(error @ GenerateError::DraftVocabulary { .. }) => error.to_string(),
            Err(error) => panic!("{error}"),
        });
    }
    expect_test::expect![[r#"
        taken
        the draft model has another vocabulary: token 4 is the special token "<eos>" for the target and the special token "<end>" for the draft
        the draft model has another vocabulary: token 5 is nothing for the target and "z" for the draft
        the draft model has another vocabulary: token 4 is the special token "<eos>" for the target and "e" for the draft"#]].assert_eq(&errors.join("\n"));
}
