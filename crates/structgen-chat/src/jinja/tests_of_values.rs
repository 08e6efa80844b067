//! Jinja's tests: what may follow `is`.

use super::arguments::{CallArguments, required};
use super::ast::Comparison;
use super::budget::{Result, fail};
use super::filters;
use super::interpreter::Interpreter;
use super::value::{ListKind, Value};

pub(crate) type TestFn = fn(&mut Interpreter<'_>, &Value, CallArguments) -> Result<bool>;

const TESTS: [(&str, TestFn); 38] = [
    ("!=", |i, v, a| compared(i, v, a, Comparison::NotEqual)),
    ("<", |i, v, a| compared(i, v, a, Comparison::Less)),
    ("<=", |i, v, a| compared(i, v, a, Comparison::LessOrEqual)),
    ("==", |i, v, a| compared(i, v, a, Comparison::Equal)),
    (">", |i, v, a| compared(i, v, a, Comparison::Greater)),
    (">=", |i, v, a| {
        compared(i, v, a, Comparison::GreaterOrEqual)
    }),
    ("boolean", |_, v, a| plain(a, matches!(v, Value::Bool(_)))),
    ("callable", |_, v, a| {
        plain(a, matches!(v, Value::Callable(_)))
    }),
    ("defined", |_, v, a| {
        plain(a, !matches!(v, Value::Undefined))
    }),
    ("divisibleby", |_, v, a| {
        let [divisor] = a.bind("divisibleby", ["num"])?;
        let divisor = divisor.as_ref().and_then(Value::as_int);
        match (v.as_int(), divisor) {
            (Some(number), Some(divisor)) if divisor != 0 => {
                Ok(number.checked_rem(divisor) == Some(0))
            }
            _ => fail("divisibleby needs two whole numbers"),
        }
    }),
    ("eq", |i, v, a| compared(i, v, a, Comparison::Equal)),
    ("equalto", |i, v, a| compared(i, v, a, Comparison::Equal)),
    ("even", |_, v, a| remainder(v, a, 0)),
    ("false", |_, v, a| plain(a, matches!(v, Value::Bool(false)))),
    ("filter", |_, v, a| {
        plain(
            a,
            v.as_text()
                .is_some_and(|name| filters::named(name).is_some()),
        )
    }),
    ("float", |_, v, a| plain(a, matches!(v, Value::Float(_)))),
    ("ge", |i, v, a| {
        compared(i, v, a, Comparison::GreaterOrEqual)
    }),
    ("greaterthan", |i, v, a| {
        compared(i, v, a, Comparison::Greater)
    }),
    ("gt", |i, v, a| compared(i, v, a, Comparison::Greater)),
    ("in", |i, v, a| compared(i, v, a, Comparison::In)),
    ("integer", |_, v, a| plain(a, matches!(v, Value::Int(_)))),
    ("iterable", |_, v, a| {
        let is_iterable = matches!(
            v,
            Value::Undefined | Value::Text(_) | Value::List(_) | Value::Map(_) | Value::Loop(_)
        );
        plain(a, is_iterable)
    }),
    ("le", |i, v, a| compared(i, v, a, Comparison::LessOrEqual)),
    ("lessthan", |i, v, a| compared(i, v, a, Comparison::Less)),
    ("lower", |i, v, a| {
        cased(i, v, a, char::is_uppercase, char::is_lowercase)
    }),
    ("lt", |i, v, a| compared(i, v, a, Comparison::Less)),
    ("mapping", |_, v, a| plain(a, matches!(v, Value::Map(_)))),
    ("ne", |i, v, a| compared(i, v, a, Comparison::NotEqual)),
    ("none", |_, v, a| plain(a, matches!(v, Value::None))),
    ("number", |_, v, a| {
        plain(
            a,
            matches!(v, Value::Bool(_) | Value::Int(_) | Value::Float(_)),
        )
    }),
    ("odd", |_, v, a| remainder(v, a, 1)),
    ("sameas", |i, v, a| {
        let [other] = a.bind("sameas", ["other"])?;
        let other = required("sameas", "other", other)?;
        Ok(std::mem::discriminant(v) == std::mem::discriminant(&other)
            && v.equals(&i.budget, &other)?)
    }),
    ("sequence", |_, v, a| {
        let is_sequence = match v {
            Value::Undefined | Value::Text(_) | Value::Map(_) => true,
            Value::List(list) => list.kind() != ListKind::Generator,
            _ => false,
        };
        plain(a, is_sequence)
    }),
    ("string", |_, v, a| plain(a, matches!(v, Value::Text(_)))),
    ("test", |_, v, a| {
        plain(a, v.as_text().is_some_and(|name| named(name).is_some()))
    }),
    ("true", |_, v, a| plain(a, matches!(v, Value::Bool(true)))),
    ("undefined", |_, v, a| {
        plain(a, matches!(v, Value::Undefined))
    }),
    ("upper", |i, v, a| {
        cased(i, v, a, char::is_lowercase, char::is_uppercase)
    }),
];

/// The test with this name.
pub(super) fn named(name: &str) -> Option<TestFn> {
    let found = TESTS.iter().find(|(known, _)| *known == name);
    found.map(|(_, test)| *test)
}

/// A test without arguments.
fn plain(arguments: CallArguments, holds: bool) -> Result<bool> {
    let [] = arguments.bind("the test", [])?;
    Ok(holds)
}

fn compared(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    arguments: CallArguments,
    comparison: Comparison,
) -> Result<bool> {
    let [other] = arguments.bind("the test", ["other"])?;
    let other = required("the test", "a value to compare with", other)?;
    interpreter.compare(comparison, value, &other)
}

fn remainder(value: &Value, arguments: CallArguments, wanted: i128) -> Result<bool> {
    let holds = match (value, value.as_int()) {
        (_, Some(number)) => number.rem_euclid(2) == wanted,
        (Value::Float(number), _) => number.rem_euclid(2.0) == wanted as f64,
        _ => return fail(format!("{} is neither odd nor even", value.kind())),
    };
    plain(arguments, holds)
}

fn cased(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    arguments: CallArguments,
    refused: fn(char) -> bool,
    needed: fn(char) -> bool,
) -> Result<bool> {
    let text = filters::text_of(interpreter, value)?;
    interpreter.budget.spend_reading(text.len())?;
    let holds = !text.chars().any(refused) && text.chars().any(needed);
    plain(arguments, holds)
}
