use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Returns all events of a text in pieces, and whether it is JSON.
fn events(pieces: &[&[u8]]) -> (Vec<OutputEvent<'static>>, Result<(), NotJson>) {
    let mut told = Vec::new();
    let mut events = JsonEvents::new();
    let mut on_event = |event: OutputEvent<'_>| told.push(event.into_owned());
    let mut result = Ok(());
    for piece in pieces {
        result = result.and(events.push_bytes(piece, &mut on_event));
    }
    let result = result.and(events.finish(&mut on_event));
    (told, result)
}

/// Rebuilds the document from the events alone: from the deltas of strings, and the written text of other values.
fn rebuilt(told: &[OutputEvent<'_>]) -> Value {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut done = Vec::new();
    let mut root = Value::Null;
    for event in told {
        let Some(OutputPart::Field { pointer, kind }) = event.part() else {
            panic!("a field");
        };
        match event {
            OutputEvent::Started { .. } => {
                texts.insert(pointer.to_string(), String::new());
                let empty = match kind {
                    JsonKind::Object => Value::Object(serde_json::Map::new()),
                    JsonKind::Array => Value::Array(Vec::new()),
                    _ => Value::Null,
                };
                put(&mut root, pointer, empty);
            }
            OutputEvent::Delta { text, .. } => {
                assert!(!text.is_empty());
                texts.get_mut(&**pointer).unwrap().push_str(text);
            }
            OutputEvent::Done { .. } => {
                let text = &texts[&**pointer];
                match kind {
                    JsonKind::String => put(&mut root, pointer, text.as_str().into()),
                    JsonKind::Object | JsonKind::Array => assert_eq!(text, ""),
                    _ => put(&mut root, pointer, serde_json::from_str(text).unwrap()),
                }
                done.push(pointer.to_string());
            }
            _ => panic!("{event:?} is not told of JSON"),
        }
    }
    assert_eq!(done.last().map(String::as_str), Some(""));
    root
}

fn put(root: &mut Value, pointer: &str, value: Value) {
    if let Some(place) = root.pointer_mut(pointer) {
        *place = value;
        return;
    }
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    match root.pointer_mut(parent).unwrap() {
        Value::Array(items) => {
            assert_eq!(last, items.len().to_string());
            items.push(value);
        }
        Value::Object(members) => {
            members.insert(last.replace("~1", "/").replace("~0", "~"), value);
        }
        other => panic!("{other} has no parts"),
    }
}

/// Cuts a text at some of its bytes.
fn cut<'t>(text: &'t [u8], cuts: &[usize]) -> Vec<&'t [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    places.extend([0, text.len()]);
    places.sort_unstable();
    let pairs = places.windows(2);
    pairs.map(|pair| &text[pair[0]..pair[1]]).collect()
}

fn documents() -> impl Strategy<Value = Value> {
    let texts = prop_oneof![Just(String::new()), "[~/a\"\\\\\u{1}é😀]{0,5}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        // Exact in binary, so that reading them back rounds nothing.
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 64.0)),
        texts.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(texts.clone(), inner, 0..5)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Writes a document; where `escaped` says so, the characters of its strings are written as escapes.
fn written(document: &Value, pretty: bool, escaped: bool) -> String {
    let text = match pretty {
        true => serde_json::to_string_pretty(document).unwrap(),
        false => document.to_string(),
    };
    let mut output = String::new();
    for c in text.chars() {
        if escaped && !c.is_ascii() {
            for unit in c.encode_utf16(&mut [0; 2]) {
                output.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            output.push(c);
        }
    }
    output
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn events_rebuild_the_document_however_it_is_cut(
        document in documents(),
        pretty: bool,
        escaped: bool,
        cuts in proptest::collection::vec(any::<usize>(), 0..30),
    ) {
        let text = written(&document, pretty, escaped);
        let (told, result) = events(&cut(text.as_bytes(), &cuts));
        prop_assert_eq!(result, Ok(()));
        prop_assert_eq!(rebuilt(&told), document);
    }

    #[test]
    fn spans_are_the_texts_of_the_values_they_point_to(document in documents(), pretty: bool) {
        let text = written(&document, pretty, true);
        let (told, _) = events(&[text.as_bytes()]);
        let mut starts = BTreeMap::new();
        let mut values = 0;
        for event in &told {
            let Some(OutputPart::Field { pointer, kind }) = event.part() else { continue };
            match event {
                OutputEvent::Started { start, .. } => {
                    starts.insert(pointer.clone(), *start);
                }
                OutputEvent::Done { span, .. } => {
                    prop_assert_eq!(starts[pointer], span.start);
                    let value: Value = serde_json::from_str(&text[span.clone()]).unwrap();
                    prop_assert_eq!(Some(&value), document.pointer(pointer));
                    prop_assert_eq!(value.is_object(), *kind == JsonKind::Object);
                    values += 1;
                }
                _ => {}
            }
        }
        prop_assert_eq!(values, starts.len());
    }

    #[test]
    fn cuts_change_nothing_but_the_borders_of_deltas(
        document in documents(),
        cuts in proptest::collection::vec(any::<usize>(), 0..30),
    ) {
        let text = written(&document, false, true);
        let (whole, _) = events(&[text.as_bytes()]);
        let (parts, _) = events(&cut(text.as_bytes(), &cuts));
        prop_assert_eq!(joined(parts), whole.clone());
        let one_by_one: Result<Vec<_>, _> = JsonEvents::of(&text).collect();
        prop_assert_eq!(one_by_one, Ok(whole));
    }

    #[test]
    fn what_is_followed_to_its_end_is_what_serde_json_reads(
        bytes in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(&b"{}[]\":,\\u0123e.-+ tfnrals\n\x1f"[..]),
                any::<u8>(),
            ],
            0..12,
        ),
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "{", "}", "[", "]", "\"a\"", "\"\\ud83d\\ude00\"", "\"\\ud83d\"", ":", ",", "-", "0", "12", ".5", "e3", "true", "null", " ",
            ]),
            0..12,
        ),
    ) {
        for text in [bytes, pieces.concat().into_bytes()] {
            let single: Vec<&[u8]> = text.chunks(1).collect();
            let expected = serde_json::from_slice::<Value>(&text).map(|_| ());
            for pieces in [&[&text[..]][..], &single] {
                let (_, result) = events(pieces);
                if expected.as_ref().is_err_and(|error| error.to_string().contains("out of range")) {
                    continue;
                }
                prop_assert_eq!(result.is_ok(), expected.is_ok(), "{:?}", String::from_utf8_lossy(&text));
                if let Ok(text) = std::str::from_utf8(&text) {
                    let whole = JsonEvents::of(text).find_map(Result::err);
                    prop_assert_eq!(whole, result.err());
                }
            }
        }
    }
}

/// Merges adjacent deltas of the same part.
fn joined(told: Vec<OutputEvent<'static>>) -> Vec<OutputEvent<'static>> {
    let mut joined: Vec<OutputEvent<'static>> = Vec::new();
    for event in told {
        if let OutputEvent::Delta { text, .. } = &event
            && let Some(OutputEvent::Delta { text: before, .. }) = joined.last_mut()
        {
            before.to_mut().push_str(text);
            continue;
        }
        joined.push(event);
    }
    joined
}

#[test]
fn values_are_told_in_order_with_pointers_and_spans() {
    let text = r#"{"a/b": [1.50, true], "~": "x\ty", "": {}}"#;
    let (told, result) = events(&[text.as_bytes()]);
    result.unwrap();
    let lines: Vec<String> = told
        .iter()
        .map(|event| match event {
            OutputEvent::Started { part, start } => format!("{} started {start}", name(part)),
            OutputEvent::Delta { part, text } => format!("{} delta {text:?}", name(part)),
            OutputEvent::Done { part, span } => {
                format!("{} done {}", name(part), &text[span.clone()])
            }
            _ => panic!("{event:?}"),
        })
        .collect();
    assert_eq!(
        lines,
        [
            "object  started 0",
            "array /a~1b started 8",
            "number /a~1b/0 started 9",
            "number /a~1b/0 delta \"1.50\"",
            "number /a~1b/0 done 1.50",
            "boolean /a~1b/1 started 15",
            "boolean /a~1b/1 delta \"true\"",
            "boolean /a~1b/1 done true",
            "array /a~1b done [1.50, true]",
            "string /~0 started 27",
            "string /~0 delta \"x\\ty\"",
            "string /~0 done \"x\\ty\"",
            "object / started 39",
            "object / done {}",
            &format!("object  done {text}"),
        ]
    );
}

fn name(part: &OutputPart<'_>) -> String {
    match part {
        OutputPart::Field { pointer, kind } => {
            let kind = serde_json::to_value(kind).unwrap();
            format!("{} {pointer}", kind.as_str().unwrap())
        }
        OutputPart::Capture { .. } => panic!("{part:?}"),
    }
}

#[test]
fn a_number_with_nothing_around_it_is_done_at_the_end() {
    let (told, result) = events(&[b"-1", b"2e", b"5"]);
    result.unwrap();
    let last = OutputEvent::Done {
        part: field("", JsonKind::Number).into_owned(),
        span: 0..5,
    };
    assert_eq!(told.last(), Some(&last));
    let (told, result) = events(&[b"-"]);
    assert_eq!(result.unwrap_err().expected, "a digit");
    assert_eq!(told.len(), 2);
}

#[test]
fn a_text_that_is_no_json_is_an_error_at_its_byte_from_then_on() {
    let mut events = JsonEvents::new();
    let mut told = 0;
    let mut on_event = |_: OutputEvent<'_>| told += 1;
    events.push("[1, ", &mut on_event).unwrap();
    let error = events.push("]", &mut on_event).unwrap_err();
    assert_eq!((error.offset, error.expected), (4, "a value"));
    assert_eq!(events.push("2]", &mut on_event), Err(error.clone()));
    assert_eq!(events.finish(&mut on_event), Err(error));
    assert_eq!(told, 4);
}

#[test]
fn nesting_of_any_depth_takes_no_stack_and_memory_in_proportion() {
    let depth = 200_000;
    let text = "[".repeat(depth) + &"]".repeat(depth);
    let mut deepest = 0;
    let mut done = 0;
    let mut events = JsonEvents::new();
    let mut on_event = |event: OutputEvent<'_>| {
        if let Some(OutputPart::Field { pointer, .. }) = event.part() {
            deepest = deepest.max(pointer.len());
        }
        done += usize::from(matches!(event, OutputEvent::Done { .. }));
    };
    events.push(&text, &mut on_event).unwrap();
    events.finish(&mut on_event).unwrap();
    assert_eq!((deepest, done), (2 * (depth - 1), depth));
}
