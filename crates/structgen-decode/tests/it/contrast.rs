//! Guidance and contrastive decoding against the same steps, one at a time.

use std::sync::Arc;

use expect_test::expect;
use serde_json::Value;
use structgen_constraint::Matcher;
use structgen_decode::{
    GenerateError, GenerateOptions, Generation, MockModel, Request, SamplingParams, Scheduler,
    SchedulerLimits, Strategy, Unconstrained,
    samplers::{Accepted, Candidates, SamplerChain, SequenceStart},
    strategies::{ClassifierFreeGuidance, ContrastiveDecoding},
};
use structgen_vocab::{TokenId, TokenMask, Vocabulary};

use crate::support::{
    self, EOS, constraint, logits_after, prefilled, prompt, scheduler, schemas, vocabulary,
};

fn model(seed: u64) -> MockModel {
    MockModel::new(270, 400, [EOS]).with_seed(seed)
}

fn log_softmax(logits: &[f32]) -> Vec<f32> {
    let logs = support::log_softmax(logits).into_iter();
    logs.map(|log| log as f32).collect()
}

/// A scheduler of two models.
fn pair(expert: MockModel, amateur: MockModel, vocabulary: &Arc<Vocabulary>) -> Scheduler {
    let scheduler = scheduler(expert, vocabulary);
    scheduler.with_draft(amateur, vocabulary).unwrap()
}

/// The only output of a request.
fn single(
    scheduler: &mut Scheduler,
    prompt: &[TokenId],
    matcher: Matcher,
    options: &GenerateOptions,
    strategy: impl Into<Strategy>,
) -> Generation {
    let request = Request::new(prompt, matcher)
        .with_options(options.clone())
        .with_strategy(strategy);
    scheduler.run(request).unwrap().single().unwrap()
}

fn guidance(scale: f32, prompt: &[TokenId]) -> ClassifierFreeGuidance {
    let prompt = prompt.to_vec();
    ClassifierFreeGuidance { scale, prompt }
}

/// Returns the output by a rule for the scores after some output, among allowed tokens.
fn by_hand(
    prompt: &[TokenId],
    mut matcher: Matcher,
    options: &GenerateOptions,
    mut scores: impl FnMut(&[TokenId], &[TokenId]) -> Vec<f32>,
) -> Vec<TokenId> {
    let mut chain = SamplerChain::new(&options.sampling, 0).unwrap();
    chain.reset(SequenceStart {
        prompt,
        prefilled: 0,
        eos: &[EOS],
    });
    let mut output = Vec::new();
    while !matcher.is_finished() {
        let mask = matcher.mask().unwrap();
        let allowed: Vec<TokenId> = mask.bits().iter().collect();
        let accepted = match allowed[..] {
            [one] => Accepted::certain(one),
            _ => {
                let scores = scores(&output, &allowed);
                let pairs = allowed.into_iter().zip(scores);
                chain.choose(&mut Candidates::from_pairs(pairs)).unwrap()
            }
        };
        matcher.accept_token(accepted.token).unwrap();
        if accepted.token == EOS {
            break;
        }
        chain.accept(accepted);
        output.push(accepted.token);
    }
    output
}

fn samplings() -> Vec<SamplingParams> {
    let hot = SamplingParams {
        temperature: 0.8,
        top_p: 0.9,
        repetition_penalty: 1.2,
        seed: 3,
        ..SamplingParams::default()
    };
    vec![SamplingParams::default(), hot]
}

fn options(sampling: SamplingParams) -> GenerateOptions {
    GenerateOptions {
        sampling,
        max_new_tokens: Some(300),
        ..GenerateOptions::default()
    }
}

fn ids(output: &Generation) -> Vec<TokenId> {
    output.tokens.iter().map(|token| token.id).collect()
}

#[test]
fn guided_outputs_are_those_of_the_formula_under_every_constraint() {
    let vocabulary = vocabulary();
    let mut changed = 0;
    // Bounded texts, so that the budget never steers.
    for (number, schema) in schemas().iter().skip(2).enumerate() {
        let constraint = constraint(&vocabulary, schema);
        for sampling in samplings() {
            for negative in [prompt(3, 9), Vec::new()] {
                let prompt = prompt(5, number as u32);
                let options = options(sampling.clone());
                let other = match negative.is_empty() {
                    true => prompt[4..].to_vec(),
                    false => negative.clone(),
                };
                let model = model(1);
                let expected = by_hand(
                    &prompt,
                    constraint.matcher(),
                    &options,
                    |output, allowed| {
                        let c = log_softmax(&logits_after(&model, &[&prompt, output].concat()));
                        let u = log_softmax(&logits_after(&model, &[&other, output].concat()));
                        let score =
                            |id: &TokenId| u[id.index()] + 2.5 * (c[id.index()] - u[id.index()]);
                        allowed.iter().map(score).collect()
                    },
                );
                let mut scheduler = scheduler(model, &vocabulary);
                let guidance = guidance(2.5, &negative);
                let matcher = constraint.matcher();
                let guided = single(&mut scheduler, &prompt, matcher, &options, guidance);
                assert_eq!(ids(&guided), expected, "{schema}");
                serde_json::from_str::<Value>(&guided.text).unwrap();
                let matcher = constraint.matcher();
                let plain = single(&mut scheduler, &prompt, matcher, &options, Strategy::Sample);
                changed += u32::from(plain.text != guided.text);
            }
        }
    }
    assert!(changed > 4, "{changed}");
}

#[test]
fn contrastive_outputs_are_those_of_the_formula_under_every_constraint() {
    let vocabulary = vocabulary();
    let mut changed = 0;
    for (number, schema) in schemas().iter().skip(2).enumerate() {
        let constraint = constraint(&vocabulary, schema);
        for sampling in samplings() {
            for (alpha, beta) in [(0.1, 0.5), (0.0, 1.0), (0.5, 0.25)] {
                let prompt = prompt(5, number as u32);
                let options = options(sampling.clone());
                let (expert, amateur) = (model(1), model(2));
                let mut dropped = 0;
                let expected = by_hand(
                    &prompt,
                    constraint.matcher(),
                    &options,
                    |output, allowed| {
                        let e = logits_after(&expert, &[&prompt, output].concat());
                        let a = logits_after(&amateur, &[&prompt, output].concat());
                        let max = allowed
                            .iter()
                            .map(|id| e[id.index()])
                            .fold(f32::MIN, f32::max);
                        let score = |id: &TokenId| {
                            let (e, a) = (e[id.index()], a[id.index()]);
                            match e >= max + f32::ln(alpha) {
                                true => (1.0 + beta) * e - beta * a,
                                false => f32::NEG_INFINITY,
                            }
                        };
                        let scores: Vec<f32> = allowed.iter().map(score).collect();
                        dropped += scores.iter().filter(|score| score.is_infinite()).count();
                        scores
                    },
                );
                assert!(alpha == 0.0 || expected.is_empty() || dropped > 0);
                let mut scheduler = pair(expert, amateur, &vocabulary);
                let contrastive = ContrastiveDecoding { alpha, beta };
                let matcher = constraint.matcher();
                let found = single(&mut scheduler, &prompt, matcher, &options, contrastive);
                assert_eq!(ids(&found), expected, "{schema} {alpha} {beta}");
                let matcher = constraint.matcher();
                let plain = single(&mut scheduler, &prompt, matcher, &options, Strategy::Sample);
                changed += u32::from(plain.text != found.text);
            }
        }
    }
    assert!(changed > 4, "{changed}");
}

#[test]
fn without_contrast_nothing_changes() {
    let vocabulary = vocabulary();
    for schema in schemas() {
        let constraint = constraint(&vocabulary, &schema);
        let prompt = prompt(4, 1);
        let options = GenerateOptions {
            log_probs: true,
            ..options(SamplingParams::default())
        };
        let mut scheduler = pair(model(5), model(6), &vocabulary);
        let mut tokens = |strategy: Strategy| {
            let matcher = constraint.matcher();
            single(&mut scheduler, &prompt, matcher, &options, strategy).tokens
        };
        let plain = tokens(Strategy::Sample);
        assert_eq!(tokens(guidance(1.0, &[TokenId(4)]).into()), plain);
        let contrastive = ContrastiveDecoding {
            beta: 0.0,
            ..ContrastiveDecoding::default()
        };
        assert_eq!(tokens(contrastive.into()), plain);
    }
}

#[test]
fn outputs_are_whole_at_the_least_budget() {
    let vocabulary = vocabulary();
    for schema in schemas() {
        let constraint = constraint(&vocabulary, &schema);
        let needed = constraint.matcher().completion_cost().unwrap() as usize;
        for more in [0, 1, 9] {
            let options = GenerateOptions {
                max_new_tokens: Some(needed + more),
                min_new_tokens: more,
                ..GenerateOptions::default()
            };
            // The expert's favourite token never ends anything, and nothing else is plausible.
            let expert = model(5)
                .preferring(TokenId(u32::from(b'1')), 50.0)
                .preferring(TokenId(u32::from(b'a')), 50.0);
            let mut scheduler = pair(expert, model(7), &vocabulary);
            let contrastive = ContrastiveDecoding {
                alpha: 0.9,
                ..ContrastiveDecoding::default()
            };
            for strategy in [contrastive.into(), Strategy::from(guidance(-4.0, &[]))] {
                let matcher = constraint.matcher();
                let found = single(&mut scheduler, &[TokenId(1)], matcher, &options, strategy);
                assert!(found.tokens.len() <= needed + more);
                serde_json::from_str::<Value>(&found.text).unwrap();
            }
        }
    }
}

#[test]
fn a_prefill_belongs_to_the_output_and_chunks_change_nothing() {
    let vocabulary = vocabulary();
    let mut allowed = TokenMask::new(270);
    allowed.allow_all(&[97, 98, 99].map(TokenId));
    let free = Unconstrained::new(allowed, &[EOS]);
    let options = prefilled();
    // Longer than a text that is being generated may be, so that it is run in chunks.
    let (prompt, other) = (prompt(90, 2), prompt(70, 3));
    let unending = model(8).preferring(EOS, -30.0);
    let run = |chunk: usize| {
        let mut limits = SchedulerLimits::default();
        limits.prefill_chunk = chunk;
        limits.prefill_most = chunk;
        let request = Request::new(&prompt[..], free.clone())
            .with_options(options.clone())
            .with_strategy(guidance(3.0, &other));
        let mut scheduler = scheduler(unending.clone(), &vocabulary).with_limits(limits);
        ids(&scheduler.run(request).unwrap().single().unwrap())
    };
    let output = run(400);
    let mut so_far = options.prefill.clone();
    for &token in &output {
        let c = log_softmax(&logits_after(&unending, &[&prompt[..], &so_far].concat()));
        let u = log_softmax(&logits_after(&unending, &[&other[..], &so_far].concat()));
        let score = |id: &TokenId| u[id.index()] + 3.0 * (c[id.index()] - u[id.index()]);
        let ids = [TokenId(97), TokenId(98), TokenId(99), EOS];
        let best = ids
            .iter()
            .max_by(|a, b| score(a).total_cmp(&score(b)))
            .unwrap();
        assert_eq!(*best, token);
        so_far.push(token);
    }
    assert_eq!(output.len(), 12);
    assert_eq!(run(33), output);
}

#[test]
fn what_makes_no_sense_is_told() {
    let vocabulary = vocabulary();
    let other = Arc::new(
        Vocabulary::from_tokens(
            (0..=255u8).map(|byte| vec![byte]),
            &[(TokenId(256), "<eos>")],
        )
        .unwrap(),
    );
    let constraint = constraint(&vocabulary, &schemas()[2]);
    let refused = |mut scheduler: Scheduler, strategy: Strategy| {
        let request = Request::new(prompt(3, 1), constraint.matcher()).with_strategy(strategy);
        let error: GenerateError = scheduler.run(request).unwrap_err();
        error.to_string()
    };
    let contrastive = |alpha, beta, context| {
        let amateur = MockModel::new(270, context, [EOS]);
        let strategy = ContrastiveDecoding { alpha, beta };
        refused(pair(model(1), amateur, &vocabulary), strategy.into())
    };
    let told = [
        refused(
            scheduler(model(1), &vocabulary),
            guidance(f32::NAN, &[]).into(),
        ),
        contrastive(1.5, 0.5, 64),
        contrastive(0.1, -0.5, 64),
        contrastive(0.1, 0.5, 2),
        refused(
            scheduler(model(1), &vocabulary),
            ContrastiveDecoding::default().into(),
        ),
        { scheduler(model(1), &vocabulary).with_draft(model(2), &other) }
            .unwrap_err()
            .to_string(),
        refused(
            scheduler(model(1), &vocabulary),
            guidance(1.5, &prompt(400, 1)).into(),
        ),
    ];
    expect![[r#"
        guidance.scale is infinite or NaN, and must be finite
        contrastive.alpha is 1.5, and must be from 0 to 1
        contrastive.beta is -0.5, and must be 0 or more
        the amateur's context does not hold a text of 3 tokens
        the strategy contrastive needs a draft model: give the scheduler one by with_draft
        the draft model has another vocabulary: token 256 is "\":" for the target and the special token "<eos>" for the draft
        the text needs 405 positions, and the model's context holds 400; shorten the text or lower the number of new tokens"#]].assert_eq(&told.join("\n"));
}
