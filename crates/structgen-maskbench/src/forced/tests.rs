//! Counts that can be followed by hand, and what they rest on.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use structgen_constraint::{CompiledConstraint, VocabularyTables, oracle};
use structgen_frontend::json_schema::{KeyOrder, Profile, SchemaOptions};
use structgen_grammar::Whitespace;
use structgen_vocab::{TokenId, Tokenizer};

use super::{ForcedCounts, Reference, count_forced};
use crate::testing::{case, tokenizer};
use crate::{Case, Engine, Structgen};

fn compile(case: &Case, tokenizer: &Tokenizer, profile: Profile) -> CompiledConstraint {
    let tables = Arc::new(VocabularyTables::new(tokenizer.vocabulary().clone()));
    let mut options = SchemaOptions::new()
        .with_profile(profile)
        .with_order(KeyOrder::Declared);
    if profile == Profile::Generate {
        options = options.with_whitespace(Whitespace::OneSpace);
    }
    Structgen::new(tables, KeyOrder::Declared, Vec::new())
        .with_schema_options(options)
        .compile(case)
        .unwrap()
}

/// `[tokens, exact, jumped, jumps, differing]` of one valid instance.
fn counts(schema: &Value, text: &str, merges: &[[&str; 2]]) -> [u64; 5] {
    let tokenizer = tokenizer(merges);
    let case = case(schema, &[(text, true)]);
    let constraint = compile(&case, &tokenizer, Profile::Generate);
    let counts = count_forced(&constraint, &case, &tokenizer);
    assert_eq!(counts.instances, 1);
    [
        counts.tokens,
        counts.exact,
        counts.jumped,
        counts.jumps,
        counts.differing,
    ]
}

fn member() -> Value {
    json!({
        "type": "object",
        "properties": {"id": {"type": "integer"}, "ok": {"const": true}},
        "required": ["id", "ok"],
        "additionalProperties": false
    })
}

const MEMBER: &str = r#"{"id": 7, "ok": true}"#;

#[test]
fn of_bytes_all_that_is_forced_is_saved_both_ways() {
    // `{"id": `, then 7 and the comma are chosen, then ` "ok": true}`.
    assert_eq!(counts(&member(), MEMBER, &[]), [21, 19, 19, 2, 0]);
}

#[test]
fn of_longer_tokens_jumps_save_more() {
    let merges = [
        ["i", "d"],
        ["t", "r"],
        ["u", "e"],
        ["tr", "ue"],
        ["\"", ":"],
        ["Ġ", "\""],
        ["7", ","],
    ];
    // `{` `"` `id` `":` ` ` | `7,` | ` "` `o` `k` `":` ` ` `true` `}`: alone in their masks are `{`, the first `"`,
    // both ` `, `o`, `k` and `}`.
    assert_eq!(counts(&member(), MEMBER, &merges), [13, 7, 12, 2, 0]);
}

#[test]
fn what_may_belong_to_a_longer_token_is_left_to_the_model() {
    let schema = json!({"enum": ["abX", "abY"]});
    let merges = [["b", "X"]];
    // `"` `a` | `bX` | `"`: behind `a`, `b` is forced, but it may be `bX`.
    assert_eq!(counts(&schema, r#""abX""#, &merges), [4, 3, 3, 2, 0]);
    // `"` `a` | `b` | `Y` | `"`
    assert_eq!(counts(&schema, r#""abY""#, &merges), [5, 3, 3, 2, 0]);
}

#[test]
fn another_tokenisation_of_the_text_is_no_saving() {
    let schema = json!({"enum": ["abX", "abY"]});
    let merges = [["b", "X"], ["a", "b"]];
    // `"` is saved. `"ab` then ends in `ab`, and no token goes on behind it; with X it is `"` `a` `bX` `"`. `a` and
    // `bX` are the model's.
    assert_eq!(counts(&schema, r#""abX""#, &merges), [4, 2, 2, 2, 1]);
    // `"` `ab` | `Y` | `"`
    assert_eq!(counts(&schema, r#""abY""#, &merges), [4, 2, 3, 2, 0]);
}

#[test]
fn half_a_character_is_left_to_the_model() {
    let schema = json!({"enum": ["éa", "êa"]});
    // `"` and the first byte of both are forced, but no text ends there; then `a"` is.
    assert_eq!(counts(&schema, r#""éa""#, &[]), [5, 4, 3, 2, 0]);
    let schema = json!({"const": "é€"});
    assert_eq!(counts(&schema, r#""é€""#, &[]), [7, 7, 7, 1, 0]);
}

#[test]
fn only_accepted_valid_instances_count() {
    let tokenizer = tokenizer(&[]);
    let instances = [
        ("true", true),
        ("true", false),
        ("false", true),
        ("tru", true),
        ("", true),
    ];
    let case = case(&json!({"const": true}), &instances);
    let constraint = compile(&case, &tokenizer, Profile::Exact);
    let mut counts = count_forced(&constraint, &case, &tokenizer);
    // Whitespace may come first and last.
    let expected = ForcedCounts {
        instances: 1,
        tokens: 4,
        exact: 3,
        jumped: 3,
        jumps: 1,
        differing: 0,
    };
    assert_eq!(counts, expected);
    counts.add(&expected);
    assert_eq!((counts.instances, counts.tokens, counts.jumps), (2, 8, 2));
}

/// The embedded model's.
fn real_tokenizer() -> Tokenizer {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../structgen-model/assets");
    Tokenizer::from_file(assets.join("main/tokenizer.json")).unwrap()
}

fn cases() -> Vec<Case> {
    let address = json!({
        "type": "object",
        "properties": {
            "street": {"type": "string", "maxLength": 30},
            "kind": {"enum": ["residential", "residence", "business", 1]},
            "since": {"type": "string", "format": "date"},
            "größe": {"anyOf": [{"const": null}, {"type": "number"}, {"const": "größer €"}]}
        },
        "required": ["kind"]
    });
    let list = json!({
        "type": "array",
        "prefixItems": [{"const": "version"}, {"pattern": "^v[0-9]+-(alpha|alpine)$"}],
        "items": {"type": "object", "properties": {"a": {"$ref": "#"}, "ab": {"type": "boolean"}}, "additionalProperties": false},
        "minItems": 2,
        "maxItems": 4
    });
    vec![
        case(
            &address,
            &[
                (r#"{"street": "Hohe Straße", "kind": "business"}"#, true),
                (r#"{"kind": "residential", "größe": "größer €"}"#, true),
                (
                    r#"{"kind": "residence", "since": "2024-02-29", "größe": 1.5}"#,
                    true,
                ),
                (r#"{"kind": 1, "größe": null}"#, true),
            ],
        ),
        case(
            &list,
            &[
                (r#"["version", "v1-alpha"]"#, true),
                (
                    r#"["version", "v12-alpine", {"a": ["version", "v0-alpha"], "ab": true}, {}]"#,
                    true,
                ),
            ],
        ),
    ]
}

#[test]
fn forced_text_is_a_prefix_of_the_rest_of_every_instance() {
    let tokenizer = real_tokenizer();
    let mut forced_bytes = 0;
    for case in cases() {
        for profile in [Profile::Exact, Profile::Generate] {
            let constraint = compile(&case, &tokenizer, profile);
            for instance in &case.instances {
                let tokens = tokenizer.encode(&instance.text).unwrap();
                let bytes = tokenizer.decode_bytes(&tokens);
                let mut matcher = constraint.matcher();
                let mut offset = 0;
                for &token in &tokens {
                    let forced = matcher.forced_text(1000).unwrap();
                    let rest = &bytes[offset..];
                    assert!(
                        rest.starts_with(&forced),
                        "{} {offset} {forced:?}",
                        instance.text
                    );
                    forced_bytes += forced.len();
                    matcher.accept_token(token).unwrap();
                    offset += tokenizer.decode_bytes(&[token]).len();
                }
                assert!(matcher.is_accepting(), "{}", instance.text);
                let reference = Reference::new(&instance.text, &tokens, &tokenizer);
                let counts = reference.count(&constraint).unwrap().unwrap();
                assert!(
                    counts.exact <= counts.jumped
                        && counts.jumped + counts.differing <= counts.tokens,
                    "{counts:?}"
                );
            }
        }
    }
    // Some of the text is forced; how often it is counted depends on how many tokens the instances have.
    assert!(forced_bytes > 300, "{forced_bytes}");
}

#[test]
fn a_forced_token_is_the_only_one_of_the_oracle_mask() {
    let tokenizer = real_tokenizer();
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |bound: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % bound as u64).unwrap()
    };
    let (mut forced, mut free) = (0, 0);
    for case in cases() {
        let constraint = compile(&case, &tokenizer, Profile::Generate);
        for _ in 0..12 {
            let mut matcher = constraint.matcher();
            let (mut before, mut text) = (Vec::new(), Vec::new());
            for _ in 0..40 {
                let mask: Vec<TokenId> = oracle::mask(&matcher).unwrap().iter().collect();
                let expected = match mask[..] {
                    [token] => Some(token),
                    _ => None,
                };
                assert_eq!(matcher.forced_token().unwrap(), expected);
                before.push((text.len(), matcher.forced_text(1000).unwrap()));
                if mask.is_empty() {
                    break;
                }
                if expected.is_some() {
                    forced += 1;
                } else {
                    free += 1;
                }
                let token = mask[below(mask.len())];
                matcher.accept_token(token).unwrap();
                text.extend(tokenizer.decode_bytes(&[token]));
            }
            // What is forced came, as far as the walk went.
            for (offset, forced) in before {
                let came = text.len().min(offset + forced.len());
                assert_eq!(text[offset..came], forced[..came - offset]);
            }
        }
    }
    assert!(forced > 20 && free > 200, "{forced} {free}");
}
