use super::*;
use crate::candidates::tests::{candidates, ids, log};
use crate::{
    constraint::PlainMask,
    samplers::{
        DryParams, LengthDecayParams, OrderPreset, RepetitionGuardParams, WatermarkParams,
        XtcParams,
    },
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use structgen_vocab::TokenMask;

fn params(temperature: f32) -> SamplingParams {
    SamplingParams {
        temperature,
        ..SamplingParams::default()
    }
}

fn start<'a>(prompt: &'a [TokenId], eos: &'a [TokenId]) -> SequenceStart<'a> {
    SequenceStart {
        prompt,
        prefilled: 0,
        eos,
    }
}

#[test]
fn temperature_zero_is_an_argmax_with_ties_to_the_lowest_id() {
    let mut chain = SamplerChain::new(&params(0.0), 0).unwrap();
    assert!(chain.is_plain_argmax());
    let chosen = chain.choose(&mut candidates(&[1.0, 3.0, 3.0])).unwrap();
    assert_eq!(chosen, Accepted::certain(TokenId(1)));
    assert_eq!(chain.choose(&mut candidates(&[])), None);
}

#[test]
fn the_chain_of_a_sequence_shows_the_samplers_of_the_caller_first() {
    let own = OwnSamplers::new(TopK::new(2)).with(TopK::new(1));
    for sets_temperatures in [false, true] {
        let mut chain =
            SamplerChain::of_sequence(&params(0.5), &own, sets_temperatures, 0).unwrap();
        assert_eq!(chain.is_guided(), sets_temperatures);
        let mut shown = Vec::new();
        chain.apply_shown(&mut candidates(&[1.0, 3.0, 2.0]), |kind, candidates| {
            shown.push((kind, candidates.len()));
        });
        assert_eq!(shown, [(None, 1), (Some(SamplerKind::Temperature), 1)]);
    }
}

#[test]
fn penalties_count_at_temperature_zero() {
    let sampling = SamplingParams {
        presence_penalty: 5.0,
        ..params(0.0)
    };
    let mut chain = SamplerChain::new(&sampling, 0).unwrap();
    chain.accept(Accepted::certain(TokenId(1)));
    let chosen = chain.choose(&mut candidates(&[1.0, 3.0])).unwrap();
    assert_eq!(chosen.token, TokenId(0));
}

#[test]
fn a_clone_draws_the_same_and_another_sequence_does_not() {
    let sampling = SamplingParams {
        seed: 11,
        ..params(1.0)
    };
    let draws = |mut chain: SamplerChain| -> Vec<u32> {
        (0..40)
            .map(|_| chain.choose(&mut candidates(&[0.0; 50])).unwrap().token.0)
            .collect()
    };
    let chain = SamplerChain::new(&sampling, 0).unwrap();
    assert_eq!(draws(chain.clone()), draws(chain.clone()));
    let other = SamplerChain::new(&sampling, 1).unwrap();
    assert_ne!(draws(chain), draws(other));
}

/// The generator is not reseeded: each step continues it, over tokens and over sequences.
#[test]
fn steps_draw_on_and_do_not_begin_again() {
    let sampling = SamplingParams {
        xtc: Some(XtcParams {
            probability: 0.5,
            threshold: 0.5,
        }),
        ..params(1.0)
    };
    let mut chain = SamplerChain::new(&sampling, 0).unwrap();
    let mut counts = [0u32; 4];
    let mut kept = [0u32; 2];
    for step in 0..4000 {
        if step % 100 == 0 {
            chain.reset(start(&[], &[]));
        }
        let chosen = chain.choose(&mut candidates(&[0.0; 4])).unwrap();
        counts[chosen.token.index()] += 1;
        let mut two = candidates(&[0.0; 2]);
        chain.samplers[0].apply(&mut two);
        kept[two.len() - 1] += 1;
        chain.accept(chosen);
    }
    // One sigma is 27 and 32.
    assert!(counts.iter().all(|n| n.abs_diff(1000) < 140), "{counts:?}");
    assert!(kept.iter().all(|n| n.abs_diff(2000) < 160), "{kept:?}");
}

/// Samplers see the model's logits, and the temperature divides these.
#[test]
fn samplers_work_on_logits_and_not_on_probabilities() {
    let logits = log(&[0.8, 0.2]);
    let mut c = candidates(&logits);
    let mut chain = SamplerChain::new(&params(2.0), 0).unwrap();
    let chosen = chain.choose(&mut c).unwrap();
    // The square roots of 0.8 and 0.2 are in the ratio 2 to 1.
    let expected = if chosen.token.0 == 0 { 2.0 } else { 1.0 } / 3.0;
    assert!((chosen.probability.unwrap() - expected).abs() < 1e-6);
    assert_eq!(c.logits(), [logits[0] / 2.0, logits[1] / 2.0]);
}

/// Each preset's order shows in what is kept, and penalties come before the temperature.
#[test]
fn the_order_is_the_one_asked_for() {
    let kept = |order: Vec<SamplerKind>| {
        let sampling = SamplingParams {
            top_p: 0.7,
            order,
            ..params(4.0)
        };
        let mut c = candidates(&log(&[0.72, 0.2, 0.08]));
        SamplerChain::new(&sampling, 0)
            .unwrap()
            .choose(&mut c)
            .unwrap();
        ids(&c)
    };
    assert_eq!(kept(OrderPreset::LlamaCpp.order()), [0]);
    assert_eq!(kept(OrderPreset::HuggingFace.order()), [0, 1]);
    assert_eq!(kept(OrderPreset::Structgen.order()), [0, 1]);

    let sampling = SamplingParams {
        frequency_penalty: 1.0,
        ..params(4.0)
    };
    let mut chain = SamplerChain::new(&sampling, 0).unwrap();
    chain.accept(Accepted::certain(TokenId(0)));
    let mut c = candidates(&[4.0, 4.0]);
    chain.choose(&mut c).unwrap();
    assert_eq!(c.logits(), [0.75, 1.0]);
}

#[test]
fn samplers_that_need_the_prompt_or_the_end_are_told() {
    let sampling = SamplingParams {
        min_length: 3,
        length_decay: Some(LengthDecayParams {
            start: 1,
            factor: 10.0,
        }),
        no_repeat_ngram: 2,
        ..params(0.0)
    };
    let mut chain = SamplerChain::new(&sampling, 0).unwrap();
    let (prompt, eos) = ([TokenId(1)], [TokenId(9)]);
    chain.reset(start(&prompt, &eos));
    let mut tokens = Vec::new();
    for _ in 0..4 {
        let logits = [(9, 1.5), (1, 2.0), (2, 1.0)];
        let logits = logits.map(|(id, logit)| (TokenId(id), logit));
        let chosen = chain.choose(&mut Candidates::from_pairs(logits)).unwrap();
        tokens.push(chosen.token.0);
        chain.accept(chosen);
    }
    // The end is banned at first; "1 1" occurs once; then the end's logit has grown.
    assert_eq!(tokens, [1, 2, 9, 9]);
}

/// Parameters with everything that may come before top-k, and tokens for the chain to accept.
fn chains() -> impl Strategy<Value = (SamplingParams, Vec<u32>)> {
    let penalties = (
        0.5f32..2.0,
        -1.0f32..1.0,
        any::<bool>(),
        0usize..3,
        any::<bool>(),
    );
    let rest = (
        1usize..30,
        prop_oneof![Just(1.0f32), 0.1f32..3.0],
        0.3f32..=1.0,
        0.0f32..0.3,
    );
    let tokens = proptest::collection::vec(0u32..60, 0..40);
    (penalties, rest, tokens, any::<u64>()).prop_map(|(penalties, rest, tokens, seed)| {
        let (repetition_penalty, frequency_penalty, dry, no_repeat_ngram, bias) = penalties;
        let (top_k, temperature, top_p, min_p) = rest;
        let sampling = SamplingParams {
            repetition_penalty,
            frequency_penalty,
            dry: dry.then(DryParams::default),
            repetition_guard: dry.then(RepetitionGuardParams::default),
            no_repeat_ngram,
            logit_bias: match bias {
                true => BTreeMap::from([(3, 4.0), (7, f32::NEG_INFINITY), (5000, 1.0)]),
                false => BTreeMap::new(),
            },
            bad_words: vec![vec![4], vec![2, 3]],
            top_k,
            top_p,
            min_p,
            seed,
            ..params(temperature)
        };
        (sampling, tokens)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Every truncating sampler except typical-p, XTC and mirostat keeps the largest logit.
    #[test]
    fn the_largest_survives_every_truncation(
        logits in proptest::collection::vec(-20.0f32..20.0, 1..300),
        (top_k, top_k_ties) in (0usize..20, any::<bool>()),
        (top_p, min_p, top_h) in (0.0f32..=1.0, 0.0f32..=1.0, 0.0f32..=1.0),
        (epsilon_cutoff, eta_cutoff) in (0.0f32..1.0, 0.0f32..1.0),
        top_n_sigma in 0.0f32..3.0,
        temperature in 0.05f32..5.0,
        order in 0usize..3,
    ) {
        let sampling = SamplingParams {
            top_k,
            top_k_ties,
            top_p,
            min_p,
            top_h,
            epsilon_cutoff,
            eta_cutoff,
            top_n_sigma,
            order: OrderPreset::ALL[order].order(),
            ..params(temperature)
        };
        let mut chain = SamplerChain::new(&sampling, 0).unwrap();
        let mut c = candidates(&logits);
        let largest = c.largest().unwrap().0;
        let kinds = chain.samplers.len();
        for i in 0..kinds {
            let mut alone = candidates(&logits);
            chain.samplers[i].apply(&mut alone);
            prop_assert!(alone.ids().contains(&largest));
        }
        chain.choose(&mut c).unwrap();
        prop_assert!(c.ids().contains(&largest));
        prop_assert!(top_k == 0 || top_k_ties || c.len() <= top_k);
    }

    /// Omitting early what top-k removes changes neither what is kept nor what is drawn.
    #[test]
    fn filling_for_a_chain_equals_filling_with_everything(
        (sampling, tokens) in chains(),
        // Few distinct values, so that there are ties.
        logits in proptest::collection::vec((-20i8..20).prop_map(|l| f32::from(l) / 4.0), 200..400),
        forbidden in 2u32..40,
        banned in proptest::collection::btree_set(0u32..60, 0..4),
    ) {
        let mut mask = TokenMask::new(logits.len());
        for id in (0..logits.len() as u32).filter(|id| id % forbidden != 0) {
            mask.allow(TokenId(id));
        }
        let mask = PlainMask::new(mask);
        let banned: Vec<TokenId> = banned.into_iter().map(TokenId).collect();
        let mut chain = SamplerChain::new(&sampling, 0).unwrap();
        prop_assert!(chain.leading.is_some());
        for &token in &tokens {
            chain.accept(Accepted::certain(TokenId(token)));
        }
        let mut plain = chain.clone();
        let (mut few, mut all) = (Candidates::default(), Candidates::default());
        chain.fill(&mut few, &logits, &mask, &banned);
        all.fill(&logits, &mask, &banned);
        prop_assert!(few.len() < all.len());
        prop_assert_eq!(chain.choose(&mut few), plain.choose(&mut all));
        prop_assert_eq!(few.ids(), all.ids());
        let bits = |c: &Candidates| c.logits().iter().map(|l| l.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&few), bits(&all));
    }

    /// Drawing by top-p alone gives the same result with and without a list of candidates.
    #[test]
    fn picking_equals_filling_and_choosing(
        seed in any::<u64>(),
        n in prop_oneof![1usize..300, 4000usize..9000],
        (p, min_keep) in (0.0f32..1.0, 1usize..4),
        temperature in prop_oneof![Just(1.0f32), 0.3f32..3.0, Just(1e-38)],
        (scale, forbidden) in (prop_oneof![Just(0.0f32), Just(0.1), Just(3.0)], 1u32..9),
        odd in proptest::option::of((any::<proptest::sample::Index>(), prop_oneof![
            Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY), Just(30.0)
        ])),
    ) {
        let mut random = SequenceRng::new(seed, 1);
        let mut logits: Vec<f32> = (0..n)
            .map(|_| {
                let noise = random.uniform() + random.uniform() + random.uniform();
                (noise as f32 * 64.0).round() / 32.0 * scale
            })
            .collect();
        if let Some((at, logit)) = odd {
            logits[at.index(n)] = logit;
        }
        let mut mask = TokenMask::new(n);
        for id in (0..n as u32).filter(|id| forbidden == 1 || id % forbidden != 0) {
            mask.allow(TokenId(id));
        }
        let mask = PlainMask::new(mask);
        let banned = [TokenId(1), TokenId(200), TokenId(20_000)];
        let sampling = SamplingParams {
            top_p: p,
            min_keep,
            seed,
            ..params(temperature)
        };
        let mut chain = SamplerChain::new(&sampling, 0).unwrap();
        let mut plain = chain.clone();
        let (mut one, mut other) = (Candidates::default(), Candidates::default());
        for _ in 0..3 {
            let picked = chain.pick(&mut one, &logits, &mask, &banned);
            plain.fill(&mut other, &logits, &mask, &banned);
            prop_assert_eq!(picked, plain.choose(&mut other));
        }
    }

    /// Samplers that are on never break the candidates' order, or empty them.
    #[test]
    fn all_samplers_together_leave_something_in_order(
        logits in proptest::collection::vec(prop_oneof![-30.0f32..30.0, Just(0.0)], 1..120),
        tokens in proptest::collection::vec(0u32..40, 0..30),
        order in 0usize..3,
        version in 0u8..4,
    ) {
        let sampling = SamplingParams {
            dynamic_temperature: Some(crate::samplers::DynamicTemperatureParams { range: 0.9, exponent: 0.5 }),
            top_k: 50,
            top_p: 0.9,
            min_p: 0.01,
            typical_p: 0.8,
            epsilon_cutoff: 1e-4,
            eta_cutoff: 1e-4,
            top_n_sigma: 2.0,
            top_h: 0.9,
            xtc: Some(XtcParams { probability: 0.9, threshold: 0.1 }),
            mirostat: (version > 1).then(|| crate::samplers::MirostatParams { version: version - 1, ..Default::default() }),
            adaptive_p: (version == 1).then(Default::default),
            repetition_penalty: 1.2,
            repetition_guard: Some(RepetitionGuardParams { window: 6, strength: 1.4 }),
            dry: Some(DryParams { breakers: vec![vec![3]], ..DryParams::default() }),
            no_repeat_ngram: 2,
            suppress: vec![1, 5],
            forced_tokens: BTreeMap::from([(3, 4)]),
            min_length: 7,
            watermark: Some(WatermarkParams::default()),
            order: OrderPreset::ALL[order].order(),
            ..params(0.9)
        };
        let mut chain = SamplerChain::new(&sampling, 0).unwrap();
        chain.reset(start(&[TokenId(2)], &[TokenId(0)]));
        for token in tokens {
            let mut c = candidates(&logits);
            let chosen = chain.choose(&mut c).unwrap();
            prop_assert!(c.ids().is_sorted() && c.ids().contains(&chosen.token));
            prop_assert_eq!(c.ids().len(), c.logits().len());
            chain.accept(if token % 3 == 0 { Accepted::certain(TokenId(token)) } else { chosen });
        }
    }
}
