use serde::{Deserialize, Serialize};

use super::SequenceStart;
use crate::candidates::logit_of;
use crate::{
    numeric,
    samplers::{Accepted, Candidates, Sampler},
};

/// The number of largest candidates from which Zipf's exponent is estimated.
const HEAD: usize = 100;

/// The target surprise, and how fast to approach it. The defaults are llama.cpp's for version 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MirostatParams {
    /// 1 or 2.
    pub version: u8,
    /// The target surprise per token, in bits.
    pub tau: f32,
    /// The share of the error that the next step corrects.
    pub eta: f32,
}

impl Default for MirostatParams {
    fn default() -> Self {
        Self {
            version: 2,
            tau: 5.0,
            eta: 0.1,
        }
    }
}

/// The bound on surprise, which follows the draws: `mu = 2 tau`, then `mu -= eta * (S - tau)`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Surprise {
    tau: f64,
    eta: f64,
    mu: f64,
}

impl Surprise {
    fn new(tau: f32, eta: f32) -> Self {
        let tau = f64::from(tau);
        Self {
            tau,
            eta: eta.into(),
            mu: 2.0 * tau,
        }
    }

    /// `S = -log2 p` of the draw, after truncation. A token that was not drawn does not count.
    fn accept(&mut self, accepted: Accepted) {
        if let Some(p) = accepted.probability.filter(|&p| p > 0.0) {
            let surprise = -numeric::ln(p.into()) / std::f64::consts::LN_2;
            self.mu -= self.eta * (surprise - self.tau);
        }
    }

    fn reset(&mut self) {
        self.mu = 2.0 * self.tau;
    }
}

/// Keeps as many of the largest candidates as make a draw as surprising as desired, by an estimate of Zipf's law.
///
/// Mirostat, Basu et al. 2021. `s` is estimated from the hundred largest candidates; `k = ((e * 2^mu) / (1 -
/// N^-e))^(1/s)` with `e = s - 1` and the number `N` of candidates, from one to `N`. The sampler must be the last of a
/// chain: it determines the draw, which corrects `mu` when it is accepted. Forced tokens do not.
///
/// ```
/// use structgen_decode::samplers::{Accepted, Candidates, Mirostat, Sampler};
/// use structgen_vocab::TokenId;
///
/// let mut mirostat = Mirostat::new(3.0, 0.1);
/// // Twenty tokens that follow Zipf's law.
/// let logits = (1..=20).map(|rank| -(rank as f32).ln());
/// let mut candidates = Candidates::from_pairs((0..20).map(TokenId).zip(logits));
/// mirostat.apply(&mut candidates);
/// let kept = candidates.len();
/// mirostat.accept(Accepted::drawn(TokenId(19), 0.001));
/// mirostat.apply(&mut candidates);
/// assert!(candidates.len() < kept);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mirostat(Surprise);

impl Mirostat {
    /// Sets a target surprise of `tau` bits; each step corrects the share `eta` of the error.
    pub fn new(tau: f32, eta: f32) -> Self {
        Self(Surprise::new(tau, eta))
    }
}

impl Sampler for Mirostat {
    fn apply(&mut self, candidates: &mut Candidates) {
        if candidates.len() < 2 {
            return;
        }
        let n = candidates.len() as f64;
        let (mut products, mut squares) = (0.0, 0.0);
        let head = candidates.sorted_head(HEAD);
        for (i, pair) in head.windows(2).enumerate() {
            let t = numeric::ln((i + 2) as f64 / (i + 1) as f64);
            // The logarithm of the ratio of two probabilities is the difference of their logits.
            products += t * (f64::from(pair[0].0) - f64::from(pair[1].0));
            squares += t * t;
        }
        let k = kept(products / squares, self.0.mu, n);
        candidates.keep_largest(k);
    }

    fn accept(&mut self, accepted: Accepted) {
        self.0.accept(accepted);
    }

    fn reset(&mut self, _: SequenceStart<'_>) {
        self.0.reset();
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(*self)
    }
}

/// Returns the number of candidates to keep of `n`, for Zipf's exponent `s`.
fn kept(s: f64, mu: f64, n: f64) -> usize {
    let power = mu * std::f64::consts::LN_2;
    let epsilon = s - 1.0;
    // (e 2^mu) / (1 - n^-e) has the limit 2^mu / ln n at e = 0, and is positive on both sides.
    let ratio = if epsilon.abs() < 1e-9 {
        1.0 / numeric::ln(n)
    } else {
        epsilon / (1.0 - numeric::exp_f64(-epsilon * numeric::ln(n)))
    };
    let log = (power + numeric::ln(ratio)) / s;
    // NaN, from infinite logits, keeps one.
    let k = if log < numeric::ln(n) {
        numeric::exp_f64(log)
    } else if log.is_nan() {
        1.0
    } else {
        n
    };
    (k as usize).max(1)
}

/// Drops the candidates that are more surprising than `mu`.
///
/// Mirostat 2, Basu et al. 2021 as in llama.cpp: drops candidates with `-log2 p > mu`, but always keeps the largest.
/// The sampler must be the last of a chain: it determines the draw, which corrects `mu` when it is accepted. Forced
/// tokens do not.
///
/// ```
/// use structgen_decode::samplers::{Accepted, Candidates, Mirostat2, Sampler};
/// use structgen_vocab::TokenId;
///
/// let logits = [0.5f32, 0.25, 0.125, 0.125].map(f32::ln);
/// let mut candidates = Candidates::from_pairs((0..4).map(TokenId).zip(logits));
/// // mu starts at twice tau.
/// Mirostat2::new(1.1, 0.1).apply(&mut candidates);
/// assert_eq!(candidates.ids(), [TokenId(0), TokenId(1)]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mirostat2(Surprise);

impl Mirostat2 {
    /// Sets a target surprise of `tau` bits; each step corrects the share `eta` of the error.
    pub fn new(tau: f32, eta: f32) -> Self {
        Self(Surprise::new(tau, eta))
    }
}

impl Sampler for Mirostat2 {
    fn apply(&mut self, candidates: &mut Candidates) {
        if candidates.len() < 2 {
            return;
        }
        let total = candidates.weigh();
        // The logit of p = 1, minus mu in nats.
        let certain = logit_of(1.0, numeric::max(candidates.logits()), total);
        candidates.keep_from(certain - self.0.mu * std::f64::consts::LN_2, 1);
    }

    fn accept(&mut self, accepted: Accepted) {
        self.0.accept(accepted);
    }

    fn reset(&mut self, _: SequenceStart<'_>) {
        self.0.reset();
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::{candidates, ids, log, token};

    #[test]
    fn the_number_kept_is_the_formulas() {
        // s = 2, e = 1: k = sqrt(2^mu / (1 - 1/n)).
        assert_eq!(kept(2.0, 6.0, 100.0), (64.0f64 / 0.99).sqrt() as usize);
        // s = 1, the limit: k = 2^mu / ln n.
        assert_eq!(kept(1.0, 6.0, 100.0), (64.0 / 100f64.ln()) as usize);
        assert_eq!(kept(1.0 + 1e-8, 6.0, 100.0), (64.0 / 100f64.ln()) as usize);
    }

    #[test]
    fn extremes_keep_one_or_all() {
        assert_eq!(kept(0.0, 10.0, 100.0), 100);
        assert_eq!(kept(1e-9, 1.0, 100.0), 1);
        assert_eq!(kept(2.0, 1e9, 100.0), 100);
        assert_eq!(kept(2.0, -1e9, 100.0), 1);
        assert_eq!(kept(f64::NAN, 10.0, 100.0), 1);
        assert_eq!(kept(f64::INFINITY, 10.0, 100.0), 1);
    }

    #[test]
    fn mu_follows_the_draw_and_only_the_draw() {
        let mut s = Surprise::new(3.0, 0.5);
        s.accept(Accepted::certain(token(0)));
        assert_eq!(s.mu, 6.0);
        s.accept(Accepted::drawn(token(0), 0.25));
        assert!((s.mu - 6.5).abs() < 1e-12);
        s.reset();
        assert_eq!(s.mu, 6.0);
    }

    #[test]
    fn the_second_version_keeps_what_is_no_more_surprising_than_mu() {
        let kept = |tau: f32| {
            let mut c = candidates(&log(&[0.06, 0.5, 0.3, 0.14]));
            Mirostat2::new(tau, 0.1).apply(&mut c);
            ids(&c)
        };
        assert_eq!(kept(0.9), [1, 2]);
        assert_eq!(kept(1.5), [1, 2, 3]);
        assert_eq!(kept(0.0), [1]);
    }

    #[test]
    fn one_candidate_is_kept() {
        let mut c = candidates(&[1.0]);
        Mirostat::new(5.0, 0.1).apply(&mut c);
        Mirostat2::new(5.0, 0.1).apply(&mut c);
        assert_eq!(ids(&c), [0]);
    }
}
