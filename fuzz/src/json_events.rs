//! JSON as it comes: the first byte is the size of the pieces, the rest is the text.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;
use structgen_decode::events::{JsonEvents, JsonKind, NotJson, OutputEvent, OutputPart};

/// What was reported of a part: its text and, once it is complete, its bytes.
#[derive(Debug, PartialEq)]
struct Told {
    part: OutputPart<'static>,
    start: usize,
    text: String,
    span: Option<Range<usize>>,
}

impl Told {
    fn value(&self) -> (&str, JsonKind) {
        match &self.part {
            OutputPart::Field { pointer, kind } => (pointer, *kind),
            part => panic!("{part:?} is no value"),
        }
    }
}

/// Reads a text whole and in pieces.
/// True when there was a text.
///
/// # Panics
/// When how it is cut matters, or when serde_json reads the text or a value in it otherwise.
pub fn json_events(data: &[u8]) -> bool {
    let Some((&size, text)) = data.split_first() else {
        return false;
    };
    let (whole, ended) = read(text.len().max(1), text);
    let (pieces, ended_in_pieces) = read(usize::from(size % 16) + 1, text);
    assert_eq!(whole, pieces);
    assert_eq!(ended.is_ok(), ended_in_pieces.is_ok());
    let is_limit = |error: &serde_json::Error| {
        let error = error.to_string();
        error.contains("recursion limit") || error.contains("number out of range")
    };
    match std::str::from_utf8(text).map(serde_json::from_str::<Value>) {
        Ok(Ok(value)) => {
            assert_eq!(ended, Ok(()));
            as_read(&value, &whole, text);
        }
        Ok(Err(error)) => assert!(ended.is_err() || is_limit(&error), "{error}"),
        Err(_) => assert!(ended.is_err()),
    }
    if ended.is_ok() {
        for told in &whole {
            let span = told.span.clone().expect("it is complete");
            assert!(span.start == told.start && span.end <= text.len());
        }
    }
    true
}

/// What was told of each part is what serde_json reads there.
fn as_read(document: &Value, whole: &[Told], text: &[u8]) {
    // Of keys that occur twice, serde_json keeps the last value.
    let mut pointers = HashSet::new();
    let is_distinct = whole.iter().all(|told| pointers.insert(told.value().0));
    for told in whole {
        let (pointer, kind) = told.value();
        let written = &text[told.span.clone().expect("it is complete")];
        let value: Value = serde_json::from_slice(written).expect("it is JSON");
        let (is_kind, is_text) = match &value {
            Value::Object(_) => (kind == JsonKind::Object, told.text.is_empty()),
            Value::Array(_) => (kind == JsonKind::Array, told.text.is_empty()),
            Value::String(string) => (kind == JsonKind::String, told.text == *string),
            Value::Number(_) => (kind == JsonKind::Number, told.text.as_bytes() == written),
            Value::Bool(_) => (kind == JsonKind::Boolean, told.text.as_bytes() == written),
            Value::Null => (kind == JsonKind::Null, told.text.as_bytes() == written),
        };
        assert!(is_kind && is_text, "{told:?} is read as {value}");
        if is_distinct {
            assert_eq!(document.pointer(pointer), Some(&value), "{pointer}");
        }
    }
    assert!(whole.iter().any(|told| told.value().0.is_empty()));
}

fn read(size: usize, text: &[u8]) -> (Vec<Told>, Result<(), NotJson>) {
    let mut told: Vec<Told> = Vec::new();
    let mut on_event = |event: OutputEvent<'_>| {
        let of = |told: &mut Vec<Told>, part: &OutputPart<'_>| {
            let part = part.clone().into_owned();
            told.iter()
                .rposition(|it| it.part == part)
                .expect("it has begun")
        };
        match event {
            OutputEvent::Started { part, start } => told.push(Told {
                part: part.into_owned(),
                start,
                text: String::new(),
                span: None,
            }),
            OutputEvent::Delta { part, text } => {
                let at = of(&mut told, &part);
                told[at].text.push_str(&text);
            }
            OutputEvent::Done { part, span } => {
                let at = of(&mut told, &part);
                assert_eq!(told[at].span.replace(span), None);
            }
            other => panic!("{other:?}"),
        }
    };
    let mut events = JsonEvents::new();
    let mut pieces = text.chunks(size);
    let pushed = pieces.try_for_each(|piece| events.push_bytes(piece, &mut on_event));
    let ended = pushed.and_then(|()| events.finish(&mut on_event));
    (told, ended)
}
