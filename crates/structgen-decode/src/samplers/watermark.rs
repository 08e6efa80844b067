use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

use super::SequenceStart;
use crate::samplers::{Accepted, Candidates, Sampler};

/// How the vocabulary is divided, and the bias of the green part. The defaults are those of transformers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WatermarkParams {
    /// The share of the vocabulary that is green, between 0 and 1.
    pub gamma: f32,
    /// Added to the logits of green tokens.
    pub delta: f32,
    /// The key, which is needed to tell green tokens from others.
    pub key: u64,
}

impl Default for WatermarkParams {
    fn default() -> Self {
        Self {
            gamma: 0.25,
            delta: 2.0,
            key: 15_485_863,
        }
    }
}

/// Adds `delta` to a keyed share `gamma` of the vocabulary, which depends on the previous token.
///
/// The green list of Kirchenbauer et al. 2023, and token for token that of transformers' `lefthash`: the key times the
/// token before seeds a Mersenne Twister, which permutes the vocabulary, and the first share of that is green. So the
/// two libraries' detectors recognise each other's texts. The vocabulary is as wide as the model's logits. Nothing is
/// green before the first token. A step takes time linear in the vocabulary.
///
/// ```
/// use structgen_decode::samplers::{Accepted, Candidates, Sampler, Watermark, WatermarkParams};
/// use structgen_vocab::TokenId;
///
/// let mut watermark = Watermark::new(WatermarkParams { gamma: 0.5, ..WatermarkParams::default() });
/// watermark.accept(Accepted::certain(TokenId(3)));
/// let mut candidates = Candidates::from_pairs((0..10).map(|id| (TokenId(id), 0.0)));
/// watermark.apply(&mut candidates);
/// assert_eq!(candidates.logits().iter().filter(|&&l| l == 2.0).count(), 5);
/// ```
#[derive(Debug, Clone)]
pub struct Watermark {
    params: WatermarkParams,
    previous: Option<TokenId>,
    green: GreenList,
}

impl Watermark {
    /// Creates a watermark with parameters that [`SamplingParams::validate`](crate::SamplingParams::validate) accepts.
    pub fn new(params: WatermarkParams) -> Self {
        Self {
            params,
            previous: None,
            green: GreenList::new(&params),
        }
    }
}

impl Sampler for Watermark {
    fn apply(&mut self, candidates: &mut Candidates) {
        let Some(previous) = self.previous else {
            return;
        };
        self.green.draw(previous, candidates.width());
        let delta = self.params.delta;
        let (ids, logits) = candidates.ids_and_logits_mut();
        for (&id, logit) in ids.iter().zip(logits) {
            if self.green.contains(id) {
                *logit += delta;
            }
        }
    }

    fn accept(&mut self, accepted: Accepted) {
        self.previous = Some(accepted.token);
    }

    fn reset(&mut self, start: SequenceStart<'_>) {
        self.previous = start.prompt.last().copied();
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

/// Detects whether tokens carry a [`Watermark`].
///
/// ```
/// use structgen_decode::samplers::{WatermarkDetector, WatermarkParams};
/// use structgen_vocab::TokenId;
///
/// let mut detector = WatermarkDetector::new(WatermarkParams::default(), 1000);
/// let score = detector.score(&(0..200).map(TokenId).collect::<Vec<_>>());
/// assert_eq!(score.scored, 199);
/// // An ordinary sequence is within a few standard deviations of gamma.
/// assert!(score.z() < 4.0);
/// ```
#[derive(Debug, Clone)]
pub struct WatermarkDetector {
    params: WatermarkParams,
    vocabulary: usize,
    green: GreenList,
}

impl WatermarkDetector {
    /// Creates a detector for the watermark with these parameters, over a vocabulary as wide as the model's logits.
    pub fn new(params: WatermarkParams, vocabulary: usize) -> Self {
        Self {
            params,
            vocabulary,
            green: GreenList::new(&params),
        }
    }

    /// Counts the green tokens. Each token after the first is tested against the green list of its predecessor.
    pub fn score(&mut self, tokens: &[TokenId]) -> WatermarkScore {
        let pairs = tokens.iter().zip(tokens.iter().skip(1));
        let mut pairs: Vec<(TokenId, TokenId)> = pairs.map(|(&a, &b)| (a, b)).collect();
        // Sorted by the first of the two, so that each green list is drawn once.
        pairs.sort_unstable();
        let mut green = 0;
        for &(previous, token) in &pairs {
            self.green.draw(previous, self.vocabulary);
            green += usize::from(self.green.contains(token));
        }
        WatermarkScore {
            scored: pairs.len(),
            green,
            gamma: self.params.gamma,
        }
    }
}

/// The number of green tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct WatermarkScore {
    /// Tokens that were tested.
    pub scored: usize,
    /// Those of them that were green.
    pub green: usize,
    /// The expected share of green tokens in unmarked text.
    pub gamma: f32,
}

impl WatermarkScore {
    /// Returns by how many standard deviations the green tokens exceed their expected number; zero if nothing was
    /// scored.
    ///
    /// Kirchenbauer et al. 2023 regard a text as marked from four on: by chance, one text in 30,000 reaches that.
    pub fn z(&self) -> f64 {
        let (n, gamma) = (self.scored as f64, as_written(self.gamma));
        let deviation = (n * gamma * (1.0 - gamma)).sqrt();
        if deviation > 0.0 {
            (self.green as f64 - gamma * n) / deviation
        } else {
            0.0
        }
    }
}

/// Returns the number of double precision with the same shortest decimal form: 0.35 times 100 has to be 35, as in
/// transformers, and the single-precision number next to 0.35 is less.
fn as_written(gamma: f32) -> f64 {
    let written = gamma.to_string().parse();
    written.unwrap_or_else(|_| gamma.into())
}

/// The green tokens after one token.
#[derive(Debug, Clone)]
struct GreenList {
    key: u64,
    /// The share of the vocabulary.
    gamma: f64,
    /// The token and vocabulary width that the list was drawn for.
    drawn: Option<(TokenId, usize)>,
    permutation: Vec<u32>,
    bits: Vec<u64>,
}

impl GreenList {
    fn new(params: &WatermarkParams) -> Self {
        Self {
            key: params.key,
            gamma: as_written(params.gamma),
            drawn: None,
            permutation: Vec::new(),
            bits: Vec::new(),
        }
    }

    fn draw(&mut self, previous: TokenId, vocabulary: usize) {
        if self.drawn.replace((previous, vocabulary)) == Some((previous, vocabulary)) {
            return;
        }
        let seed = u128::from(self.key) * u128::from(previous.0) % u128::from(u64::MAX);
        let mut random = MersenneTwister::new(seed as u32);
        self.permutation.clear();
        self.permutation.extend(0..vocabulary as u32);
        self.bits.clear();
        self.bits.resize(vocabulary.div_ceil(64), 0);
        let size = (vocabulary as f64 * self.gamma) as usize;
        // Fisher and Yates, as in torch.randperm; the last one is not drawn.
        for i in 0..size.min(vocabulary) {
            if i + 1 < vocabulary {
                let other = i + random.next() as usize % (vocabulary - i);
                self.permutation.swap(i, other);
            }
            let id = self.permutation[i] as usize;
            self.bits[id / 64] |= 1 << (id % 64);
        }
    }

    fn contains(&self, id: TokenId) -> bool {
        let word = self.bits.get(id.index() / 64);
        word.is_some_and(|word| word >> (id.0 % 64) & 1 == 1)
    }
}

/// MT19937, Matsumoto and Nishimura 1998: the generator behind other libraries' green lists.
struct MersenneTwister {
    state: [u32; 624],
    next: usize,
}

impl MersenneTwister {
    fn new(seed: u32) -> Self {
        let mut state = [seed; 624];
        for i in 1..624 {
            let before = state[i - 1];
            state[i] = 1_812_433_253u32
                .wrapping_mul(before ^ (before >> 30))
                .wrapping_add(i as u32);
        }
        Self { state, next: 624 }
    }

    fn next(&mut self) -> u32 {
        if self.next == 624 {
            self.twist();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn twist(&mut self) {
        for i in 0..624 {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % 624] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + 397) % 624] ^ (y >> 1) ^ odd;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::token;
    use crate::samplers::SequenceRng;

    #[test]
    fn the_generator_is_the_standard_one() {
        // The ten-thousandth number for the standard seed, as the C++ standard gives it (std::mt19937).
        let mut random = MersenneTwister::new(5489);
        let last = (0..10_000).map(|_| random.next()).last();
        assert_eq!(last, Some(4_123_659_995));
    }

    #[test]
    fn texts_with_the_watermark_are_told_from_others_and_from_other_keys() {
        let params = WatermarkParams::default();
        let mut rng = SequenceRng::new(1, 0);
        let mut write = |mut watermark: Option<Watermark>| -> Vec<TokenId> {
            let mut tokens = vec![token(1)];
            for _ in 0..200 {
                let mut c = Candidates::from_pairs((0..500).map(|id| (TokenId(id), 0.0)));
                if let Some(watermark) = &mut watermark {
                    watermark.accept(Accepted::certain(tokens[tokens.len() - 1]));
                    watermark.apply(&mut c);
                }
                tokens.push(c.draw(&mut rng).unwrap().0);
            }
            tokens
        };
        let marked = write(Some(Watermark::new(params)));
        let plain = write(None);
        let z = |key, tokens: &[TokenId]| {
            let params = WatermarkParams { key, ..params };
            WatermarkDetector::new(params, 500).score(tokens).z()
        };
        assert!(z(params.key, &marked) > 8.0);
        assert!(z(params.key, &plain).abs() < 4.0);
        assert!(z(7, &marked).abs() < 4.0);
    }

    #[test]
    fn as_many_tokens_are_green_as_in_double_precision() {
        // Python's int(vocabulary * gamma).
        let cases = [
            (0.25, 12, 25, 12_564),
            (0.29, 14, 28, 14_574),
            (0.35, 17, 35, 17_589),
            (0.45, 22, 45, 22_615),
            (0.7, 35, 70, 35_179),
            (0.9, 45, 90, 45_231),
        ];
        for (gamma, of_50, of_100, of_50257) in cases {
            let params = WatermarkParams {
                gamma,
                ..WatermarkParams::default()
            };
            for (vocabulary, expected) in [(50, of_50), (100, of_100), (50_257, of_50257)] {
                let mut green = GreenList::new(&params);
                green.draw(token(3), vocabulary);
                let count: u32 = green.bits.iter().map(|word| word.count_ones()).sum();
                assert_eq!(count, expected, "{gamma} of {vocabulary}");
            }
        }
    }

    #[test]
    fn edges() {
        let params = WatermarkParams::default();
        let mut watermark = Watermark::new(params);
        let mut c = Candidates::from_pairs([(token(0), 1.0)]);
        watermark.apply(&mut c);
        assert_eq!(c.logits(), [1.0]);
        watermark.reset(SequenceStart {
            prompt: &[token(4)],
            prefilled: 0,
            eos: &[],
        });
        watermark.apply(&mut c);
        assert_eq!(
            WatermarkDetector::new(params, 10).score(&[token(1)]).z(),
            0.0
        );
        assert_eq!(
            WatermarkDetector::new(params, 0)
                .score(&[token(1), token(1)])
                .green,
            0
        );
    }
}
