//! Objects with many keys, and alternatives that differ in keys: memory grows linearly, not quadratically and not with
//! the number of subsets.

use structgen_constraint::{CompiledConstraint, ConstraintOptions, oracle};
use structgen_frontend::json_schema::{self, Profile, SchemaOptions};
use structgen_grammar::Whitespace;
use structgen_vocab::TokenId;

use crate::support::{compile, compile_with, vocabulary, vocabulary_with};

fn schema(text: &str) -> CompiledConstraint {
    let options = SchemaOptions::new().with_profile(Profile::Exact);
    compile(
        json_schema::compile_str(text, &options)
            .expect("a schema")
            .grammar,
    )
}

fn takes(constraint: &CompiledConstraint, text: &str) -> bool {
    let refused = constraint.matcher().check_text(text.as_bytes());
    refused.expect("within limits").is_none()
}

fn object(keys: impl Iterator<Item = usize>) -> String {
    let members: Vec<String> = keys.map(|i| format!("\"key{i}\":0")).collect();
    format!("{{{}}}", members.join(","))
}

/// Returns the bytes kept for each member of a document, as allocated and as reported.
fn bytes_a_key(
    constraint: &CompiledConstraint,
    count: usize,
    keys: impl Iterator<Item = usize>,
) -> (usize, usize) {
    let document = object(keys);
    let before = constraint.state_bytes();
    let kept = allocation_counter::measure(|| assert!(takes(constraint, &document)));
    let allocated = usize::try_from(kept.bytes_current).expect("states are kept");
    (
        allocated / count,
        (constraint.state_bytes() - before) / count,
    )
}

fn check(few: (usize, usize), many: (usize, usize)) {
    // Tables grow by doubling, so they may be twice as large as their contents.
    assert!(many.0 < 3 * few.0, "{few:?} bytes a key, then {many:?}");
    let (allocated, reported) = many;
    assert!(
        4 * allocated < 5 * reported,
        "{allocated} bytes a key are {reported} as reported"
    );
}

#[test]
fn undeclared_keys_are_remembered_once() {
    let constraint = || schema(r#"{"type": "object"}"#);
    let few = bytes_a_key(&constraint(), 100, 0..100);
    let many = bytes_a_key(&constraint(), 1_600, 0..1_600);
    check(few, many);
    let constraint = constraint();
    for again in [0, 77, 299] {
        assert!(!takes(&constraint, &object((0..300).chain([again]))));
    }
    assert!(!takes(&constraint, r#"{"a":1,"b":2,"\u0061":3}"#));
    assert!(takes(&constraint, r#"{"ab":1,"a":2,"abc":3,"":4}"#));
}

#[test]
fn declared_keys_in_order_share_their_weights() {
    let constraint = |n: usize| {
        let properties: Vec<String> = (0..n).map(|i| format!("\"key{i}\": {{}}")).collect();
        let text = format!(
            r#"{{"type": "object", "properties": {{{}}}}}"#,
            properties.join(",")
        );
        let compiled = json_schema::compile_str(&text, &SchemaOptions::new());
        compile(compiled.expect("a schema").grammar)
    };
    let few = bytes_a_key(&constraint(100), 100, 0..100);
    let many = bytes_a_key(&constraint(1_600), 1_600, 0..1_600);
    check(few, many);
}

#[test]
fn an_object_with_too_many_counted_keys_is_refused_wherever_it_is() {
    let names: Vec<String> = (0..2_001).map(|i| format!("\"key{i}\": {{}}")).collect();
    let text = format!(
        r#"{{"type": "object", "properties": {{"x": {{"anyOf": [{{"type": "integer"}},
            {{"type": "object", "minProperties": 1, "properties": {{{}}}}}]}}}}}}"#,
        names.join(",")
    );
    let compiled = json_schema::compile_str(&text, &SchemaOptions::new()).expect("a schema");
    let options = ConstraintOptions::default();
    let refused = CompiledConstraint::new(compiled.grammar, &vocabulary(), &options);
    let limit = "#/properties/x: properties of an object whose members are counted exceed the limit of 2000";
    assert_eq!(refused.expect_err("a limit").to_string(), limit);
}

#[test]
fn declared_keys_in_any_order_share_what_they_have_in_common() {
    let constraint = |n: usize| {
        let names: Vec<String> = (0..n).map(|i| format!("\"key{i}\"")).collect();
        schema(&format!(
            r#"{{"type": "object", "required": [{}]}}"#,
            names.join(",")
        ))
    };
    let few = bytes_a_key(&constraint(100), 100, (0..100).rev());
    let many = bytes_a_key(&constraint(1_600), 1_600, (0..1_600).rev());
    check(few, many);
    let constraint = constraint(70);
    assert!(!takes(&constraint, &object((0..69).rev())));
    assert!(!takes(&constraint, &object((0..70).chain([65]))));
    assert!(takes(&constraint, &object((35..70).chain(0..35))));
}

#[test]
fn finite_classes_are_left_once_their_keys_are_taken() {
    let constraint = schema(
        r#"{"type": "object", "patternProperties": {"^[ab]{1,2}$": true}, "additionalProperties": false}"#,
    );
    assert!(takes(
        &constraint,
        r#"{"a":1,"b":1,"aa":1,"ab":1,"ba":1,"bb":1}"#
    ));
    assert!(!takes(
        &constraint,
        r#"{"a":1,"b":1,"aa":1,"ab":1,"ba":1,"bb":1,"a":1}"#
    ));
    let mut matcher = constraint.matcher();
    for byte in br#"{"a":1,"b":1,"aa":1,"ab":1,"ba":1,"b"# {
        let mask = matcher.mask().expect("within limits");
        let token = structgen_vocab::TokenId(u32::from(*byte));
        assert!(mask.contains(token), "{}", char::from(*byte));
        matcher.accept_token(token).expect("the mask allows it");
    }
    // Only the key "bb" is left.
    let mask = matcher.mask().expect("within limits");
    assert!(mask.contains(structgen_vocab::TokenId(u32::from(b'b'))));
    assert!(!mask.contains(structgen_vocab::TokenId(u32::from(b'a'))));
    assert!(!mask.contains(structgen_vocab::TokenId(u32::from(b'"'))));
}

#[test]
fn exactly_one_of_many_objects_takes_few_states() {
    let states = |n: usize| {
        let arm = |i| {
            format!(
                r#"{{"properties": {{"a{i}": {{"type": "string"}}, "b{i}": {{"type": "integer"}}}}}}"#
            )
        };
        let arms: Vec<String> = (0..n).map(arm).collect();
        let constraint = schema(&format!(
            r#"{{"type": "object", "oneOf": [{}]}}"#,
            arms.join(",")
        ));
        let members = |of: std::ops::Range<usize>| {
            of.map(|i| format!("\"a{i}\":0"))
                .collect::<Vec<_>>()
                .join(",")
        };
        assert!(takes(&constraint, &format!("{{{}}}", members(1..n))));
        assert!(!takes(&constraint, &format!("{{{}}}", members(0..n))));
        assert!(!takes(&constraint, &format!("{{{}}}", members(2..n))));
        constraint.statistics().states
    };
    let (few, many) = (states(5), states(15));
    assert!(
        many < 27 * few,
        "5 alternatives take {few} states, 15 take {many}"
    );
}

/// The constraint of a schema, with this limit on the memory of states.
fn limited(state_bytes: usize, text: &str) -> CompiledConstraint {
    let options = ConstraintOptions {
        state_bytes,
        ..ConstraintOptions::default()
    };
    let schema = json_schema::compile_str(text, &SchemaOptions::new()).unwrap();
    CompiledConstraint::new(schema.grammar, &vocabulary(), &options).unwrap()
}

#[test]
fn a_text_that_fills_the_states_by_itself_is_refused_by_name() {
    let constraint = limited(8 << 20, r#"{"type": "object"}"#);
    let mut matcher = constraint.matcher();
    let text = (0..20_000).flat_map(|i| {
        let comma = if i == 0 { "{" } else { "," };
        format!("{comma}\"key{i}\":0").into_bytes()
    });
    let mut taken = 0;
    let mut refused = text.map(|byte| {
        let accepted = matcher.accept_token(TokenId(byte.into()));
        taken += usize::from(accepted.is_ok());
        accepted
    });
    let refused = refused.find_map(Result::err).unwrap();
    assert_eq!(
        refused.to_string(),
        "bytes of the states of one text exceed the limit of 7549740"
    );
    assert!(taken > 40_000, "{taken}");
    assert_eq!(matcher.tokens().count(), taken);
    assert_eq!(constraint.matcher().check_text(b"{\"a\":1}"), Ok(None));
}

#[test]
fn a_checked_text_whose_states_are_needed_to_its_end_is_refused_by_name() {
    let constraint = limited(8 << 20, r#"{"type": "object"}"#);
    let text = object(0..20_000);
    let mut refused = Ok(None);
    let memory = allocation_counter::measure(|| {
        refused = constraint.matcher().check_text(text.as_bytes());
    });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "bytes of the states of one text exceed the limit of 11324619"
    );
    assert!(memory.bytes_max < 128 << 20, "{} bytes", memory.bytes_max);
    assert_eq!(constraint.matcher().check_text(b"{\"a\":1}"), Ok(None));
}

#[test]
fn a_long_text_of_objects_with_ever_new_keys_is_checked_in_bounded_memory() {
    let schema = r#"{"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}}"#;
    let items: Vec<String> = (0..30_000)
        .map(|i| format!("{{\"key{i}\":0,\"{i}\":1}}"))
        .collect();
    let text = format!("[{}]", items.join(","));
    let mut most = Vec::new();
    for objects in [10_000, 30_000] {
        let constraint = limited(4 << 20, schema);
        let end = text
            .find(&format!(",{{\"key{objects}\""))
            .unwrap_or(text.len() - 1);
        let text = format!("{}]", &text[..end]);
        let memory = allocation_counter::measure(|| {
            assert_eq!(constraint.matcher().check_text(text.as_bytes()), Ok(None));
        });
        most.push(memory.bytes_max);
        assert!(constraint.statistics().states_dropped > 0);

        // What was read before still counts: in the last object, and in the text as a whole.
        let mut matcher = constraint.matcher();
        let twice = format!("{},{{\"a\":1,\"a\":1}}]", &text[..end]);
        let refusal = matcher.check_text(twice.as_bytes()).unwrap().unwrap();
        assert_eq!(refusal.offset, twice.rfind("\":1}]").unwrap());
        let refusal = matcher
            .check_text(&text.as_bytes()[..end])
            .unwrap()
            .unwrap();
        assert_eq!((refusal.offset, refusal.may_end), (end, false));
        assert_eq!(refusal.expected, b",]");
    }
    assert!(most[1] < 2 * most[0], "{most:?} bytes");
}

#[test]
fn a_token_with_two_equal_keys_or_items_is_not_allowed() {
    let members = [
        r#"{"a":1,"a":"#,
        r#"{"a":1,"":"#,
        r#"{"a":1,"b":"#,
        r#"{"a":{"a":1,"a":"#,
        r#"{"a":{"a":1},"b":"#,
        r#""a":1,"a":"#,
        r#""a":1,"b":"#,
        r#""a":1,"":"#,
        r#""c":1,"a":"#,
        r#""":1,"":"#,
        r#""":1,"a":"#,
    ];
    let items = [
        "[1,1,",
        "[1,2,",
        "[null,1,",
        "[1,null",
        "[[1],[1]",
        "1,1,",
        "1,2,",
        r#""a","a""#,
        r#"{"a":1},{"a":1}"#,
        "null,1",
        "1,null",
    ];
    let whitespaces = [
        Whitespace::Compact,
        Whitespace::Spaced,
        Whitespace::Bounded { max: 4 },
    ];
    for (schema, tokens, begun) in [
        (
            r#"{"type": "object"}"#,
            &members[..],
            ["", "{", r#"{"c":1,"#, r#"{"":{"#],
        ),
        (
            r#"{"type": "array", "uniqueItems": true, "items": {"type": ["array", "integer"]}}"#,
            &items[..],
            ["", "[", "[[1],", "[[],"],
        ),
        (
            r#"{"type": "array", "uniqueItems": true}"#,
            &items[..],
            ["", "[", "[2,", "[1,"],
        ),
    ] {
        for whitespace in whitespaces {
            let options = SchemaOptions::new()
                .with_profile(Profile::Exact)
                .with_whitespace(whitespace);
            let compiled = json_schema::compile_str(schema, &options).expect("a schema");
            let constraint = compile_with(compiled.grammar, &vocabulary_with(tokens));
            for begun in begun {
                let mut matcher = constraint.matcher();
                for byte in begun.bytes() {
                    let token = TokenId(u32::from(byte));
                    matcher.accept_token(token).expect("it is allowed");
                }
                let mask = matcher.mask().expect("within limits");
                let naive = oracle::mask(&matcher).expect("within limits");
                assert_eq!(mask.bits(), &naive, "{begun:?} {whitespace:?}");
            }
        }
    }
}
