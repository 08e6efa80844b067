use expect_test::expect;

use crate::{
    ArrayShape, CharSet, Decimal, Expr, GrammarBuilder, JsonForm, NumberBound, NumberSet,
    ObjectShape, Property, Regular, Slot, StringContent, StringShape, TokenTerminal,
};

#[test]
fn parentheses_stand_where_they_are_needed_only() {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let [a, b] = ["a", "\"\n\u{7}é\\"].map(|text| builder.bytes(text));
    let root_again = builder.rule(root);
    let either = builder.choice([a, b]);
    let both = builder.sequence([a, b]);
    let either_star = builder.repeat(either, 0, None);
    let both_thrice = builder.repeat(both, 3, Some(3));
    let one_optional = builder.repeat(a, 0, Some(1));
    let sequence = builder.sequence([either, either_star, both_thrice, one_optional]);
    let broken = builder.bytes(b"\xFF\x00");
    let empty = builder.bytes("");
    let never = builder.never();
    let nothing = builder.repeat(never, 2, None);
    let tokens = [
        TokenTerminal::Name("<think>".into()),
        TokenTerminal::Name("[INST]".into()),
        TokenTerminal::Id(7),
        TokenTerminal::NotName("<think>".into()),
        TokenTerminal::NotName("[INST]".into()),
        TokenTerminal::NotId(7),
    ]
    .map(|token| builder.expr(Expr::Token(token)));
    let tokens = builder.sequence(tokens);
    let body = builder.choice([sequence, both, root_again, broken, empty, tokens]);
    builder.define(root, body);
    let dead = builder.declare("dead");
    builder.define(dead, nothing);
    expect![[r#"
        root ::= ("a" | "\"\n\x07é\\") ("a" | "\"\n\x07é\\")* ("a" "\"\n\x07é\\"){3} "a"? | "a" "\"\n\x07é\\" | root | bytes("\xff\x00") | "" | <think> token("[INST]") <[7]> !<think> !token("[INST]") !<[7]>
        dead ::= never()
    "#]].assert_eq(&builder.finish(root, JsonForm::generate()).to_string());
}

#[test]
fn regular_terminals_are_marked() {
    let mut builder = GrammarBuilder::new();
    let letter = Regular::Chars(CharSet::new([('a', 'z')]));
    let word = Regular::repeat(letter.clone(), 1, None);
    let list = Regular::concat([
        word.clone(),
        Regular::repeat(Regular::concat([Regular::literal(","), word]), 0, None),
    ]);
    let odd = Regular::Intersection(
        [
            Regular::Complement(Regular::union([list.clone(), Regular::Empty]).into()),
            Regular::repeat(
                Regular::union([Regular::ByteRange(0, 9), Regular::Never]),
                2,
                Some(5),
            ),
        ]
        .into(),
    );
    for (name, regular) in [
        ("class", letter),
        ("any", Regular::Chars(CharSet::all())),
        (
            "not",
            Regular::Chars(
                CharSet::from_iter(['"', '\n', '^', ']', 'a', 'b', 'c', '\u{2028}']).complement(),
            ),
        ),
        (
            "many",
            Regular::Chars(CharSet::from_iter(('a'..'香').step_by(2))),
        ),
        ("list", list),
        ("odd", odd),
    ] {
        let rule = builder.declare(name);
        let body = builder.expr(Expr::Regular(regular));
        builder.define(rule, body);
    }
    expect![[r#"
        class ::= [a-z]
        any ::= .
        not ::= [^\n"\]\x5Ea-c\u2028]
        many ::= [acegikmoqsuwy{}\x7F\x81\x83\x85\x87\x89\x8B\x8D\x8F… 19588 more]
        list ::= regular([a-z]+ ("," [a-z]+)*)
        odd ::= regular(intersection(complement([a-z]+ ("," [a-z]+)* | ""), (byte(0x00-0x09) | never()){2,5}))
    "#]].assert_eq(
        &builder
            .finish(crate::RuleId(0), JsonForm::generate())
            .to_string(),
    );
}

#[test]
fn json_shapes_read_like_json() {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let decimal = |text: &str| -> Decimal { text.parse().expect("a number") };
    let again = builder.rule(root);
    let name = builder.expr(Expr::String(StringShape {
        min_length: 1,
        max_length: Some(5),
        ..StringShape::default()
    }));
    let any = builder.expr(Expr::String(StringShape::default()));
    let choice = builder.expr(Expr::String(StringShape {
        content: StringContent::Literals(["a", "b\""].map(Box::from).into()),
        max_length: Some(1),
        ..StringShape::default()
    }));
    let pattern = builder.expr(Expr::String(StringShape {
        content: StringContent::Regular(Regular::any_text()),
        ..StringShape::default()
    }));
    let number = builder.expr(Expr::Number(NumberSet {
        lower: Some(NumberBound {
            value: decimal("-1.5"),
            exclusive: false,
        }),
        upper: Some(NumberBound {
            value: decimal("3"),
            exclusive: true,
        }),
        multiples_of: vec![decimal("0.5")],
        ..NumberSet::default()
    }));
    let array = builder.expr(Expr::Array(Box::new(ArrayShape {
        prefix: vec![Slot::of(number), Slot::of(again)],
        rest: Some(Slot::of(any)),
        min_items: 1,
        ..ArrayShape::default()
    })));
    let empty = builder.expr(Expr::Object(Box::default()));
    let property = |key: &str, value, required| Property {
        key: key.into(),
        value: Slot::of(value),
        required,
        ..Property::default()
    };
    let object = builder.expr(Expr::Object(Box::new(ObjectShape {
        properties: vec![
            property("name", name, true),
            property("choice", choice, false),
            property("array", array, false),
            property("pattern", pattern, false),
        ],
        additional: Some(Slot::of(empty)),
        ordered: 4,
        ..ObjectShape::default()
    })));
    builder.define(root, object);
    expect![[r#"
        root ::= json-object({ "name"!: json-string(length 1..=5), "choice": json-string("a" | "b\"", length 0..=1), "array": json-array([json-number(>= -1.5, < 3, multiple of 0.5), root, *: json-string()], 1.. items), "pattern": json-string(.*), *: json-object({}) })
    "#]].assert_eq(&builder.finish(root, JsonForm::generate()).to_string());
}

#[test]
fn deep_and_shared_expressions_are_cut_and_not_run_into() {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let a = builder.bytes("a");
    let mut deep = a;
    for _ in 0..100_000 {
        // Twice as large as the level before, and one level deeper.
        let either = builder.choice([a, deep]);
        let both = builder.sequence([either, deep]);
        deep = builder.repeat(both, 0, Some(2));
    }
    builder.define(root, deep);
    let printed = builder.finish(root, JsonForm::generate()).to_string();
    assert!(printed.len() < 1_000_000);
    assert!(printed.ends_with(" …\n"));
}
