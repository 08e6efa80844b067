//! An intersection has exactly the common texts, and all its states are live.

use std::sync::Arc;

use structgen_algebra::{
    AlgebraError, AlgebraLimits, Count, Sampler, ascii_only, at_most, count, difference, intersect,
    is_empty, only_in, shortest, to_gbnf, without,
};
use structgen_automata::{Limits, Memory, Network, Program, ProgramError, SetId};
use structgen_frontend::gbnf::{self, GbnfOptions};
use structgen_frontend::json_schema::{SchemaOptions, compile_str};
use structgen_frontend::regex::{self, RegexOptions};
use structgen_grammar::{Grammar, Regular};

fn read(text: &str) -> Grammar {
    gbnf::parse(text, &GbnfOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn pattern(pattern: &str) -> Regular {
    regex::parse(pattern, RegexOptions::rust()).expect("a pattern")
}

fn network(grammar: &Grammar) -> Option<Network> {
    let program = Program::new(grammar.clone(), Limits::default()).ok()?;
    Some(Network::new(Arc::new(program)).expect("within the limits"))
}

/// All texts over an alphabet, up to a length, that match a grammar, in order.
fn texts(grammar: &Grammar, alphabet: &str, longest: usize) -> Vec<String> {
    let Some(network) = network(grammar) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut layer = vec![(String::new(), network.start())];
    for _ in 0..=longest {
        let mut next = Vec::new();
        for (text, state) in layer {
            if network
                .call()
                .is_accepting(state)
                .expect("within the limits")
            {
                found.push(text.clone());
            }
            for c in alphabet.chars() {
                let mut at = state;
                for byte in c.to_string().bytes() {
                    if at != SetId::DEAD {
                        at = network
                            .call()
                            .step(at, byte, Memory::Exact)
                            .expect("within the limits");
                    }
                }
                if at != SetId::DEAD {
                    next.push((format!("{text}{c}"), at));
                }
            }
        }
        layer = next;
    }
    found
}

fn of_set(set: &Regular) -> Grammar {
    let mut builder = structgen_grammar::GrammarBuilder::new();
    let root = builder.declare("root");
    let body = builder.expr(structgen_grammar::Expr::Regular(set.clone()));
    builder.define(root, body);
    builder.finish(root, structgen_grammar::JsonForm::generate())
}

const GRAMMARS: [&str; 14] = [
    "root ::= [ab]*",
    "root ::= \"(\" root \")\" | \"a\"",
    "root ::= root root | \"(\" root \")\" | \"\"",
    "root ::= \"a\" root \"b\" | \"\"",
    "root ::= root \"a\" | \"b\" | \"é\"",
    "root ::= x root \"b\" | \"a\"\nx ::= \"a\" | \"\"",
    "root ::= (\"a\" | \"ab\" | \"ba\"){1,3}",
    "root ::= (\"a\"? \"b\"?){2,4}",
    "root ::= (\"ab\"* | \"é\"+)*",
    "root ::= \"a\"{3,} | [b(]{0,2} \")\"?",
    "root ::= . . .?",
    "root ::= \"a\" root \"a\" | \"b\" root \"b\" | [ab]?",
    "root ::= ((\"a\" | \"b\"){2,9} \"(\"){1,2}",
    "root ::= (\"a\"* \"b\"){0,20}",
];

#[test]
fn an_intersection_has_the_texts_that_both_have() {
    let sets = [
        pattern("[ab]*"),
        pattern("a*b*"),
        pattern("(..)*"),
        pattern(".*b"),
        pattern(".{2,4}"),
        pattern("[^a]*a[^a]*a?"),
        pattern("(a|é|\\()*\\)*"),
        without(["ab", "((", "é"]),
        ascii_only(),
        at_most(3),
        Regular::Intersection([at_most(4), without(["aa"]), ascii_only()].into()),
    ];
    let limits = AlgebraLimits::default();
    let mut compared = 0;
    for text in GRAMMARS {
        let grammar = read(text);
        let own = texts(&grammar, "ab()é", 5);
        for set in &sets {
            let allowed = texts(&of_set(set), "ab()é", 5);
            let expected: Vec<&String> = own.iter().filter(|text| allowed.contains(text)).collect();
            let made = match intersect(&grammar, set, &limits) {
                Ok(made) => made.grammar,
                Err(AlgebraError::Empty) => {
                    assert!(expected.is_empty(), "{text} {set:?}");
                    continue;
                }
                Err(error) => panic!("{text}: {error}"),
            };
            let found = texts(&made, "ab()é", 5);
            assert_eq!(
                found.iter().collect::<Vec<_>>(),
                expected,
                "{text} {set:?}\n{made}"
            );
            // The same after a round trip through GBNF.
            let written = to_gbnf(&made, &limits).expect("it can be written");
            assert_eq!(texts(&read(&written), "ab()é", 5), found, "{written}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn schemas_are_narrowed_too() {
    let schema = r#"{"type": "object", "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["name"], "additionalProperties": false}"#;
    let grammar = compile_str(schema, &SchemaOptions::new())
        .expect("a schema")
        .grammar;
    let set = Regular::Intersection([ascii_only(), at_most(24), without(["bad", "\\"])].into());
    let made = intersect(&grammar, &set, &AlgebraLimits::default())
        .expect("it can be made")
        .grammar;
    let mut sampler = Sampler::new(&made, 5, &AlgebraLimits::default()).expect("there are texts");
    for _ in 0..100 {
        let text =
            String::from_utf8(sampler.sample(100).expect("within the limits")).expect("UTF-8");
        assert!(
            text.is_ascii() && text.len() <= 24 && !text.contains("bad"),
            "{text}"
        );
        assert!(text.starts_with("{\"name\""), "{text}");
    }
    assert_eq!(
        only_in(
            &made,
            &grammar,
            &AlgebraLimits {
                states: 20_000,
                ..AlgebraLimits::default()
            }
        ),
        Ok(None)
    );
}

#[test]
fn limits_are_errors() {
    let small = AlgebraLimits {
        states: 20,
        expressions: 100,
        ..AlgebraLimits::default()
    };
    let grammar = read("root ::= [a-z]{0,200}");
    assert!(matches!(
        count(&grammar, &small),
        Err(AlgebraError::Limit(_))
    ));
    assert!(matches!(
        intersect(&grammar, &at_most(150), &small),
        Err(AlgebraError::Limit(_))
    ));
    let nested = read("root ::= \"(\" root \")\" | \"x\"");
    let other = read("root ::= (\"(\" | \"x\" | \")\")*");
    assert_eq!(
        only_in(&other, &nested, &small).map(|witness| witness.is_some()),
        Ok(true)
    );
    assert!(matches!(
        only_in(&nested, &other, &small),
        Err(AlgebraError::Limit(_))
    ));
}

#[test]
fn counts_are_of_texts_and_not_of_readings() {
    let limits = AlgebraLimits::default();
    let counted = |text: &str| {
        count(&read(text), &limits)
            .expect("within the limits")
            .to_string()
    };
    for (text, expected) in [
        ("root ::= \"a\" | \"a\"", "1"),
        ("root ::= \"a\"? \"a\"? \"a\"?", "4"),
        ("root ::= root | \"a\" | \"b\"", "2"),
        (
            "root ::= [0-9]{40}",
            "10000000000000000000000000000000000000000",
        ),
        ("root ::= .", "1112064"),
        ("root ::= \"a\"*", "infinite"),
        ("root ::= \"a\" root | \"\"", "infinite"),
        ("root ::= (\"\"*)* \"x\"", "1"),
        ("root ::= a a\na ::= \"x\" | \"xx\"", "3"),
        ("root ::= a | \"y\"\na ::= \"x\" a", "1"),
        (
            "root ::= \"x\" | \"(\" root \")\" e\ne ::= \"a\" & \"b\"",
            "1",
        ),
        (
            "root ::= \"x\" | \"(\" a \")\"\na ::= a | b\nb ::= a | \"y\"",
            "2",
        ),
        ("root ::= \"x\" | \"(\" a\na ::= root \")\"", "infinite"),
    ] {
        assert_eq!(counted(text), expected, "{text}");
    }
    let schema = r#"{"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": true}"#;
    let options = SchemaOptions::new().with_whitespace(structgen_grammar::Whitespace::Compact);
    let grammar = compile_str(schema, &options).expect("a schema").grammar;
    // 1 + 3 + 6 + 6 permutations.
    assert_eq!(count(&grammar, &limits), Ok(Count::Finite(16_u32.into())));
}

#[test]
fn the_rules_on_the_way_to_a_cycle_are_no_burden() {
    let rules = (0..30_000).map(|n| format!("r{n} ::= \"(\" r{} | \"x\"\n", n + 1));
    let cycle = "r30000 ::= r30000 | \"y\"\n";
    let grammar = read(&format!(
        "root ::= r0\n{}{cycle}",
        rules.collect::<String>()
    ));
    let limits = AlgebraLimits::default();
    assert_eq!(
        count(&grammar, &limits),
        Ok(Count::Finite(30_001_u32.into()))
    );
}

#[test]
fn guides_do_not_change_the_texts() {
    let limits = AlgebraLimits::default();
    let grammar = read("root ::= %tokens{0,2}(\"abcdef\")");
    assert_eq!(count(&grammar, &limits), Ok(Count::Finite(1_u32.into())));
    assert_eq!(is_empty(&grammar, &limits), Ok(false));
    assert_eq!(
        difference(&grammar, &read("root ::= \"abcdef\""), &limits),
        Ok(None)
    );
}

#[test]
fn a_relation_that_cannot_be_kept_is_no_empty_grammar() {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 10},
        "b": {"type": "integer", "minimum": 0, "maximum": 9, "x-structgen": {"at-least": "/a"}}},
        "required": ["a", "b"], "additionalProperties": false}"#;
    let grammar = compile_str(schema, &SchemaOptions::new())
        .expect("a schema")
        .grammar;
    let refused = is_empty(&grammar, &AlgebraLimits::default()).unwrap_err();
    assert!(
        matches!(
            refused,
            AlgebraError::Program(ProgramError::Relation { .. })
        ),
        "{refused}"
    );
}

#[test]
fn whole_periods_of_a_counter_are_skipped() {
    let limits = AlgebraLimits::default();
    let made = |grammar: &str| intersect(&read(grammar), &pattern("(aa)*|b"), &limits);
    let odd = made("root ::= \"a\"{999999999} | \"b\"").expect("within the limits");
    assert_eq!(texts(&odd.grammar, "ab", 3), ["b"]);
    // Even ones match, and a rule for each of them is too much.
    assert!(matches!(
        made("root ::= \"a\"{1000000000} | \"b\""),
        Err(AlgebraError::Limit(_))
    ));
}

#[test]
fn a_set_of_many_states_is_no_burden() {
    let limits = AlgebraLimits::default();
    let made = intersect(&read("root ::= [a-c]{2}"), &pattern("a{0,20000}"), &limits);
    let made = made.expect("within the limits").grammar;
    assert_eq!(texts(&made, "abc", 3), ["aa"]);
}

#[test]
fn shortest_texts_are_shortest() {
    let limits = AlgebraLimits::default();
    for (text, expected) in [
        ("root ::= \"abc\" | \"de\"", Some("de")),
        ("root ::= [a-z]{3,9} | \"(\" root \")\"", Some("aaa")),
        ("root ::= \"x\"*", Some("")),
        ("root ::= \"a\" root", None),
        ("root ::= \"é\" | \"abc\"", Some("é")),
        ("root ::= [\\x01\\x03a]", Some("a")),
    ] {
        let grammar = read(text);
        let found = shortest(&grammar, &limits).expect("within the limits");
        assert_eq!(is_empty(&grammar, &limits), Ok(expected.is_none()));
        assert!(found.as_ref().is_none_or(|found| found.is_proven));
        let found = found.map(|found| String::from_utf8(found.text).expect("UTF-8"));
        assert_eq!(found.as_deref(), expected, "{text}");
    }
}

#[test]
fn comparisons_find_a_text_that_tells_apart() {
    let limits = AlgebraLimits::default();
    let sets = [
        "[a-z]+", "[a-z]*", "[a-y]+", "a+|b", "(a|b)*", "(a*b*)*", "é|e", "a{2,900}", "a{2,901}",
    ];
    for one in sets {
        for other in sets {
            let (first, second) = (of_set(&pattern(one)), of_set(&pattern(other)));
            let witness = difference(&first, &second, &limits).expect("within the limits");
            let is_equal = one == other || (one.starts_with("(a") && other.starts_with("(a"));
            assert_eq!(witness.is_none(), is_equal, "{one} {other}");
            if let Some(witness) = witness {
                let text = String::from_utf8(witness.text).expect("UTF-8");
                let only = read(&format!("root ::= \"{text}\""));
                let takes = |grammar: &Grammar| only_in(&only, grammar, &limits) == Ok(None);
                let expected = witness.fits == structgen_algebra::Side::First;
                assert_eq!(
                    (takes(&first), takes(&second)),
                    (expected, !expected),
                    "{text}"
                );
            }
        }
    }
}
