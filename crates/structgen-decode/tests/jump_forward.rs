//! Text that the constraint forces, in the tokens of an encoder.

mod support;

use serde_json::{Value, json};
use structgen_decode::{
    GenerateError, GenerateOptions, Generation, Generator, JumpForward, LanguageModel, MockEncoder,
    MockModel, PromptLookup, Request, SamplingParams, Speculation,
};
use structgen_vocab::Vocabulary;
use support::{EOS, constraint, essence, prompt, vocabulary};

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

fn generate(vocabulary: &std::sync::Arc<Vocabulary>, jump: JumpForward, seed: u64) -> Generation {
    let encoder = MockEncoder(vocabulary.clone());
    let mut model = MockModel::new(vocabulary.len(), 300, [EOS]).with_seed(seed);
    Generator::new(&mut model, vocabulary)
        .with_encoder(&encoder)
        .generate(
            &prompt(4, 1),
            &mut constraint(vocabulary, &schema()).matcher(),
            &options(jump, seed),
        )
        .unwrap()
}

/// The tokens of an output as text, those that were forced between brackets.
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
        // What was forced is what the longest tokens give.
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
    // The end of the number may be chosen as an end of sequence would be; nothing else takes a run.
    assert!(output.stats.runs as usize <= chosen + 1, "{text}");
    assert!(chosen < output.tokens.len(), "{text}");
}

#[test]
fn batches_and_drafts_jump_alike() {
    let vocabulary = vocabulary();
    let encoder = MockEncoder(vocabulary.clone());
    let compiled = constraint(&vocabulary, &schema());
    for seed in 0..30 {
        let options = options(JumpForward::Canonical, seed);
        let single = essence(&Ok(generate(&vocabulary, JumpForward::Canonical, seed)));
        let mut model = MockModel::new(vocabulary.len(), 300, [EOS]).with_seed(seed);
        let mut generator = Generator::new(&mut model, &vocabulary).with_encoder(&encoder);
        let (short, long) = (prompt(4, 1), prompt(9, 2));
        let requests = vec![
            Request::new(&long, compiled.matcher(), &options),
            Request::new(&short, compiled.matcher(), &options),
        ];
        let outputs = generator.generate_batch(requests).unwrap();
        assert_eq!(essence(&outputs[1]), single);
        let mut speculation = Speculation::new()
            .with_lookup(PromptLookup::default())
            .with_forced_text();
        let mut matcher = compiled.matcher();
        let drafted =
            generator.generate_speculative(&short, &mut matcher, &options, &mut speculation);
        assert_eq!(essence(&drafted), single);
    }
}

#[test]
fn without_an_encoder_it_is_an_error() {
    let vocabulary = vocabulary();
    let mut model = MockModel::new(vocabulary.len(), 300, [EOS]);
    let mut matcher = constraint(&vocabulary, &schema()).matcher();
    let options = options(JumpForward::Canonical, 1);
    let mut generator = Generator::new(&mut model, &vocabulary);
    let jump = generator.generate(&prompt(4, 1), &mut matcher, &options);
    assert!(matches!(jump, Err(GenerateError::NoEncoder)));
    let mut speculation = Speculation::new().with_forced_text();
    let options = GenerateOptions::default();
    let draft =
        generator.generate_speculative(&prompt(4, 1), &mut matcher, &options, &mut speculation);
    assert!(matches!(draft, Err(GenerateError::NoEncoder)));
    assert_eq!(model.stats().runs, 0);
}
