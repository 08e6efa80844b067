//! A single output: prefill, steps, and what ends it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use structgen_decode::{
    Constraint, FinishReason, GenerateError, GenerateOptions, Generation, MockModel,
    SamplingParams, Unconstrained,
    constraint::{AllowedTokens, ConstraintError, PlainMask},
    request::StopText,
};
use structgen_vocab::{TokenId, TokenMask, Vocabulary};

use crate::support::{generate, logits_after, stream};

const PROMPT: [TokenId; 2] = [TokenId(1), TokenId(2)];

/// Every printable ASCII character, a few longer tokens, the bytes of a euro sign, and `<eos>` as the last.
fn vocabulary() -> Arc<Vocabulary> {
    let mut tokens: Vec<Vec<u8>> = (b' '..=b'~').map(|b| vec![b]).collect();
    tokens.extend(
        [
            &b"ab"[..],
            b"bc",
            b"abc",
            b"[[",
            b"]]",
            b"\xe2",
            b"\x82\xac",
        ]
        .map(Vec::from),
    );
    let eos = TokenId(tokens.len() as u32);
    Arc::new(Vocabulary::from_tokens(tokens, &[(eos, "<eos>")]).unwrap())
}

fn eos(vocabulary: &Vocabulary) -> TokenId {
    TokenId(vocabulary.len() as u32 - 1)
}

fn token(vocabulary: &Vocabulary, text: &str) -> TokenId {
    let found = vocabulary
        .tokens()
        .find(|(_, bytes)| *bytes == text.as_bytes());
    found.unwrap().0
}

fn model(vocabulary: &Vocabulary, seed: u64) -> MockModel {
    MockModel::new(vocabulary.len(), 200, [eos(vocabulary)]).with_seed(seed)
}

/// A finite language, by trying every token on every string: slow, but obviously correct.
#[derive(Clone)]
struct Strings {
    vocabulary: Arc<Vocabulary>,
    language: Vec<Vec<u8>>,
    eos: [TokenId; 1],
    taken: Vec<TokenId>,
    ended: bool,
}

impl Strings {
    fn new(vocabulary: &Arc<Vocabulary>, language: &[&str]) -> Self {
        Self {
            vocabulary: Arc::clone(vocabulary),
            language: language.iter().map(|s| s.as_bytes().to_vec()).collect(),
            eos: [eos(vocabulary)],
            taken: Vec::new(),
            ended: false,
        }
    }

    fn text(&self) -> Vec<u8> {
        let bytes = self
            .taken
            .iter()
            .filter_map(|&t| self.vocabulary.token_bytes(t));
        bytes.collect::<Vec<_>>().concat()
    }

    fn rests(&self, text: &[u8]) -> Vec<Vec<u8>> {
        let rests = self.language.iter().filter_map(|s| s.strip_prefix(text));
        rests.map(<[u8]>::to_vec).collect()
    }

    fn cost(&self, text: &[u8]) -> u64 {
        let shortest = self.rests(text).into_iter().map(|rest| rest.len()).min();
        shortest.map_or(u64::MAX, |n| n as u64)
    }
}

impl Constraint for Strings {
    type Mask = PlainMask;

    fn mask(&mut self) -> Result<Arc<PlainMask>, ConstraintError> {
        let mut mask = TokenMask::new(self.vocabulary.len());
        let rests = self.rests(&self.text());
        for (id, bytes) in self.vocabulary.tokens() {
            if !self.ended && rests.iter().any(|rest| rest.starts_with(bytes)) {
                mask.allow(id);
            }
        }
        if self.is_accepting() && !self.ended {
            mask.allow(eos(&self.vocabulary));
        }
        Ok(Arc::new(PlainMask::new(mask)))
    }

    fn accept_token(&mut self, token: TokenId) -> Result<(), ConstraintError> {
        if !self.mask()?.bits().contains(token) {
            return Err(ConstraintError::new(std::fmt::Error));
        }
        self.ended = token == eos(&self.vocabulary);
        self.taken.push(token);
        Ok(())
    }

    fn is_accepting(&self) -> bool {
        self.language.contains(&self.text())
    }

    fn is_finished(&self) -> bool {
        let text = self.text();
        self.ended || (self.is_accepting() && self.rests(&text).iter().all(Vec::is_empty))
    }

    fn rollback(&mut self, n: usize) -> Result<(), ConstraintError> {
        self.taken.truncate(self.taken.len() - n);
        self.ended = false;
        Ok(())
    }

    fn forced_token(&mut self) -> Result<Option<TokenId>, ConstraintError> {
        let mask = self.mask()?;
        Ok((mask.count() == 1).then(|| mask.bits().first()).flatten())
    }

    fn eos(&self) -> &[TokenId] {
        &self.eos
    }

    fn completion_cost(&mut self) -> Result<u64, ConstraintError> {
        Ok(self.cost(&self.text()))
    }

    fn completion_cost_after(&mut self, token: TokenId) -> Result<u64, ConstraintError> {
        let text = [
            &self.text(),
            self.vocabulary.token_bytes(token).unwrap_or_default(),
        ]
        .concat();
        Ok(self.cost(&text))
    }
}

fn run(
    language: &[&str],
    change: impl FnOnce(MockModel, &Vocabulary) -> MockModel,
    options: &GenerateOptions,
) -> Result<Generation, GenerateError> {
    let vocabulary = vocabulary();
    let model = change(model(&vocabulary, 3), &vocabulary);
    let constraint = Strings::new(&vocabulary, language);
    generate(&model, &vocabulary, &PROMPT, &constraint, options)
}

fn plain(model: MockModel, _: &Vocabulary) -> MockModel {
    model
}

fn free(vocabulary: &Vocabulary) -> Unconstrained {
    Unconstrained::new(vocabulary.text_tokens().clone(), &[eos(vocabulary)])
}

fn at_most(n: usize) -> GenerateOptions {
    GenerateOptions {
        max_new_tokens: Some(n),
        ..GenerateOptions::default()
    }
}

fn sampled(seed: u64) -> GenerateOptions {
    GenerateOptions {
        sampling: SamplingParams {
            temperature: 1.0,
            seed,
            ..SamplingParams::default()
        },
        ..at_most(60)
    }
}

#[test]
fn every_output_is_in_the_language_whatever_the_model_likes() {
    let language = ["abc", "[[x]]", "a", "zz9"];
    for seed in 0..60 {
        let output = run(&language, |m, _| m.with_seed(seed), &sampled(seed)).unwrap();
        assert!(language.contains(&output.text.as_str()), "{}", output.text);
    }
}

#[test]
fn where_nothing_can_follow_generation_ends_without_a_step() {
    let output = run(&["a"], plain, &GenerateOptions::default()).unwrap();
    assert_eq!(output.text, "a");
    assert_eq!(output.finish, FinishReason::ConstraintFinished);
    assert_eq!((output.stats.runs, output.stats.forced_tokens), (0, 1));
    let empty = run(&[""], plain, &at_most(0)).unwrap();
    assert_eq!((empty.text.as_str(), empty.tokens.len()), ("", 0));
}

#[test]
fn forced_tokens_reach_the_model_in_one_run_with_what_follows() {
    let output = run(&["xyz1", "xyz2"], plain, &GenerateOptions::default()).unwrap();
    assert_eq!(output.stats.runs, 1);
    let forced: Vec<bool> = output.tokens.iter().map(|t| t.forced).collect();
    assert_eq!(forced, [true, true, true, false]);
}

#[test]
fn greedy_output_equals_one_forward_for_each_token() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary, 5);
    let output = generate(
        &model,
        &vocabulary,
        &PROMPT,
        &free(&vocabulary),
        &at_most(40),
    )
    .unwrap();
    let mut seen = PROMPT.to_vec();
    for generated in &output.tokens {
        let logits = logits_after(&model, &seen);
        let allowed = |id: &usize| {
            *id + 1 == logits.len() || vocabulary.text_tokens().contains(TokenId(*id as u32))
        };
        let best = (0..logits.len())
            .filter(allowed)
            .reduce(|a, b| if logits[b] > logits[a] { b } else { a });
        assert_eq!(best, Some(generated.id.index()));
        seen.push(generated.id);
    }
}

#[test]
fn equal_seeds_give_equal_output_and_others_do_not() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary, 1);
    let text = |seed| {
        let output = generate(
            &model,
            &vocabulary,
            &PROMPT,
            &free(&vocabulary),
            &sampled(seed),
        );
        output.unwrap().text
    };
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2));
}

#[test]
fn eos_ends_free_text_and_is_no_part_of_it() {
    let output = {
        let vocabulary = vocabulary();
        let end = eos(&vocabulary);
        let model = model(&vocabulary, 1).preferring(end, 100.0);
        let output = generate(
            &model,
            &vocabulary,
            &PROMPT,
            &free(&vocabulary),
            &at_most(40),
        )
        .unwrap();
        assert_eq!(output.finish, FinishReason::Eos(end));
        output
    };
    assert_eq!((output.text.as_str(), output.tokens.len()), ("", 0));
}

#[test]
fn eos_waits_for_the_minimum_length_unless_nothing_else_is_allowed() {
    let options = GenerateOptions {
        min_new_tokens: 3,
        ..at_most(10)
    };
    let eager = |m: MockModel, v: &Vocabulary| m.preferring(eos(v), 100.0);
    let output = run(&["a", "aaaaaa"], eager, &options).unwrap();
    assert_eq!(output.text, "aaaaaa");
    assert_eq!(output.stats.lifted_bans, 0);
}

#[test]
fn a_budget_below_the_shortest_output_fails_before_the_model_runs() {
    let error = run(&["abcdef"], plain, &at_most(5)).unwrap_err();
    expect_test::expect!["the output needs up to 6 tokens to be complete, and 5 are allowed; raise the number of new tokens to 6"].assert_eq(&error.to_string());
}

#[test]
fn a_stubborn_model_is_steered_to_an_end_within_the_budget() {
    let long = format!("[{}]", "x".repeat(50));
    let language: Vec<String> = (0..50).map(|n| format!("[{}]", "x".repeat(n))).collect();
    let mut language: Vec<&str> = language.iter().map(String::as_str).collect();
    language.push(&long);
    let stubborn = |m: MockModel, v: &Vocabulary| m.preferring(token(v, "x"), 100.0);
    for budget in 2..8 {
        let output = run(&language, stubborn, &at_most(budget)).unwrap();
        assert_eq!(output.text, format!("[{}]", "x".repeat(budget - 2)));
        assert!(output.tokens.len() <= budget);
        assert_eq!(output.stats.steered_steps, 1);
    }
}

#[test]
fn many_refused_choices_in_one_step_end_in_the_one_that_fits() {
    // Thirty first characters lead to long strings, one to a short one.
    let long: Vec<String> = (b'A'..b'A' + 30)
        .map(|c| format!("{}1234567", c as char))
        .collect();
    let mut language: Vec<&str> = long.iter().map(String::as_str).collect();
    language.push("z");
    for seed in 0..10 {
        let options = GenerateOptions {
            max_new_tokens: Some(3),
            ..sampled(seed)
        };
        let output = run(&language, plain, &options).unwrap();
        assert_eq!(output.text, "z");
    }
    // The largest of those that fit, if several do.
    language.push("y");
    for preferred in ["y", "z"] {
        let prefers = |m: MockModel, v: &Vocabulary| {
            let long = (b'A'..b'A' + 30).map(|c| (c as char).to_string());
            let model = long.fold(m, |m, c| m.preferring(token(v, &c), 100.0));
            model.preferring(token(v, preferred), 50.0)
        };
        let output = run(&language, prefers, &at_most(3)).unwrap();
        assert_eq!(output.text, preferred);
        assert_eq!(output.stats.steered_steps, 1);
    }
}

#[test]
fn structure_that_is_cut_is_an_error_with_what_there_is() {
    let options = GenerateOptions {
        stop: vec!["bc".into()],
        ..GenerateOptions::default()
    };
    let error = run(&["abcd"], plain, &options).unwrap_err();
    expect_test::expect![[
        r#"the output was cut after 2 tokens (stop string "bc") before it was complete"#
    ]]
    .assert_eq(&error.to_string());
    let GenerateError::Incomplete(incomplete) = error else {
        panic!("{error}")
    };
    assert_eq!(incomplete.partial.text, "a");
    assert_eq!(incomplete.reason(), &FinishReason::StopString("bc".into()));
}

#[test]
fn structure_that_a_stop_string_leaves_whole_is_no_error() {
    let chars = |m: MockModel, v: &Vocabulary| {
        m.preferring(token(v, "a"), 50.0)
            .preferring(token(v, ";"), 50.0)
    };
    for (stop_text, text) in [(StopText::Trimmed, "a"), (StopText::Kept, "a;")] {
        let options = GenerateOptions {
            stop: vec![";".into()],
            stop_text,
            ..GenerateOptions::default()
        };
        let output = run(&["a", "a;", "a;b"], chars, &options).unwrap();
        assert_eq!(output.text, text);
    }
}

#[test]
fn a_time_limit_of_nothing_cuts_before_the_first_run() {
    let options = GenerateOptions {
        time_limit: Some(Duration::ZERO),
        ..GenerateOptions::default()
    };
    let error = run(&["a1", "a2"], plain, &options).unwrap_err();
    let GenerateError::Incomplete(incomplete) = error else {
        panic!("{error}")
    };
    assert_eq!(incomplete.reason(), &FinishReason::TimeLimit);
    assert_eq!(incomplete.partial.text, "a");
}

#[test]
fn a_callback_sees_whole_characters_and_can_stop() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary, 3);
    let mut seen = Vec::new();
    let constraint = Strings::new(&vocabulary, &["x\u{20ac}yz"]);
    let error = stream(
        &model,
        &vocabulary,
        &PROMPT,
        &constraint,
        &GenerateOptions::default(),
        |delta| {
            seen.push(delta.text.to_owned());
            if delta.text == "y" {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    )
    .unwrap_err();
    assert_eq!(seen, ["x", "", "\u{20ac}", "y"]);
    let GenerateError::Incomplete(incomplete) = error else {
        panic!("{error}")
    };
    assert_eq!(incomplete.reason(), &FinishReason::Cancelled);
}

#[test]
fn a_broken_model_is_named_with_the_step() {
    let vocabulary = vocabulary();
    for bad in [f32::NAN, f32::NEG_INFINITY] {
        for options in [at_most(9), sampled(1)] {
            let mut model = model(&vocabulary, 3);
            for (id, _) in vocabulary.tokens() {
                model = model.preferring(id, bad);
            }
            let constraint = Strings::new(&vocabulary, &["xa", "xb"]);
            let error = generate(&model, &vocabulary, &PROMPT, &constraint, &options).unwrap_err();
            assert!(
                matches!(
                    error,
                    GenerateError::NoFiniteLogit {
                        step: 1,
                        allowed: 2
                    }
                ),
                "{error}"
            );
        }
    }
}

#[test]
fn misuse_is_refused_with_both_numbers() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary, 3);
    let fail = |prompt: &[TokenId], options: &GenerateOptions| {
        let constraint = Strings::new(&vocabulary, &["ab"]);
        let error = generate(&model, &vocabulary, prompt, &constraint, options);
        error.unwrap_err().to_string()
    };
    let bad_sampling = GenerateOptions {
        sampling: SamplingParams {
            top_p: 2.0,
            ..SamplingParams::default()
        },
        ..GenerateOptions::default()
    };
    let bad_stop = GenerateOptions {
        stop: vec!["x".into(), String::new()],
        ..GenerateOptions::default()
    };
    let bad_prefill = GenerateOptions {
        prefill: vec![token(&vocabulary, "a"), token(&vocabulary, "z")],
        ..GenerateOptions::default()
    };
    let errors = [
        fail(&[], &GenerateOptions::default()),
        fail(&[TokenId(1); 190], &at_most(11)),
        fail(&[TokenId(1); 200], &GenerateOptions::default()),
        fail(&[TokenId(1); 199], &GenerateOptions::default()),
        fail(&PROMPT, &bad_sampling),
        fail(&PROMPT, &bad_stop),
        fail(&PROMPT, &bad_prefill),
    ];
    expect_test::expect![[r#"
        the prompt is empty: the model needs at least one token, such as its start token
        a prompt of 190 tokens and 11 new tokens do not fit the model's context of 200; shorten the prompt or lower the number of new tokens
        a prompt of 200 tokens and 1 new tokens do not fit the model's context of 200; shorten the prompt or lower the number of new tokens
        the output needs up to 2 tokens to be complete, and 1 are allowed; raise the number of new tokens to 2
        top_p is 2, and must be from 0 to 1
        stop string number 1 is empty
        token 1 of the prefill does not match the constraint"#]].assert_eq(&errors.join("\n"));
}

#[test]
fn a_prefill_is_part_of_the_text_and_costs_no_tokens() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary, 3);
    let constraint = Strings::new(&vocabulary, &["abcd", "abce"]);
    let options = GenerateOptions {
        prefill: vec![token(&vocabulary, "abc")],
        ..at_most(1)
    };
    let mut joined = String::new();
    let output = stream(
        &model,
        &vocabulary,
        &PROMPT,
        &constraint,
        &options,
        |delta| {
            joined.push_str(delta.text);
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    assert!(["abcd", "abce"].contains(&output.text.as_str()));
    assert_eq!(joined, output.text);
    assert_eq!((output.tokens.len(), output.stats.prompt_tokens), (1, 3));
}

#[test]
fn log_probabilities_of_free_and_forced_tokens_match_a_recomputation() {
    let vocabulary = vocabulary();
    let model = model(&vocabulary, 9);
    let options = GenerateOptions {
        log_probs: true,
        ..sampled(4)
    };
    let constraint = Strings::new(&vocabulary, &["(a)(q)", "(b)(q)", "(a)(r)!"]);
    let output = generate(&model, &vocabulary, &PROMPT, &constraint, &options).unwrap();
    let mut seen = PROMPT.to_vec();
    let mut replay = Strings::new(&vocabulary, &["(a)(q)", "(b)(q)", "(a)(r)!"]);
    for generated in &output.tokens {
        let logits = logits_after(&model, &seen);
        let of = |ids: &[TokenId]| {
            let sum: f64 = ids
                .iter()
                .map(|id| f64::from(logits[id.index()]).exp())
                .sum();
            (f64::from(logits[generated.id.index()]) - sum.ln()) as f32
        };
        let all: Vec<TokenId> = (0..logits.len() as u32).map(TokenId).collect();
        let allowed: Vec<TokenId> = replay.mask().unwrap().bits().iter().collect();
        let scores = generated.log_probs.unwrap();
        assert!((scores.model - of(&all)).abs() < 1e-5);
        assert!((scores.allowed - of(&allowed)).abs() < 1e-5);
        assert_eq!(generated.forced, allowed.len() == 1);
        replay.accept_token(generated.id).unwrap();
        seen.push(generated.id);
    }
}

#[test]
fn sampling_follows_the_constrained_distribution() {
    let vocabulary = vocabulary();
    let language = ["a", "b", "c"];
    let model = model(&vocabulary, 21);
    let logits = logits_after(&model, &PROMPT);
    let weights = language.map(|s| f64::from(logits[token(&vocabulary, s).index()] / 4.0).exp());
    let total: f64 = weights.iter().sum();
    let n = 3000;
    let mut counts = BTreeMap::<String, f64>::new();
    for seed in 0..n {
        let mut options = sampled(seed);
        options.sampling.temperature = 4.0;
        let constraint = Strings::new(&vocabulary, &language);
        let output = generate(&model, &vocabulary, &PROMPT, &constraint, &options).unwrap();
        *counts.entry(output.text).or_default() += 1.0;
    }
    // Chi-squared with two degrees of freedom: 13.8 is exceeded by chance once in a thousand.
    let chi: f64 = language
        .iter()
        .zip(weights)
        .map(|(s, w)| {
            let expected = w / total * n as f64;
            (counts.get(*s).unwrap_or(&0.0) - expected).powi(2) / expected
        })
        .sum();
    assert!(chi < 13.8, "{counts:?}");
}

#[test]
fn forced_tokens_at_the_very_end_are_scored_too() {
    let output = run(
        &["abc"],
        plain,
        &GenerateOptions {
            log_probs: true,
            ..at_most(3)
        },
    )
    .unwrap();
    assert_eq!(output.text, "abc");
    assert!(output.tokens.iter().all(|t| t.log_probs.is_some()));
}
