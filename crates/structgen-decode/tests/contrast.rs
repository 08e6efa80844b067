//! Guidance and contrastive decoding against the same steps, taken one by one.

mod support;

use std::sync::Arc;

use expect_test::expect;
use serde_json::Value;
use structgen_constraint::Matcher;
use structgen_decode::{
    Candidates, ClassifierFreeGuidance, ContrastiveDecoding, Forward, GenerateOptions, Generator,
    LanguageModel, MockModel, SamplerChain, SamplingParams, SequenceStart, Unconstrained,
};
use structgen_vocab::{TokenId, TokenMask, Vocabulary};
use support::{EOS, constraint, prefilled, prompt, schemas, vocabulary};

fn model(seed: u64) -> MockModel {
    MockModel::new(270, 400, [EOS]).with_seed(seed)
}

fn logits(model: &mut MockModel, tokens: &[TokenId]) -> Vec<f32> {
    let mut cache = model.new_cache(&[0]).unwrap();
    let logits = model.forward(Forward::last(tokens), &mut cache).unwrap();
    logits.row(0, 0).to_vec()
}

fn log_softmax(logits: &[f32]) -> Vec<f32> {
    let total: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
    logits
        .iter()
        .map(|&logit| (f64::from(logit) - total.ln()) as f32)
        .collect()
}

/// The output by a rule that gives the scores behind some output, among allowed tokens.
fn by_hand(
    prompt: &[TokenId],
    mut matcher: Matcher,
    options: &GenerateOptions,
    mut scores: impl FnMut(&[TokenId], &[TokenId]) -> Vec<f32>,
) -> Vec<TokenId> {
    let mut chain = SamplerChain::new(&options.sampling, 0).unwrap();
    chain.reset(SequenceStart {
        prompt,
        eos: &[EOS],
    });
    let mut output = Vec::new();
    while !matcher.is_finished() {
        let mask = matcher.mask().unwrap();
        let allowed: Vec<TokenId> = mask.bits().iter().collect();
        let accepted = match allowed[..] {
            [one] => structgen_decode::Accepted::certain(one),
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

fn ids(output: &structgen_decode::Generation) -> Vec<TokenId> {
    output.tokens.iter().map(|token| token.id).collect()
}

#[test]
fn guided_outputs_are_those_of_the_formula_under_every_constraint() {
    let vocabulary = vocabulary();
    let mut changed = 0;
    // Bounded texts, so that no budget steers.
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
                let (mut c, mut u) = (model(1), model(1));
                let expected = by_hand(
                    &prompt,
                    constraint.matcher(),
                    &options,
                    |output, allowed| {
                        let c = log_softmax(&logits(&mut c, &[&prompt, output].concat()));
                        let u = log_softmax(&logits(&mut u, &[&other, output].concat()));
                        let score =
                            |id: &TokenId| u[id.index()] + 2.5 * (c[id.index()] - u[id.index()]);
                        allowed.iter().map(score).collect()
                    },
                );
                let mut model = model(1);
                let mut generator = Generator::new(&mut model, &vocabulary);
                let guidance = ClassifierFreeGuidance::new(2.5).with_prompt(negative);
                let matcher = &mut constraint.matcher();
                let guided = generator
                    .generate_guided(&prompt, matcher, &options, &guidance)
                    .unwrap();
                assert_eq!(ids(&guided), expected, "{schema}");
                serde_json::from_str::<Value>(&guided.text).unwrap();
                let matcher = &mut constraint.matcher();
                let plain = generator.generate(&prompt, matcher, &options).unwrap();
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
                let (mut expert, mut amateur) = (model(1), model(2));
                let mut dropped = 0;
                let expected = by_hand(
                    &prompt,
                    constraint.matcher(),
                    &options,
                    |output, allowed| {
                        let e = logits(&mut expert, &[&prompt, output].concat());
                        let a = logits(&mut amateur, &[&prompt, output].concat());
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
                let (mut expert, mut amateur) = (model(1), model(2));
                let mut contrast = ContrastiveDecoding::new(&mut amateur, vocabulary.clone())
                    .with_alpha(alpha)
                    .with_beta(beta);
                let mut generator = Generator::new(&mut expert, &vocabulary);
                let matcher = &mut constraint.matcher();
                let found =
                    { generator.generate_contrastive(&prompt, matcher, &options, &mut contrast) }
                        .unwrap();
                assert_eq!(ids(&found), expected, "{schema} {alpha} {beta}");
                let matcher = &mut constraint.matcher();
                let plain = generator.generate(&prompt, matcher, &options).unwrap();
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
        let mut expert = model(5);
        let mut generator = Generator::new(&mut expert, &vocabulary);
        let plain = generator
            .generate(&prompt, &mut constraint.matcher(), &options)
            .unwrap();
        let guidance = ClassifierFreeGuidance::new(1.0).with_prompt([TokenId(4)]);
        let matcher = &mut constraint.matcher();
        let guided = generator
            .generate_guided(&prompt, matcher, &options, &guidance)
            .unwrap();
        assert_eq!(guided.tokens, plain.tokens);
        let mut amateur = model(6);
        let mut contrast =
            ContrastiveDecoding::new(&mut amateur, vocabulary.clone()).with_beta(0.0);
        let matcher = &mut constraint.matcher();
        let found = generator
            .generate_contrastive(&prompt, matcher, &options, &mut contrast)
            .unwrap();
        assert_eq!(found.tokens, plain.tokens);
    }
}

#[test]
fn outputs_are_whole_at_the_least_budget() {
    let vocabulary = vocabulary();
    for schema in schemas() {
        let constraint = constraint(&vocabulary, &schema);
        let needed = constraint.matcher().completion_cost() as usize;
        for more in [0, 1, 9] {
            let options = GenerateOptions {
                max_new_tokens: Some(needed + more),
                min_new_tokens: more,
                ..GenerateOptions::default()
            };
            // What the expert likes best never ends anything, and nothing else is plausible.
            let mut expert = model(5)
                .preferring(TokenId(u32::from(b'1')), 50.0)
                .preferring(TokenId(u32::from(b'a')), 50.0);
            let mut amateur = model(7);
            let mut contrast =
                ContrastiveDecoding::new(&mut amateur, vocabulary.clone()).with_alpha(0.9);
            let mut generator = Generator::new(&mut expert, &vocabulary);
            let matcher = &mut constraint.matcher();
            let found = generator
                .generate_contrastive(&[TokenId(1)], matcher, &options, &mut contrast)
                .unwrap();
            assert!(found.tokens.len() <= needed + more);
            serde_json::from_str::<Value>(&found.text).unwrap();
            let guidance = ClassifierFreeGuidance::new(-4.0);
            let matcher = &mut constraint.matcher();
            let found = generator
                .generate_guided(&[TokenId(1)], matcher, &options, &guidance)
                .unwrap();
            serde_json::from_str::<Value>(&found.text).unwrap();
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
    let prompt = prompt(9, 2);
    let guidance = ClassifierFreeGuidance::new(3.0).with_prompt(support::prompt(7, 3));
    let unending = || model(8).preferring(EOS, -30.0);
    let run = |chunk: usize| {
        let mut model = unending();
        let chunk = std::num::NonZeroUsize::new(chunk).unwrap();
        let output = Generator::new(&mut model, &vocabulary)
            .with_prefill_chunk(chunk)
            .generate_guided(&prompt, &mut free.clone(), &options, &guidance);
        ids(&output.unwrap())
    };
    let output = run(400);
    let (mut c, mut u) = (unending(), unending());
    let mut so_far = options.prefill.clone();
    for &token in &output {
        let c = log_softmax(&logits(&mut c, &[&prompt[..], &so_far].concat()));
        let u = log_softmax(&logits(
            &mut u,
            &[support::prompt(7, 3), so_far.clone()].concat(),
        ));
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
    assert_eq!(run(2), output);
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
    let options = GenerateOptions::default();
    let mut expert = model(1);
    let mut generator = Generator::new(&mut expert, &vocabulary);
    let mut told = Vec::new();
    let guidance = ClassifierFreeGuidance::new(f32::NAN);
    let error = generator.generate_guided(
        &prompt(3, 1),
        &mut constraint.matcher(),
        &options,
        &guidance,
    );
    told.push(error.unwrap_err().to_string());
    let mut tell = |vocabulary: &Arc<Vocabulary>, alpha, beta, context| {
        let mut amateur = MockModel::new(270, context, [EOS]);
        let mut contrast = ContrastiveDecoding::new(&mut amateur, vocabulary.clone())
            .with_alpha(alpha)
            .with_beta(beta);
        let matcher = &mut constraint.matcher();
        let error = generator.generate_contrastive(&prompt(3, 1), matcher, &options, &mut contrast);
        told.push(error.unwrap_err().to_string());
    };
    tell(&vocabulary, 1.5, 0.5, 64);
    tell(&vocabulary, 0.1, -0.5, 64);
    tell(&vocabulary, 0.1, 0.5, 2);
    tell(&other, 0.1, 0.5, 64);
    expect![[r#"
        scale is NaN, and must be finite
        alpha is 1.5, and must be from 0 to 1
        beta is -0.5, and must be 0 or more
        the amateur's context does not hold a text of 3 tokens
        the draft model has another vocabulary: token 256 is "\":" for the target and the special token "<eos>" for the draft"#]].assert_eq(&told.join("\n"));
}
