use super::*;
use crate::{constraint::PlainMask, samplers::masked_argmax as argmax};
use structgen_vocab::TokenMask;

pub(crate) fn candidates(logits: &[f32]) -> Candidates {
    Candidates::from_pairs(
        logits
            .iter()
            .enumerate()
            .map(|(i, &l)| (TokenId(i as u32), l)),
    )
}

pub(crate) fn ids(candidates: &Candidates) -> Vec<u32> {
    candidates.ids().iter().map(|id| id.0).collect()
}

pub(crate) fn log(probabilities: &[f64]) -> Vec<f32> {
    probabilities.iter().map(|p| p.ln() as f32).collect()
}

pub(crate) fn token(id: u32) -> TokenId {
    TokenId(id)
}

fn mask(width: usize, allowed: impl Fn(u32) -> bool) -> PlainMask {
    let mut mask = TokenMask::new(width);
    for id in (0..width as u32).filter(|&id| allowed(id)) {
        mask.allow(TokenId(id));
    }
    PlainMask::new(mask)
}

fn noise(n: usize) -> Vec<f32> {
    (0..n)
        .map(|i| ((i as u32).wrapping_mul(2_654_435_761) >> 20) as f32 / 100.0)
        .collect()
}

#[test]
fn filling_skips_forbidden_banned_infinite_and_missing_tokens() {
    let mut c = Candidates::default();
    let logits = [1.0, f32::NAN, f32::NEG_INFINITY, 4.0, 5.0, 6.0];
    c.fill(&logits, &mask(70, |id| id != 5), &[TokenId(3)]);
    assert_eq!(ids(&c), [0, 4]);
}

#[test]
fn argmax_equals_the_largest_candidate_for_lists_and_bits() {
    let logits = noise(1000);
    for modulus in [1, 2, 3, 200, 999] {
        let mask = mask(1000, |id| id % modulus == 0);
        for banned in [vec![], vec![TokenId(0), TokenId(600)]] {
            let mut c = Candidates::default();
            c.fill(&logits, &mask, &banned);
            let expected = c.largest().map(|(id, _)| id);
            assert_eq!(argmax(&logits, &mask, &banned), expected);
        }
    }
}

#[test]
fn argmax_of_nothing_but_infinities_is_none() {
    let logits = [f32::NAN, f32::NEG_INFINITY, 3.0];
    assert_eq!(argmax(&logits, &mask(3, |id| id < 2), &[]), None);
    assert_eq!(argmax(&logits, &mask(3, |_| true), &[]), Some(TokenId(2)));
}

#[test]
fn keep_largest_equals_a_stable_sort() {
    let logits: Vec<f32> = noise(500).iter().map(|l| l.round()).collect();
    let mut order: Vec<usize> = (0..500).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    for k in [1, 2, 40, 499, 500] {
        let mut expected: Vec<u32> = order[..k].iter().map(|&i| i as u32).collect();
        expected.sort_unstable();
        let mut c = candidates(&logits);
        c.keep_largest(k);
        assert_eq!(ids(&c), expected);
    }
}

#[test]
fn draws_follow_the_softmax() {
    let mut c = candidates(&log(&[0.5, 0.3, 0.2]));
    let mut rng = SequenceRng::new(5, 0);
    let mut counts = [0u32; 3];
    for _ in 0..20_000 {
        let (id, p) = c.draw(&mut rng).unwrap();
        assert!((p - [0.5, 0.3, 0.2][id.index()]).abs() < 1e-6);
        counts[id.index()] += 1;
    }
    // Chi-squared with two degrees of freedom: 13.8 is exceeded by chance for one seed in a thousand.
    let chi: f64 = counts
        .iter()
        .zip([10_000.0, 6_000.0, 4_000.0])
        .map(|(&n, e)| (f64::from(n) - e).powi(2) / e)
        .sum();
    assert!(chi < 13.8, "{counts:?}");
}

#[test]
fn an_infinite_logit_takes_everything() {
    let mut c = candidates(&[1.0, f32::INFINITY, f32::INFINITY]);
    let mut rng = SequenceRng::new(0, 0);
    for _ in 0..20 {
        let (id, p) = c.draw(&mut rng).unwrap();
        assert!(id.0 > 0);
        assert_eq!(p, 0.5);
    }
    assert_eq!(c.log_prob(TokenId(0)), Some(f32::NEG_INFINITY));
}

#[test]
fn log_prob_is_normalised_over_the_candidates() {
    let mut c = candidates(&log(&[0.1, 0.3, 0.1]));
    let p = c.log_prob(TokenId(1)).unwrap();
    assert!((p - 0.6f32.ln()).abs() < 1e-6, "{p}");
    assert_eq!(c.log_prob(TokenId(9)), None);
}

#[test]
fn what_keeps_a_mass_is_the_shortest_prefix_also_of_many_and_of_equal_ones() {
    // Enough candidates for computed bounds, and enough for guessed ones.
    [30_000, 70_001].into_iter().for_each(shortest_prefixes);
}

fn shortest_prefixes(n: usize) {
    let levels = |levels: u32| {
        let noise = (0..n as u32).map(move |i| i.wrapping_mul(2_654_435_761) >> 8);
        noise.map(move |level| (level % levels) as f32 * (6.0 / levels as f32))
    };
    let mut peaked: Vec<f32> = levels(1 << 20).collect();
    peaked[7_000] = 30.0;
    // The sampled runs are unlike all others, so the guess is wrong.
    let mut misleading: Vec<f32> = levels(1 << 20).collect();
    let runs = misleading.chunks_mut(16).step_by((n / 16 / 512) | 1);
    runs.for_each(|run| run.iter_mut().for_each(|logit| *logit = *logit * 0.1 + 5.0));
    let vectors = [
        misleading,
        vec![0.5; n],
        levels(2).collect(),
        levels(40).collect(),
        levels(1 << 20).collect(),
        levels(1 << 20).map(|logit| logit * 0.01).collect(),
        peaked,
    ];
    for (which, logits) in vectors.iter().enumerate() {
        let mut sorted: Vec<usize> = (0..n).collect();
        sorted.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]).then(a.cmp(&b)));
        let weight = |i: usize| f64::from(logits[i] - logits[sorted[0]]).exp();
        let total: f64 = sorted.iter().map(|&i| weight(i)).sum();
        for p in [0.001, 0.05, 0.3, 0.5, 0.9, 0.95, 0.999] {
            let mut c = candidates(logits);
            c.keep_mass(p, 1);
            let kept = c.len();
            let mut prefix: Vec<u32> = sorted[..kept].iter().map(|&i| i as u32).collect();
            prefix.sort_unstable();
            assert_eq!(ids(&c), prefix, "vector {which}, {p}");
            let mass = f64::from(p) * total;
            let sum: f64 = sorted[..kept].iter().map(|&i| weight(i)).sum();
            let last = weight(sorted[kept - 1]);
            // Single-precision weights are rounded.
            let rounding = 1e-5 * total;
            assert!(sum >= mass - rounding, "vector {which}, {p}: too few");
            assert!(
                sum - last < mass + rounding,
                "vector {which}, {p}: too many"
            );
        }
    }
}
