//! A damaged template results in a prompt or an error, never in a panic.

use std::fs;
use std::path::Path;

use serde_json::json;
use structgen_chat::{ChatError, ChatLimits, ChatMessage, ChatOptions, ChatTemplate};

/// A linear congruential generator: the same mutations in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// Inserted pieces: all parts of the grammar, and some special numbers and characters.
const PIECES: [&str; 40] = [
    "{{", "}}", "{%", "%}", "{#", "#}", "-", "+", "(", ")", "[", "]", "{", "}", "|", ".", ",", ":",
    "=", "~", "*", "**", "//", "%", "'", "\"", "\\", " not ", " is ", " in ", " if ", " else ",
    " endfor ", "99999999", "é", "😀", "\0", "| trim", "[::-1]", "messages",
];

fn mutated(templates: &[Vec<char>], random: &mut Random) -> String {
    let mut text = templates[random.below(templates.len())].clone();
    for _ in 0..1 + random.below(4) {
        let start = random.below(text.len() + 1);
        let end = (start + random.below(20)).min(text.len());
        match random.below(4) {
            0 => drop(text.drain(start..end)),
            1 => {
                let piece = PIECES[random.below(PIECES.len())];
                text.splice(start..start, piece.chars());
            }
            2 => {
                let part = text[start..end].repeat(1 + random.below(30));
                text.splice(start..start, part);
            }
            _ => {
                let other = &templates[random.below(templates.len())];
                let from = random.below(other.len());
                let to = (from + random.below(100)).min(other.len());
                text.splice(start..end, other[from..to].iter().copied());
            }
        }
    }
    text.into_iter().collect()
}

#[test]
fn no_mutant_panics() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/templates");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let read = |path| fs::read_to_string(path).unwrap().chars().collect();
    let templates: Vec<Vec<char>> = paths.iter().map(read).collect();
    let plain = vec![
        ChatMessage::user(" Hi\n"),
        ChatMessage::assistant("Ho"),
        ChatMessage::user("Grüße"),
    ];
    let call = json!([{"function": {"name": "f", "arguments": {"a": [1, 2.5]}}}]);
    let rich = vec![
        ChatMessage::system("Be brief. "),
        ChatMessage::user(json!([{"type": "text", "text": "Hi"}])),
        ChatMessage::assistant(json!(null)).with("tool_calls", call),
        ChatMessage::tool("{\"x\": 1}"),
    ];
    let conversations = [plain, rich];
    let options = ChatOptions {
        tools: Some(vec![
            json!({"type": "function", "function": {"name": "f", "parameters": {"properties": {}}}}),
        ]),
        limits: ChatLimits {
            steps: 100_000,
            memory: 1_000_000,
        },
        ..ChatOptions::default()
    };
    let mut random = Random(7);
    let mut rendered = 0;
    for _ in 0..2_000 {
        let source = mutated(&templates, &mut random);
        let sources = [("default".to_owned(), source.clone())];
        let messages = &conversations[random.below(2)];
        let template = ChatTemplate::from_sources(sources, "{}").unwrap();
        match template.render(messages, &options) {
            Ok(_) => rendered += 1,
            Err(ChatError::Panicked | ChatError::Thread { .. }) => panic!("{source}"),
            Err(_) => {}
        }
    }
    // Enough mutants are still templates that accept the conversation.
    assert!(rendered > 100, "{rendered}");
}
