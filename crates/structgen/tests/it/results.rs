//! What the embedded model's outputs report about themselves.

use std::ops::ControlFlow;

use serde_json::json;
use structgen::decode::{
    FinishReason,
    events::{OutputEvent, OutputPart},
    request::ContextOverflow,
};
use structgen::{Constraint, GenerateOptions, Request, SchemaExtractor, SchemaOptions};

use crate::support::model;

fn schema() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150}},
        "required": ["name", "age"]
    })
}

#[test]
fn an_extraction_says_how_sure_the_model_was_where_that_is_asked_for() {
    let text = "Mia Brandt, 41, called about the invoice.";
    let of = |log_probs| {
        let options = GenerateOptions {
            log_probs,
            ..GenerateOptions::default()
        };
        let people = SchemaExtractor::new(model(), schema(), &SchemaOptions::new(), options);
        people.unwrap().extract(text).unwrap()
    };
    let plain = of(false);
    assert_eq!(plain.confidence, None);
    let found = of(true);
    assert_eq!(found.json, plain.json);
    let confidence = found.confidence.as_ref().unwrap();
    for (pointer, value) in [
        ("/name", &found.value["name"]),
        ("/age", &found.value["age"]),
    ] {
        let field = confidence.get(pointer).unwrap();
        assert_eq!(found.json[field.span.clone()], value.to_string());
        let (model, allowed) = (field.score.model, field.score.allowed);
        assert!(0.0 < model.probability() && model.probability() <= allowed.probability() + 1e-4);
        assert!(allowed.probability() <= 1.0 && field.score.tokens > 0);
    }
    let whole = confidence.get("").unwrap();
    assert_eq!(whole.score.tokens, found.tokens());
}

#[test]
fn events_come_until_the_callback_stops_them() {
    let model = model();
    let compiled = Constraint::json_schema(&schema(), &SchemaOptions::new()).unwrap();
    let compiled = model.compile(&compiled).unwrap();
    let prompt = model.extraction_prompt(&schema(), "Ada is 36").unwrap();
    let options = GenerateOptions {
        max_new_tokens: Some(200),
        ..GenerateOptions::default()
    };
    let mut spans = Vec::new();
    let request = Request::new(&prompt[..], Some(compiled)).with_options(options);
    let outputs = model.stream(request, |event| {
        if let OutputEvent::Done {
            part: OutputPart::Field { pointer, .. },
            span,
        } = event
        {
            spans.push((pointer.into_owned(), span));
        }
        ControlFlow::Continue(())
    });
    let output = outputs.unwrap().single().unwrap();
    let value: serde_json::Value = serde_json::from_str(&output.text).unwrap();
    let pointers: Vec<&str> = spans.iter().map(|(pointer, _)| &**pointer).collect();
    assert_eq!(pointers, ["/name", "/age", ""]);
    for (pointer, span) in &spans {
        let written: serde_json::Value = serde_json::from_str(&output.text[span.clone()]).unwrap();
        assert_eq!(value.pointer(pointer), Some(&written));
    }
    // A text that would continue for long.
    let many = 20_000;
    let endless = GenerateOptions {
        max_new_tokens: Some(many),
        min_new_tokens: many,
        overflow: ContextOverflow::Crop { keep: 0 },
        ..GenerateOptions::default()
    };
    let mut told = 0;
    let request = Request::new(prompt, None).with_options(endless);
    let stopped = model.stream(request, |_| {
        told += 1;
        match told {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    let stopped = stopped.unwrap().single().unwrap();
    assert_eq!((stopped.finish, told), (FinishReason::Cancelled, 3));
    assert!(stopped.tokens.len() < many);
}
