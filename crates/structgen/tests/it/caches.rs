//! The cache on the embedded model: outputs are the same with and without it, up to rounding.

use structgen::decode::{
    LanguageModel, Request, Scheduler, SchedulerLimits, Unconstrained, request::ContextOverflow,
};
use structgen::vocab::{TokenId, TokenMask};
use structgen::{Constraint, GenerateOptions, ModelOptions, SchemaOptions};

use crate::support::{MARGIN, bare, last, logits_after, model, open};

const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "required": ["name", "age"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}}}"#;

fn tokens(n: usize) -> Vec<TokenId> {
    (0..n as u32).map(|i| TokenId(5 + i * 31 % 990)).collect()
}

fn assert_close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() < MARGIN, "{x} and {y}");
    }
}

#[test]
fn cached_cut_and_forked_runs_equal_uncached_ones() {
    let mut model = bare();
    let tokens = tokens(300);
    let cached = model.open_row().unwrap();
    last(&mut model, cached, &tokens[..40]);
    for length in [41, 64, 65, 130, 131, 300] {
        let uncached = logits_after(&mut model, &tokens[..length]);
        let so_far = model.row_len(cached).unwrap();
        let appended = last(&mut model, cached, &tokens[so_far..length]);
        assert_close(&appended, &uncached);
        // Cut by more and more, and run again.
        for back in [1, 2, 17] {
            model.cut_row(cached, length - back).unwrap();
            let again = last(&mut model, cached, &tokens[length - back..length]);
            assert_close(&again, &uncached);
        }
        let fork = model.fork_row(cached, length - 5).unwrap();
        let forked = last(&mut model, fork, &tokens[length - 5..length]);
        assert_close(&forked, &uncached);
        // The formula gives the size of the tensors.
        let bytes = length * model.info().cache_bytes_per_token;
        assert_eq!(
            (model.row_len(fork), model.row_bytes(fork)),
            (Some(length), bytes)
        );
        model.close_row(fork);
    }
}

#[test]
fn a_prompt_that_begins_like_another_is_run_from_where_it_parts() {
    let plain = open(&ModelOptions::new());
    let reusing = open(&ModelOptions::new().with_prefix_cache(4_000_000));
    let schema = Constraint::json_schema_str(SCHEMA, &SchemaOptions::new()).unwrap();
    let compiled = plain.compile(&schema).unwrap();
    let options = GenerateOptions {
        max_new_tokens: Some(80),
        ..GenerateOptions::default()
    };
    let mut limits = SchedulerLimits::default();
    limits.prefix_bytes = 4_000_000;
    let vocabulary = plain.tokenizer().vocabulary().clone();
    let mut scheduler = Scheduler::new(bare(), vocabulary).with_limits(limits);
    let texts = ["Ada is 36 years old", "Bob turned 7", "Ada is 36 years old"];
    let mut reused = Vec::new();
    for text in texts {
        let prompt = format!("<schema>{{\"name\":string,\"age\":int}}<text>{text}<json>");
        let prompt = plain.encode_prompt(&prompt).unwrap();
        let expected = plain.generate(&prompt, Some(&compiled), &options).unwrap();
        assert_eq!(expected.stats.reused_tokens, 0);
        let output = reusing
            .generate(&prompt, Some(&compiled), &options)
            .unwrap();
        assert_eq!(output.text, expected.text);
        reused.push((output.stats.reused_tokens, prompt.len()));
        let request = Request::new(prompt, compiled.matcher()).with_options(options.clone());
        let output = scheduler.run(request).unwrap().single().unwrap();
        assert_eq!(output.text, expected.text);
    }
    let [(first, _), (second, _), (third, len)] = reused[..] else {
        panic!("three texts");
    };
    // Nothing, the schema, and all but the last token, whose logits are needed.
    assert!(first == 0 && second > 8, "{reused:?}");
    assert!(third >= len - 1, "{reused:?}");
    let stats = scheduler.prefix_stats();
    assert_eq!((stats.hits, stats.misses), (2, 1));
    assert_eq!(stats.reused_tokens as usize, second + third);
    assert!(
        stats.bytes <= limits.prefix_bytes && stats.kept > 0,
        "{stats:?}"
    );
}

#[test]
fn prompts_in_pieces_and_cropped_texts_equal_runs_without_a_cache() {
    let vocabulary = model().tokenizer().vocabulary().clone();
    let mut model = bare();
    let (context_length, width) = (model.info().context_length, model.info().logits_width);
    let prompt = tokens(context_length - 3);
    let options = GenerateOptions {
        max_new_tokens: Some(8),
        overflow: ContextOverflow::Crop { keep: 20 },
        ..GenerateOptions::default()
    };
    let mut outputs = Vec::new();
    for chunk in [usize::MAX, 100] {
        let mut limits = SchedulerLimits::default();
        (limits.prefill_chunk, limits.prefill_most) = (chunk, chunk);
        limits.prefix_bytes = 100_000_000;
        let mut scheduler = Scheduler::new(bare(), vocabulary.clone()).with_limits(limits);
        let free = Unconstrained::new(TokenMask::full(width), &[]);
        let request = Request::new(&prompt[..], free).with_options(options.clone());
        let output = scheduler.run(request).unwrap().single().unwrap();
        assert_eq!((output.tokens.len(), output.stats.crops), (8, 1));
        outputs.push(output);
    }
    // Each token has the largest logit, or nearly, of a run over what the model sees.
    for output in &outputs {
        let mut shown = prompt.clone();
        for token in &output.tokens {
            if shown.len() > context_length {
                let tail = shown.len() - (context_length - 20) / 2;
                shown = [&shown[..20], &shown[tail..]].concat();
            }
            let logits = logits_after(&mut model, &shown);
            let largest = logits.iter().copied().fold(f32::MIN, f32::max);
            assert!(largest - logits[token.id.index()] < MARGIN);
            shown.push(token.id);
        }
    }
}
