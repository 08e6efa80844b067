use std::sync::Arc;

use structgen_constraint::{CompiledConstraint, ConstraintOptions, VocabularyTables};
use structgen_frontend::gbnf::{self, GbnfOptions};
use structgen_vocab::{TokenId, Vocabulary};

use super::captures::CaptureEvents;
use super::*;

fn compiled(source: &str) -> CompiledConstraint {
    let vocabulary = Vocabulary::from_tokens((0..=255).map(|byte| vec![byte]), &[]).unwrap();
    let tables = Arc::new(VocabularyTables::new(Arc::new(vocabulary)));
    let grammar = gbnf::parse(source, &GbnfOptions::default()).unwrap();
    CompiledConstraint::new(grammar, &tables, &ConstraintOptions::default()).unwrap()
}

/// Formats the events of a text in pieces, including its end.
fn lines(source: &str, pieces: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut on_event = |event: OutputEvent<'_>| {
        if !matches!(event, OutputEvent::Text { .. }) {
            let line = serde_json::to_value(&event).unwrap();
            let fields = ["event", "name", "number", "start", "text", "span"];
            let fields = fields.iter().filter_map(|field| line.get(field));
            let fields: Vec<String> = fields.map(|field| field.to_string()).collect();
            lines.push(fields.join(" ").replace('"', ""));
        }
    };
    let mut events = CaptureEvents::new(compiled(source).matcher());
    let mut output: Vec<TokenId> = Vec::new();
    for piece in pieces {
        output.extend(piece.bytes().map(|byte| TokenId(byte.into())));
        events.push(piece, &output, &mut on_event).unwrap();
    }
    events.finish(&mut on_event).unwrap();
    lines
}

#[test]
fn captures_are_told_as_they_come() {
    let source = r#"root ::= @pair(@key([a-z]+) "=" @value([0-9]*)) "." "#;
    assert_eq!(
        lines(source, &["ab", "c=", "4", "2."]),
        [
            "started pair 0 0",
            "started key 1 0",
            "delta key 1 ab",
            "delta pair 0 ab",
            "delta key 1 c",
            "done key 1 {start:0,end:3}",
            "delta pair 0 c=",
            "started value 2 4",
            "delta value 2 4",
            "delta pair 0 4",
            "delta value 2 2",
            "done value 2 {start:4,end:6}",
            "delta pair 0 2",
            "done pair 0 {start:0,end:6}",
        ]
    );
    // All at once, and with an empty part: spans do not determine whether it is inside what ends there or after it.
    assert_eq!(
        lines(source, &["a=."]),
        [
            "started pair 0 0",
            "started key 1 0",
            "delta key 1 a",
            "done key 1 {start:0,end:1}",
            "delta pair 0 a=",
            "done pair 0 {start:0,end:2}",
            "started value 2 2",
            "done value 2 {start:2,end:2}",
        ]
    );
}

#[test]
fn a_capture_that_turns_out_to_be_none_is_withdrawn() {
    let source = r#"root ::= @short("ab") | @long("abc") | @longer("abcde")"#;
    assert_eq!(
        lines(source, &["ab", "c"]),
        [
            "started long 0 0",
            "delta long 0 ab",
            // A capture that may continue counts as longer than one that ends.
            "withdrawn long 0",
            "started longer 1 0",
            "delta longer 1 abc",
            "withdrawn longer 1",
            "started long 2 0",
            "delta long 2 abc",
            "done long 2 {start:0,end:3}",
        ]
    );
}

#[test]
fn characters_are_told_when_they_are_whole() {
    let mut told = String::new();
    let mut on_event = |event: OutputEvent<'_>| {
        if let OutputEvent::Delta { text, .. } = &event {
            told.push_str(text);
            told.push('|');
        }
    };
    let mut events = CaptureEvents::new(compiled(r#"root ::= @x([é-€]+)"#).matcher());
    let bytes = "é€é".as_bytes();
    let output: Vec<TokenId> = bytes.iter().map(|&byte| TokenId(byte.into())).collect();
    for (text, end) in [("é", 3), ("", 4), ("€", 6), ("é", 7)] {
        events.push(text, &output[..end], &mut on_event).unwrap();
    }
    events.finish(&mut on_event).unwrap();
    assert_eq!(told, "é|€|é|");
}

#[test]
fn tokens_that_were_trimmed_are_no_part_of_the_output() {
    let mut told = Vec::new();
    let mut on_event = |event: OutputEvent<'_>| told.push(event.into_owned());
    let mut events = CaptureEvents::new(compiled("root ::= @x([a-z]+)").matcher());
    let output: Vec<TokenId> = "abSTOP"
        .to_lowercase()
        .bytes()
        .map(|b| TokenId(b.into()))
        .collect();
    events.push("ab", &output, &mut on_event).unwrap();
    events.finish(&mut on_event).unwrap();
    assert_eq!(
        told.last()
            .map(|event| matches!(event, OutputEvent::Done { span, .. } if *span == (0..2))),
        Some(true)
    );
}

#[test]
fn an_output_that_is_not_complete_has_no_end() {
    let mut events = CaptureEvents::new(compiled(r#"root ::= @x("ab") "c""#).matcher());
    let output = [TokenId(b'a'.into()), TokenId(b'b'.into())];
    events.push("ab", &output, &mut |_| {}).unwrap();
    let error = events.finish(&mut |_| {});
    assert_eq!(error, Err(EventError::Incomplete { offset: 2 }));
    let refused = events.push(
        "d",
        &[output[0], output[1], TokenId(b'd'.into())],
        &mut |_| {},
    );
    assert!(matches!(refused, Err(EventError::Matcher(_))));
}
