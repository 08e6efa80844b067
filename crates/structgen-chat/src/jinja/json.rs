//! JSON in the format of Python's `json.dumps`, which models are trained on.

use super::arguments::Bound;
use super::budget::{Budget, Result, fail};
use super::interpreter::Interpreter;
use super::print::{escape, float, to_text};
use super::text::{Origin, Text, TextBuilder};
use super::value::{ListKind, Value};

/// The output format.
struct Style {
    indent: Option<Text>,
    item_separator: Text,
    key_separator: Text,
    is_ascii: bool,
    sorts_keys: bool,
}

/// The filter `tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
pub(super) fn to_json(
    interpreter: &mut Interpreter<'_>,
    value: &Value,
    arguments: Bound<4>,
) -> Result<Value> {
    let budget = &interpreter.budget;
    let [ascii, indent, separators, sort_keys] = arguments;
    let text = |text: &str| Text::new(budget, text, Origin::Template);
    let indent = match indent.unwrap_or(Value::None) {
        Value::None => None,
        Value::Text(indent) => Some(indent),
        other => match other.as_int() {
            Some(width) => Some(super::operators::spaces(budget, width)?),
            None => return fail(format!("tojson: indent is {}", other.kind())),
        },
    };
    let (item_separator, key_separator) = match separators.unwrap_or(Value::None) {
        Value::None if indent.is_some() => (text(",")?, text(": ")?),
        Value::None => (text(", ")?, text(": ")?),
        Value::List(list) => match list.items() {
            [Value::Text(item), Value::Text(key)] => (item.clone(), key.clone()),
            _ => return fail("tojson: separators must be two strings"),
        },
        _ => return fail("tojson: separators must be two strings"),
    };
    let style = Style {
        indent,
        item_separator,
        key_separator,
        is_ascii: ascii.is_some_and(|value| value.is_true()),
        sorts_keys: sort_keys.is_some_and(|value| value.is_true()),
    };
    let mut out = TextBuilder::new(budget)?;
    write(budget, &mut out, value, &style, 0)?;
    Ok(Value::Text(out.finish()))
}

fn write(
    budget: &Budget,
    out: &mut TextBuilder,
    value: &Value,
    style: &Style,
    depth: usize,
) -> Result<()> {
    budget.spend(1)?;
    let push = |out: &mut TextBuilder, text: &str| out.push(text, Origin::Template);
    match value {
        Value::None => push(out, "null"),
        Value::Bool(value) => push(out, if *value { "true" } else { "false" }),
        Value::Int(number) => push(out, &number.to_string()),
        Value::Float(number) => push(out, &json_float(*number)),
        Value::Text(text) => write_string(out, text, style),
        Value::List(list) if matches!(list.kind(), ListKind::List | ListKind::Tuple) => {
            push(out, "[")?;
            for (i, item) in list.items().iter().enumerate() {
                separate(out, style, i, depth + 1)?;
                write(budget, out, item, style, depth + 1)?;
            }
            if !list.items().is_empty() {
                newline(out, style, depth)?;
            }
            push(out, "]")
        }
        Value::Map(map) => {
            let mut keys = Vec::new();
            let held = budget.hold(map.entries().len() * 32)?;
            for (key, value) in map.entries() {
                let key = match key {
                    Value::Text(text) => text.clone(),
                    Value::None => Text::new(budget, "null", Origin::Template)?,
                    Value::Bool(true) => Text::new(budget, "true", Origin::Template)?,
                    Value::Bool(false) => Text::new(budget, "false", Origin::Template)?,
                    Value::Int(_) | Value::Float(_) => to_text(budget, key)?,
                    other => return fail(format!("tojson: {} is the key of a map", other.kind())),
                };
                keys.push((key, value));
            }
            if style.sorts_keys {
                let length = keys.len().max(1);
                budget.spend(length as u64 * u64::from(length.ilog2()))?;
                keys.sort_by(|(a, _), (b, _)| str::cmp(a, b));
            }
            push(out, "{")?;
            for (i, (key, value)) in keys.iter().enumerate() {
                separate(out, style, i, depth + 1)?;
                write_string(out, key, style)?;
                out.push_text(&style.key_separator)?;
                write(budget, out, value, style, depth + 1)?;
            }
            drop(held);
            if !map.entries().is_empty() {
                newline(out, style, depth)?;
            }
            push(out, "}")
        }
        other => fail(format!("tojson: {} is not JSON", other.kind())),
    }
}

fn json_float(number: f64) -> String {
    if number.is_nan() {
        "NaN".into()
    } else if number.is_infinite() {
        if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .into()
    } else {
        float(number)
    }
}

fn separate(out: &mut TextBuilder, style: &Style, i: usize, depth: usize) -> Result<()> {
    if i > 0 {
        out.push_text(&style.item_separator)?;
    }
    newline(out, style, depth)
}

fn newline(out: &mut TextBuilder, style: &Style, depth: usize) -> Result<()> {
    if let Some(indent) = &style.indent {
        out.push("\n", Origin::Template)?;
        for _ in 0..depth {
            out.push_text(indent)?;
        }
    }
    Ok(())
}

fn write_string(out: &mut TextBuilder, text: &Text, style: &Style) -> Result<()> {
    out.push("\"", Origin::Template)?;
    escape(out, text, |c| {
        Some(match c {
            '"' => "\\\"".into(),
            '\\' => "\\\\".into(),
            '\n' => "\\n".into(),
            '\r' => "\\r".into(),
            '\t' => "\\t".into(),
            '\u{8}' => "\\b".into(),
            '\u{c}' => "\\f".into(),
            '\0'..='\u{1f}' => format!("\\u{:04x}", u32::from(c)),
            '\u{7f}'.. if style.is_ascii => {
                let mut units = [0; 2];
                let units = c.encode_utf16(&mut units);
                units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
            }
            _ => return None,
        })
    })?;
    out.push("\"", Origin::Template)
}
