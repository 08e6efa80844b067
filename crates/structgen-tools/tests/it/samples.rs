//! The samples of every preset parse to their stated meaning, however they are split into pieces.

use proptest::prelude::*;
use structgen_tools::{Content, Event, Message, Tool, ToolFormat, ToolGrammar, ToolOptions};

fn tools() -> Vec<Tool> {
    Tool::list(include_str!("../../presets/samples-tools.json")).expect("the tools are usable")
}

fn grammars() -> Vec<ToolGrammar> {
    let make = |name| {
        let format = ToolFormat::preset(name).expect("it is a preset");
        ToolGrammar::new(format, tools(), &ToolOptions::new())
            .unwrap_or_else(|error| panic!("{name}: {error:?}"))
    };
    ToolFormat::presets().map(make).collect()
}

#[test]
fn samples_are_parsed_to_what_they_say() {
    for grammar in grammars() {
        let format = grammar.format();
        for sample in &format.samples {
            let place = format!("{}, {}", format.name, sample.about);
            let message = grammar
                .parse(&sample.output)
                .unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(message.text, sample.text, "{place}");
            assert_eq!(message.reasoning, sample.reasoning, "{place}");
            let calls = message.calls.iter();
            let calls: Vec<_> = calls.map(|it| (&it.name, &it.arguments, &it.id)).collect();
            let expected = sample.calls.iter();
            let expected: Vec<_> = expected
                .map(|it| (&it.name, &it.arguments.0, &it.id))
                .collect();
            assert_eq!(calls, expected, "{place}");
        }
    }
}

/// All events, with adjacent ones of one kind joined, and the result.
fn events(grammar: &ToolGrammar, pieces: &[&[u8]]) -> (Vec<Event>, Result<(), String>) {
    let mut parser = grammar.parser();
    let mut events = Vec::new();
    let mut result = Ok(());
    for piece in pieces {
        // Each piece has its own events, as in streaming.
        let mut new = Vec::new();
        result = result.and_then(|()| parser.push_bytes(piece, &mut new));
        join(&mut events, new);
    }
    let mut new = Vec::new();
    result = result.and_then(|()| parser.finish(&mut new));
    join(&mut events, new);
    (events, result.map_err(|error| error.to_string()))
}

fn join(all: &mut Vec<Event>, new: Vec<Event>) {
    for event in new {
        match (all.last_mut(), event) {
            (Some(Event::Text(all)), Event::Text(new)) => all.push_str(&new),
            (Some(Event::Reasoning(all)), Event::Reasoning(new)) => all.push_str(&new),
            (Some(Event::Arguments { json: all, .. }), Event::Arguments { json: new, .. }) => {
                all.push_str(&new);
            }
            (_, event) => all.push(event),
        }
    }
}

/// Checks that the pieces of arguments together are the arguments.
fn check_arguments(events: &[Event]) {
    let mut json = String::new();
    for event in events {
        match event {
            Event::CallStarted { .. } => json.clear(),
            Event::Arguments { json: piece, .. } => json.push_str(piece),
            Event::CallFinished { call, .. } => {
                let value: serde_json::Value =
                    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
                assert_eq!(value, call.arguments);
            }
            _ => {}
        }
    }
}

#[test]
fn pieces_of_arguments_together_are_the_arguments() {
    for grammar in grammars() {
        for sample in &grammar.format().samples {
            let (events, result) = events(&grammar, &[sample.output.as_bytes()]);
            assert_eq!(result, Ok(()));
            check_arguments(&events);
            let message = Message::from_events(events);
            assert_eq!(message.calls.len(), sample.calls.len());
        }
    }
}

#[test]
fn a_call_starts_with_the_id_beside_its_name() {
    for grammar in grammars() {
        let format = grammar.format();
        for sample in &format.samples {
            let (events, _) = events(&grammar, &[sample.output.as_bytes()]);
            let announced = events.iter().filter_map(|event| match event {
                Event::CallStarted { id, .. } => Some(id),
                _ => None,
            });
            let ids = sample.calls.iter().map(|call| match &*format.name {
                "kimi" | "mistral-v11" => &call.id,
                _ => &None,
            });
            assert!(announced.eq(ids), "{}, {}", format.name, sample.about);
        }
    }
}

#[test]
fn a_character_at_a_time_gives_the_same_events() {
    for grammar in grammars() {
        for sample in &grammar.format().samples {
            let bytes = sample.output.as_bytes();
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(events(&grammar, &single), events(&grammar, &[bytes]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("STRUCTGEN_FULL").is_some() { 5_000 } else { 300 }))]

    /// This also holds for damaged texts, which are in no format or not UTF-8.
    #[test]
    fn any_cutting_gives_the_same_events(
        preset in any::<prop::sample::Index>(),
        sample in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..3u8, any::<u8>()), 0..3),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        thread_local!(static GRAMMARS: Vec<ToolGrammar> = grammars());
        GRAMMARS.with(|grammars| {
            let grammar = &grammars[preset.index(grammars.len())];
            let samples = &grammar.format().samples;
            let mut bytes = samples[sample.index(samples.len())].output.clone().into_bytes();
            bytes.extend(samples[other.index(samples.len())].output.bytes().take(40));
            for (at, what, byte) in damage {
                let at = at.index(bytes.len());
                match what {
                    0 => drop(bytes.remove(at)),
                    1 => bytes.insert(at, byte),
                    _ => bytes.truncate(at + 1),
                }
                if bytes.is_empty() {
                    bytes.push(b'<');
                }
            }
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            let (all, result) = events(grammar, &[&bytes]);
            if result.is_ok() {
                check_arguments(&all);
            }
            assert_eq!(events(grammar, &pieces), (all, result));
        });
    }
}

#[test]
fn numbers_in_schemas_and_in_arguments_keep_their_digits() {
    const DIGITS: &str = "123456789012345.123456789012345678";
    let schema = format!(
        r#"{{"type": "object", "properties": {{"a": {{"const": {DIGITS}}}}}, "required": ["a"], "additionalProperties": false}}"#
    );
    let tools = Tool::list(&format!(r#"[{{"name": "f", "parameters": {schema}}}]"#));
    let tools = tools.expect("it is a list of tools");
    assert_eq!(tools[0].parameters(), schema);
    for (format, output) in [
        (
            "qwen",
            format!(r#"<tool_call>{{"name": "f", "arguments": {{"a": {DIGITS}}}}}</tool_call>"#),
        ),
        (
            "qwen-coder",
            format!(
                "<tool_call><function=f><parameter=a>{DIGITS}</parameter></function></tool_call>"
            ),
        ),
    ] {
        let format = ToolFormat::preset(format).expect("it is a preset");
        let grammar = ToolGrammar::new(format, tools.clone(), &ToolOptions::new());
        let grammar = grammar.expect("the tools are usable");
        assert!(grammar.grammar().to_string().contains(DIGITS));
        let (mut parser, mut events) = (grammar.parser(), Vec::new());
        parser
            .push(&output, &mut events)
            .expect("it is in the format");
        let arguments: String = { events.iter() }
            .filter_map(|event| match event {
                Event::Arguments { json, .. } => Some(json.as_str()),
                _ => None,
            })
            .collect();
        assert!(arguments.contains(DIGITS), "{arguments}");
    }
    let content = Content::Json(format!(r#"{{"const": {DIGITS}}}"#));
    let format = ToolFormat::preset("qwen").expect("it is a preset");
    let options = ToolOptions::new().with_content(content);
    let grammar = ToolGrammar::new(format, Vec::new(), &options).expect("it is usable");
    assert!(grammar.grammar().to_string().contains(DIGITS));
}
