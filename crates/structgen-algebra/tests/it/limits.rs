//! Grammars with huge or ambiguous texts: work and memory stay within the limits.

use serde_json::json;
use structgen_algebra::{
    AlgebraError, AlgebraLimits, Sampler, ascii_only, count, difference, intersect, plain, shortest,
};
use structgen_automata::CancelToken;
use structgen_frontend::gbnf::{GbnfOptions, parse};
use structgen_frontend::json_schema::{self, SchemaOptions};
use structgen_grammar::{Expr, Grammar, GrammarBuilder, JsonForm};

fn large() -> Vec<(&'static str, Grammar)> {
    let schema = |text: &str| {
        let schema = serde_json::from_str(text).expect(text);
        let compiled = json_schema::compile(&schema, &SchemaOptions::new());
        compiled.expect(text).grammar
    };
    let gbnf = |text| parse(text, &GbnfOptions::default()).expect(text);
    vec![
        (
            "items",
            schema(r#"{"type": "array", "items": {"type": "integer"}, "minItems": 1000000000}"#),
        ),
        (
            "length",
            schema(r#"{"type": "string", "minLength": 1000000000}"#),
        ),
        ("ambiguous", gbnf(r#"root ::= root root | "a" | "b" | """#)),
        ("counted", gbnf("root ::= [a-z]{0,1000000000}")),
    ]
}

/// The exceeded limit.
fn exceeded<T>(found: Result<T, AlgebraError>) -> Option<&'static str> {
    match found {
        Err(AlgebraError::Limit(limit)) => Some(limit.what),
        _ => None,
    }
}

#[test]
fn every_operation_ends_at_a_limit() {
    let limits = AlgebraLimits {
        work: 100_000,
        ..AlgebraLimits::default()
    };
    for (name, grammar) in large() {
        let counted = exceeded(count(&grammar, &limits));
        assert!(counted.is_some(), "count of {name}");
        let compared = exceeded(difference(&grammar, &grammar, &limits));
        assert!(compared.is_some(), "comparison of {name}");
        let shortest = shortest(&grammar, &limits);
        let sampled = Sampler::new(&grammar, 1, &AlgebraLimits::default())
            .and_then(|mut texts| texts.sample(20));
        match name {
            "items" | "length" => {
                assert!(exceeded(shortest).is_some(), "shortest of {name}");
                assert!(exceeded(sampled).is_some(), "sample of {name}");
            }
            _ => assert!(shortest.is_ok() && sampled.is_ok(), "{name}"),
        }
    }
}

/// A search that is given up returns the shortest known text.
#[test]
fn a_shortest_text_that_is_not_proven_is_returned() {
    let grammar = parse("root ::= [a-z]{300} | [0-9]{301}", &GbnfOptions::default());
    let limits = AlgebraLimits {
        work: 9_000,
        ..AlgebraLimits::default()
    };
    let found = shortest(&grammar.expect("a grammar"), &limits);
    let found = found.expect("within the limits").expect("not empty");
    assert_eq!((found.text.len(), found.is_proven), (300, false));
}

#[test]
fn work_and_bytes_are_counted() {
    let all = large();
    let (_, ambiguous) = &all[2];
    let few_steps = AlgebraLimits {
        work: 1_000,
        ..AlgebraLimits::default()
    };
    assert_eq!(
        exceeded(count(ambiguous, &few_steps)),
        Some("steps of an automaton and alternatives on the way")
    );
    let few_bytes = AlgebraLimits {
        bytes: 100_000,
        ..AlgebraLimits::default()
    };
    assert_eq!(
        exceeded(count(ambiguous, &few_bytes)),
        Some("bytes of states")
    );
    // Each count has as many digits as the remaining text, so together they are quadratic.
    let (_, counted) = &all[3];
    let few_bytes = AlgebraLimits {
        bytes: 2 << 20,
        states: 4_000,
        ..AlgebraLimits::default()
    };
    let found = parse("root ::= [a-z]{3000}", &GbnfOptions::default()).expect("a grammar");
    assert!(exceeded(count(counted, &few_bytes)).is_some());
    assert_eq!(
        exceeded(count(&found, &few_bytes)),
        Some("bytes of numbers of texts")
    );
}

/// The number of operands and of bytes of literals of all expressions.
fn size_of(grammar: &Grammar) -> usize {
    let sizes = grammar.exprs().iter().map(|expr| match expr {
        Expr::Sequence(parts) => parts.len(),
        Expr::Bytes(bytes) => bytes.len(),
        _ => 1,
    });
    sizes.sum()
}

#[test]
fn long_sequences_take_linear_memory() {
    let limits = AlgebraLimits::default();
    let size_of_plain =
        |grammar: &Grammar| size_of(&plain(grammar, &limits).expect("within the limits").grammar);
    let classes = format!("root ::= {}", "[ab] [cd] ".repeat(1_000));
    let classes = parse(&classes, &GbnfOptions::default()).expect("a grammar");
    let made = intersect(&classes, &ascii_only(), &limits).expect("within the limits");
    let mut sizes = vec![size_of(&made.grammar)];

    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let letters = ["a", "b"].map(|text| builder.bytes(text));
    let body = builder.sequence(letters.into_iter().cycle().take(2_000));
    builder.define(root, body);
    sizes.push(size_of_plain(&builder.finish(root, JsonForm::generate())));

    let keys: Vec<String> = (0..1_000).map(|n| format!("key-{n}")).collect();
    let value = |key: &String| (key.clone(), json!({"const": 1}));
    let object = json!({
        "type": "object",
        "properties": keys.iter().map(value).collect::<serde_json::Map<_, _>>(),
        "required": keys,
        "additionalProperties": false,
    });
    let items = vec![json!({"enum": [1, 2]}); 1_000];
    let array = json!({"type": "array", "prefixItems": items, "items": false, "minItems": 1_000});
    for schema in [object, array] {
        let compiled = json_schema::compile(&schema, &SchemaOptions::new()).expect("a schema");
        sizes.push(size_of_plain(&compiled.grammar));
    }
    assert!(sizes.iter().all(|&size| size < 200_000), "{sizes:?}");
}

#[test]
fn a_plain_grammar_can_be_cancelled() {
    let words = (0..3_000).map(|n| format!("[ab] \"{n}\""));
    let text = format!("root ::= {}", words.collect::<Vec<_>>().join(" | "));
    let grammar = parse(&text, &GbnfOptions::default()).expect("a grammar");
    let cancel = CancelToken::new();
    cancel.cancel();
    let limits = AlgebraLimits {
        cancel: Some(cancel),
        ..AlgebraLimits::default()
    };
    let cancelled = plain(&grammar, &limits).unwrap_err();
    assert!(matches!(cancelled, AlgebraError::Limit(limit) if limit.is_cancelled()));
}
