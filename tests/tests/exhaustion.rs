//! Bounded exhaustion: all texts up to a length over a tiny alphabet, for hundreds of small schemas of every keyword.
//!
//! A text is accepted exactly when it is JSON without a key twice that an independent validator finds valid; and every
//! prefix that is allowed has a completion, which the validator finds valid too.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use structgen::automata::{Limits, Memory, Network, Program, SetId};
use structgen::frontend::json_schema::compile;
use structgen::grammar::Whitespace;
use structgen::{FormatMode, KeyOrder, Profile, SchemaOptions};
use structgen_tests::generator::SchemaGenerator;
use structgen_tests::{SplitMix, is_full_run, report};

/// The letters, and the length up to which all texts are looked at; one more with `STRUCTGEN_FULL=1`.
const ALPHABETS: [(&[u8], usize); 3] = [(b"[],01", 5), (b"{}:,\"a0", 7), (b"\"ab.1", 4)];

/// All texts over the letters that are JSON, with their values.
fn documents(letters: &[u8], length: usize) -> BTreeMap<Vec<u8>, Value> {
    let mut found = BTreeMap::new();
    // Whether anything follows a prefix is not asked of what is tested: a text that cannot be extended is found by its
    // brackets and quotes.
    let mut todo: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(text) = todo.pop() {
        if let Ok(value) = serde_json::from_slice::<Value>(&text)
            && has_no_key_twice(&text, &value)
        {
            found.insert(text.clone(), value);
        }
        if text.len() < length {
            for &letter in letters {
                let mut longer = text.clone();
                longer.push(letter);
                if may_go_on(&longer) {
                    todo.push(longer);
                }
            }
        }
    }
    found
}

/// Whether reading stopped only since the text did.
fn may_go_on(text: &[u8]) -> bool {
    match serde_json::from_slice::<Value>(text) {
        Ok(_) => true,
        Err(error) => error.is_eof(),
    }
}

/// Compact texts have as many colons outside of strings as they have members.
fn has_no_key_twice(text: &[u8], value: &Value) -> bool {
    fn members(value: &Value) -> usize {
        match value {
            Value::Array(items) => items.iter().map(members).sum(),
            Value::Object(entries) => entries.len() + entries.values().map(members).sum::<usize>(),
            _ => 0,
        }
    }
    let mut inside = false;
    let mut colons = 0;
    for byte in text {
        inside ^= *byte == b'"';
        colons += usize::from(*byte == b':' && !inside);
    }
    colons == members(value)
}

struct Walk<'w> {
    network: Network,
    letters: &'w [u8],
    length: usize,
    documents: &'w BTreeMap<Vec<u8>, Value>,
    validator: &'w jsonschema::Validator,
    schema: &'w Value,
    prefixes: usize,
}

impl Walk<'_> {
    /// Looks at all texts that begin like this, which is allowed.
    fn visit(&mut self, text: &mut Vec<u8>, state: SetId) {
        self.prefixes += 1;
        let shown = String::from_utf8_lossy(text).into_owned();
        let accepted = self
            .network
            .call()
            .is_accepting(state)
            .expect("within limits");
        let document = self.documents.get(text);
        let valid = document.is_some_and(|value| self.validator.is_valid(value));
        assert_eq!(accepted, valid, "{shown} for {}", self.schema);
        if text.len() <= 4 {
            self.complete(text.clone(), state);
        }
        if text.len() == self.length {
            return;
        }
        for &letter in self.letters {
            let next = self.network.call().step(state, letter, Memory::Exact);
            let next = next.expect("within limits");
            if next != SetId::DEAD {
                text.push(letter);
                self.visit(text, next);
                text.pop();
            }
        }
    }

    /// Goes the cheapest way from an allowed prefix to its end, which has to be valid.
    fn complete(&mut self, mut text: Vec<u8>, mut state: SetId) {
        while self.network.call().cost(state) > 0 {
            let cost = self.network.call().cost(state);
            let next = (0..=u8::MAX).find_map(|byte| {
                let next = self.network.call().step(state, byte, Memory::Exact);
                let next = next.expect("within limits");
                (next != SetId::DEAD && self.network.call().cost(next) < cost)
                    .then_some((byte, next))
            });
            let shown = String::from_utf8_lossy(&text).into_owned();
            let (byte, next) =
                next.unwrap_or_else(|| panic!("a dead end after {shown} for {}", self.schema));
            text.push(byte);
            state = next;
        }
        let shown = String::from_utf8_lossy(&text).into_owned();
        let value: Value = serde_json::from_slice(&text)
            .unwrap_or_else(|error| panic!("{error}: {shown} for {}", self.schema));
        assert!(
            self.validator.is_valid(&value),
            "{shown} does not fit {}",
            self.schema
        );
    }
}

#[test]
fn all_texts_up_to_a_bound_are_judged_right() {
    const SCHEMAS: usize = 500;
    let more = usize::from(is_full_run());
    let alphabets = ALPHABETS.map(|(letters, length)| (letters, length + more));
    let all = alphabets.map(|(letters, length)| documents(letters, length));
    let options = SchemaOptions::new()
        .with_profile(Profile::Exact)
        .with_order(KeyOrder::Any)
        .with_whitespace(Whitespace::Compact)
        .with_formats(FormatMode::Assert);
    let mut random = SplitMix::new(5);
    let (mut schemas, mut valid, mut prefixes) = (0, 0, 0);
    while schemas < SCHEMAS {
        let schema = SchemaGenerator::document(&mut random);
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema);
        let (Ok(validator), Ok(compiled)) = (validator, compile(&schema, &options)) else {
            continue;
        };
        let Ok(program) = Program::new(compiled.grammar, Limits::default()) else {
            continue;
        };
        let program = Arc::new(program);
        schemas += 1;
        for ((letters, length), documents) in alphabets.into_iter().zip(&all) {
            let network = Network::new(program.clone()).expect("within limits");
            let start = network.start();
            let mut walk = Walk {
                network,
                letters,
                length,
                documents,
                validator: &validator,
                schema: &schema,
                prefixes: 0,
            };
            walk.visit(&mut Vec::new(), start);
            prefixes += walk.prefixes;
            // What is valid is accepted, so that each of its prefixes is allowed.
            for (text, value) in documents {
                if !validator.is_valid(value) {
                    continue;
                }
                valid += 1;
                let mut state = start;
                for &byte in text {
                    let next = walk.network.call().step(state, byte, Memory::Exact);
                    state = next.expect("within limits");
                }
                let accepted = walk
                    .network
                    .call()
                    .is_accepting(state)
                    .expect("within limits");
                assert!(accepted, "{} for {schema}", String::from_utf8_lossy(text));
            }
        }
    }
    report(&format!(
        "{schemas} schemas: {prefixes} allowed prefixes looked at, {valid} valid texts accepted, none judged otherwise"
    ));
}
