//! Faithful samplers against the model's conditional distribution, which is enumerated here without them.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use structgen_constraint::Matcher;
use structgen_decode::{
    ExpectedGrammaticality, FaithfulError, FaithfulOptions, FaithfulOutput, FinishReason,
    ForcedEnd, Forward, GenerateError, GenerateOptions, Generator, KeyValueCache, LanguageModel,
    Logits, ModelError, ModelInfo, ModelStats, Resampling, SamplingParams, SmcOptions,
    Unconstrained,
};
use structgen_vocab::{TokenId, Vocabulary};
use support::{chi_square, chi_square_threshold, regex_constraint};

/// Two ends.
const EOS: [TokenId; 2] = [TokenId(258), TokenId(259)];
const WIDTH: usize = 262;
const PROMPT: [TokenId; 2] = [TokenId(2), TokenId(0)];

/// The tokens that the model ever writes: a, b, c, ab, ca, the two ends, and z, which nothing allows.
const WRITTEN: [TokenId; 8] = [
    TokenId(97),
    TokenId(98),
    TokenId(99),
    TokenId(256),
    TokenId(257),
    EOS[0],
    EOS[1],
    TokenId(122),
];

fn letters() -> Arc<Vocabulary> {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let tokens = bytes.chain(["ab", "ca"].map(|text| text.as_bytes().to_vec()));
    let ends = [(EOS[0], "<eos>"), (EOS[1], "<end>")];
    Arc::new(Vocabulary::from_tokens(tokens, &ends).unwrap())
}

/// The logits of what is written.
type Rule = fn(&[TokenId], u64) -> [f32; 8];

/// A model by a rule for the logits behind the tokens of the output.
#[derive(Clone)]
struct Ruled {
    info: ModelInfo,
    rule: Rule,
    seed: u64,
    logits: Vec<f32>,
    stats: ModelStats,
}

#[derive(Clone)]
struct Rows(Vec<Vec<TokenId>>);

impl KeyValueCache for Rows {
    fn rows(&self) -> usize {
        self.0.len()
    }

    fn len(&self) -> usize {
        self.0[0].len()
    }

    fn truncate(&mut self, len: usize) -> Result<(), ModelError> {
        self.0.iter_mut().for_each(|row| row.truncate(len));
        Ok(())
    }

    fn select_rows(&mut self, rows: &[usize]) -> Result<(), ModelError> {
        self.0 = rows.iter().map(|&row| self.0[row].clone()).collect();
        Ok(())
    }

    fn fork(&self) -> Result<Self, ModelError> {
        Ok(self.clone())
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|row| size_of_val(&row[..])).sum()
    }
}

impl LanguageModel for Ruled {
    type Cache = Rows;

    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn new_cache(&mut self, left_padding: &[usize]) -> Result<Rows, ModelError> {
        assert_eq!(left_padding, [0]);
        Ok(Rows(vec![Vec::new()]))
    }

    fn forward(&mut self, input: Forward<'_>, cache: &mut Rows) -> Result<Logits<'_>, ModelError> {
        let rows = cache.rows();
        let n = input.check(rows, cache.len(), &self.info)?;
        self.logits.clear();
        for (row, tokens) in cache.0.iter_mut().zip(input.tokens.chunks(n)) {
            for &token in tokens {
                row.push(token);
                let output = row.get(PROMPT.len()..).unwrap_or_default();
                let start = self.logits.len();
                self.logits.resize(start + WIDTH, f32::NEG_INFINITY);
                for (id, logit) in WRITTEN.iter().zip((self.rule)(output, self.seed)) {
                    self.logits[start + id.index()] = logit;
                }
            }
        }
        self.stats.record(input.tokens.len(), Duration::ZERO);
        Logits::last_of(&self.logits, rows, n, WIDTH, input.positions)
    }

    fn stats(&self) -> ModelStats {
        self.stats
    }
}

/// Hashed logits from -2 to 2.
fn hashed(output: &[TokenId], seed: u64) -> [f32; 8] {
    let mut state = seed;
    for token in output {
        state = (state ^ u64::from(token.0 + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state ^= state >> 29;
    }
    std::array::from_fn(|id| {
        let mut bits = (state ^ (id as u64 + 1)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits ^= bits >> 31;
        bits = bits.wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits >> 40) as f32 / (1u64 << 22) as f32 - 2.0
    })
}

/// A model that likes to begin with an `a`, and hardly ever writes another: after it, masks insist.
fn misled(output: &[TokenId], seed: u64) -> [f32; 8] {
    let mut logits = hashed(output, seed);
    logits[0] = match output {
        [] => 1.5,
        [TokenId(97), ..] => -0.5,
        _ => 0.0,
    };
    logits
}

struct Case {
    name: &'static str,
    pattern: &'static str,
    fits: fn(&str) -> bool,
    rule: Rule,
    seed: u64,
    most: usize,
    end: ForcedEnd,
}

fn cases() -> Vec<Case> {
    let case = |name, pattern, fits, rule, seed, most, end| Case {
        name,
        pattern,
        fits,
        rule,
        seed,
        most,
        end,
    };
    let misleading: fn(&str) -> bool =
        |text| text == "aaaaa" || (text.len() == 5 && text.starts_with('b'));
    vec![
        case(
            "misleading, the end counted",
            "aaaaa|b[abc]{4}",
            misleading,
            misled,
            1,
            5,
            ForcedEnd::Counted,
        ),
        case(
            "misleading, the end free",
            "aaaaa|b[abc]{4}",
            misleading,
            misled,
            1,
            5,
            ForcedEnd::Free,
        ),
        case(
            "pairs",
            "(?:ab|ca){0,3}",
            |text| {
                text.len() <= 6
                    && text.len() % 2 == 0
                    && text
                        .as_bytes()
                        .chunks(2)
                        .all(|pair| pair == b"ab" || pair == b"ca")
            },
            hashed,
            7,
            6,
            ForcedEnd::Counted,
        ),
        case(
            "cut short: no more than four tokens",
            "a[abc]*c[abc]a",
            |text| {
                let bytes = text.as_bytes();
                bytes.len() >= 4
                    && bytes[0] == b'a'
                    && bytes[bytes.len() - 3] == b'c'
                    && bytes[bytes.len() - 1] == b'a'
            },
            hashed,
            3,
            4,
            ForcedEnd::Counted,
        ),
    ]
}

/// What the model says behind some tokens, in the platform's double precision.
fn probabilities(case: &Case, output: &[TokenId]) -> BTreeMap<TokenId, f64> {
    let weights = (case.rule)(output, case.seed).map(|logit| f64::from(logit).exp());
    let total: f64 = weights.iter().sum();
    WRITTEN
        .into_iter()
        .zip(weights.map(|weight| weight / total))
        .collect()
}

fn text(output: &[TokenId]) -> String {
    let vocabulary = letters();
    let bytes = output
        .iter()
        .flat_map(|&id| vocabulary.token_bytes(id).unwrap());
    String::from_utf8(bytes.copied().collect()).unwrap()
}

/// An output: its tokens, and the end that was drawn where something else could have come.
type Key = (Vec<TokenId>, Option<TokenId>);

fn key(output: &FaithfulOutput) -> Key {
    let tokens = output.generation.tokens.iter().map(|token| token.id);
    let end = match output.generation.finish {
        FinishReason::Eos(id) => Some(id),
        _ => None,
    };
    (tokens.collect(), end)
}

type Distribution = BTreeMap<Key, f64>;

/// What each choice behind some tokens gets, each with the model's probability; ends are no token.
type Share<'s> = dyn Fn(&[TokenId], &[(Option<TokenId>, f64)]) -> Vec<f64> + 's;

impl Case {
    fn model(&self) -> Ruled {
        Ruled {
            info: ModelInfo::new(WIDTH, 64, EOS),
            rule: self.rule,
            seed: self.seed,
            logits: Vec::new(),
            stats: ModelStats::default(),
        }
    }

    fn matcher(&self) -> Matcher {
        regex_constraint(&letters(), self.pattern, &EOS).matcher()
    }

    fn options(&self, seed: u64) -> GenerateOptions {
        GenerateOptions {
            sampling: SamplingParams {
                temperature: 1.0,
                seed,
                ..SamplingParams::default()
            },
            max_new_tokens: Some(self.most),
            ..GenerateOptions::default()
        }
    }

    /// The tokens after which some text fits, and whether the output may end: nothing but the predicate says so.
    fn allowed(&self, output: &[TokenId]) -> (Vec<TokenId>, bool) {
        let vocabulary = letters();
        let text = text(output);
        let next = WRITTEN[..5].iter().copied().filter(|&id| {
            let bytes = vocabulary.token_bytes(id).unwrap();
            self.extends(&format!("{text}{}", std::str::from_utf8(bytes).unwrap()))
        });
        (next.collect(), (self.fits)(&text))
    }

    fn extends(&self, text: &str) -> bool {
        let most = text.len() + 5;
        let mut open = vec![text.to_owned()];
        while let Some(text) = open.pop() {
            if (self.fits)(&text) {
                return true;
            }
            if text.len() < most {
                open.extend(["a", "b", "c"].map(|letter| format!("{text}{letter}")));
            }
        }
        false
    }

    /// The probabilities of all complete outputs, where each token and the end are drawn by `share` of the model's probabilities and of what they
    /// lead to. Not normalised.
    fn outputs(&self, share: &Share<'_>) -> Distribution {
        let mut found = BTreeMap::new();
        let mut open = vec![(Vec::new(), 1.0)];
        while let Some((tokens, p)) = open.pop() {
            let here = probabilities(self, &tokens);
            let (mut next, may_end) = self.allowed(&tokens);
            let is_forced_end = may_end && next.is_empty();
            if tokens.len() == self.most {
                next.clear();
            }
            let mut choices: Vec<(Option<TokenId>, f64)> =
                next.iter().map(|&id| (Some(id), here[&id])).collect();
            let ends = EOS.map(|id| (id, here[&id]));
            if is_forced_end {
                let of_end = match self.end {
                    ForcedEnd::Counted => ends[0].1 + ends[1].1,
                    ForcedEnd::Free => 1.0,
                };
                choices.push((None, of_end));
            } else if may_end {
                choices.extend(ends.map(|(_, p)| (None, p)));
            }
            let shares = share(&tokens, &choices);
            let mut ids = EOS.iter();
            for ((choice, _), share) in choices.iter().zip(shares) {
                match choice {
                    Some(id) => open.push(([&tokens[..], &[*id]].concat(), p * share)),
                    None if is_forced_end => {
                        found.insert((tokens.clone(), None), p * share);
                    }
                    None => {
                        found.insert((tokens.clone(), ids.next().copied()), p * share);
                    }
                }
            }
        }
        found
    }

    /// The model's own probabilities.
    fn truth(&self) -> Distribution {
        self.outputs(&|_, choices| choices.iter().map(|&(_, p)| p).collect())
    }

    /// The distribution of a sampler that gives each token its probability times a bound of what it leads to, and begins anew where it gets stuck.
    fn guided(&self, learned: &ExpectedGrammaticality) -> Distribution {
        let found = self.outputs(&|tokens, choices| {
            let weights = choices.iter().map(|&(id, p)| match id {
                Some(id) => p * learned.log_bound(&[tokens, &[id]].concat()).exp(),
                None => p,
            });
            let weights: Vec<f64> = weights.collect();
            let total: f64 = weights.iter().sum();
            weights
                .iter()
                .map(|weight| weight / total.max(f64::MIN_POSITIVE))
                .collect()
        });
        normalised(found)
    }
}

fn normalised(mut distribution: Distribution) -> Distribution {
    let total: f64 = distribution.values().sum();
    distribution.values_mut().for_each(|p| *p /= total);
    distribution
}

/// Half of the sum of the differences: the most by which the probability of anything differs.
fn total_variation(a: &Distribution, b: &Distribution) -> f64 {
    assert!(
        a.keys()
            .chain(b.keys())
            .all(|key| a.contains_key(key) || b.contains_key(key))
    );
    let missing = b
        .iter()
        .filter(|(key, _)| !a.contains_key(*key))
        .map(|(_, p)| p);
    let both = a
        .iter()
        .map(|(key, p)| (p - b.get(key).unwrap_or(&0.0)).abs());
    (both.sum::<f64>() + missing.sum::<f64>()) / 2.0
}

#[test]
fn asap_comes_to_the_models_distribution_and_masks_do_not() {
    let mut table = String::new();
    for case in cases() {
        let truth = normalised(case.truth());
        let mut learned = ExpectedGrammaticality::default();
        let matcher = case.matcher();
        let mut model = case.model();
        let vocabulary = letters();
        let masked = total_variation(&case.guided(&learned), &truth);
        let mut distances = Vec::new();
        let mut drawn = 0;
        for outputs in [10, 90, 900, 1000] {
            let options = case.options(drawn as u64);
            let faithful = FaithfulOptions {
                outputs,
                forced_end: case.end,
                ..FaithfulOptions::default()
            };
            Generator::new(&mut model, &vocabulary)
                .sample_asap(&PROMPT, &matcher, &options, &faithful, &mut learned)
                .unwrap();
            drawn += outputs;
            distances.push(total_variation(&case.guided(&learned), &truth));
        }
        let z: f64 = case.truth().values().sum();
        assert!(learned.log_bound(&[]).exp() >= z * (1.0 - 1e-6));
        assert!(distances[3] < 0.02, "{}: {distances:?}", case.name);
        assert!(masked > 0.1, "{}: {masked}", case.name);
        table += &format!(
            "{}: {} outputs, Z {z:.4}; masks {masked:.4}, ASAp {distances:.4?}\n",
            case.name,
            truth.len()
        );
    }
    expect![[r#"
        misleading, the end counted: 140 outputs, Z 0.0003; masks 0.9670, ASAp [0.4424, 0.1812, 0.0136, 0.0049]
        misleading, the end free: 140 outputs, Z 0.0011; masks 0.9668, ASAp [0.3161, 0.0550, 0.0018, 0.0012]
        pairs: 106 outputs, Z 0.2718; masks 0.6392, ASAp [0.1181, 0.0475, 0.0113, 0.0039]
        cut short: no more than four tokens: 60 outputs, Z 0.0014; masks 0.4843, ASAp [0.2960, 0.0217, 0.0011, 0.0011]
    "#]].assert_eq(&table);
}

/// Outputs drawn one by one, counted.
fn drawn(
    case: &Case,
    outputs: usize,
    learned: &mut ExpectedGrammaticality,
) -> (BTreeMap<Key, u32>, u64) {
    let faithful = FaithfulOptions {
        outputs,
        attempts: 1_000_000,
        forced_end: case.end,
    };
    let mut model = case.model();
    let samples = Generator::new(&mut model, &letters())
        .sample_by_rejection(
            &PROMPT,
            &case.matcher(),
            &case.options(1),
            &faithful,
            learned,
        )
        .unwrap();
    assert_eq!(
        samples.attempts,
        outputs as u64 + samples.rejected + samples.unfinished
    );
    let mut counts = BTreeMap::new();
    for output in &samples.outputs {
        *counts.entry(key(output)).or_default() += 1;
    }
    (counts, samples.attempts)
}

#[test]
fn rejection_is_exact_whatever_it_remembers() {
    let mut table = String::new();
    for case in cases() {
        let truth = case.truth();
        let z: f64 = truth.values().sum();
        let truth = normalised(truth);
        let mut line = case.name.to_owned();
        for (limit, outputs) in [(0, 1_000), (8, 5_000), (100_000, 20_000)] {
            let mut learned = ExpectedGrammaticality::with_limit(limit);
            let (counts, attempts) = drawn(&case, outputs, &mut learned);
            assert!(learned.len() <= limit);
            let (statistic, degrees) = chi_square(&truth, &counts, outputs as u32);
            assert!(
                statistic < chi_square_threshold(degrees),
                "{}, {limit}: {statistic}, {degrees}",
                case.name
            );
            if limit == 0 {
                // Of plain attempts, the share of Z is kept.
                let kept = outputs as f64 / attempts as f64;
                assert!((kept / z - 1.0).abs() < 0.2, "{kept} {z}");
            }
            line += &format!(
                "; {limit}: {:.2} attempts",
                attempts as f64 / outputs as f64
            );
        }
        table += &line;
        table.push('\n');
    }
    expect![[r#"
        misleading, the end counted; 0: 3176.40 attempts; 8: 12.49 attempts; 100000: 1.01 attempts
        misleading, the end free; 0: 837.57 attempts; 8: 3.24 attempts; 100000: 1.00 attempts
        pairs; 0: 3.80 attempts; 8: 1.14 attempts; 100000: 1.00 attempts
        cut short: no more than four tokens; 0: 708.56 attempts; 8: 79.31 attempts; 100000: 1.01 attempts
    "#]].assert_eq(&table);
}

/// Over many runs: the distribution of an output drawn by weight; and, for each beginning, the sum and the sum of squares of its weight times the
/// estimate of Z, which is expected to be its probability under the model.
fn swarms(
    case: &Case,
    smc: &SmcOptions,
    runs: u64,
) -> (Distribution, BTreeMap<Vec<TokenId>, (f64, f64)>) {
    let (mut shares, mut moments) = (BTreeMap::new(), BTreeMap::<_, (f64, f64)>::new());
    let (matcher, vocabulary) = (case.matcher(), letters());
    let mut model = case.model();
    for seed in 0..runs {
        let mut of_run: BTreeMap<_, f64> = BTreeMap::new();
        let samples = Generator::new(&mut model, &vocabulary).sample_smc(
            &PROMPT,
            &matcher,
            &case.options(seed),
            smc,
        );
        match samples {
            Ok(samples) => {
                let sum: f64 = samples.outputs.iter().map(|output| output.weight).sum();
                assert!((sum - 1.0).abs() < 1e-9);
                assert!(
                    samples
                        .effective
                        .iter()
                        .all(|&n| n < smc.particles as f64 + 1e-6)
                );
                for output in &samples.outputs {
                    *shares.entry(key(output)).or_default() += output.weight / runs as f64;
                    *of_run.entry(beginning(&key(output))).or_default() +=
                        output.weight * samples.log_z.exp();
                }
            }
            Err(GenerateError::Faithful(FaithfulError::NoParticle { .. })) => {}
            Err(error) => panic!("{error}"),
        }
        for (key, value) in of_run {
            let moments = moments.entry(key).or_default();
            *moments = (moments.0 + value, moments.1 + value * value);
        }
    }
    (normalised(shares), moments)
}

#[test]
fn particles_estimate_every_probability_without_bias() {
    for case in cases() {
        let mut truth = BTreeMap::<_, f64>::new();
        for (key, p) in case.truth() {
            *truth.entry(beginning(&key)).or_default() += p;
        }
        let z: f64 = truth.values().sum();
        let mut tested = 0;
        for (particles, threshold, resampling) in [
            (1, 0.5, Resampling::Systematic),
            (6, 0.0, Resampling::Systematic),
            (6, 0.7, Resampling::Systematic),
            (6, 1.0, Resampling::Stratified),
            (5, 1.0, Resampling::Multinomial),
        ] {
            const RUNS: u64 = 3_000;
            let smc = SmcOptions {
                particles,
                threshold,
                resampling,
                forced_end: case.end,
            };
            let (_, moments) = swarms(&case, &smc, RUNS);
            let runs = RUNS as f64;
            for (key, &p) in &truth {
                let (sum, squares) = moments.get(key).copied().unwrap_or_default();
                let mean = sum / runs;
                let error = ((squares / runs - mean * mean) / runs).sqrt();
                // The mean of rare ones is not normal.
                if p > 0.01 * z && sum * sum / squares.max(f64::MIN_POSITIVE) > 50.0 {
                    tested += 1;
                    assert!(
                        (mean - p).abs() < 5.0 * error,
                        "{} {smc:?} {key:?}: {mean} for {p}, {error}",
                        case.name
                    );
                }
            }
        }
        assert!(tested >= 10, "{}: {tested}", case.name);
    }
}

/// The first two tokens of an output.
fn beginning((tokens, _): &Key) -> Vec<TokenId> {
    tokens.iter().copied().take(2).collect()
}

#[test]
fn more_particles_come_closer() {
    let mut table = String::new();
    for case in cases() {
        let truth = normalised(case.truth());
        let masked = total_variation(&case.guided(&ExpectedGrammaticality::default()), &truth);
        let mut line = format!("{}: masks {masked:.3}", case.name);
        let mut last = 1.0;
        for (particles, runs) in [(4, 8_000), (16, 4_000), (64, 2_000), (256, 500)] {
            let smc = SmcOptions {
                particles,
                forced_end: case.end,
                ..SmcOptions::default()
            };
            let distance = total_variation(&swarms(&case, &smc, runs).0, &truth);
            assert!(distance < masked && distance < last * 1.1, "{}", case.name);
            last = distance;
            line += &format!(", {particles} particles {distance:.3}");
        }
        assert!(last < 0.05, "{line}");
        table += &line;
        table.push('\n');
    }
    expect![[r#"
        misleading, the end counted: masks 0.967, 4 particles 0.874, 16 particles 0.576, 64 particles 0.148, 256 particles 0.018
        misleading, the end free: masks 0.967, 4 particles 0.874, 16 particles 0.576, 64 particles 0.141, 256 particles 0.018
        pairs: masks 0.639, 4 particles 0.195, 16 particles 0.014, 64 particles 0.005, 256 particles 0.002
        cut short: no more than four tokens: masks 0.484, 4 particles 0.472, 16 particles 0.392, 64 particles 0.196, 256 particles 0.042
    "#]].assert_eq(&table);
}

#[test]
fn outputs_tell_their_probability_and_what_masks_would_have_made_of_it() {
    for case in cases() {
        let truth = case.truth();
        let masked = case.outputs(&|_, choices| {
            let total: f64 = choices.iter().map(|(_, p)| p).sum();
            choices.iter().map(|(_, p)| p / total).collect()
        });
        let (vocabulary, matcher) = (letters(), case.matcher());
        let mut model = case.model();
        let mut generator = Generator::new(&mut model, &vocabulary);
        let options = GenerateOptions {
            log_probs: true,
            ..case.options(4)
        };
        let faithful = FaithfulOptions {
            outputs: 60,
            forced_end: case.end,
            ..FaithfulOptions::default()
        };
        let smc = SmcOptions {
            particles: 60,
            forced_end: case.end,
            ..SmcOptions::default()
        };
        let learned = &mut ExpectedGrammaticality::default();
        let asap = generator
            .sample_asap(&PROMPT, &matcher, &options, &faithful, learned)
            .unwrap();
        let swarm = generator
            .sample_smc(&PROMPT, &matcher, &options, &smc)
            .unwrap();
        for output in asap.outputs.iter().chain(&swarm.outputs) {
            let key = key(output);
            assert!(truth.contains_key(&key), "{} {key:?}", case.name);
            let close = |found: f64, expected: f64| (found - expected.ln()).abs() < 1e-5;
            assert!(close(output.log_prob, truth[&key]), "{key:?}");
            assert!(close(output.masked_log_prob(), masked[&key]), "{key:?}");
            assert!((case.fits)(&output.generation.text));
            assert_eq!(output.generation.text, text(&key.0));
            let tokens = &output.generation.tokens;
            let of_tokens: f32 = tokens
                .iter()
                .map(|token| token.log_probs.unwrap().model)
                .sum();
            assert!(of_tokens >= output.log_prob as f32 - 1e-4);
            for (token, kept) in tokens.iter().zip(&output.log_kept) {
                let log_probs = token.log_probs.unwrap();
                assert!((f64::from(log_probs.model - log_probs.allowed) - kept).abs() < 1e-5);
                assert!(!token.forced || log_probs.allowed.abs() < 1e-5);
            }
        }
    }
}

#[test]
fn what_is_forced_is_run_at_once_and_the_prompt_only_once() {
    let case = &cases()[0];
    let vocabulary = letters();
    let faithful = FaithfulOptions {
        outputs: 300,
        ..FaithfulOptions::default()
    };
    let mut model = case.model();
    let learned = &mut ExpectedGrammaticality::default();
    let samples = Generator::new(&mut model, &vocabulary)
        .sample_asap(
            &PROMPT,
            &case.matcher(),
            &case.options(0),
            &faithful,
            learned,
        )
        .unwrap();
    let runs = |output: &FaithfulOutput| output.generation.stats.runs;
    let (first, rest) = samples.outputs.split_first().unwrap();
    assert_eq!((runs(first), first.generation.text.as_str()), (3, "aaaaa"));
    for output in rest {
        // The first letter is a choice, and nothing behind an `a` is.
        match output.generation.text.as_str() {
            "aaaaa" => assert_eq!(runs(output), 2),
            _ => assert!((2..=6).contains(&runs(output))),
        }
    }
    assert!(rest.iter().any(|output| output.generation.text != "aaaaa"));
}

#[test]
fn equal_seeds_give_equal_samples() {
    for case in cases() {
        let run = |seed| {
            let (vocabulary, matcher) = (letters(), case.matcher());
            let mut model = case.model();
            let mut generator = Generator::new(&mut model, &vocabulary);
            let options = case.options(seed);
            let faithful = FaithfulOptions {
                outputs: 30,
                forced_end: case.end,
                ..FaithfulOptions::default()
            };
            let smc = SmcOptions {
                particles: 200,
                forced_end: case.end,
                ..SmcOptions::default()
            };
            let learned = &mut ExpectedGrammaticality::default();
            let asap = generator.sample_asap(&PROMPT, &matcher, &options, &faithful, learned);
            let exact =
                generator.sample_by_rejection(&PROMPT, &matcher, &options, &faithful, learned);
            let swarm = generator
                .sample_smc(&PROMPT, &matcher, &options, &smc)
                .unwrap();
            let asap = asap.unwrap().outputs;
            let keys = asap
                .iter()
                .chain(&exact.unwrap().outputs)
                .map(key)
                .collect::<Vec<_>>();
            let weights: Vec<_> = swarm
                .outputs
                .iter()
                .map(|one| (key(one), one.weight))
                .collect();
            (keys, weights, swarm.log_z)
        };
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
    }
}

#[test]
fn a_prefill_is_a_condition_like_the_prompt() {
    let case = &cases()[0];
    let prefill = [TokenId(98), TokenId(256)];
    let truth = case.truth().into_iter().filter_map(|((tokens, end), p)| {
        let rest = tokens.strip_prefix(&prefill)?.to_vec();
        Some(((rest, end), p))
    });
    let truth = normalised(truth.collect());
    let options = GenerateOptions {
        prefill: prefill.to_vec(),
        max_new_tokens: Some(2),
        ..case.options(3)
    };
    let faithful = FaithfulOptions {
        outputs: 5_000,
        ..FaithfulOptions::default()
    };
    let mut model = case.model();
    let learned = &mut ExpectedGrammaticality::default();
    let samples = Generator::new(&mut model, &letters())
        .sample_by_rejection(&PROMPT, &case.matcher(), &options, &faithful, learned)
        .unwrap();
    let mut counts = BTreeMap::new();
    for output in &samples.outputs {
        assert!(output.generation.text.starts_with("bab"));
        *counts.entry(key(output)).or_default() += 1;
    }
    let (statistic, degrees) = chi_square(&truth, &counts, 5_000);
    assert!(degrees > 3);
    assert!(statistic < chi_square_threshold(degrees), "{statistic}");
}

#[test]
fn free_text_is_given_that_it_ends_in_time() {
    let case = Case {
        pattern: "",
        fits: |_| true,
        most: 2,
        ..cases().remove(2)
    };
    let truth = normalised(case.truth());
    let mut allowed = structgen_vocab::TokenMask::new(WIDTH);
    allowed.allow_all(&WRITTEN[..5]);
    let free = Unconstrained::new(allowed, &EOS);
    let faithful = FaithfulOptions {
        outputs: 5_000,
        ..FaithfulOptions::default()
    };
    let mut model = case.model();
    let learned = &mut ExpectedGrammaticality::default();
    let samples = Generator::new(&mut model, &letters())
        .sample_by_rejection(&PROMPT, &free, &case.options(9), &faithful, learned)
        .unwrap();
    let mut counts = BTreeMap::new();
    for output in &samples.outputs {
        *counts.entry(key(output)).or_default() += 1;
    }
    let (statistic, degrees) = chi_square(&truth, &counts, 5_000);
    assert!(statistic < chi_square_threshold(degrees), "{statistic}");
}

#[test]
fn what_cannot_be_sampled_is_told() {
    let case = &cases()[0];
    let (vocabulary, matcher) = (letters(), case.matcher());
    let mut model = case.model();
    let mut told = Vec::new();
    let mut tell =
        |matcher: &Matcher, options: &GenerateOptions, learned: &mut ExpectedGrammaticality| {
            let faithful = FaithfulOptions {
                outputs: 3,
                attempts: 4,
                ..FaithfulOptions::default()
            };
            let error = Generator::new(&mut model, &vocabulary)
                .sample_by_rejection(&PROMPT, matcher, options, &faithful, learned)
                .unwrap_err();
            told.push(error.to_string());
        };
    let new = ExpectedGrammaticality::default;
    let good = case.options(0);
    let with = |change: &dyn Fn(&mut GenerateOptions)| {
        let mut options = good.clone();
        change(&mut options);
        options
    };
    tell(
        &matcher,
        &with(&|o| o.sampling.temperature = 0.0),
        &mut new(),
    );
    tell(
        &matcher,
        &with(&|o| o.sampling.temperature = 0.7),
        &mut new(),
    );
    tell(&matcher, &with(&|o| o.sampling.top_p = 0.9), &mut new());
    tell(
        &matcher,
        &with(&|o| o.stop = vec!["b".to_owned()]),
        &mut new(),
    );
    tell(&matcher, &with(&|o| o.min_new_tokens = 2), &mut new());
    tell(&matcher, &with(&|o| o.max_new_tokens = Some(1)), &mut new());
    tell(
        &matcher,
        &with(&|o| o.time_limit = Some(Duration::ZERO)),
        &mut new(),
    );
    // The model never writes a d.
    let never = regex_constraint(&vocabulary, "d|e", &EOS).matcher();
    tell(&never, &good, &mut new());
    let mut learned = new();
    tell(&matcher, &good, &mut learned);
    tell(
        &matcher,
        &with(&|o| o.max_new_tokens = Some(6)),
        &mut learned,
    );
    let mut swarm = |smc: SmcOptions| {
        let error = Generator::new(&mut model, &vocabulary)
            .sample_smc(&PROMPT, &never, &good, &smc)
            .unwrap_err();
        told.push(error.to_string());
    };
    swarm(SmcOptions::default());
    swarm(SmcOptions {
        particles: 0,
        ..SmcOptions::default()
    });
    swarm(SmcOptions {
        threshold: f64::NAN,
        ..SmcOptions::default()
    });
    expect![[r#"
        faithful samplers draw from the model's own distribution at temperature 1, which a temperature of zero would change
        faithful samplers draw from the model's own distribution at temperature 1, which a sampler, or a temperature that is not one would change
        faithful samplers draw from the model's own distribution at temperature 1, which a sampler, or a temperature that is not one would change
        faithful samplers draw from the model's own distribution at temperature 1, which a stop string would change
        faithful samplers draw from the model's own distribution at temperature 1, which a least number of tokens would change
        the output needs up to 5 tokens to be complete, and 1 are allowed; raise the number of new tokens to 5
        0 of 3 outputs were found in time
        0 of 3 outputs were found, and the next not in 4 attempts: the model hardly ever writes one within the limit of tokens
        0 of 3 outputs were found, and the next not in 4 attempts: the model hardly ever writes one within the limit of tokens
        what was learned is about another prompt, number of new tokens or end: learn anew for this one
        none of 16 particles became a complete output; allow more particles, more new tokens or more time
        particles is 0, and must be 1 or more
        threshold is NaN, and must be from 0 to 1"#]].assert_eq(&told.join("\n"));
}
