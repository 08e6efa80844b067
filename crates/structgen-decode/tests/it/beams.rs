//! Beam search against transformers' rules, reimplemented, against enumeration, and under constraints.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use structgen_decode::{
    Constraint, FinishReason, GenerateError, GenerateOptions, MockModel, Output, Request,
    SamplingParams, Unconstrained,
    strategies::{BeamOptions, Distinct, EarlyStopping},
};
use structgen_vocab::{TokenId, Vocabulary};

use crate::support::{
    self, EOS, constraint, logits_after, prompt, run, scheduler, schemas, vocabulary,
};

/// A vocabulary of letters with one or two ends after them.
pub(crate) fn letters(n: u8, ends: u32) -> (Arc<Vocabulary>, Vec<TokenId>) {
    let letters = (b'a'..b'a' + n).map(|letter| vec![letter]);
    let names = ["<eos>", "<end>"];
    let specials: Vec<(TokenId, &str)> = (0..ends)
        .map(|i| (TokenId(u32::from(n) + i), names[i as usize]))
        .collect();
    let eos = specials.iter().map(|&(id, _)| id).collect();
    let vocabulary = Vocabulary::from_tokens(letters, &specials).unwrap();
    (Arc::new(vocabulary), eos)
}

pub(crate) fn log_softmax(model: &MockModel, tokens: &[TokenId]) -> Vec<f64> {
    support::log_softmax(&logits_after(model, tokens))
}

/// One entry of the tensors that transformers keeps.
#[derive(Clone, Debug)]
struct Entry {
    tokens: Vec<TokenId>,
    score: f64,
    finished: bool,
}

/// The rules of `_beam_search` in transformers 4.57: all entries are always present, and those out of the running have
/// a score around -1e9.
fn reference(
    model: &MockModel,
    prompt: &[TokenId],
    eos: &[TokenId],
    most: usize,
    options: &BeamOptions,
) -> Vec<(Vec<TokenId>, f64)> {
    const OUT: f64 = -1e9;
    let k = options.width;
    let keep = (1 + eos.len()).max(2) * k;
    let entry = |score| Entry {
        tokens: Vec::new(),
        score,
        finished: false,
    };
    let mut running: Vec<Entry> = (0..k)
        .map(|i| entry(if i == 0 { 0.0 } else { OUT }))
        .collect();
    let mut done: Vec<Entry> = (0..k).map(|_| entry(OUT)).collect();
    let mut unsatisfied = true;
    let mut length = 0;
    loop {
        let mut all: Vec<(Entry, usize)> = Vec::new();
        for (beam, entry) in running.iter().enumerate() {
            let logs = log_softmax(model, &[prompt, &entry.tokens].concat());
            for (id, log) in logs.into_iter().enumerate() {
                let mut next = entry.clone();
                next.tokens.push(TokenId(id as u32));
                next.score += log;
                all.push((next, beam));
            }
        }
        // A stable sort: among equals, the earlier beam, then the lower id.
        all.sort_by(|a, b| b.0.score.total_cmp(&a.0.score));
        all.truncate(keep);
        let hits: Vec<bool> = { all.iter() }
            .map(|(next, _)| eos.contains(next.tokens.last().unwrap()) || length + 1 == most)
            .collect();
        let mut order: Vec<(f64, usize)> = (0..all.len())
            .map(|i| (all[i].0.score + if hits[i] { OUT } else { 0.0 }, i))
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        running = order[..k]
            .iter()
            .map(|&(score, i)| Entry {
                score,
                ..all[i].0.clone()
            })
            .collect();

        let full = done.iter().all(|entry| entry.finished);
        let mut merged = done.clone();
        for (i, (next, _)) in all.iter().enumerate() {
            let just = hits[i] && i < k;
            let mut score = next.score / ((length + 1) as f64).powf(options.length_penalty);
            for is_out in [
                full && options.early_stopping == EarlyStopping::Always,
                !unsatisfied,
                !just,
            ] {
                score += if is_out { OUT } else { 0.0 };
            }
            merged.push(Entry {
                tokens: next.tokens.clone(),
                score,
                finished: just,
            });
        }
        merged.sort_by(|a, b| b.score.total_cmp(&a.score));
        merged.truncate(k);
        done = merged;
        length += 1;

        let best_length = match options.early_stopping {
            EarlyStopping::Never if options.length_penalty > 0.0 => most,
            _ => length,
        };
        let best = running[0].score / (best_length as f64).powf(options.length_penalty);
        let worst = done
            .iter()
            .map(|entry| entry.score)
            .fold(f64::INFINITY, f64::min);
        unsatisfied &= done
            .iter()
            .any(|entry| best > if entry.finished { worst } else { OUT });
        let full = done.iter().all(|entry| entry.finished);
        let closed = full && options.early_stopping == EarlyStopping::Always;
        if !unsatisfied || closed || hits.iter().all(|&hit| hit) {
            break;
        }
    }
    done.truncate(options.n_best);
    let done = done.into_iter().filter(|entry| entry.finished);
    done.map(|entry| (entry.tokens, entry.score)).collect()
}

pub(crate) fn search<C: Constraint + Clone + 'static>(
    model: &MockModel,
    vocabulary: &Arc<Vocabulary>,
    constraint: &C,
    options: &GenerateOptions,
    beams: &BeamOptions,
) -> Vec<Output> {
    let request = Request::new([TokenId(0)], constraint.clone())
        .with_options(options.clone())
        .with_strategy(beams.clone());
    run(model, vocabulary, request).unwrap().all().unwrap()
}

pub(crate) fn at_most(n: usize) -> GenerateOptions {
    GenerateOptions {
        max_new_tokens: Some(n),
        ..GenerateOptions::default()
    }
}

/// Returns the tokens including the chosen end, as in transformers.
pub(crate) fn with_end(output: &Output) -> Vec<TokenId> {
    let mut tokens: Vec<TokenId> = output
        .generation
        .tokens
        .iter()
        .map(|token| token.id)
        .collect();
    if let FinishReason::Eos(end) = output.generation.finish {
        tokens.push(end);
    }
    tokens
}

#[test]
fn sequences_and_scores_are_those_of_transformers() {
    let start = TokenId(0);
    let mut stopped_early = 0;
    for seed in 0..60u64 {
        let (vocabulary, eos) = letters(5 + (seed % 4) as u8, 1 + (seed % 2) as u32);
        // An end that is likely enough to occur at every length.
        let mut model = MockModel::new(vocabulary.len(), 64, eos.clone()).with_seed(seed);
        for &end in &eos {
            model = model.preferring(end, 3.0);
        }
        let free = Unconstrained::new(vocabulary.text_tokens().clone(), &eos);
        for width in [1, 2, 3, 5] {
            for length_penalty in [1.0, 0.0, 2.0, -0.5] {
                for early_stopping in [
                    EarlyStopping::Heuristic,
                    EarlyStopping::Always,
                    EarlyStopping::Never,
                ] {
                    let beams = BeamOptions {
                        width,
                        n_best: width,
                        length_penalty,
                        // In transformers, a width of one means greedy decoding, which stops at the first end.
                        early_stopping: if width == 1 {
                            EarlyStopping::Always
                        } else {
                            early_stopping
                        },
                        ..BeamOptions::default()
                    };
                    let most = 3 + seed as usize % 7;
                    let expected = reference(&model, &[start], &eos, most, &beams);
                    let found = search(&model, &vocabulary, &free, &at_most(most), &beams);
                    let tokens: Vec<_> = found.iter().map(with_end).collect();
                    let expected_tokens: Vec<_> = expected.iter().map(|(t, _)| t.clone()).collect();
                    assert_eq!(tokens, expected_tokens, "{seed} {beams:?}");
                    for (output, (_, score)) in found.iter().zip(&expected) {
                        assert!(
                            (output.score.unwrap() - score).abs() < 1e-4,
                            "{seed} {beams:?}"
                        );
                        let len = with_end(output).len() as f64;
                        let own = output.log_prob.unwrap() / len.powf(length_penalty);
                        assert!((own - output.score.unwrap()).abs() < 1e-12);
                    }
                    stopped_early += usize::from(found.iter().all(|o| with_end(o).len() < most));
                }
            }
        }
    }
    assert!(stopped_early > 300, "{stopped_early}");
}

#[test]
fn enough_beams_find_the_best_of_all() {
    let (vocabulary, eos) = letters(3, 1);
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &eos);
    for seed in 0..20 {
        let model = MockModel::new(4, 64, eos.clone()).with_seed(seed);
        // Every sequence of at most four tokens.
        let mut open = vec![(vec![TokenId(0)], 0.0)];
        let mut all: Vec<(Vec<TokenId>, f64)> = Vec::new();
        while let Some((tokens, sum)) = open.pop() {
            for (id, log) in log_softmax(&model, &tokens).into_iter().enumerate() {
                let next = [&tokens[..], &[TokenId(id as u32)]].concat();
                match id == 3 || next.len() == 5 {
                    true => all.push((next[1..].to_vec(), (sum + log) / (next.len() - 1) as f64)),
                    false => open.push((next, sum + log)),
                }
            }
        }
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let beams = BeamOptions {
            width: 200,
            n_best: 20,
            early_stopping: EarlyStopping::Never,
            ..BeamOptions::default()
        };
        let found = search(&model, &vocabulary, &free, &at_most(4), &beams);
        let found: Vec<_> = found.iter().map(with_end).collect();
        let best: Vec<_> = all[..20].iter().map(|(tokens, _)| tokens.clone()).collect();
        assert_eq!(found, best);
    }
}

#[test]
fn a_width_of_one_is_greedy_under_every_constraint() {
    let vocabulary = vocabulary();
    let beams = BeamOptions {
        width: 1,
        ..BeamOptions::default()
    };
    for (seed, schema) in (0..60).zip(schemas().iter().cycle()) {
        let compiled = constraint(&vocabulary, schema);
        let needed = compiled.matcher().completion_cost().unwrap() as usize;
        let model = MockModel::new(vocabulary.len(), 400, [EOS]).with_seed(seed);
        let options = GenerateOptions {
            log_probs: true,
            min_new_tokens: seed as usize % 5,
            ..at_most(needed + seed as usize % 40)
        };
        let request = Request::new(prompt(9, 2), compiled.matcher()).with_options(options.clone());
        let greedy = run(&model, &vocabulary, request.clone()).unwrap();
        let greedy = greedy.single().unwrap();
        for renormalize in [false, true] {
            let beams = BeamOptions {
                renormalize,
                ..beams.clone()
            };
            let request = request.clone().with_strategy(beams);
            let found = run(&model, &vocabulary, request).unwrap().all().unwrap();
            assert_eq!(found.len(), 1);
            let one = &found[0].generation;
            assert_eq!((&one.text, &one.finish), (&greedy.text, &greedy.finish));
            assert_eq!(one.tokens, greedy.tokens, "{renormalize}");
        }
    }
}

#[test]
fn outputs_fit_their_constraint_and_their_budget() {
    let vocabulary = vocabulary();
    for (seed, schema) in (0..40).zip(schemas().iter().cycle()) {
        let compiled = constraint(&vocabulary, schema);
        let needed = compiled.matcher().completion_cost().unwrap() as usize;
        let model = MockModel::new(vocabulary.len(), 400, [EOS]).with_seed(seed);
        for budget in [needed, needed + 1, 2 * needed, 2 * needed + 30] {
            let options = at_most(budget);
            let beams = BeamOptions {
                width: 4,
                n_best: 4,
                groups: [1, 2][seed as usize / 2 % 2],
                renormalize: seed % 3 == 0,
                ..BeamOptions::default()
            };
            let found = search(&model, &vocabulary, &compiled.matcher(), &options, &beams);
            assert!(!found.is_empty());
            let mut tokens = BTreeSet::new();
            for output in &found {
                let text = &output.generation.text;
                serde_json::from_str::<Value>(text).unwrap_or_else(|e| panic!("{text}: {e}"));
                assert!(output.generation.tokens.len() <= budget);
                let mut matcher = compiled.matcher();
                for token in &output.generation.tokens {
                    matcher.accept_token(token.id).unwrap();
                }
                assert!(matcher.is_accepting());
                tokens.insert(with_end(output));
            }
            assert!(found.is_sorted_by(|a, b| a.score >= b.score));
            // Groups without a penalty between them find the same outputs.
            assert!(beams.groups > 1 || tokens.len() == found.len());
        }
    }
}

#[test]
fn log_probabilities_add_up_to_the_sum() {
    let vocabulary = vocabulary();
    let compiled = constraint(&vocabulary, &schemas()[0]);
    let model = MockModel::new(vocabulary.len(), 400, [EOS]).with_seed(8);
    let options = GenerateOptions {
        log_probs: true,
        ..at_most(60)
    };
    for renormalize in [false, true] {
        let beams = BeamOptions {
            width: 3,
            n_best: 3,
            renormalize,
            ..BeamOptions::default()
        };
        for output in search(&model, &vocabulary, &compiled.matcher(), &options, &beams) {
            let logs = output.generation.tokens.iter().map(|token| {
                let logs = token.log_probs.unwrap();
                f64::from(if renormalize {
                    logs.allowed
                } else {
                    logs.model
                })
            });
            let sum: f64 = logs.sum();
            assert_eq!(output.generation.finish, FinishReason::ConstraintFinished);
            assert!(
                (sum - output.log_prob.unwrap()).abs() < 1e-3,
                "{sum} {:?}",
                output.log_prob
            );
        }
    }
}

#[test]
fn distinct_outputs_are_distinct() {
    let vocabulary = vocabulary();
    let count = |schema: Value, distinct| {
        let compiled = constraint(&vocabulary, &schema);
        let model = MockModel::new(vocabulary.len(), 400, [EOS]).with_seed(8);
        let beams = BeamOptions {
            width: 12,
            n_best: 12,
            early_stopping: EarlyStopping::Never,
            distinct,
            ..BeamOptions::default()
        };
        let found = search(
            &model,
            &vocabulary,
            &compiled.matcher(),
            &at_most(30),
            &beams,
        );
        let texts: Vec<String> = found.into_iter().map(|one| one.generation.text).collect();
        let different: BTreeSet<&String> = texts.iter().collect();
        (texts.len(), different.len())
    };
    // Words of one or of several tokens.
    let words = json!({"enum": ["name", "true", "123", "x"]});
    let (all, texts) = count(words.clone(), Distinct::Tokens);
    assert!(all > texts && texts == 4, "{all} {texts}");
    assert_eq!(count(words, Distinct::Text), (4, 4));
    // Numbers that can be written in many ways.
    let numbers = json!({"enum": [12.5, [1.5]]});
    let (all, texts) = count(numbers.clone(), Distinct::Text);
    assert!(all == texts && texts > 2, "{all} {texts}");
    assert_eq!(count(numbers, Distinct::JsonValue), (2, 2));
}

#[test]
fn drawn_beams_follow_the_seed_and_their_distribution() {
    let (vocabulary, eos) = letters(4, 1);
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &eos);
    let model = MockModel::new(5, 64, eos.clone()).with_seed(3);
    let beams = BeamOptions {
        width: 1,
        sample: true,
        ..BeamOptions::default()
    };
    let options = |seed| GenerateOptions {
        sampling: SamplingParams {
            temperature: 6.0,
            seed,
            ..SamplingParams::default()
        },
        ..at_most(1)
    };
    // One beam and one step: two are drawn without replacement, and the first is the output.
    let logs = log_softmax(&model, &[TokenId(0)]);
    let weights: Vec<f64> = logs.iter().map(|log| (log / 6.0).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mut counts = [0.0; 5];
    const DRAWS: u64 = 20_000;
    for seed in 0..DRAWS {
        let found = search(&model, &vocabulary, &free, &options(seed), &beams);
        counts[with_end(&found[0])[0].index()] += 1.0;
    }
    let statistic: f64 = counts
        .iter()
        .zip(&weights)
        .map(|(n, weight)| {
            let expected = weight / total * DRAWS as f64;
            (n - expected).powi(2) / expected
        })
        .sum();
    // Chi-squared with four degrees of freedom: 18.5 is exceeded by chance once in a thousand.
    assert!(statistic < 18.5, "{statistic}");
    let again = |seed| search(&model, &vocabulary, &free, &options(seed), &beams);
    assert_eq!(with_end(&again(7)[0]), with_end(&again(7)[0]));
}

#[test]
fn a_search_without_time_is_the_error_of_its_best_beam() {
    let vocabulary = vocabulary();
    let compiled = constraint(&vocabulary, &schemas()[0]);
    let model = MockModel::new(vocabulary.len(), 400, [EOS]);
    let beams = BeamOptions {
        n_best: 2,
        groups: 2,
        ..BeamOptions::default()
    };
    let options = GenerateOptions {
        time_limit: Some(Duration::ZERO),
        ..at_most(60)
    };
    let request = Request::new(prompt(5, 1), compiled.matcher())
        .with_options(options)
        .with_strategy(beams);
    match run(&model, &vocabulary, request) {
        Err(GenerateError::Incomplete(cut)) => assert_eq!(*cut.reason(), FinishReason::TimeLimit),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_prefill_that_is_a_whole_output_is_the_only_one() {
    let vocabulary = vocabulary();
    let compiled = constraint(&vocabulary, &json!({"const": "x"}));
    let model = MockModel::new(vocabulary.len(), 400, [EOS]);
    let beams = BeamOptions {
        n_best: 4,
        groups: 2,
        ..BeamOptions::default()
    };
    let options = GenerateOptions {
        prefill: [b'"', b'x', b'"'].map(|byte| TokenId(byte.into())).to_vec(),
        ..at_most(60)
    };
    let found = search(&model, &vocabulary, &compiled.matcher(), &options, &beams);
    let [only] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(only.generation.text, "\"x\"");
    assert_eq!(only.generation.finish, FinishReason::ConstraintFinished);
    assert_eq!((only.score, only.log_prob), (Some(0.0), Some(0.0)));
    assert_eq!(only.generation.stats.runs, 0);
}

#[test]
fn nonsense_is_refused_before_the_model_runs() {
    let (vocabulary, eos) = letters(4, 1);
    let free = Unconstrained::new(vocabulary.text_tokens().clone(), &eos);
    let mut scheduler = scheduler(MockModel::new(5, 64, eos.clone()), &vocabulary);
    let mut fail = |change: fn(&mut BeamOptions)| {
        let mut beams = BeamOptions::default();
        change(&mut beams);
        let request = Request::new([TokenId(0)], free.clone())
            .with_options(at_most(4))
            .with_strategy(beams);
        match scheduler.submit(request) {
            Err(error @ GenerateError::Beams(_)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let errors = [
        fail(|b| b.width = 0),
        fail(|b| b.n_best = 0),
        fail(|b| b.n_best = 5),
        fail(|b| b.groups = 0),
        fail(|b| b.groups = 3),
        fail(|b| b.length_penalty = f64::NAN),
        fail(|b| b.diversity_penalty = -1.0),
        fail(|b| b.diversity_penalty = 1.0),
        fail(|b| {
            b.groups = 2;
            b.sample = true;
        }),
        fail(|b| b.sample = true),
    ];
    assert!(scheduler.is_idle());
    expect_test::expect![[r#"
        beam.width is 0, and must be from 1 to 65536
        beam.n_best is 0, and must be 1 or more
        beam.n_best is 5, and must be from 1 to the width, 4
        beam.groups is 0, and must be 1 or more
        4 beams cannot be divided into 3 groups of the same size
        beam.length_penalty is infinite or NaN, and must be finite
        beam.diversity_penalty is -1, and must be 0 or more
        a diversity penalty is between groups of beams, and there is one group
        beams in groups cannot be drawn: choose groups or sampling
        beams cannot be drawn at temperature 0"#]]
    .assert_eq(&errors.join("\n"));
}
