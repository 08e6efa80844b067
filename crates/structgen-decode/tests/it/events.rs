//! Events are about the final output, however it was generated.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::json;
use structgen_constraint::{CompiledConstraint, Matcher};
use structgen_decode::{
    Constraint, GenerateError, GenerateOptions, Generation, MockModel, Request, SamplingParams,
    Scheduler,
    events::{EventStream, JsonEvents, OutputEvent, OutputPart},
    strategies::{BeamOptions, PromptLookup, Speculation},
};
use structgen_frontend::gbnf::{self, GbnfOptions};
use structgen_vocab::{TokenId, Vocabulary};

use crate::support::{
    self, EOS, constraint, of_grammar, prompt, run, scheduler, schemas, stream, vocabulary,
};

type Told = Vec<OutputEvent<'static>>;

fn of_source(vocabulary: &Arc<Vocabulary>, source: &str) -> CompiledConstraint {
    let grammar = gbnf::parse(source, &GbnfOptions::default()).unwrap();
    of_grammar(vocabulary, grammar, &[EOS])
}

/// The schemas of all tests, and grammars with and without captures.
fn constraints(vocabulary: &Arc<Vocabulary>) -> Vec<CompiledConstraint> {
    let pairs = r#"root ::= @all(pair ("," pair){0,3}) "."
        pair ::= @name([a-z]{1,5}) ":" @value([0-9]{1,4} | "true")"#;
    let ambiguous = r#"root ::= @a("name" | "n" .{0,3}) @b([a-z]{0,4}) ("" | @c("!"))"#;
    let grammars = [pairs, ambiguous, "root ::= [a-zé]{1,9}"];
    let grammars = grammars.map(|source| of_source(vocabulary, source));
    let schemas = support::constraints(vocabulary).into_iter();
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

/// Returns the parts that were not withdrawn: for each its text and its bytes.
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

/// Returns the events of a request's text as it is generated, and its output.
fn told(
    scheduler: &mut Scheduler,
    compiled: &CompiledConstraint,
    request: Request<Matcher>,
) -> (Told, Generation) {
    let mut told = Told::new();
    let mut events = EventStream::new(compiled);
    let mut on_event = |event: OutputEvent<'_>| told.push(event.into_owned());
    let outputs = scheduler.run_with(request, |_, delta| {
        events
            .push(delta.text, delta.output, &mut on_event)
            .unwrap();
        ControlFlow::Continue(())
    });
    events.finish(&mut on_event).unwrap();
    (told, outputs.unwrap().single().unwrap())
}

#[test]
fn plain_batched_and_speculative_outputs_have_the_same_events() {
    let vocabulary = vocabulary();
    for (number, compiled) in constraints(&vocabulary).iter().enumerate() {
        let model = MockModel::new(vocabulary.len(), 300, [EOS]).with_seed(number as u64);
        let draft = model.clone().preferring(TokenId(b'e'.into()), 1.0);
        let mut scheduler = scheduler(model, &vocabulary)
            .with_draft(draft, &vocabulary)
            .unwrap();
        for seed in 0..8 {
            let options = options(if seed == 0 { 0.0 } else { 1.2 }, seed);
            let prompts = [prompt(2, seed as u32), prompt(6, seed as u32 + 1)];
            let requests = prompts.map(|prompt| {
                Request::new(prompt, compiled.matcher()).with_options(options.clone())
            });
            let plain = { requests.clone() }.map(|request| told(&mut scheduler, compiled, request));
            let mut batched = BTreeMap::new();
            for request in requests.clone() {
                let ticket = scheduler.submit(request).unwrap();
                batched.insert(ticket, (Told::new(), EventStream::new(compiled)));
            }
            while !scheduler.is_idle() {
                let ended = scheduler.step_with(&mut |ticket, _, delta| {
                    let (told, events) = batched.get_mut(&ticket).unwrap();
                    let mut on_event = |event: OutputEvent<'_>| told.push(event.into_owned());
                    events
                        .push(delta.text, delta.output, &mut on_event)
                        .unwrap();
                    ControlFlow::Continue(())
                });
                assert!(ended.iter().all(|(_, outputs)| outputs.is_ok()));
            }
            for ((mut told, mut events), (plain, _)) in batched.into_values().zip(&plain) {
                events
                    .finish(&mut |event| told.push(event.into_owned()))
                    .unwrap();
                assert_eq!(told, *plain);
            }
            let [request, _] = requests;
            let speculative = request.with_strategy(Speculation {
                lookup: Some(PromptLookup::default()),
                model: seed == 0,
                ..Speculation::default()
            });
            assert_eq!(told(&mut scheduler, compiled, speculative).0, plain[0].0);

            // They are also those of the whole text.
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
                        Constraint::accept_token(&mut matcher, token.id).unwrap();
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
    let model = MockModel::new(vocabulary.len(), 300, [EOS]).with_seed(4);
    let request = Request::new(prompt(3, 1), compiled.matcher())
        .with_options(options(0.0, 0))
        .with_strategy(BeamOptions {
            width: 4,
            n_best: 3,
            ..BeamOptions::default()
        });
    let outputs = run(&model, &vocabulary, request).unwrap().all().unwrap();
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
        assert!(!EventStream::new(&of_source(&vocabulary, source)).is_json());
    }
    let source = "root ::= %json {\"type\": [\"object\", \"null\"]}";
    assert!(EventStream::new(&of_source(&vocabulary, source)).is_json());
}

#[test]
fn a_prefill_and_a_stop_string_are_told_like_the_text_has_them() {
    let vocabulary = vocabulary();
    let compiled = constraint(&vocabulary, &json!({"type": "string"}));
    let model = MockModel::new(vocabulary.len(), 300, [EOS]).with_seed(2);
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
        let (prompt, matcher) = (prompt(3, 1), compiled.matcher());
        let output = stream(&model, &vocabulary, &prompt, &matcher, &options, |delta| {
            assert!(delta.output.starts_with(&options.prefill));
            assert_eq!(delta.output.len(), 3 + delta.generated.len());
            events
                .push(delta.text, delta.output, &mut on_event)
                .unwrap();
            ControlFlow::Continue(())
        });
        let text = match output {
            Ok(output) => {
                events.finish(&mut on_event).unwrap();
                output.text
            }
            Err(GenerateError::Incomplete(cut)) => {
                assert!(events.finish(&mut on_event).is_err());
                cut.partial.text + "\""
            }
            Err(error) => panic!("{error}"),
        };
        assert!(told.starts_with("ab"));
        assert_eq!(told, serde_json::from_str::<String>(&text).unwrap());
    }
}
