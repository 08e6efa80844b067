//! The loop with real constraints: whatever the model prefers, the output is complete, valid and within its budget.

use proptest::prelude::*;
use serde_json::Value;
use structgen_decode::{
    FinishReason, GenerateError, GenerateOptions, MockModel, Request, SamplingParams,
    request::StopText,
};
use structgen_vocab::{TokenId, Vocabulary};

use crate::support::{EOS, constraint, regex_constraint, run, schemas, vocabulary};

/// A model that always prefers one kind of token is the hardest test of termination.
fn stubborn(vocabulary: &Vocabulary, likes: &[u8]) -> MockModel {
    let mut model = MockModel::new(vocabulary.len(), 4096, [EOS]);
    for &byte in likes {
        model = model.preferring(TokenId(u32::from(byte)), 100.0);
    }
    model.preferring(EOS, -100.0)
}

#[test]
fn stubborn_models_are_closed_within_every_budget_that_suffices() {
    let vocabulary = vocabulary();
    for schema in schemas() {
        let constraint = constraint(&vocabulary, &schema);
        let needed = constraint.matcher().completion_cost().unwrap() as usize;
        for likes in [&b"a"[..], b" ", b"\"", b"0123456789", b"[{", b"\\"] {
            for budget in [needed, needed + 1, needed + 7, needed + 60] {
                let model = stubborn(&vocabulary, likes);
                let options = GenerateOptions {
                    max_new_tokens: Some(budget),
                    ..GenerateOptions::default()
                };
                let request = Request::new([TokenId(65)], constraint.matcher());
                let output = run(&model, &vocabulary, request.with_options(options))
                    .and_then(|outputs| outputs.single())
                    .unwrap_or_else(|error| panic!("{schema} with {budget} tokens: {error}"));
                assert!(output.tokens.len() <= budget);
                serde_json::from_str::<Value>(&output.text)
                    .unwrap_or_else(|error| panic!("{:?}: {error}", output.text));
            }
        }
    }
}

#[test]
fn one_token_too_few_is_refused_before_the_model_runs() {
    let vocabulary = vocabulary();
    for schema in schemas() {
        let constraint = constraint(&vocabulary, &schema);
        let needed = constraint.matcher().completion_cost().unwrap();
        let model = stubborn(&vocabulary, b"a");
        let options = GenerateOptions {
            max_new_tokens: Some(needed as usize - 1),
            ..GenerateOptions::default()
        };
        let request = Request::new([TokenId(65)], constraint.matcher());
        let error = run(&model, &vocabulary, request.with_options(options)).unwrap_err();
        let GenerateError::BudgetTooSmall {
            needed: said,
            available,
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!((said, available as u64), (needed, needed - 1));
    }
}

#[test]
fn a_stop_string_that_starts_inside_a_token_leaves_an_output_that_is_judged_by_its_text() {
    let vocabulary = vocabulary();
    let name = TokenId(263);
    assert_eq!(vocabulary.token_bytes(name), Some(&b"name"[..]));
    let model = MockModel::new(vocabulary.len(), 4096, [EOS]).preferring(name, 100.0);
    let cut = |pattern: &str, stop: &str, stop_text| {
        let options = GenerateOptions {
            stop: vec![stop.to_owned()],
            stop_text,
            max_new_tokens: Some(20),
            ..GenerateOptions::default()
        };
        let constraint = regex_constraint(&vocabulary, pattern, &[EOS]);
        let request = Request::new([TokenId(65)], constraint.matcher()).with_options(options);
        let outputs = run(&model, &vocabulary, request).unwrap();
        outputs.single().map(|output| output.text)
    };
    for (pattern, stop, stop_text, text) in [
        ("[a-z]+", "m", StopText::Trimmed, "na"),
        ("[a-z]+", "m", StopText::Kept, "nam"),
        // It starts inside one token, and ends inside the next.
        ("[a-z]+", "en", StopText::Trimmed, "nam"),
        ("(name)*na", "men", StopText::Trimmed, "na"),
    ] {
        assert_eq!(
            cut(pattern, stop, stop_text).unwrap(),
            text,
            "{pattern} {stop}"
        );
    }
    for (pattern, stop) in [("(name)+", "m"), ("(name)+", "en"), ("[a-z]{3,}", "m")] {
        let error = cut(pattern, stop, StopText::Trimmed).unwrap_err();
        assert!(
            matches!(error, GenerateError::Incomplete(_)),
            "{pattern} {stop}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn sampled_outputs_parse_and_report_why_they_ended(
        which in 0usize..5,
        seed in any::<u64>(),
        temperature in 0.0f32..2.0,
        top_k in 0usize..30,
        budget in 40usize..200,
    ) {
        let vocabulary = vocabulary();
        let schema = &schemas()[which];
        let constraint = constraint(&vocabulary, schema);
        let model = MockModel::new(vocabulary.len(), 4096, [EOS]).with_seed(seed);
        let options = GenerateOptions {
            max_new_tokens: Some(budget),
            sampling: SamplingParams { temperature, top_k, seed, ..SamplingParams::default() },
            ..GenerateOptions::default()
        };
        let mut matcher = constraint.matcher();
        let request = Request::new([TokenId(65)], matcher.clone()).with_options(options);
        let output = run(&model, &vocabulary, request).unwrap().single().unwrap();
        for token in output.tokens.iter().chain(&output.end) {
            matcher.accept_token(token.id).unwrap();
        }
        prop_assert!(serde_json::from_str::<Value>(&output.text).is_ok(), "{}", output.text);
        match output.finish {
            FinishReason::Eos(EOS) | FinishReason::ConstraintFinished => {
                prop_assert!(matcher.is_finished());
            }
            FinishReason::MaxTokens => prop_assert_eq!(output.tokens.len(), budget),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
