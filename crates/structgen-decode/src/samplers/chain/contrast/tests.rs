use super::*;
use crate::{
    SamplingParams,
    samplers::{OrderPreset, SamplerChain, SequenceStart},
};

const OWN: [f32; 6] = [2.0, 1.5, -0.5, 0.25, -3.0, 1.75];
const OTHER: [f32; 6] = [2.5, 0.5, -1.0, f32::NEG_INFINITY, 4.0, 1.0];

fn opinions() -> Arc<Opinions> {
    let mut opinions = Opinions {
        own: OWN.to_vec(),
        other: OTHER.to_vec(),
        ..Opinions::default()
    };
    opinions.set_totals();
    Arc::new(opinions)
}

fn contrast(rule: ContrastRule) -> Contrast {
    let opinions = opinions();
    Contrast { rule, opinions }
}

fn candidates(ids: &[u32]) -> Candidates {
    Candidates::from_pairs(ids.iter().map(|&id| (TokenId(id), OWN[id as usize])))
}

fn log_softmax(logits: &[f32; 6]) -> Vec<f64> {
    let total: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
    logits
        .iter()
        .map(|&logit| f64::from(logit) - total.ln())
        .collect()
}

fn assert_close(found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (&found, &expected) in found.iter().zip(expected) {
        assert!(
            (f64::from(found) - expected).abs() < 1e-5,
            "{found} {expected}"
        );
    }
}

#[test]
fn guidance_is_transformers_formula_on_the_log_softmax_of_all_logits() {
    // scores = log_softmax(c); out = guidance_scale * (scores - unconditional) + unconditional
    let (c, u) = (log_softmax(&OWN), log_softmax(&OTHER));
    for scale in [0.0f32, 1.0, 1.5, 7.5, -1.0] {
        let mut some = candidates(&[0, 1, 4]);
        contrast(ContrastRule::Guidance { scale }).score(&mut some);
        let expected = [0, 1, 4].map(|id| f64::from(scale) * (c[id] - u[id]) + u[id]);
        assert_close(some.logits(), &expected);
    }
}

#[test]
fn where_the_other_has_no_logit_there_is_no_contrast() {
    let mut some = candidates(&[3]);
    contrast(ContrastRule::Guidance { scale: 3.0 }).score(&mut some);
    assert_close(some.logits(), &[log_softmax(&OWN)[3]]);
    let mut some = candidates(&[3]);
    let rule = ContrastRule::Contrastive {
        alpha: 0.0,
        beta: 0.5,
    };
    contrast(rule).score(&mut some);
    assert_close(some.logits(), &[0.25]);
}

#[test]
fn the_amateur_is_taken_away_from_the_expert() {
    let mut some = candidates(&[0, 1, 2, 5]);
    let rule = ContrastRule::Contrastive {
        alpha: 0.1,
        beta: 0.5,
    };
    contrast(rule).score(&mut some);
    assert_close(some.logits(), &[1.75, 2.0, -0.25, 2.125]);
}

#[test]
fn what_is_plausible_is_judged_among_the_candidates_by_the_expert() {
    let kept = |ids: &[u32], alpha| {
        let mut some = candidates(ids);
        // Whatever the scores are now.
        some.logits_mut()
            .iter_mut()
            .for_each(|logit| *logit = -*logit);
        contrast(ContrastRule::Contrastive { alpha, beta: 0.5 }).keep_plausible(&mut some);
        some.ids().iter().map(|id| id.0).collect::<Vec<_>>()
    };
    // e^-0.5 is 0.61, e^-0.25 is 0.78.
    assert_eq!(kept(&[0, 1, 2, 3, 4, 5], 0.7), [0, 5]);
    assert_eq!(kept(&[0, 1, 2, 3, 4, 5], 0.6), [0, 1, 5]);
    assert_eq!(kept(&[0, 1, 2, 3, 4, 5], 1.0), [0]);
    assert_eq!(kept(&[0, 1, 2, 3, 4, 5], 0.0), [0, 1, 2, 3, 4, 5]);
    // Without the best candidate, the next one is the reference.
    assert_eq!(kept(&[2, 3, 4], 0.6), [3]);
    assert_eq!(kept(&[4], 1.0), [4]);
}

#[test]
fn a_grammars_temperature_comes_after_the_contrast() {
    let params = SamplingParams {
        temperature: 1.0,
        suppress: vec![0],
        top_k: 3,
        ..SamplingParams::default()
    };
    let mut chain = SamplerChain::guided(&params, 0).unwrap();
    chain.set_contrast(ContrastRule::Contrastive {
        alpha: 0.7,
        beta: 0.5,
    });
    chain.set_opinions(opinions());
    chain.set_temperature(Some(2.0));
    let mut some = candidates(&[0, 1, 2, 5]);
    chain.apply(&mut some);
    // Without the suppressed best, 1.5 and 1.75 are plausible.
    assert_eq!(some.ids(), [TokenId(1), TokenId(5)]);
    assert_close(some.logits(), &[1.0, 1.0625]);
    chain.set_temperature(Some(0.0));
    let chosen = chain.choose(&mut candidates(&[0, 1, 2, 5])).unwrap();
    assert_eq!((chosen.token, chosen.probability), (TokenId(5), None));
}

/// Returns the chosen token after the tokens 2 and 0, and the number of lifted bans, if only the expert's favourite is
/// plausible.
fn chosen_with_bans(params: &SamplingParams) -> (u32, usize) {
    let mut chain = SamplerChain::new(params, 0).unwrap();
    chain.reset(SequenceStart {
        prompt: &[TokenId(2), TokenId(0), TokenId(2)],
        prefilled: 0,
        eos: &[TokenId(0)],
    });
    let (alpha, beta) = (1.0, 0.5);
    chain.set_contrast(ContrastRule::Contrastive { alpha, beta });
    chain.set_opinions(opinions());
    let mut some = candidates(&[0, 1, 2, 5]);
    let chosen = chain.choose(&mut some).unwrap();
    (chosen.token.0, some.lifted_bans())
}

#[test]
fn no_ban_is_lifted_because_of_what_is_implausible() {
    let plain = SamplingParams::default();
    assert_eq!(chosen_with_bans(&plain), (0, 0));
    // Each makes the expert's favourite impossible; then its second choice is the only plausible token.
    let bans = [
        SamplingParams {
            no_repeat_ngram: 2,
            ..plain.clone()
        },
        SamplingParams {
            bad_words: vec![vec![0]],
            ..plain.clone()
        },
        SamplingParams {
            suppress: vec![0],
            ..plain.clone()
        },
        SamplingParams {
            min_length: 9,
            ..plain.clone()
        },
        SamplingParams {
            logit_bias: [(0, f32::NEG_INFINITY)].into(),
            ..plain.clone()
        },
        SamplingParams {
            forced_tokens: [(0, 5)].into(),
            ..plain
        },
    ];
    for bans in bans {
        for preset in OrderPreset::ALL {
            let params = SamplingParams {
                order: preset.order(),
                repetition_penalty: 1.1,
                ..bans.clone()
            };
            assert_eq!(chosen_with_bans(&params), (5, 0), "{preset:?} {bans:?}");
        }
    }
}
