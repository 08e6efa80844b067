//! The memory of an array of distinct items grows linearly with its items, not quadratically.

use crate::support::{compile, json};
use structgen_grammar::{
    ArrayShape, Expr, ExprId, GrammarBuilder, JsonForm, NumberSet, ObjectShape, Property, Slot,
    StringShape,
};
use structgen_vocab::TokenId;

/// Returns the bytes kept per item once every mask of the array was computed.
fn bytes_an_item(
    item: &impl Fn(&mut GrammarBuilder) -> ExprId,
    text: &impl Fn(usize) -> String,
    count: usize,
) -> usize {
    let array = |builder: &mut GrammarBuilder| {
        let item = item(builder);
        builder.expr(Expr::Array(Box::new(ArrayShape {
            rest: Some(Slot::of(item)),
            unique: true,
            ..ArrayShape::default()
        })))
    };
    let constraint = compile(json(array, JsonForm::generate()));
    let before = constraint.state_bytes();
    let items: Vec<String> = (0..count).map(text).collect();
    let mut matcher = constraint.matcher();
    for byte in format!("[{}]", items.join(",")).bytes() {
        let token = TokenId(byte.into());
        assert!(matcher.mask().unwrap().contains(token));
        matcher.accept_token(token).unwrap();
    }
    (constraint.state_bytes() - before) / count
}

fn check(item: impl Fn(&mut GrammarBuilder) -> ExprId, text: impl Fn(usize) -> String) {
    let few = bytes_an_item(&item, &text, 20);
    let many = bytes_an_item(&item, &text, 120);
    // Tables grow by doubling, so they may be twice as large as their contents.
    assert!(many < 3 * few, "{few} bytes an item, then {many}");
}

#[test]
fn numbers() {
    let number = |builder: &mut GrammarBuilder| builder.expr(Expr::Number(NumberSet::integers()));
    check(number, |i| i.to_string());
}

#[test]
fn strings_that_begin_alike() {
    let string = |builder: &mut GrammarBuilder| builder.expr(Expr::String(StringShape::default()));
    check(string, |i| format!("\"item {i}\""));
}

#[test]
fn objects() {
    let object = |builder: &mut GrammarBuilder| {
        let string = builder.expr(Expr::String(StringShape::default()));
        let number = builder.expr(Expr::Number(NumberSet::integers()));
        let properties = [("name", string), ("size", number)].map(|(key, value)| Property {
            key: key.into(),
            value: Slot::of(value),
            required: true,
            ..Property::default()
        });
        builder.expr(Expr::Object(Box::new(ObjectShape {
            properties: properties.into(),
            ordered: 2,
            ..ObjectShape::default()
        })))
    };
    check(object, |i| format!("{{\"name\":\"n{i}\",\"size\":{i}}}"));
}
