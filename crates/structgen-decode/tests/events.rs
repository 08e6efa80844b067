//! Events are of the output that stays, whatever way it was generated.

mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::json;
use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen_decode::{
    BeamOptions, EventStream, GenerateOptions, Generator, JsonEvents, MockModel, OutputEvent,
    OutputPart, PromptLookup, Request, SamplingParams, Speculation,
};
use structgen_frontend::gbnf::{self, GbnfOptions};
use structgen_grammar::Grammar;
use structgen_vocab::{TokenId, Vocabulary};
use support::{EOS, constraint, prompt, schemas, vocabulary};

type Told = Vec<OutputEvent<'static>>;

fn of_grammar(vocabulary: &Arc<Vocabulary>, grammar: Grammar) -> CompiledConstraint {
    let tables = Arc::new(VocabularyTables::new(vocabulary.clone()));
    let options = ConstraintOptions {
        eos: vec![EOS],
        ..ConstraintOptions::default()
    };
    CompiledConstraint::new(grammar, &tables, &options).unwrap()
}

fn constraints(vocabulary: &Arc<Vocabulary>) -> Vec<CompiledConstraint> {
    let pairs = r#"root ::= @all(pair ("," pair){0,3}) "."
        pair ::= @name([a-z]{1,5}) ":" @value([0-9]{1,4} | "true")"#;
    let ambiguous = r#"root ::= @a("name" | "n" .{0,3}) @b([a-z]{0,4}) ("" | @c("!"))"#;
    let grammars = [pairs, ambiguous, "root ::= [a-zé]{1,9}"];
    let grammars = grammars.map(|source| {
        of_grammar(
            vocabulary,
            gbnf::parse(source, &GbnfOptions::default()).unwrap(),
        )
    });
    let schemas = schemas();
    let schemas = schemas.iter().map(|schema| constraint(vocabulary, schema));
    schemas.chain(grammars).collect()
}

fn options(temperature: f32, seed: u64) -> GenerateOptions {
    GenerateOptions {
        sampling: SamplingParams {
            temperature,
            seed,
            ..SamplingParams::default()
        },
        max_new_tokens: Some(60),
        ..GenerateOptions::default()
    }
}

/// What was told of the parts that stayed: by part its text and its bytes.
fn parts(told: &Told) -> BTreeMap<String, (String, Option<std::ops::Range<usize>>)> {
    let mut parts = BTreeMap::new();
    for event in told {
        let Some(part) = event.part() else { continue };
        let part = format!("{part:?}");
        match event {
            OutputEvent::Started { .. } => {
                assert!(parts.insert(part, (String::new(), None)).is_none());
            }
            OutputEvent::Delta { text, .. } => {
                let (known, done) = parts.get_mut(&part).unwrap();
                assert!(done.is_none() && !text.is_empty());
                known.push_str(text);
            }
            OutputEvent::Done { span, .. } => {
                assert!(
                    parts
                        .get_mut(&part)
                        .unwrap()
                        .1
                        .replace(span.clone())
                        .is_none()
                );
            }
            OutputEvent::Withdrawn { .. } => {
                assert!(parts.remove(&part).is_some());
            }
            _ => panic!("{event:?}"),
        }
    }
    parts
}

#[test]
fn plain_batched_and_speculative_outputs_have_the_same_events() {
    let vocabulary = vocabulary();
    for (number, compiled) in constraints(&vocabulary).iter().enumerate() {
        let mut model = MockModel::new(vocabulary.len(), 300, [EOS]).with_seed(number as u64);
        let mut draft = model.clone().preferring(TokenId(b'e'.into()), 1.0);
        let mut generator = Generator::new(&mut model, &vocabulary);
        for seed in 0..8 {
            let options = options(if seed == 0 { 0.0 } else { 1.2 }, seed);
            let prompts = [prompt(2, seed as u32), prompt(6, seed as u32 + 1)];
            let plain = prompts.each_ref().map(|prompt| {
                let mut told: Told = Vec::new();
                let mut events = EventStream::new(compiled);
                let mut on_event = |event: OutputEvent<'_>| told.push(event.into_owned());
                let output = generator.stream(prompt, &mut compiled.matcher(), &options, |delta| {
                    events.push(&delta, &mut on_event).unwrap();
                    ControlFlow::Continue(())
                });
                events.finish(&mut on_event).unwrap();
                (told, output.unwrap())
            });
            let mut batched = prompts
                .each_ref()
                .map(|_| (Told::new(), EventStream::new(compiled)));
            let requests =
                { prompts.iter() }.map(|prompt| Request::new(prompt, compiled.matcher(), &options));
            generator
                .stream_batch(requests.collect(), |index, delta| {
                    let (told, events) = &mut batched[index];
                    events
                        .push(&delta, &mut |event| told.push(event.into_owned()))
                        .unwrap();
                    ControlFlow::Continue(())
                })
                .unwrap();
            for ((mut told, mut events), (plain, _)) in batched.into_iter().zip(&plain) {
                events
                    .finish(&mut |event| told.push(event.into_owned()))
                    .unwrap();
                assert_eq!(told, *plain);
            }
            let mut speculation = Speculation::new().with_lookup(PromptLookup::default());
            if seed == 0 {
                speculation = speculation.with_model(&mut draft, vocabulary.clone());
            }
            let (mut told, mut events) = (Told::new(), EventStream::new(compiled));
            let mut on_event = |event: OutputEvent<'_>| told.push(event.into_owned());
            let matcher = &mut compiled.matcher();
            generator
                .stream_speculative(&prompts[0], matcher, &options, &mut speculation, |delta| {
                    events.push(&delta, &mut on_event).unwrap();
                    ControlFlow::Continue(())
                })
                .unwrap();
            events.finish(&mut on_event).unwrap();
            assert_eq!(told, plain[0].0);

            // And they are those of the whole text.
            let (told, output) = &plain[0];
            match EventStream::new(compiled).is_json() {
                true => {
                    let whole: Result<Told, _> = JsonEvents::of(&output.text).collect();
                    assert_eq!(parts(&whole.unwrap()), parts(told));
                }
                false => {
                    let texts = told.iter().filter_map(|event| match event {
                        OutputEvent::Text { text } => Some(&**text),
                        _ => None,
                    });
                    assert_eq!(texts.collect::<String>(), output.text);
                    let mut matcher = compiled.matcher();
                    for token in &output.tokens {
                        structgen_decode::Constraint::accept_token(&mut matcher, token.id).unwrap();
                    }
                    let mut found: Vec<_> = { matcher.captures_at_end().unwrap().unwrap() }
                        .into_iter()
                        .map(|found| (output.text[found.span.clone()].to_owned(), Some(found.span)))
                        .collect();
                    let mut told: Vec<_> = parts(told).into_values().collect();
                    let order = |part: &(String, Option<std::ops::Range<usize>>)| {
                        part.1.as_ref().map(|span| (span.start, span.end))
                    };
                    found.sort_by_key(order);
                    told.sort_by_key(order);
                    assert_eq!(told, found);
                }
            }
        }
    }
}

#[test]
fn beams_that_were_given_up_leave_no_trace() {
    let vocabulary = vocabulary();
    let compiled = constraint(&vocabulary, &schemas()[0]);
    let mut model = MockModel::new(vocabulary.len(), 300, [EOS]).with_seed(4);
    let beams = BeamOptions {
        width: 4,
        n_best: 3,
        ..BeamOptions::default()
    };
    let outputs = Generator::new(&mut model, &vocabulary)
        .beam_search(&prompt(3, 1), &compiled.matcher(), &options(0.0, 0), &beams)
        .unwrap();
    assert_eq!(outputs.len(), 3);
    for output in outputs {
        let text = output.generation.text;
        let told: Result<Told, _> = JsonEvents::of(&text).collect();
        for (text_told, span) in parts(&told.unwrap()).into_values() {
            let written = &text[span.unwrap()];
            assert!(written.contains(&text_told) || written.starts_with('"'));
        }
    }
}

#[test]
fn the_grammar_says_which_events_there_are() {
    let vocabulary = vocabulary();
    let boolean = [
        json!({"type": "boolean"}),
        json!(true),
        json!({"enum": [1, null, "a"]}),
    ];
    for schema in schemas().iter().chain(&boolean) {
        assert!(
            EventStream::new(&constraint(&vocabulary, schema)).is_json(),
            "{schema}"
        );
    }
    for source in [
        "root ::= \"{}\"",
        "root ::= @x([0-9])",
        "root ::= \"a\" %json {}",
    ] {
        let grammar = gbnf::parse(source, &GbnfOptions::default()).unwrap();
        assert!(!EventStream::new(&of_grammar(&vocabulary, grammar)).is_json());
    }
    let grammar = gbnf::parse(
        "root ::= %json {\"type\": [\"object\", \"null\"]}",
        &GbnfOptions::default(),
    )
    .unwrap();
    assert!(EventStream::new(&of_grammar(&vocabulary, grammar)).is_json());
}

#[test]
fn a_prefill_and_a_stop_string_are_told_like_the_text_has_them() {
    let vocabulary = vocabulary();
    let compiled = constraint(&vocabulary, &json!({"type": "string"}));
    let mut model = MockModel::new(vocabulary.len(), 300, [EOS]).with_seed(2);
    for stop in [None, Some("e"), Some("\"")] {
        let options = GenerateOptions {
            prefill: b"\"ab".map(|byte| TokenId(byte.into())).to_vec(),
            stop: stop.into_iter().map(str::to_owned).collect(),
            ..options(0.9, 3)
        };
        let mut told = String::new();
        let mut events = EventStream::new(&compiled);
        let mut on_event = |event: OutputEvent<'_>| {
            if let OutputEvent::Delta {
                text,
                part: OutputPart::Field { pointer, .. },
            } = event
            {
                assert_eq!(pointer, "");
                told.push_str(&text);
            }
        };
        let output = Generator::new(&mut model, &vocabulary).stream(
            &prompt(3, 1),
            &mut compiled.matcher(),
            &options,
            |delta| {
                assert!(delta.output.starts_with(&options.prefill));
                assert_eq!(delta.output.len(), 3 + delta.generated.len());
                events.push(&delta, &mut on_event).unwrap();
                ControlFlow::Continue(())
            },
        );
        let text = match output {
            Ok(output) => {
                events.finish(&mut on_event).unwrap();
                output.text
            }
            Err(structgen_decode::GenerateError::Incomplete(cut)) => {
                assert!(events.finish(&mut on_event).is_err());
                cut.partial.text + "\""
            }
            Err(error) => panic!("{error}"),
        };
        assert!(told.starts_with("ab"));
        assert_eq!(told, serde_json::from_str::<String>(&text).unwrap());
    }
}
