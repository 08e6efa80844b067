//! Samplers give the same results as transformers and llama.cpp, on 200 vectors each: peaked, flat, bimodal, ordinary
//! and odd ones.
//!
//! The recorded values are in `goldens/`, with the scripts that created them; vectors and histories are generated from
//! their numbers, here as in `goldens/vectors.py`.

use std::collections::BTreeMap;

use serde_json::Value;
use structgen_decode::{
    SamplingParams,
    samplers::{
        Accepted, AdaptiveP, BadWords, Candidates, Dry, DryParams, DynamicTemperature, Epsilon,
        Eta, FrequencyPresencePenalty, LengthDecay, LogitBias, MinLength, MinP, Mirostat,
        Mirostat2, NoRepeatNGram, OrderPreset, PenaltyScope, RepetitionPenalty, Sampler,
        SamplerChain, SequenceRng, SequenceStart, Suppress, Temperature, TopH, TopK, TopNSigma,
        TopP, TypicalP, Watermark, WatermarkParams, Xtc,
    },
};
use structgen_vocab::TokenId;

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

fn vector(number: usize, longest: usize) -> Vec<f32> {
    let mut random = Random(number as u64);
    let (kind, odd) = (number % 5, number / 5);
    let mut n = 2 + random.below(longest - 1);
    if kind == 4 && odd < 3 {
        n = longest.min(odd + 1);
    }
    let mut logit = |i: usize| {
        let noise = random.uniform() + random.uniform() + random.uniform() + random.uniform() - 2.0;
        match (kind, odd % 4) {
            (0, _) => noise * 4.0 + if i % 17 == number % 17 { 12.0 } else { 0.0 },
            (1, _) => noise * 0.125,
            (2, _) => noise * 1.5 + if random.below(2) == 1 { 8.0 } else { 0.0 },
            (3, _) => noise * 5.0 - 3.0,
            (_, 0) => noise * 4096.0,
            (_, 1) => noise * 2.0 - 24.0,
            (_, 2) => noise * 0.031_25,
            _ => noise * 20.0,
        }
    };
    let mut logits = Vec::new();
    // Which of two equal logits comes first is only our own rule: avoid ties.
    while logits.len() < n {
        let logit = logit(logits.len()) as f32;
        if !logits.contains(&logit) {
            logits.push(logit);
        }
    }
    logits
}

fn history(number: usize, n: usize, length: usize) -> Vec<TokenId> {
    let mut random = Random(1_000_000 + number as u64);
    let mut tokens = Vec::new();
    while tokens.len() < length {
        if tokens.len() > 4 && random.below(2) == 1 {
            let start = random.below(tokens.len() - 2);
            let end = (start + 1 + random.below(4)).min(tokens.len());
            tokens.extend_from_within(start..end);
        } else {
            tokens.push(TokenId(random.below(n) as u32));
        }
        if tokens.len() >= length {
            break;
        }
    }
    tokens.truncate(length);
    tokens
}

/// A recorded case: the vector's number, parameters, and last the result.
struct Entry(Vec<Value>);

impl Entry {
    fn float(&self, i: usize) -> f32 {
        self.0[i].as_f64().unwrap() as f32
    }

    fn int(&self, i: usize) -> usize {
        self.0[i].as_u64().unwrap() as usize
    }

    fn last(&self) -> &Value {
        self.0.last().unwrap()
    }

    fn kept(&self) -> &str {
        self.last().as_str().unwrap()
    }
}

fn entries(file: &str, name: &str) -> Vec<Entry> {
    let path = format!("{}/tests/goldens/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut all: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    let Some(Value::Array(entries)) = all.remove(name) else {
        panic!("{file} has no {name}")
    };
    assert!(entries.len() > 150, "{name}: {}", entries.len());
    entries
        .into_iter()
        .map(|entry| match entry {
            Value::Array(values) => Entry(values),
            other => panic!("{other}"),
        })
        .collect()
}

fn candidates(logits: &[f32]) -> Candidates {
    Candidates::from_pairs((0..).map(TokenId).zip(logits.iter().copied()))
}

fn digits(kept: &Candidates, n: usize) -> String {
    let mut digits = vec![0u32; n.div_ceil(4)];
    for id in kept.ids() {
        digits[id.index() / 4] |= 1 << (id.0 % 4);
    }
    digits
        .iter()
        .map(|&digit| char::from_digit(digit, 16).unwrap())
        .collect()
}

/// Compares kept sets.
fn kept(file: &str, name: &str, mut apply: impl FnMut(&Entry, &mut Candidates)) {
    for entry in entries(file, name) {
        let logits = vector(entry.int(0), 256);
        let mut c = candidates(&logits);
        apply(&entry, &mut c);
        let found = digits(&c, logits.len());
        assert_eq!(found, entry.kept(), "{file} {name} {:?}", entry.0);
    }
}

/// Compares logits, and kept sets where some are `-inf`; `tolerance` is relative, and absolute below one.
fn same_logits(
    expected: &str,
    c: &Candidates,
    tolerance: f32,
    n: usize,
    what: &dyn Fn() -> String,
) {
    assert_eq!(expected.len(), n * 8);
    let mut found = vec![f32::NEG_INFINITY; n];
    for (id, &logit) in c.ids().iter().zip(c.logits()) {
        found[id.index()] = logit;
    }
    for (i, &found) in found.iter().enumerate() {
        let bits = u32::from_str_radix(&expected[i * 8..i * 8 + 8], 16).unwrap();
        let expected = f32::from_bits(bits);
        let near = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        assert!(
            found == expected || near,
            "{found} is not {expected} at {i}: {}",
            what()
        );
    }
}

fn logits(file: &str, name: &str, tolerance: f32, mut apply: impl FnMut(&Entry, &mut Candidates)) {
    for entry in entries(file, name) {
        let logits = vector(entry.int(0), 40);
        let mut c = candidates(&logits);
        apply(&entry, &mut c);
        let what = || format!("{file} {name} {:?}", entry.0);
        same_logits(entry.kept(), &c, tolerance, logits.len(), &what);
    }
}

const EXACT: f32 = 1e-6;

/// Prepares a sampler with a history of `length` tokens, of which the first `prompt` are the prompt.
fn behind(sampler: &mut dyn Sampler, number: usize, longest: usize, prompt: usize, length: usize) {
    let n = vector(number, longest).len();
    let tokens = history(number, n, length);
    sampler.reset(SequenceStart {
        prompt: &tokens[..prompt],
        prefilled: 0,
        eos: &[TokenId(1)],
    });
    for &token in &tokens[prompt..] {
        sampler.accept(Accepted::certain(token));
    }
}

#[test]
fn truncation_is_that_of_transformers() {
    let hf = "transformers";
    kept(hf, "top-k", |e, c| TopK::new(e.int(1)).apply(c));
    kept(hf, "top-k-ties", |e, c| {
        let halves = c.logits().iter().map(|l| (l * 0.5).round_ties_even());
        let halves: Vec<f32> = halves.collect();
        *c = candidates(&halves);
        TopK::new(e.int(1)).with_ties().apply(c);
    });
    kept(hf, "top-p", |e, c| TopP::new(e.float(1), e.int(2)).apply(c));
    kept(hf, "min-p", |e, c| MinP::new(e.float(1), e.int(2)).apply(c));
    kept(hf, "typical-p", |e, c| {
        TypicalP::new(e.float(1), 1).apply(c)
    });
    kept(hf, "epsilon", |e, c| Epsilon::new(e.float(1), 1).apply(c));
    kept(hf, "eta", |e, c| Eta::new(e.float(1), 1).apply(c));
    kept(hf, "top-h", |e, c| TopH::new(e.float(1)).apply(c));
}

#[test]
fn truncation_is_that_of_llama_cpp() {
    let llama = "llama_cpp";
    kept(llama, "top-k", |e, c| TopK::new(e.int(1)).apply(c));
    kept(llama, "top-p", |e, c| {
        TopP::new(e.float(1), e.int(2)).apply(c)
    });
    kept(llama, "min-p", |e, c| {
        MinP::new(e.float(1), e.int(2)).apply(c)
    });
    kept(llama, "typical-p", |e, c| {
        TypicalP::new(e.float(1), 1).apply(c)
    });
    kept(llama, "top-n-sigma", |e, c| {
        TopNSigma::new(e.float(1)).apply(c)
    });
    kept(llama, "xtc", |e, c| {
        Xtc::new(1.0, e.float(1), e.int(2), SequenceRng::new(0, 0)).apply(c);
    });
}

#[test]
fn bans_are_those_of_transformers() {
    let hf = "transformers";
    // If nothing would be left, this library keeps everything, and the other sets everything to -inf.
    let lifted = |e: &Entry, c: &mut Candidates, sampler: &mut dyn Sampler| {
        sampler.apply(c);
        if c.lifted_bans() > 0 {
            assert!(e.kept().bytes().all(|digit| digit == b'0'));
            c.keep_largest(0);
        }
    };
    kept(hf, "no-repeat-ngram", |e, c| {
        let mut sampler = NoRepeatNGram::new(e.int(1));
        behind(&mut sampler, e.int(0), 256, 0, e.int(2));
        lifted(e, c, &mut sampler);
    });
    kept(hf, "suppress", |e, c| {
        let ids: Vec<u32> = serde_json::from_value(e.0[1].clone()).unwrap();
        lifted(
            e,
            c,
            &mut Suppress::new(ids.into_iter().map(TokenId).collect()),
        );
    });
    kept(hf, "bad-words", |e, c| {
        let words: Vec<Vec<u32>> = serde_json::from_value(e.0[1].clone()).unwrap();
        let words = words
            .into_iter()
            .map(|ids| ids.into_iter().map(TokenId).collect());
        let mut sampler = BadWords::new(words.collect());
        behind(&mut sampler, e.int(0), 256, 0, e.int(2));
        lifted(e, c, &mut sampler);
    });
    kept(hf, "min-length", |e, c| {
        let mut sampler = MinLength::new(e.int(1), 0);
        behind(&mut sampler, e.int(0), 256, e.int(2), e.int(2));
        lifted(e, c, &mut sampler);
    });
    kept(hf, "min-new-tokens", |e, c| {
        let mut sampler = MinLength::new(0, e.int(1));
        behind(&mut sampler, e.int(0), 256, e.int(2), e.int(3));
        lifted(e, c, &mut sampler);
    });
}

#[test]
fn logits_are_those_of_transformers() {
    let hf = "transformers";
    logits(hf, "temperature", EXACT, |e, c| {
        Temperature::new(e.float(1)).apply(c)
    });
    logits(hf, "repetition-penalty", EXACT, |e, c| {
        let mut sampler = RepetitionPenalty::new(e.float(1));
        behind(&mut sampler, e.int(0), 40, 0, e.int(2));
        sampler.apply(c);
    });
    logits(hf, "repetition-of-output", EXACT, |e, c| {
        let mut sampler = RepetitionPenalty::new(e.float(1)).within(PenaltyScope::Output, 0);
        behind(&mut sampler, e.int(0), 40, e.int(2), e.int(3));
        sampler.apply(c);
    });
    logits(hf, "length-decay", 1e-5, |e, c| {
        let mut sampler = LengthDecay::new(e.int(1), e.float(2));
        behind(&mut sampler, e.int(0), 40, e.int(3), e.int(4));
        sampler.apply(c);
    });
    logits(hf, "logit-bias", EXACT, |e, c| {
        LogitBias::new(BTreeMap::from([(TokenId(e.int(1) as u32), e.float(2))])).apply(c);
    });
    logits(hf, "watermark", EXACT, |e, c| {
        let params = WatermarkParams {
            gamma: e.float(1),
            delta: e.float(2),
            ..WatermarkParams::default()
        };
        let mut sampler = Watermark::new(params);
        sampler.accept(Accepted::certain(TokenId(e.int(3) as u32)));
        sampler.apply(c);
    });
}

#[test]
fn logits_are_those_of_llama_cpp() {
    let llama = "llama_cpp";
    logits(llama, "temperature", EXACT, |e, c| {
        Temperature::new(e.float(1)).apply(c)
    });
    for entry in entries(llama, "dynamic-temperature") {
        let logits = vector(entry.int(0), 40);
        let mut c = candidates(&logits);
        // Transformers sums the entropy in single precision; the relative error grows as the entropy falls.
        let tolerance = (2e-5 + 1e-6 / c.entropy() as f32).min(2e-2);
        let (t, range) = (entry.float(1), entry.float(2));
        DynamicTemperature::new((t - range).max(0.0), t + range, entry.float(3)).apply(&mut c);
        let what = || format!("{:?}", entry.0);
        same_logits(entry.kept(), &c, tolerance, logits.len(), &what);
    }
    logits(llama, "penalties", EXACT, |e, c| {
        let window = e.int(1);
        let mut repetition = RepetitionPenalty::new(e.float(2)).within(PenaltyScope::All, window);
        let mut counts =
            FrequencyPresencePenalty::new(e.float(3), e.float(4)).within(PenaltyScope::All, window);
        for sampler in [&mut repetition as &mut dyn Sampler, &mut counts] {
            behind(sampler, e.int(0), 40, e.int(5) / 2, e.int(5));
            sampler.apply(c);
        }
    });
    logits(llama, "dry", EXACT, |e, c| {
        let mut sampler = Dry::new(&DryParams {
            multiplier: e.float(1),
            base: e.float(2),
            allowed_length: e.int(3),
            range: e.int(4),
            breakers: serde_json::from_value(e.0[5].clone()).unwrap(),
        });
        behind(&mut sampler, e.int(0), 40, e.int(6) / 2, e.int(6));
        sampler.apply(c);
    });
    logits(llama, "logit-bias", EXACT, |e, c| {
        LogitBias::new(BTreeMap::from([(TokenId(e.int(1) as u32), e.float(2))])).apply(c);
    });
}

/// Samplers that remember draws: three steps with the reference's draws, as long as `check` reports agreement.
fn steps(
    name: &str,
    longest: usize,
    make: impl Fn(&Entry) -> Box<dyn Sampler>,
    check: impl Fn(&Entry, &str, &Candidates) -> bool,
) {
    let mut agreed = 0;
    for entry in entries("llama_cpp", name) {
        let mut logits = vector(entry.int(0), longest);
        let mut sampler = make(&entry);
        for step in entry.last().as_array().unwrap() {
            let mut c = candidates(&logits);
            sampler.apply(&mut c);
            if !check(&entry, step[0].as_str().unwrap(), &c) {
                break;
            }
            agreed += 1;
            let drawn = TokenId(step[1].as_u64().unwrap() as u32);
            let p = c.log_prob(drawn).unwrap().exp();
            sampler.accept(Accepted::drawn(drawn, p));
            logits.rotate_right(1);
        }
    }
    assert!(agreed > 400, "{name}: {agreed} steps");
}

#[test]
fn samplers_that_choose_are_those_of_llama_cpp() {
    let kept = |entry: &Entry, expected: &str, c: &Candidates| {
        let n = vector(entry.int(0), 256).len();
        let found = digits(c, n);
        // A count of tokens beyond 32 bits becomes one token in the reference, and all here.
        let ones: u32 = expected
            .chars()
            .map(|d| d.to_digit(16).unwrap().count_ones())
            .sum();
        let beyond = ones == 1 && c.len() == n && !entry.int(0).is_multiple_of(5);
        assert!(found == expected || beyond, "{found}: {:?}", entry.0);
        found == expected
    };
    steps(
        "mirostat",
        256,
        |e| Box::new(Mirostat::new(e.float(1), e.float(2))),
        kept,
    );
    steps(
        "mirostat-2",
        256,
        |e| Box::new(Mirostat2::new(e.float(1), e.float(2))),
        |entry, expected, c| {
            assert_eq!(
                digits(c, vector(entry.int(0), 256).len()),
                expected,
                "{:?}",
                entry.0
            );
            true
        },
    );
    steps(
        "adaptive-p",
        40,
        |e| Box::new(AdaptiveP::new(e.float(1), e.float(2))),
        |e, expected, c| {
            let n = vector(e.int(0), 40).len();
            same_logits(expected, c, 2e-5, n, &|| format!("{:?}", e.0));
            true
        },
    );
}

fn chain(params: &SamplingParams, number: usize, length: usize, c: &mut Candidates) {
    let n = vector(number, 40).len();
    let mut chain = SamplerChain::new(params, 0).unwrap();
    chain.reset(SequenceStart {
        prompt: &history(number, n, length),
        prefilled: 0,
        eos: &[],
    });
    chain.choose(c).unwrap();
}

#[test]
fn whole_chains_are_those_of_transformers_and_llama_cpp() {
    logits("transformers", "chain", EXACT, |e, c| {
        let params = SamplingParams {
            repetition_penalty: e.float(1),
            no_repeat_ngram: 3,
            temperature: e.float(2),
            top_k: e.int(3),
            top_k_ties: true,
            top_p: e.float(4),
            min_p: e.float(5),
            typical_p: e.float(6),
            order: OrderPreset::HuggingFace.order(),
            ..SamplingParams::default()
        };
        chain(&params, e.int(0), e.int(7), c);
    });
    logits("llama_cpp", "chain", 2e-6, |e, c| {
        let params = SamplingParams {
            repetition_penalty: e.float(1),
            repetition_window: 64,
            frequency_penalty: e.float(2),
            presence_penalty: e.float(3),
            frequency_scope: PenaltyScope::All,
            frequency_window: 64,
            dry: Some(DryParams {
                multiplier: e.float(4),
                base: e.float(5),
                range: 64,
                ..DryParams::default()
            }),
            top_n_sigma: e.float(6),
            top_k: e.int(7),
            typical_p: e.float(8),
            top_p: e.float(9),
            min_p: e.float(10),
            temperature: e.float(11),
            order: OrderPreset::LlamaCpp.order(),
            ..SamplingParams::default()
        };
        chain(&params, e.int(0), e.int(12), c);
    });
}
