//! Arrays of distinct items: how they are written, what they cost, and how deep they nest.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use structgen_constraint::{CompiledConstraint, ConstraintOptions};
use structgen_frontend::json_schema::{Profile, SchemaOptions, compile_str};
use structgen_grammar::{Indent, Whitespace};
use structgen_vocab::TokenId;

use crate::support::{
    SplitMix, compile, texts, try_compile, vocabulary, walk_and_compare, walk_and_hold,
};

#[test]
fn what_distinct_items_are_promised_to_cost_is_enough_in_every_form() {
    let schemas = [
        r#"{"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true, "minItems": 1}}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 3, "items": {"type": ["object", "array", "integer"]}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"enum": ["a", "b", "ab"]}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"required": ["a"], "type": "object"}}"#,
        r#"{"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "uniqueItems": true, "minItems": 9,
            "items": {"type": "array", "items": {"type": "integer"}}}}}"#,
        // The item of an array of distinct items needs several distinct items itself.
        r#"{"type": "object", "required": ["x"], "properties": {"x": {"type": "array", "uniqueItems": true, "minItems": 4,
            "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "uniqueItems": true,
                "minItems": 2, "items": {"type": "integer"}}}}}}}"#,
        r#"{"type": "object", "required": ["a"], "properties": {"a": {"type": "object", "required": ["a"], "properties": {"a":
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "uniqueItems": true, "minItems": 5,
                "items": {"type": "array", "items": {"type": "integer"}}}}}}}}}"#,
    ];
    let indent = |indent| Whitespace::Indented { indent };
    for whitespace in [
        Whitespace::Compact,
        Whitespace::Spaced,
        Whitespace::OneSpace,
        indent(Indent::Spaces(2)),
        indent(Indent::Tab),
    ] {
        let options = SchemaOptions::new().with_whitespace(whitespace);
        for schema in schemas {
            let compiled = compile_str(schema, &options).expect("a schema");
            let constraint = compile(compiled.grammar);
            for seed in 0..12 {
                walk_and_hold(&constraint, seed, 40);
            }
        }
    }
}

#[test]
fn the_limit_on_nesting_is_that_of_the_document() {
    let tree = r##"{"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "additionalProperties": false,
        "properties": {"c": {"type": "array", "uniqueItems": true, "items": {"$ref": "#/$defs/tree"}}}}}}"##;
    let schemas = [
        (tree, "{\"c\":[", "]}"),
        (r#"{"type": "array", "uniqueItems": true}"#, "[", "]"),
        (
            r##"{"type": "array", "uniqueItems": true, "items": {"$ref": "#"}}"##,
            "[",
            "]",
        ),
        (
            r##"{"type": "array", "prefixItems": [{"items": {"$ref": "#"}}], "uniqueItems": true}"##,
            "[",
            "]",
        ),
    ];
    for profile in [Profile::Rust, Profile::Generate] {
        let options = SchemaOptions::new().with_profile(profile);
        for (schema, open, close) in schemas {
            let compiled = compile_str(schema, &options).expect("a schema");
            let most =
                compiled.grammar.form().max_depth as usize / open.matches(['[', '{']).count();
            let constraint = compile(compiled.grammar);
            let is_valid = |levels: usize| {
                let text = open.repeat(levels) + &close.repeat(levels);
                let refused = constraint.matcher().check_text(text.as_bytes());
                refused.expect("within limits").is_none()
            };
            assert!((1..=most).all(is_valid), "{schema}");
            assert!(!is_valid(most + 1), "{schema}");
            // A mask at every level says the same.
            let mut matcher = constraint.matcher();
            for byte in open.repeat(most).bytes() {
                let token = TokenId(byte.into());
                assert!(matcher.mask().expect("within limits").contains(token));
                matcher.accept_token(token).expect("it is allowed");
            }
            let mask = matcher.mask().expect("within limits");
            assert!(!mask.contains(TokenId(b'['.into())), "{schema}");
        }
    }
}

#[test]
fn several_distinct_items_inside_distinct_items_are_refused_or_written() {
    let around = |levels: usize, inner: &str| {
        let mut schema = inner.to_owned();
        for _ in 0..levels {
            schema = format!(r#"{{"type": "array", "uniqueItems": true, "items": {schema}}}"#);
        }
        let compiled = compile_str(&schema, &SchemaOptions::new()).expect("a schema");
        let options = ConstraintOptions::default();
        CompiledConstraint::new(compiled.grammar, &vocabulary(), &options)
    };
    let needed =
        r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "integer"}}"#;
    let listed =
        r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"enum": ["a", "b"]}}"#;
    let needs_one =
        r#"{"type": "array", "uniqueItems": true, "minItems": 1, "items": {"type": "integer"}}"#;
    for (inner, levels, text) in [
        (needed, 3, "[1,2]"),
        (listed, 9, r#"["b","a"]"#),
        (needs_one, 9, "[7]"),
    ] {
        let constraint = around(levels, inner).expect("within limits");
        let text = "[".repeat(levels) + text + &"]".repeat(levels);
        let mut matcher = constraint.matcher();
        for byte in text.bytes() {
            let token = TokenId(byte.into());
            assert!(matcher.mask().expect("within limits").contains(token));
            matcher.accept_token(token).expect("it is allowed");
        }
    }
    let refused = around(4, needed).expect_err("a limit").to_string();
    let limit = "#/items/items/items/items: arrays inside one another that need several distinct items exceed the limit of 4";
    assert_eq!(refused, limit);
}

#[test]
fn distinct_items_are_indented_like_others() {
    let items = r#""type": "array", "uniqueItems": true, "items": {"type": ["object", "array", "integer"]}"#;
    let schema = format!(
        r#"{{"properties": {{"a": {{{items}}}}}, "anyOf": [{{"type": "object"}}, {{{items}}}]}}"#
    );
    let whitespace = Whitespace::Indented {
        indent: Indent::Spaces(2),
    };
    let options = SchemaOptions::new().with_whitespace(whitespace);
    let constraint = compile(compile_str(&schema, &options).expect("a schema").grammar);
    for text in [
        r#"[0, [1], {"b": [2, {}]}]"#,
        r#"{"a": [[], [[1, 2]], {"b": {"c": [3]}}, 4]}"#,
    ] {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("JSON");
        let refused = constraint.matcher().check_text(pretty.as_bytes());
        assert_eq!(refused.expect("within limits"), None, "{pretty}");
    }
    for seed in 0..20 {
        let text = walk_and_compare(&constraint, seed, 60);
        let value: Value = serde_json::from_slice(&text).expect("JSON");
        let pretty = serde_json::to_string_pretty(&value).expect("JSON");
        // Numbers and strings may be written in other ways.
        let lines = |text: &str| {
            text.lines()
                .map(|line| line.len() - line.trim_start().len())
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(&String::from_utf8_lossy(&text)), lines(&pretty));
    }
}

/// Some of six texts of different lengths: the bits of a set.
fn some(random: &mut SplitMix) -> u32 {
    (random.below(63) + 1) as u32
}

fn texts_of(numbers: impl IntoIterator<Item = u32>) -> Value {
    let letter = |number: u32| ["a", "bb", "cccccccc", "d", "eeeeeeeeeeeee", "ff"][number as usize];
    numbers.into_iter().map(letter).collect()
}

fn listed(set: u32) -> Value {
    json!({"enum": texts_of((0..6).filter(|i| set >> i & 1 == 1))})
}

/// Returns all arrays of distinct numbers below 6 with up to `most` items.
fn arrays(most: usize) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    let mut begin = 0;
    for _ in 0..most {
        let end = all.len();
        for i in begin..end {
            let fresh = (0..6).filter(|number| !all[i].contains(number));
            let longer: Vec<Vec<u32>> = fresh.map(|it| [&all[i][..], &[it]].concat()).collect();
            all.extend(longer);
        }
        begin = end;
    }
    all
}

#[test]
fn tuples_of_distinct_items_that_are_counted_are_exactly_those_by_definition() {
    let (all, tables) = (arrays(4), vocabulary());
    let (mut compiled, mut impossible) = (0, 0);
    for seed in 0..400 {
        let mut random = SplitMix::new(seed);
        let prefix: Vec<u32> = (0..=random.below(4)).map(|_| some(&mut random)).collect();
        let rest = some(&mut random) & some(&mut random);
        let min_items = random.below(4);
        let max_items = min_items.max(random.below(5));
        let counted: Vec<(u32, usize, usize)> = (0..=random.below(3))
            .map(|_| {
                let min = random.below(3);
                let max = [min + random.below(3), usize::MAX][random.below(2)];
                (some(&mut random), min, max)
            })
            .collect();
        let contains = counted.iter().map(|&(set, min, max)| {
            let mut contains = json!({"contains": listed(set), "minContains": min});
            if max != usize::MAX {
                contains["maxContains"] = json!(max);
            }
            contains
        });
        let mut schema = json!({
            "type": "array", "uniqueItems": true, "minItems": min_items, "maxItems": max_items,
            "prefixItems": prefix.iter().map(|&set| listed(set)).collect::<Vec<Value>>(),
            "items": false, "allOf": contains.collect::<Vec<Value>>(),
        });
        if rest != 0 {
            schema["items"] = listed(rest);
        }
        let is_valid = |items: &&Vec<u32>| {
            let of = |i: usize| prefix.get(i).copied().unwrap_or(rest);
            let bounds = min_items..=max_items;
            bounds.contains(&items.len())
                && { items.iter().enumerate() }.all(|(i, item)| of(i) >> item & 1 == 1)
                && counted.iter().all(|&(set, min, max)| {
                    let count = items.iter().filter(|&item| set >> item & 1 == 1).count();
                    (min..=max).contains(&count)
                })
        };
        let valid = all.iter().filter(is_valid);
        let valid: BTreeSet<String> = valid
            .map(|items| texts_of(items.iter().copied()).to_string())
            .collect();
        let text = schema.to_string();
        let options = SchemaOptions::new().with_whitespace(Whitespace::Compact);
        let constraint = match compile_str(&text, &options) {
            Ok(schema) => try_compile(schema.grammar, &tables).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match constraint {
            Ok(constraint) => {
                assert_eq!(texts(&constraint), valid, "{text}");
                walk_and_hold(&constraint, seed, 20);
                walk_and_hold(&constraint, seed + 1, 20);
                walk_and_compare(&constraint, seed, 0);
                compiled += 1;
            }
            Err(error) => {
                assert!(valid.is_empty(), "{text}: {error}");
                impossible += 1;
            }
        }
    }
    assert!(compiled > 150 && impossible > 50, "{compiled} {impossible}");
}

#[test]
fn what_a_tuple_promises_to_cost_holds_once_a_count_is_met() {
    let schema = r#"{"type": "array", "uniqueItems": true, "minItems": 4, "prefixItems": [{"type": "boolean"}],
        "items": {"type": ["integer", "string"], "minLength": 50}, "contains": {"type": "integer"}}"#;
    let options = SchemaOptions::new().with_whitespace(Whitespace::Compact);
    let constraint = compile(compile_str(schema, &options).expect("a schema").grammar);
    for seed in 0..40 {
        walk_and_hold(&constraint, seed, 120);
        walk_and_compare(&constraint, seed, 0);
    }
}
