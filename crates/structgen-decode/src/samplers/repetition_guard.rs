use serde::{Deserialize, Serialize};
use structgen_vocab::TokenId;

use super::SequenceStart;
use crate::samplers::{Accepted, Candidates, Sampler};

/// The longest sequence of tokens that may occur twice without counting as a repetition.
const FREE_STRETCH: usize = 2;

/// Tokens beyond that at which the severity of a repeated sequence reaches one.
const SEVERE_STRETCH: usize = 16;

/// The largest window, which every step sorts.
pub(super) const MAX_WINDOW: usize = 1024;

/// How the [`RepetitionGuard`] sampler penalises loops.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RepetitionGuardParams {
    /// The number of last output tokens to measure; from 2 to 1024.
    pub window: usize,
    /// The repetition penalty at severity 1; one is off.
    pub strength: f32,
}

impl Default for RepetitionGuardParams {
    fn default() -> Self {
        Self {
            window: 64,
            strength: 1.5,
        }
    }
}

/// The repetition in a sequence of tokens.
///
/// ```
/// use structgen_decode::samplers::Repetition;
/// use structgen_vocab::TokenId;
///
/// let tokens = [1, 2, 3, 1, 2, 4].map(TokenId);
/// let found = Repetition::of(&tokens);
/// assert_eq!((found.token_repeats, found.bigram_repeats, found.longest_repeat), (2, 1, 2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Repetition {
    /// The number of tokens that occurred before.
    pub token_repeats: usize,
    /// The number of bigrams that occurred before.
    pub bigram_repeats: usize,
    /// The length of the longest sequence that occurs twice; the occurrences may overlap.
    pub longest_repeat: usize,
    /// The severity of the repetition, from 0 to 1: see [`severity`](Repetition::severity).
    pub severity: f64,
}

impl Repetition {
    /// The severity from which an output counts as a loop.
    pub const LOOP: f64 = 0.5;

    /// Measures the repetition in these tokens, in the time of sorting their suffixes.
    pub fn of(tokens: &[TokenId]) -> Self {
        Self::measure(tokens, &mut Vec::new())
    }

    /// Returns the severity of this repetition among `tokens` tokens: `1 − (1 − t²/4)(1 − b)(1 − s)`, where `t` and `b`
    /// are the shares of repeated tokens and bigrams, and `s` grows from 0 for a longest repeated sequence of two
    /// tokens to 1 for one of eighteen.
    ///
    /// It grows with all three. Single tokens count least, since they recur in normal text.
    pub fn severity(
        tokens: usize,
        token_repeats: usize,
        bigram_repeats: usize,
        longest_repeat: usize,
    ) -> f64 {
        let share = |part: usize, all: usize| match all {
            0 => 0.0,
            _ => (part as f64 / all as f64).min(1.0),
        };
        let t = share(token_repeats, tokens);
        let b = share(bigram_repeats, tokens.saturating_sub(1));
        let s = share(longest_repeat.saturating_sub(FREE_STRETCH), SEVERE_STRETCH);
        1.0 - (1.0 - t * t / 4.0) * (1.0 - b) * (1.0 - s)
    }

    /// Returns whether the tokens are a loop.
    pub fn is_loop(&self) -> bool {
        self.severity >= Self::LOOP
    }

    /// Returns the repetition penalty for this severity: from 1 at zero to `most` at one.
    pub fn penalty(&self, most: f32) -> f32 {
        1.0 + (most - 1.0) * self.severity as f32
    }

    /// Adjacent suffixes in sorted order share what repeats: each token or bigram that occurred before starts a suffix
    /// whose predecessor starts with it too.
    fn measure(tokens: &[TokenId], suffixes: &mut Vec<usize>) -> Self {
        suffixes.clear();
        suffixes.extend(0..tokens.len());
        suffixes.sort_unstable_by(|&a, &b| tokens[a..].cmp(&tokens[b..]));
        let mut found = Self::default();
        for pair in suffixes.windows(2) {
            let both = tokens[pair[0]..].iter().zip(&tokens[pair[1]..]);
            let common = both.take_while(|(a, b)| a == b).count();
            found.token_repeats += usize::from(common >= 1);
            found.bigram_repeats += usize::from(common >= 2);
            found.longest_repeat = found.longest_repeat.max(common);
        }
        found.severity = Self::severity(
            tokens.len(),
            found.token_repeats,
            found.bigram_repeats,
            found.longest_repeat,
        );
        found
    }
}

/// A repetition penalty that depends on how much the output repeats itself: CTRL's rule on the tokens of a window, with
/// a penalty that grows from 1 without repetition to its largest value in a loop.
///
/// [`Repetition`] defines the measure. Fluent text is hardly affected, and a loop is broken by a penalty that would
/// harm other text. The prompt does not count. The state is the tokens of the window, so a clone continues as the
/// original would.
///
/// ```
/// use structgen_decode::samplers::{Accepted, Candidates, RepetitionGuard, RepetitionGuardParams, Sampler};
/// use structgen_vocab::TokenId;
///
/// let mut guard = RepetitionGuard::new(RepetitionGuardParams::default());
/// for token in [5, 6, 7].repeat(10) {
///     guard.accept(Accepted::certain(TokenId(token)));
/// }
/// let mut candidates = Candidates::from_pairs([(TokenId(4), 3.0), (TokenId(5), 3.0)]);
/// guard.apply(&mut candidates);
/// assert_eq!(candidates.logits(), [3.0, 2.0]);
/// ```
#[derive(Debug, Clone)]
pub struct RepetitionGuard {
    params: RepetitionGuardParams,
    /// The last tokens of the output, oldest first.
    recent: Vec<TokenId>,
    /// The distinct tokens of the window, sorted; valid only once measured.
    seen: Vec<(TokenId, ())>,
    penalty: f32,
    is_measured: bool,
    suffixes: Vec<usize>,
}

impl RepetitionGuard {
    /// Creates a sampler with parameters that [`SamplingParams::validate`](crate::SamplingParams::validate) accepts.
    pub fn new(params: RepetitionGuardParams) -> Self {
        let window = params.window.min(MAX_WINDOW);
        Self {
            params: RepetitionGuardParams { window, ..params },
            recent: Vec::with_capacity(window),
            seen: Vec::with_capacity(window),
            penalty: 1.0,
            is_measured: false,
            suffixes: Vec::with_capacity(window),
        }
    }

    fn measure(&mut self) {
        if std::mem::replace(&mut self.is_measured, true) {
            return;
        }
        let found = Repetition::measure(&self.recent, &mut self.suffixes);
        self.penalty = found.penalty(self.params.strength);
        self.seen.clear();
        self.seen
            .extend(self.recent.iter().map(|&token| (token, ())));
        self.seen.sort_unstable();
        self.seen.dedup();
    }
}

impl Sampler for RepetitionGuard {
    fn apply(&mut self, candidates: &mut Candidates) {
        self.measure();
        let penalty = self.penalty;
        candidates.change_logits_of(&self.seen, |logit, ()| {
            if logit > 0.0 {
                logit / penalty
            } else {
                logit * penalty
            }
        });
    }

    fn accept(&mut self, accepted: Accepted) {
        if self.recent.len() == self.params.window {
            self.recent.remove(0);
        }
        self.recent.push(accepted.token);
        self.is_measured = false;
    }

    fn reset(&mut self, _: SequenceStart<'_>) {
        self.recent.clear();
        self.is_measured = false;
    }

    fn touched(&mut self, tokens: &mut Vec<TokenId>) -> bool {
        self.measure();
        tokens.extend(self.seen.iter().map(|&(token, ())| token));
        true
    }

    fn clone_box(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::tests::candidates;
    use crate::samplers::SequenceRng;
    use proptest::prelude::*;

    fn ids(tokens: impl IntoIterator<Item = u32>) -> Vec<TokenId> {
        tokens.into_iter().map(TokenId).collect()
    }

    fn random_ids(count: usize) -> Vec<TokenId> {
        let mut rng = SequenceRng::new(42, 0);
        ids((0..count).map(|_| (rng.uniform() * 1000.0) as u32))
    }

    #[test]
    fn a_loop_within_random_tokens_is_detected_and_they_alone_are_not() {
        let mut tokens = random_ids(100);
        assert!(!Repetition::of(&tokens).is_loop());
        for (at, token) in tokens[50..70].iter_mut().enumerate() {
            *token = TokenId([10, 20, 30][at % 3]);
        }
        let found = Repetition::of(&tokens);
        assert!(found.is_loop(), "{found:?}");
        assert_eq!((found.bigram_repeats, found.longest_repeat), (16, 17));
        let rest = [&tokens[..50], &tokens[70..]].concat();
        let rest = Repetition::of(&rest);
        assert!(!rest.is_loop() && rest.severity < 0.05, "{rest:?}");
    }

    #[test]
    fn the_penalty_goes_from_one_to_its_largest() {
        let penalty = |severity| {
            Repetition {
                severity,
                ..Repetition::default()
            }
            .penalty(1.5)
        };
        assert_eq!((penalty(0.0), penalty(1.0)), (1.0, 1.5));
        assert_eq!(Repetition::of(&[]).severity, 0.0);
        assert_eq!(Repetition::of(&ids([3])).severity, 0.0);
        assert_eq!(Repetition::of(&ids([3; 40])).severity, 1.0);
    }

    #[test]
    fn only_the_window_counts() {
        let params = RepetitionGuardParams {
            window: 4,
            strength: 1.5,
        };
        let mut guard = RepetitionGuard::new(params);
        let mut apply = |seen: &[u32]| {
            guard.reset(SequenceStart {
                prompt: &[],
                prefilled: 0,
                eos: &[],
            });
            for &id in seen {
                guard.accept(Accepted::certain(TokenId(id)));
            }
            let mut c = candidates(&[6.0; 4]);
            guard.apply(&mut c);
            c.logits().to_vec()
        };
        assert_eq!(apply(&[0, 0, 0, 1, 2, 3]), apply(&[0, 1, 2, 3]));
        assert_eq!(apply(&[0, 1, 2, 3]), [6.0; 4]);
        let looping = apply(&[3, 1, 1, 1, 1]);
        assert_eq!((looping[0], looping[3]), (6.0, 6.0));
        assert!(looping[1] < 6.0);
    }

    proptest! {
        #[test]
        fn the_measure_equals_its_definition(tokens in proptest::collection::vec(0u32..5, 0..40)) {
            let tokens = ids(tokens);
            let repeats = |n: usize| {
                let mut grams: Vec<_> = tokens.windows(n).collect();
                let all = grams.len();
                grams.sort_unstable();
                grams.dedup();
                all - grams.len()
            };
            let longest = (1..=tokens.len()).rev().find(|&n| repeats(n) > 0).unwrap_or(0);
            let found = Repetition::of(&tokens);
            prop_assert_eq!(found.token_repeats, repeats(1));
            prop_assert_eq!(found.bigram_repeats, repeats(2));
            prop_assert_eq!(found.longest_repeat, longest);
        }

        #[test]
        fn severity_is_within_its_range_and_grows_with_each_count(
            (tokens, t, b, l) in (1usize..200, 0usize..200, 0usize..200, 0usize..200)
        ) {
            let severity = Repetition::severity(tokens, t, b, l);
            prop_assert!((0.0..=1.0).contains(&severity));
            prop_assert!(Repetition::severity(tokens, t + 1, b, l) >= severity);
            prop_assert!(Repetition::severity(tokens, t, b + 1, l) >= severity);
            prop_assert!(Repetition::severity(tokens, t, b, l + 1) >= severity);
        }

        #[test]
        fn a_clone_goes_on_as_the_original_would(
            seen in proptest::collection::vec(0u32..6, 0..30),
            dropped in proptest::collection::vec(0u32..6, 0..30),
            more in proptest::collection::vec(0u32..6, 0..30),
        ) {
            let params = RepetitionGuardParams { window: 8, strength: 1.5 };
            let accept = |guard: &mut dyn Sampler, tokens: &[u32]| {
                for &token in tokens {
                    guard.accept(Accepted::certain(TokenId(token)));
                    guard.apply(&mut candidates(&[1.0; 6]));
                }
            };
            let logits = |guard: &mut dyn Sampler| {
                let mut c = candidates(&[1.0, -1.0, 2.0, 3.0, -4.0, 5.0]);
                guard.apply(&mut c);
                c.logits().to_vec()
            };
            let mut guard = RepetitionGuard::new(params);
            accept(&mut guard, &seen);
            // A rejected draft: the clone accepts it, and is dropped.
            let mut fork = guard.clone_box();
            accept(&mut *fork, &dropped);
            accept(&mut guard, &more);
            let mut straight = RepetitionGuard::new(params);
            accept(&mut straight, &seen);
            accept(&mut straight, &more);
            prop_assert_eq!(logits(&mut guard), logits(&mut straight));
        }
    }
}
