//! Faithful samplers against the model's conditional distribution, which the tests enumerate independently.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use expect_test::expect;
use structgen_constraint::Matcher;
use structgen_decode::{
    FinishReason, GenerateError, GenerateOptions, LanguageModel, ModelError, ModelInfo, Output,
    Outputs, Request, SamplingParams, Scheduler, Strategy, Unconstrained,
    model::{ModelStats, Packing, RowId, RowOutput, RowRun, RunOutput, check_run},
    request::{ContextOverflow, JumpForward, Report},
    strategies::{
        AttemptCounts, ExpectedGrammaticality, FaithfulError, FaithfulOptions, ForcedEnd,
        Resampling, SmcEstimates, SmcOptions,
    },
};
use structgen_vocab::{TokenId, Vocabulary};

use crate::support::{chi_square, chi_square_threshold, regex_constraint};

/// Two ends.
const EOS: [TokenId; 2] = [TokenId(258), TokenId(259)];
const WIDTH: usize = 262;
const PROMPT: [TokenId; 2] = [TokenId(2), TokenId(0)];

/// The only tokens that the model ever writes: a, b, c, ab, ca, the two ends, and z, which nothing allows.
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

/// A model whose logits are a function of the output's tokens.
#[derive(Clone)]
struct Ruled {
    info: ModelInfo,
    rule: Rule,
    seed: u64,
    rows: BTreeMap<RowId, Vec<TokenId>>,
    opened: u64,
    logits: Vec<f32>,
    stats: ModelStats,
}

impl Ruled {
    fn insert(&mut self, tokens: Vec<TokenId>) -> RowId {
        self.opened += 1;
        let row = RowId(self.opened);
        self.rows.insert(row, tokens);
        row
    }
}

impl LanguageModel for Ruled {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn open_row(&mut self) -> Result<RowId, ModelError> {
        Ok(self.insert(Vec::new()))
    }

    fn fork_row(&mut self, row: RowId, len: usize) -> Result<RowId, ModelError> {
        let tokens = self.rows[&row][..len].to_vec();
        Ok(self.insert(tokens))
    }

    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError> {
        self.rows.get_mut(&row).unwrap().truncate(len);
        Ok(())
    }

    fn close_row(&mut self, row: RowId) {
        self.rows.remove(&row);
    }

    fn row_len(&self, row: RowId) -> Option<usize> {
        self.rows.get(&row).map(Vec::len)
    }

    fn run(&mut self, rows: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError> {
        check_run(self, rows, hidden)?;
        self.logits.clear();
        let mut tokens_run = 0;
        for run in rows {
            tokens_run += run.tokens.len();
            let row = self.rows.get_mut(&run.row).unwrap();
            row.extend_from_slice(run.tokens);
            for len in row.len() - run.positions + 1..=row.len() {
                let output = row[..len].get(PROMPT.len()..).unwrap_or_default();
                let start = self.logits.len();
                self.logits.resize(start + WIDTH, f32::NEG_INFINITY);
                for (id, logit) in WRITTEN.iter().zip((self.rule)(output, self.seed)) {
                    self.logits[start + id.index()] = logit;
                }
            }
        }
        self.stats.record(tokens_run, Duration::ZERO);
        let mut left = &self.logits[..];
        let outputs = rows.iter().map(|run| {
            let (logits, rest) = left.split_at(run.positions * WIDTH);
            left = rest;
            RowOutput::new(logits, WIDTH)
        });
        Ok(RunOutput::new(outputs.collect()))
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

/// A model that likes to start with `a`, and hardly ever writes another, which the masks demand.
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
    matcher: Matcher,
    fits: fn(&str) -> bool,
    rule: Rule,
    seed: u64,
    most: usize,
    end: ForcedEnd,
}

fn cases() -> Vec<Case> {
    let case = |name, pattern, fits, rule, seed, most, end| Case {
        name,
        matcher: regex_constraint(&letters(), pattern, &EOS).matcher(),
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

/// Returns the model's probabilities after some tokens, in the platform's double precision.
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

/// An output: its tokens, and the end that was drawn if something else could have come.
type Key = (Vec<TokenId>, Option<TokenId>);

fn key(output: &Output) -> Key {
    let tokens = output.generation.tokens.iter().map(|token| token.id);
    let end = match output.generation.finish {
        FinishReason::Eos(id) => Some(id),
        _ => None,
    };
    (tokens.collect(), end)
}

type Distribution = BTreeMap<Key, f64>;

/// The share of each choice after some tokens, with the model's probability; ends are not tokens.
type Share<'s> = dyn Fn(&[TokenId], &[(Option<TokenId>, f64)]) -> Vec<f64> + 's;

impl Case {
    fn model(&self) -> Ruled {
        Ruled {
            info: ModelInfo::new(WIDTH, 64, EOS).with_packing(Packing::Ragged),
            rule: self.rule,
            seed: self.seed,
            rows: BTreeMap::new(),
            opened: 0,
            logits: Vec::new(),
            stats: ModelStats::default(),
        }
    }

    fn scheduler(&self) -> Scheduler {
        Scheduler::new(self.model(), letters())
    }

    /// How outputs are drawn in sequence.
    fn faithful(&self, learned: &ExpectedGrammaticality) -> FaithfulOptions {
        FaithfulOptions {
            forced_end: self.end,
            learned: Some(learned.clone()),
            ..FaithfulOptions::default()
        }
    }

    fn request(&self, options: GenerateOptions, strategy: impl Into<Strategy>) -> Request<Matcher> {
        Request::new(PROMPT, self.matcher.clone())
            .with_options(options)
            .with_strategy(strategy)
    }

    fn options(&self, seed: u64, outputs: usize) -> GenerateOptions {
        GenerateOptions {
            sequences: outputs,
            sampling: SamplingParams {
                temperature: 1.0,
                seed,
                ..SamplingParams::default()
            },
            max_new_tokens: Some(self.most),
            ..GenerateOptions::default()
        }
    }

    /// Returns the tokens after which some text matches, and whether the output may end, using only the predicate.
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

    /// Returns the unnormalised probabilities of all complete outputs, where each token and the end are drawn by
    /// `share` of the model's probabilities and of their continuations'.
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

    /// Returns the model's own probabilities.
    fn truth(&self) -> Distribution {
        self.outputs(&|_, choices| choices.iter().map(|&(_, p)| p).collect())
    }

    /// Returns the distribution of a sampler that gives each token its probability times a bound on its continuations,
    /// and restarts when it gets stuck.
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

/// Returns the total variation distance: half of the sum of the differences.
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
        let learned = ExpectedGrammaticality::default();
        let mut scheduler = case.scheduler();
        let masked = total_variation(&case.guided(&learned), &truth);
        let mut distances = Vec::new();
        let mut drawn = 0;
        for outputs in [10, 90, 900, 1000] {
            let options = case.options(drawn as u64, outputs);
            let asap = Strategy::Asap(case.faithful(&learned));
            let found = scheduler.run(case.request(options, asap)).unwrap();
            assert_eq!(found.all().unwrap().len(), outputs);
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

/// Counts outputs drawn one by one.
fn drawn(
    case: &Case,
    outputs: usize,
    learned: &ExpectedGrammaticality,
) -> (BTreeMap<Key, u32>, u64) {
    let rejection = Strategy::Rejection(FaithfulOptions {
        attempts: 1_000_000,
        ..case.faithful(learned)
    });
    let request = case.request(case.options(1, outputs), rejection);
    let found = case.scheduler().run(request).unwrap();
    let counts = attempts(&found);
    assert_eq!(
        counts.attempts,
        outputs as u64 + counts.rejected + counts.unfinished
    );
    (counted(&found.all().unwrap()), counts.attempts)
}

fn attempts(outputs: &Outputs) -> AttemptCounts {
    match outputs.report {
        Report::Attempts(counts) => counts,
        ref other => panic!("{other:?}"),
    }
}

fn counted(outputs: &[Output]) -> BTreeMap<Key, u32> {
    let mut counts = BTreeMap::new();
    for output in outputs {
        *counts.entry(key(output)).or_default() += 1;
    }
    counts
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
            let learned = ExpectedGrammaticality::with_limit(limit);
            let (counts, attempts) = drawn(&case, outputs, &learned);
            assert!(learned.len() <= limit);
            let (statistic, degrees) = chi_square(&truth, &counts, outputs as u32);
            assert!(
                statistic < chi_square_threshold(degrees),
                "{}, {limit}: {statistic}, {degrees}",
                case.name
            );
            if limit == 0 {
                // Plain attempts succeed with probability Z.
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

/// Estimates over many runs the distribution of an output drawn by weight; and, for each prefix, the sum and the sum of
/// squares of its weight times the estimate of Z, whose expectation is its probability under the model.
fn swarms(
    case: &Case,
    smc: &SmcOptions,
    runs: u64,
) -> (Distribution, BTreeMap<Vec<TokenId>, (f64, f64)>) {
    let (mut shares, mut moments) = (BTreeMap::new(), BTreeMap::<_, (f64, f64)>::new());
    let mut scheduler = case.scheduler();
    for seed in 0..runs {
        let mut of_run: BTreeMap<_, f64> = BTreeMap::new();
        let request = case.request(case.options(seed, 1), smc.clone());
        match scheduler.run(request) {
            Ok(found) => {
                let (outputs, estimates) = particles(found);
                let sum: f64 = outputs.iter().map(|output| output.weight.unwrap()).sum();
                assert!((sum - 1.0).abs() < 1e-9);
                assert!(
                    estimates
                        .effective
                        .iter()
                        .all(|&n| n < smc.particles as f64 + 1e-6)
                );
                for output in &outputs {
                    let weight = output.weight.unwrap();
                    *shares.entry(key(output)).or_default() += weight / runs as f64;
                    *of_run.entry(beginning(&key(output))).or_default() +=
                        weight * estimates.log_z.exp();
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

fn particles(outputs: Outputs) -> (Vec<Output>, SmcEstimates) {
    let Outputs { report, .. } = &outputs;
    let Report::Smc(estimates) = report.clone() else {
        panic!("{report:?}");
    };
    (outputs.all().unwrap(), estimates)
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
                // The mean of rare outputs is not normally distributed.
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

/// Returns the first two tokens of an output.
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
fn outputs_have_their_probability_and_the_one_that_masks_would_give_them() {
    for case in cases() {
        let truth = case.truth();
        let masked = case.outputs(&|_, choices| {
            let total: f64 = choices.iter().map(|(_, p)| p).sum();
            choices.iter().map(|(_, p)| p / total).collect()
        });
        let options = |outputs| GenerateOptions {
            log_probs: true,
            ..case.options(4, outputs)
        };
        let smc = SmcOptions {
            particles: 60,
            forced_end: case.end,
            ..SmcOptions::default()
        };
        let asap = Strategy::Asap(case.faithful(&ExpectedGrammaticality::default()));
        let mut scheduler = case.scheduler();
        let asap = scheduler.run(case.request(options(60), asap)).unwrap();
        let swarm = scheduler.run(case.request(options(1), smc)).unwrap();
        for output in asap.all().unwrap().iter().chain(&swarm.all().unwrap()) {
            let key = key(output);
            assert!(truth.contains_key(&key), "{} {key:?}", case.name);
            let close = |found: f64, expected: f64| (found - expected.ln()).abs() < 1e-5;
            let log_prob = output.log_prob.unwrap();
            let masked_log_prob = output.masked_log_prob().unwrap();
            assert!(close(log_prob, truth[&key]), "{key:?}");
            assert!(close(masked_log_prob, masked[&key]), "{key:?}");
            assert!((case.fits)(&output.generation.text));
            assert_eq!(output.generation.text, text(&key.0));
            let tokens = &output.generation.tokens;
            let of_tokens: f32 = tokens
                .iter()
                .map(|token| token.log_probs.unwrap().model)
                .sum();
            assert!(of_tokens >= log_prob as f32 - 1e-4);
            for (token, kept) in tokens.iter().zip(output.log_kept.as_ref().unwrap()) {
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
    let asap = Strategy::Asap(FaithfulOptions::default());
    let found = case
        .scheduler()
        .run(case.request(case.options(0, 300), asap));
    let outputs = found.unwrap().all().unwrap();
    let runs = |output: &Output| output.generation.stats.runs;
    let (first, rest) = outputs.split_first().unwrap();
    // The prompt and the first letter take one run.
    assert_eq!((runs(first), first.generation.text.as_str()), (2, "aaaaa"));
    for output in rest {
        // The first letter is a choice, and nothing after `a` is.
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
            let smc = SmcOptions {
                particles: 200,
                forced_end: case.end,
                ..SmcOptions::default()
            };
            let faithful = case.faithful(&ExpectedGrammaticality::default());
            let mut scheduler = case.scheduler();
            let mut keys = Vec::new();
            for strategy in [
                Strategy::Asap(faithful.clone()),
                Strategy::Rejection(faithful),
            ] {
                let request = case.request(case.options(seed, 30), strategy);
                let outputs = scheduler.run(request).unwrap().all().unwrap();
                keys.extend(outputs.iter().map(key));
            }
            let swarm = scheduler.run(case.request(case.options(seed, 1), smc));
            let (outputs, estimates) = particles(swarm.unwrap());
            let weights: Vec<_> = { outputs.iter() }
                .map(|one| (key(one), one.weight))
                .collect();
            (keys, weights, estimates)
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
        ..case.options(3, 5_000)
    };
    let rejection = Strategy::Rejection(FaithfulOptions::default());
    let found = case.scheduler().run(case.request(options, rejection));
    let outputs = found.unwrap().all().unwrap();
    assert!({ outputs.iter() }.all(|output| output.generation.text.starts_with("bab")));
    let counts = counted(&outputs);
    let (statistic, degrees) = chi_square(&truth, &counts, 5_000);
    assert!(degrees > 3);
    assert!(statistic < chi_square_threshold(degrees), "{statistic}");
}

#[test]
fn free_text_is_given_that_it_ends_in_time() {
    let case = Case {
        fits: |_| true,
        most: 2,
        ..cases().remove(2)
    };
    let truth = normalised(case.truth());
    let mut allowed = structgen_vocab::TokenMask::new(WIDTH);
    allowed.allow_all(&WRITTEN[..5]);
    let free = Unconstrained::new(allowed, &EOS);
    let request = Request::new(PROMPT, free)
        .with_options(case.options(9, 5_000))
        .with_strategy(Strategy::Rejection(FaithfulOptions::default()));
    let outputs = case.scheduler().run(request).unwrap().all().unwrap();
    let counts = counted(&outputs);
    let (statistic, degrees) = chi_square(&truth, &counts, 5_000);
    assert!(statistic < chi_square_threshold(degrees), "{statistic}");
}

#[test]
fn what_cannot_be_sampled_is_an_error() {
    let case = &cases()[0];
    let (vocabulary, matcher) = (letters(), &case.matcher);
    let mut scheduler = case.scheduler();
    let mut errors = Vec::new();
    let mut refuse = |matcher: &Matcher, options: &GenerateOptions, strategy: Strategy| {
        let request = Request::new(PROMPT, matcher.clone())
            .with_options(options.clone())
            .with_strategy(strategy);
        errors.push(scheduler.run(request).unwrap_err().to_string());
    };
    let rejection = |learned: Option<&ExpectedGrammaticality>| {
        Strategy::Rejection(FaithfulOptions {
            attempts: 4,
            learned: learned.cloned(),
            ..FaithfulOptions::default()
        })
    };
    let good = case.options(0, 3);
    let with = |change: &dyn Fn(&mut GenerateOptions)| {
        let mut options = good.clone();
        change(&mut options);
        options
    };
    type Change = fn(&mut GenerateOptions);
    let changes: [Change; 12] = [
        |o| o.sampling.temperature = 0.0,
        |o| o.sampling.temperature = 0.7,
        |o| o.sampling.top_p = 0.9,
        |o| o.stop = vec!["b".to_owned()],
        |o| o.min_new_tokens = 2,
        |o| o.alternatives = 2,
        |o| o.token_times = true,
        |o| o.jump_forward = JumpForward::Canonical,
        |o| o.overflow = ContextOverflow::Crop { keep: 1 },
        |o| o.max_new_tokens = Some(1),
        |o| o.time_limit = Some(Duration::ZERO),
        |o| o.prefill = vec![TokenId(99)],
    ];
    for change in changes {
        refuse(matcher, &with(&change), rejection(None));
    }
    // The model never writes a d.
    let never = regex_constraint(&vocabulary, "d|e", &EOS).matcher();
    refuse(&never, &good, rejection(None));
    let learned = ExpectedGrammaticality::default();
    refuse(matcher, &good, rejection(Some(&learned)));
    let longer = with(&|o| o.max_new_tokens = Some(6));
    refuse(matcher, &longer, rejection(Some(&learned)));
    refuse(matcher, &good, SmcOptions::default().into());
    let one = case.options(0, 1);
    refuse(&never, &one, SmcOptions::default().into());
    let none = SmcOptions {
        particles: 0,
        ..SmcOptions::default()
    };
    refuse(&never, &one, none.into());
    let not_a_share = SmcOptions {
        threshold: f64::NAN,
        ..SmcOptions::default()
    };
    refuse(&never, &one, not_a_share.into());
    expect![[r#"
        faithful samplers draw from the model's own distribution at temperature 1, which a temperature of zero would change
        faithful samplers draw from the model's own distribution at temperature 1, which a temperature that is not one would change
        the strategy rejection does not honour sampling.top_p, which is 0.9; leave it out, or choose another strategy
        the strategy rejection does not honour stop, which is ["b"]; leave it out, or choose another strategy
        the strategy rejection does not honour min_new_tokens, which is 2; leave it out, or choose another strategy
        the strategy rejection does not honour alternatives, which is 2; leave it out, or choose another strategy
        the strategy rejection does not honour token_times, which is true; leave it out, or choose another strategy
        the strategy rejection does not honour jump_forward, which is "canonical"; leave it out, or choose another strategy
        the strategy rejection does not honour overflow, which is {"crop":{"keep":1}}; leave it out, or choose another strategy
        the output needs up to 5 tokens to be complete, and 1 are allowed; raise the number of new tokens to 5
        0 of 3 outputs were found in time
        token 0 of the prefill does not match the constraint
        0 of 3 outputs were found, and the next not in 4 attempts: the model hardly ever writes one within the limit of tokens
        0 of 3 outputs were found, and the next not in 4 attempts: the model hardly ever writes one within the limit of tokens
        what was learned is about another prompt, number of new tokens or end: learn anew for this one
        the strategy smc does not honour sequences, which is 3; leave it out, or choose another strategy
        none of 16 particles became a complete output; allow more particles, more new tokens or more time
        smc.particles is 0, and must be from 1 to 65536
        smc.threshold is infinite or NaN, and must be from 0 to 1"#]].assert_eq(&errors.join("\n"));
}

/// All faithful strategies, and sampling.
fn strategies(case: &Case) -> Vec<(Strategy, usize)> {
    let faithful = FaithfulOptions {
        forced_end: case.end,
        ..FaithfulOptions::default()
    };
    let smc = SmcOptions {
        particles: 20,
        forced_end: case.end,
        ..SmcOptions::default()
    };
    vec![
        (Strategy::Asap(faithful.clone()), 15),
        (Strategy::Sample, 3),
        (Strategy::Rejection(faithful), 5),
        (Strategy::from(smc), 1),
    ]
}

/// Formats the results of requests, without their costs and the logarithms of bounds.
fn outcome(outputs: Result<Outputs, GenerateError>) -> String {
    let Outputs {
        outputs, report, ..
    } = match outputs {
        Ok(outputs) => outputs,
        Err(error) => return error.to_string(),
    };
    let outputs: Vec<String> = { outputs.into_iter() }
        .map(|output| match output {
            Ok(output) => {
                let Output {
                    generation, weight, ..
                } = &output;
                let (text, tokens) = (&generation.text, &generation.tokens);
                let (log_prob, log_kept) = (&output.log_prob, &output.log_kept);
                let finish = &generation.finish;
                format!("{text:?} {tokens:?} {finish} {weight:?} {log_prob:?} {log_kept:?}")
            }
            Err(error) => error.to_string(),
        })
        .collect();
    format!("{outputs:#?} {report:?}")
}

#[test]
fn requests_side_by_side_come_to_what_each_comes_to_alone() {
    for case in cases() {
        let requests: Vec<Request<Matcher>> = (0..3)
            .flat_map(|seed| {
                let case = &case;
                strategies(case).into_iter().map(move |(strategy, n)| {
                    let options = GenerateOptions {
                        log_probs: true,
                        ..case.options(seed, n)
                    };
                    case.request(options, strategy)
                })
            })
            .collect();
        for packing in [
            Packing::Ragged,
            Packing::Uniform,
            Packing::Slots,
            Packing::Apart,
        ] {
            let mut model = case.model();
            model.info.packing = packing;
            let alone = requests.iter().map(|request| {
                let mut scheduler = Scheduler::new(case.model(), letters());
                outcome(scheduler.run(request.clone()))
            });
            let alone: Vec<String> = alone.collect();
            let mut scheduler = Scheduler::new(model, letters());
            let mut tickets = Vec::new();
            let mut found = vec![String::new(); requests.len()];
            for request in &requests {
                tickets.push(scheduler.submit(request.clone()).unwrap());
                // They join while others run.
                for (ticket, outputs) in scheduler.step() {
                    let at = tickets.iter().position(|&other| other == ticket);
                    found[at.unwrap()] = outcome(outputs);
                }
            }
            while !scheduler.is_idle() {
                for (ticket, outputs) in scheduler.step() {
                    let at = tickets.iter().position(|&other| other == ticket);
                    found[at.unwrap()] = outcome(outputs);
                }
            }
            assert_eq!(found, alone, "{} {packing:?}", case.name);
        }
    }
}

#[test]
fn rejection_is_exact_for_requests_that_learn_together() {
    for case in cases() {
        let truth = normalised(case.truth());
        let mut scheduler = case.scheduler();
        let mut outputs = Vec::new();
        // The first outputs learn the most, while others are being drawn.
        const REQUESTS: u64 = 30;
        for round in 0..60 {
            let learned = ExpectedGrammaticality::default();
            for number in 0..REQUESTS {
                let rejection = Strategy::Rejection(case.faithful(&learned));
                let options = case.options(round * REQUESTS + number, 1);
                scheduler.submit(case.request(options, rejection)).unwrap();
            }
            while !scheduler.is_idle() {
                for (_, found) in scheduler.step() {
                    outputs.extend(found.unwrap().all().unwrap());
                }
            }
        }
        let (statistic, degrees) = chi_square(&truth, &counted(&outputs), outputs.len() as u32);
        assert!(
            statistic < chi_square_threshold(degrees),
            "{}: {statistic}, {degrees}",
            case.name
        );
    }
}

#[test]
fn cancelled_in_the_middle_they_leave_no_row_and_what_was_found() {
    for case in cases() {
        for (strategy, outputs) in strategies(&case) {
            for steps in 0..4 {
                let rows = Arc::new(AtomicUsize::new(usize::MAX));
                let seen = Arc::clone(&rows);
                let model = Counted(case.model(), seen);
                let mut scheduler = Scheduler::new(model, letters());
                let options = case.options(7, outputs);
                let ticket = scheduler.submit(case.request(options, strategy.clone()));
                let mut has_ended = false;
                for _ in 0..steps {
                    has_ended |= !scheduler.step().is_empty();
                }
                if has_ended {
                    continue;
                }
                assert!(steps == 0 || rows.load(Relaxed) > 0);
                scheduler.cancel(ticket.unwrap());
                let (_, found) = scheduler.step().remove(0);
                assert!(scheduler.is_idle());
                assert!(steps == 0 || rows.load(Relaxed) == 0, "{strategy:?}");
                match (found, &strategy) {
                    (
                        Err(GenerateError::Faithful(FaithfulError::Cancelled { wanted, found })),
                        _,
                    ) => {
                        assert_eq!(wanted, outputs);
                        assert!(found.outputs.len() < wanted);
                        assert!(found.outputs.iter().all(Result::is_ok));
                    }
                    (Err(GenerateError::Faithful(FaithfulError::NoParticle { .. })), _) => {}
                    (Ok(found), Strategy::Smc(_)) => assert!(!found.outputs.is_empty()),
                    (Ok(found), Strategy::Sample) => assert_eq!(found.outputs.len(), outputs),
                    (found, strategy) => panic!("{strategy:?}: {found:?}"),
                }
            }
        }
    }
}

/// A model that counts its open rows.
struct Counted(Ruled, Arc<AtomicUsize>);

impl LanguageModel for Counted {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn open_row(&mut self) -> Result<RowId, ModelError> {
        let row = self.0.open_row();
        self.1.store(self.0.rows.len(), Relaxed);
        row
    }

    fn fork_row(&mut self, row: RowId, len: usize) -> Result<RowId, ModelError> {
        let row = self.0.fork_row(row, len);
        self.1.store(self.0.rows.len(), Relaxed);
        row
    }

    fn cut_row(&mut self, row: RowId, len: usize) -> Result<(), ModelError> {
        self.0.cut_row(row, len)
    }

    fn close_row(&mut self, row: RowId) {
        self.0.close_row(row);
        self.1.store(self.0.rows.len(), Relaxed);
    }

    fn row_len(&self, row: RowId) -> Option<usize> {
        self.0.row_len(row)
    }

    fn run(&mut self, rows: &[RowRun<'_>], hidden: bool) -> Result<RunOutput<'_>, ModelError> {
        self.0.run(rows, hidden)
    }

    fn stats(&self) -> ModelStats {
        self.0.stats()
    }
}

#[test]
fn outputs_come_as_they_are_found() {
    let case = &cases()[0];
    for (strategy, outputs) in strategies(case) {
        let mut texts = vec![String::new(); 20];
        let request = case.request(case.options(2, outputs), strategy);
        let found = case.scheduler().run_with(request, |number, delta| {
            texts[number].push_str(delta.text);
            ControlFlow::Continue(())
        });
        let found = found.unwrap().all().unwrap();
        for (output, text) in found.iter().zip(&texts) {
            assert_eq!(&output.generation.text, text);
        }
    }
}

#[test]
fn strategies_are_read_from_json() {
    let smc = r#"{"name": "smc", "particles": 8, "resampling": "multinomial"}"#;
    let smc: Strategy = serde_json::from_str(smc).unwrap();
    let expected = SmcOptions {
        particles: 8,
        resampling: Resampling::Multinomial,
        ..SmcOptions::default()
    };
    assert_eq!(smc, Strategy::Smc(expected));
    for (strategy, _) in strategies(&cases()[1]) {
        let json = serde_json::to_string(&strategy).unwrap();
        assert_eq!(serde_json::from_str::<Strategy>(&json).unwrap(), strategy);
    }
    for wrong in [
        r#"{"name": "asap", "outputs": 3}"#,
        r#"{"name": "rejection", "forced_end": "maybe"}"#,
    ] {
        assert!(serde_json::from_str::<Strategy>(wrong).is_err());
    }
}
