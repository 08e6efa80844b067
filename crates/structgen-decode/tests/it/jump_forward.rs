//! Text that the constraint forces, in an encoder's tokens.

use std::sync::Arc;

use serde_json::{Value, json};
use structgen_constraint::Matcher;
use structgen_decode::{
    GenerateError, GenerateOptions, Generation, MockModel, Request, SamplingParams, Scheduler,
    request::JumpForward,
    strategies::{PromptLookup, Speculation},
};
use structgen_vocab::Vocabulary;

use crate::support::{EOS, constraint, essence, prompt, run, run_all, scheduler, vocabulary};

fn schema() -> Value {
    json!({"type": "object", "additionalProperties": false, "required": ["name", "true", "n"],
        "properties": {"name": {"type": "boolean"}, "true": {"enum": ["name", "x"]}, "n": {"type": "integer", "minimum": 0}}})
}

fn options(jump_forward: JumpForward, seed: u64) -> GenerateOptions {
    GenerateOptions {
        sampling: SamplingParams {
            temperature: 1.5,
            seed,
            ..SamplingParams::default()
        },
        max_new_tokens: Some(80),
        jump_forward,
        log_probs: true,
        ..GenerateOptions::default()
    }
}

fn model(vocabulary: &Vocabulary, seed: u64) -> MockModel {
    MockModel::new(vocabulary.len(), 300, [EOS]).with_seed(seed)
}

fn request(vocabulary: &Arc<Vocabulary>, options: GenerateOptions) -> Request<Matcher> {
    let matcher = constraint(vocabulary, &schema()).matcher();
    Request::new(prompt(4, 1), matcher).with_options(options)
}

fn generate(vocabulary: &Arc<Vocabulary>, jump: JumpForward, seed: u64) -> Generation {
    let request = request(vocabulary, options(jump, seed));
    let outputs = run(&model(vocabulary, seed), vocabulary, request);
    outputs.unwrap().single().unwrap()
}

/// Formats the tokens of an output as text, with forced ones in brackets.
fn shown(vocabulary: &Vocabulary, output: &Generation) -> String {
    let tokens = output.tokens.iter().map(|token| {
        let bytes = vocabulary.token_bytes(token.id).unwrap();
        let text = String::from_utf8_lossy(bytes);
        match token.forced {
            true => format!("[{text}]"),
            false => format!(" {text} "),
        }
    });
    tokens.collect()
}

#[test]
fn forced_text_is_written_as_the_encoder_writes_it_and_choices_are_left() {
    let vocabulary = vocabulary();
    let (mut exact, mut canonical) = (0, 0);
    for seed in 0..40 {
        let output = generate(&vocabulary, JumpForward::Canonical, seed);
        serde_json::from_str::<Value>(&output.text).unwrap();
        // The forced text is tokenized in the longest tokens.
        let text = shown(&vocabulary, &output);
        assert!(text.starts_with("[{\"][name]"), "{text}");
        assert!(output.tokens.iter().all(|token| token.log_probs.is_some()));
        canonical += output.stats.runs;
        exact += generate(&vocabulary, JumpForward::Exact, seed).stats.runs;
    }
    assert!(canonical * 5 < exact * 4, "{canonical} and {exact} runs");
}

#[test]
fn a_stretch_takes_one_run_together_with_what_follows() {
    let vocabulary = vocabulary();
    let output = generate(&vocabulary, JumpForward::Canonical, 3);
    let chosen = output.tokens.iter().filter(|token| !token.forced).count();
    let text = shown(&vocabulary, &output);
    // The end of the number may be a choice, like an end of sequence; nothing else takes a run.
    assert!(output.stats.runs as usize <= chosen + 1, "{text}");
    assert!(chosen < output.tokens.len(), "{text}");
}

#[test]
fn batches_and_drafts_jump_alike() {
    let vocabulary = vocabulary();
    for seed in 0..30 {
        let single = essence(&Ok(generate(&vocabulary, JumpForward::Canonical, seed)));
        let short = request(&vocabulary, options(JumpForward::Canonical, seed));
        let long = Request {
            prompt: prompt(9, 2),
            ..short.clone()
        };
        let speculation = Speculation {
            lookup: Some(PromptLookup::default()),
            forced_text: true,
            ..Speculation::default()
        };
        let drafted = short.clone().with_strategy(speculation);
        let mut scheduler = scheduler(model(&vocabulary, seed), &vocabulary);
        let outputs = run_all(&mut scheduler, [long, short, drafted]);
        assert_eq!(essence(&outputs[1]), single);
        assert_eq!(essence(&outputs[2]), single);
    }
}

#[test]
fn without_an_encoder_it_is_an_error() {
    let vocabulary = vocabulary();
    let mut scheduler = Scheduler::new(model(&vocabulary, 0), vocabulary.clone());
    let jump = request(&vocabulary, options(JumpForward::Canonical, 1));
    assert!(matches!(
        scheduler.submit(jump),
        Err(GenerateError::NoEncoder)
    ));
    let speculation = Speculation {
        forced_text: true,
        ..Speculation::default()
    };
    let draft = request(&vocabulary, GenerateOptions::default()).with_strategy(speculation);
    assert!(matches!(
        scheduler.submit(draft),
        Err(GenerateError::NoEncoder)
    ));
    assert!(scheduler.is_idle());
}
