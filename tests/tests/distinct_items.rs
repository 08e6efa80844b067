//! Masks of distinct items that begin like others, compared with the naive oracle: how far an item is from its equals
//! decides what a mask may leave out.

use structgen::constraint::{CompiledConstraint, oracle};
use structgen::grammar::Whitespace;
use structgen::vocab::TokenId;
use structgen::{Constraint, KeyOrder, Profile, SchemaOptions};
use structgen_tests::vocabularies::{self, TestVocabulary};
use structgen_tests::{SplitMix, is_full_run, report};

/// Schemas of items, and items; each has others that begin like it.
const CASES: [(&str, &[&str]); 9] = [
    // Any value of any key, and more keys.
    (
        r#"{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}"#,
        &[
            r#"{"a":"x","b":1,"name":[],"id":2,"type":"x"}"#,
            r#"{"a":"x","b":1,"name":[],"id":2,"kind":"x"}"#,
            r#"{"a":"x"}"#,
            r#"{}"#,
        ],
    ),
    // No other keys, and each with many values.
    (
        r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "name": {"type": "string"},
            "id": {"type": "integer"}, "type": {"type": "string"}}, "additionalProperties": false}"#,
        &[
            r#"{"a":1,"b":1,"name":"ab","id":1,"type":"x"}"#,
            r#"{"a":1,"b":1,"name":"ab","id":1,"type":"xy"}"#,
            r#"{"a":1,"b":1,"name":"ab","id":1}"#,
            r#"{"a":1,"b":1}"#,
        ],
    ),
    // Few values of each key, so that items run out.
    (
        r#"{"type": "object", "properties": {"a": {"enum": [1, 2]}, "id": {"const": 1}, "type": {"enum": ["x", "y"]}},
            "required": ["a", "id", "type"], "additionalProperties": false}"#,
        &[
            r#"{"a":1,"id":1,"type":"x"}"#,
            r#"{"a":1,"id":1,"type":"y"}"#,
            r#"{"a":2,"id":1,"type":"x"}"#,
            r#"{"a":2,"id":1,"type":"y"}"#,
        ],
    ),
    // One key of many values among others.
    (
        r#"{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 1}, "name": {"type": "string"}, "id": {"const": 1},
            "type": {"const": "x"}}, "required": ["a", "b", "name", "id", "type"], "additionalProperties": false}"#,
        &[
            r#"{"a":1,"b":1,"name":"ab","id":1,"type":"x"}"#,
            r#"{"a":1,"b":1,"name":"a","id":1,"type":"x"}"#,
            r#"{"a":1,"b":1,"name":"","id":1,"type":"x"}"#,
        ],
    ),
    // Members that are counted: one of several keys must be there, and some exclude others.
    (
        r#"{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "name": {"type": "string"}, "id": {"type": "integer"},
            "type": {"enum": ["x", "y"]}}, "additionalProperties": false, "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "dependentSchemas": {"name": {"not": {"required": ["type"]}}}}"#,
        &[
            r#"{"a":"x","b":"y","name":"ab","id":1}"#,
            r#"{"a":"x","b":"y","name":"ab","id":12}"#,
            r#"{"a":"x","b":"y","type":"x"}"#,
            r#"{"a":"x","b":"y","type":"y"}"#,
        ],
    ),
    // A limit on members.
    (
        r#"{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 1}}, "additionalProperties": {"type": "integer"}, "maxProperties": 4}"#,
        &[
            r#"{"a":1,"b":1,"id":1,"name":2}"#,
            r#"{"a":1,"b":1,"id":1,"type":2}"#,
            r#"{"a":1,"b":1,"id":1}"#,
        ],
    ),
    // One of several kinds.
    (
        r#"{"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "x"}, "a": {"type": "string"}, "b": {"type": "integer"}, "id": {"type": "integer"}},
                "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"const": "y"}, "a": {"type": "string"}}, "required": ["kind", "a"], "additionalProperties": false}
        ]}"#,
        &[
            r#"{"kind":"x","a":"ab","b":1,"id":1}"#,
            r#"{"kind":"x","a":"ab","b":1,"id":10}"#,
            r#"{"kind":"y","a":"ab"}"#,
            r#"{"kind":"y","a":"aa"}"#,
        ],
    ),
    // Objects within objects, and values of other types beside them.
    (
        r#"{"anyOf": [{"type": "string", "pattern": "^[ab]{0,3}$"}, {"type": "boolean"}, {"type": "object", "properties": {
            "value": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "id": {"type": "integer"}}},
            "items": {"type": "array", "items": {"type": "integer"}}, "name": {"type": "string", "maxLength": 2}, "type": {"type": "string"}},
            "additionalProperties": false}]}"#,
        &[
            r#"{"value":{"a":1,"b":2,"id":3},"items":[1,2],"name":"ab","type":"x"}"#,
            r#"{"value":{"a":1,"b":2,"id":3},"items":[1,2],"name":"ab","type":"y"}"#,
            r#""ab""#,
            r#""aba""#,
            "true",
        ],
    ),
    // Strings of a pattern with few and with many characters to choose from.
    (
        r#"{"type": "string", "pattern": "^[a-z0-9]{1,12}(/[ab]{0,2})*$"}"#,
        &[
            r#""aaaaaaab/a""#,
            r#""aaaaaaab/b""#,
            r#""aaaaaaaa""#,
            r#""aaaaaaab""#,
            r#""aa""#,
        ],
    ),
];

/// Compares the masks along a text that is tokenized at random, until it is refused. Returns how many were compared,
/// and whether all of it was read.
fn compare(
    constraint: &CompiledConstraint,
    vocabulary: &TestVocabulary,
    text: &[u8],
    random: &mut SplitMix,
) -> (usize, bool) {
    let mut matcher = constraint.matcher();
    let (mut at, mut compared) = (0, 0);
    loop {
        let shown = String::from_utf8_lossy(&text[..at]);
        let mask = matcher.mask().expect("within the limits");
        let naive = oracle::mask(&matcher).expect("within the limits");
        let differ = |token| mask.contains(token) != naive.contains(token);
        let ids = (0..vocabulary.width() as u32).map(TokenId);
        let different: Vec<_> = ids
            .filter(|&token| differ(token))
            .map(|token| {
                String::from_utf8_lossy(
                    vocabulary
                        .vocabulary()
                        .token_bytes(token)
                        .unwrap_or_default(),
                )
                .into_owned()
            })
            .collect();
        assert!(
            different.is_empty(),
            "after {shown:?} ({} and {} tokens): {different:?}",
            mask.count(),
            naive.count()
        );
        compared += 1;
        let fits = |token: &TokenId| {
            let bytes = vocabulary
                .vocabulary()
                .token_bytes(*token)
                .unwrap_or_default();
            !bytes.is_empty() && text[at..].starts_with(bytes)
        };
        let next: Vec<_> = naive.iter().filter(fits).collect();
        let Some(&token) = next.get(random.below(next.len().max(1))) else {
            return (compared, at == text.len());
        };
        at += vocabulary
            .vocabulary()
            .token_bytes(token)
            .unwrap_or_default()
            .len();
        matcher.accept_token(token).expect("the mask has it");
    }
}

#[test]
fn masks_of_items_that_begin_alike_equal_the_oracles() {
    let rounds = if is_full_run() { 200 } else { 8 };
    let vocabulary = vocabularies::small();
    let mut random = SplitMix::new(31);
    let (mut masks, mut complete) = (0, 0);
    for (item, items) in CASES {
        for (profile, order) in [
            (Profile::Generate, KeyOrder::Declared),
            (Profile::Generate, KeyOrder::Any),
            (Profile::Exact, KeyOrder::Any),
        ] {
            let options = SchemaOptions::new()
                .with_profile(profile)
                .with_order(order)
                .with_whitespace(Whitespace::Bounded { max: 2 });
            let schema = format!(r#"{{"type": "array", "items": {item}, "uniqueItems": true}}"#);
            let constraint = Constraint::json_schema_str(&schema, &options).expect("it is right");
            let constraint = constraint
                .compile(&vocabulary.tables, &[vocabulary.eos])
                .expect("it is right");
            for _ in 0..rounds {
                let drawn = 1 + random.below(4);
                let drawn: Vec<&str> = (0..drawn)
                    .map(|_| items[random.below(items.len())])
                    .collect();
                let text = format!("[{}]", drawn.join(","));
                let (compared, is_complete) =
                    compare(&constraint, &vocabulary, text.as_bytes(), &mut random);
                masks += compared;
                let mut distinct = drawn.clone();
                distinct.sort_unstable();
                distinct.dedup();
                // Profile `generate` writes no undeclared keys.
                let is_distinct = distinct.len() == drawn.len();
                assert!(is_distinct || !is_complete, "{text} under {schema}");
                assert!(
                    is_complete || !is_distinct || profile == Profile::Generate,
                    "{text} under {schema}"
                );
                complete += usize::from(is_complete);
            }
        }
    }
    report(&format!(
        "{masks} masks along {} arrays, {complete} of them valid: all equal",
        CASES.len() * 3 * rounds
    ));
    assert!(complete > 50);
}

/// Follows the cheapest tokens until the text may end. Returns the text, or `None` if it comes to a dead end.
fn completed(
    constraint: &CompiledConstraint,
    vocabulary: &TestVocabulary,
    text: &str,
) -> Option<String> {
    let mut matcher = constraint.matcher();
    let mut text = text.to_owned();
    for byte in text.bytes() {
        let token = vocabulary.vocabulary().byte_tokens()[usize::from(byte)].expect("all bytes");
        matcher.accept_token(token).ok()?;
    }
    for _ in 0..1_000 {
        let mask = matcher.mask().expect("within the limits");
        if mask.contains(vocabulary.eos) {
            return Some(text);
        }
        let bytes = vocabulary.vocabulary().byte_tokens().iter().flatten();
        let allowed = bytes.copied().filter(|&token| mask.contains(token));
        let cost = |token: &TokenId| {
            matcher
                .completion_cost_after(*token)
                .expect("within the limits")
        };
        let token = allowed.min_by_key(cost)?;
        let bytes = vocabulary.vocabulary().token_bytes(token).expect("a byte");
        text.push(char::from(bytes[0]));
        matcher.accept_token(token).expect("the mask has it");
    }
    None
}

/// Arrays whose items run out, each with all items in some order.
#[test]
fn items_that_run_out_end_the_array() {
    let vocabulary = vocabularies::small();
    // The only keys of the pattern are declared.
    let declared = r#"{"type": "object", "properties": {"x": {"const": "a"}, "y": {"const": "b"}}, "patternProperties": {"^[xy]$": {"type": "string"}},
        "additionalProperties": false, "minProperties": 1}"#;
    // There is no room for more than what is required.
    let required = r#"{"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "string"}, "c": {"type": "string"}}, "required": ["a"],
        "dependentRequired": {"b": ["c"]}, "maxProperties": 1, "additionalProperties": false}"#;
    for (item, items) in [
        (
            declared,
            &[r#"{"x":"a"}"#, r#"{"y":"b"}"#, r#"{"x":"a","y":"b"}"#][..],
        ),
        (required, &[r#"{"a":true}"#, r#"{"a":false}"#]),
    ] {
        for order in [KeyOrder::Declared, KeyOrder::Any] {
            let options = SchemaOptions::new()
                .with_order(order)
                .with_whitespace(Whitespace::Compact);
            let schema = format!(r#"{{"type": "array", "items": {item}, "uniqueItems": true}}"#);
            let constraint = Constraint::json_schema_str(&schema, &options).expect("it is right");
            let constraint = constraint
                .compile(&vocabulary.tables, &[vocabulary.eos])
                .expect("it is right");
            let all = format!("[{}", items.join(","));
            for end in 1..=all.len() {
                let text = completed(&constraint, &vocabulary, &all[..end]);
                assert!(
                    text.is_some(),
                    "nothing after {} under {schema}",
                    &all[..end]
                );
            }
            let more = completed(&constraint, &vocabulary, &format!("{all},"));
            assert_eq!(more, None, "there are no more items under {schema}");
        }
    }
}

/// What has many values only deeper than a text may nest has few.
#[test]
fn items_near_the_limit_of_nesting_run_out() {
    let vocabulary = vocabularies::small();
    let item = r#"{"type": "object", "properties": {"a": {"type": "object", "properties": {"flag": {"type": "boolean"},
        "sub": {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": false}}, "additionalProperties": false}},
        "additionalProperties": false}"#;
    let options = SchemaOptions::new().with_whitespace(Whitespace::Compact);
    for depth in 56..64 {
        let array = format!(r#"{{"type": "array", "items": {item}, "uniqueItems": true}}"#);
        let schema = (0..depth).fold(array, |inner, _| {
            format!(r#"{{"type": "array", "items": {inner}, "minItems": 1, "maxItems": 1}}"#)
        });
        let Ok(constraint) = Constraint::json_schema_str(&schema, &options) else {
            continue;
        };
        let Ok(constraint) = constraint.compile(&vocabulary.tables, &[vocabulary.eos]) else {
            continue;
        };
        let items = [
            "{}",
            r#"{"a":{}}"#,
            r#"{"a":{"flag":true}}"#,
            r#"{"a":{"flag":false}}"#,
            r#"{"a":{"flag":true,"sub":{}}}"#,
            r#"{"a":{"flag":false,"sub":{}}}"#,
            r#"{"a":{"sub":{}}}"#,
        ];
        let mut text = "[".repeat(depth + 1);
        for item in items {
            for more in [item, &format!(",{item}")] {
                let longer = format!("{text}{more}");
                let mut matcher = constraint.matcher();
                let fits = longer.bytes().all(|byte| {
                    let token = vocabulary.vocabulary().byte_tokens()[usize::from(byte)];
                    matcher.accept_token(token.expect("all bytes")).is_ok()
                });
                if fits {
                    let done = completed(&constraint, &vocabulary, &longer);
                    assert!(done.is_some(), "nothing after {longer}");
                    let comma = format!("{longer},");
                    let is_allowed = {
                        let token = vocabulary.vocabulary().byte_tokens()[usize::from(b',')];
                        let mask = matcher.mask().expect("within the limits");
                        mask.contains(token.expect("all bytes"))
                    };
                    if is_allowed {
                        let done = completed(&constraint, &vocabulary, &comma);
                        assert!(done.is_some(), "nothing after {comma}");
                    }
                    text = longer;
                    break;
                }
            }
        }
    }
}

/// Whether there are many values is asked once for each part, not once for each way to it.
#[test]
fn parts_that_many_ways_lead_to_are_looked_at_once() {
    let vocabulary = vocabularies::small();
    let object = |next: &str| {
        format!(
            r#"{{"type": "object", "minProperties": 1, "additionalProperties": false, "properties": {{"p": {next}, "q": {next}}}}}"#
        )
    };
    let definitions: Vec<String> = (0..40)
        .map(|i| {
            let next = match i {
                39 => r#"{"type": "boolean"}"#.to_owned(),
                _ => format!(r##"{{"$ref": "#/$defs/o{}"}}"##, i + 1),
            };
            format!(r#""o{i}": {}"#, object(&next))
        })
        .collect();
    let schema = format!(
        r##"{{"$defs": {{{}}}, "type": "array", "items": {{"$ref": "#/$defs/o0"}}, "uniqueItems": true}}"##,
        definitions.join(",")
    );
    let options = SchemaOptions::new()
        .with_profile(Profile::Exact)
        .with_order(KeyOrder::Any);
    let constraint = Constraint::json_schema_str(&schema, &options).expect("it is right");
    let constraint = constraint
        .compile(&vocabulary.tables, &[vocabulary.eos])
        .expect("it is right");
    let mask = constraint.matcher().mask().expect("within the limits");
    let bracket = vocabulary.vocabulary().byte_tokens()[usize::from(b'[')];
    assert!(mask.contains(bracket.expect("all bytes")));
}

/// A key whose value would need more distinct items than there are is always absent, and that counts where one of two
/// keys must be.
#[test]
fn a_key_whose_items_run_out_counts_as_absent() {
    let vocabulary = vocabularies::small();
    let schema = r#"{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "boolean"}, "uniqueItems": true, "minItems": 3},
        "b": {"const": 1}}, "not": {"required": ["a", "b"]}, "minProperties": 1, "additionalProperties": false}"#;
    let constraint = Constraint::json_schema_str(schema, &SchemaOptions::new())
        .and_then(|constraint| constraint.compile(&vocabulary.tables, &[vocabulary.eos]))
        .expect("some object is valid");
    for text in ["", r#"{"b":1}"#] {
        let done = completed(&constraint, &vocabulary, text);
        assert_eq!(done.as_deref(), Some(r#"{"b":1}"#), "after {text:?}");
    }
    assert_eq!(completed(&constraint, &vocabulary, r#"{"a""#), None);
}
