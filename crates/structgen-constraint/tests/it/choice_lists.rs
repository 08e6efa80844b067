//! Long lists of literals: masks equal the oracle's, for a list alone and with something after it.

use crate::support::{any_value, compile, json, vocabulary, walk_and_compare};
use proptest::prelude::*;
use structgen_constraint::{CompiledConstraint, ConstraintOptions};
use structgen_grammar::{ExprId, Grammar, GrammarBuilder, JsonForm};

fn grammar(build: impl Fn(&mut GrammarBuilder) -> ExprId) -> Grammar {
    json(build, JsonForm::generate())
}

fn check(grammar: Grammar, holds: impl Fn(&str) -> bool) {
    let constraint = compile(grammar);
    for seed in 0..8 {
        let text = walk_and_compare(&constraint, seed, 12);
        let text = String::from_utf8(text).unwrap();
        assert!(holds(&text), "{text:?}");
    }
}

#[test]
fn texts_with_common_parts_and_prefixes_of_one_another() {
    let texts = [
        "",
        "a",
        "aa",
        "aaaa",
        "ab",
        "foo",
        "foobar",
        "foo bar",
        "日本",
        "日本語",
        "日",
        "é",
        "10",
        "123",
        "true",
        "trueish",
        "a\":1,\"a\":",
        "0.5",
        "(())",
        "x,y,z",
    ];
    check(
        grammar(|builder| builder.literals(texts).unwrap()),
        |text| texts.contains(&text),
    );
    let only = ["foobar", "foobaz"];
    check(grammar(|builder| builder.literals(only).unwrap()), |text| {
        only.contains(&text)
    });
}

#[test]
fn what_follows_a_list_is_read_within_the_same_token() {
    let texts = ["a", "aa", "b", "foo", "1", "10", "x", "true", "(", "日"];
    check(
        grammar(|builder| {
            let list = builder.literals(texts).unwrap();
            let comma = builder.bytes(",");
            let more = builder.sequence([comma, list]);
            let rest = builder.repeat(more, 0, Some(3));
            builder.sequence([list, rest])
        }),
        |text| text.split(',').all(|part| texts.contains(&part)),
    );
    // A list, a value, or a list followed by a value.
    check(
        grammar(|builder| {
            let list = builder.literals(texts).unwrap();
            let value = any_value(builder);
            let both = builder.sequence([list, value]);
            builder.choice([list, value, both])
        }),
        |text| !text.is_empty(),
    );
    // Lists in a row, the second of which may be empty; after an end of the first, both ways are possible.
    check(
        grammar(|builder| {
            let first = builder.literals(texts).unwrap();
            let second = builder
                .literals(["", "a", "ab", "0", "oo", "(", "語"])
                .unwrap();
            builder.sequence([first, second, second])
        }),
        |text| texts.iter().any(|first| text.starts_with(first)),
    );
}

#[test]
fn masks_that_are_computed_ahead_are_right() {
    let texts: Vec<String> = (0..5_000)
        .map(|number| format!("{}{}{number}", ["foo", "a", "b\":"][number % 3], number % 7))
        .collect();
    let constraint = compile(grammar(|builder| builder.literals(&texts).unwrap()));
    assert!(constraint.statistics().masks_computed > 3);
    for seed in 0..8 {
        let text = walk_and_compare(&constraint, seed, 12);
        assert!(texts.iter().any(|own| own.as_bytes() == text));
    }
}

#[test]
fn a_list_survives_its_file() {
    let texts: Vec<String> = (0..300).map(|number| format!("v{}", number * 7)).collect();
    let constraint = compile(grammar(|builder| builder.literals(&texts).unwrap()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list");
    constraint.save(&path).unwrap();
    let tables = vocabulary();
    let options = ConstraintOptions {
        eos: constraint.eos().to_vec(),
        ..ConstraintOptions::default()
    };
    let loaded = CompiledConstraint::load(&tables, &options, &path).unwrap();
    assert_eq!(loaded.program().grammar(), constraint.program().grammar());
    walk_and_compare(&loaded, 3, 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_lists_have_the_masks_of_the_oracle(
        texts in prop::collection::vec("[ab0o:\"]{0,5}|(foo|bar|aa|日本|true){1,3}", 2..24),
        behind in prop::collection::vec("[ab0\"]{0,3}", 1..5),
        seed in any::<u64>(),
    ) {
        let constraint = compile(grammar(|builder| {
            let first = builder.literals(&texts).unwrap();
            let second = builder.literals(&behind).unwrap();
            builder.sequence([first, second])
        }));
        let text = walk_and_compare(&constraint, seed, 16);
        let text = String::from_utf8(text).unwrap();
        let splits = texts.iter().filter_map(|first| text.strip_prefix(first.as_str()));
        let is_split = { splits }.any(|rest| behind.iter().any(|own| own == rest));
        prop_assert!(is_split);
    }
}
