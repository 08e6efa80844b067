//! Values in the format of Python's `str` and `repr`.

use super::budget::{Budget, Result, fail};
use super::text::{Origin, Text, TextBuilder};
use super::value::{ListKind, Value};

/// `str(value)`.
pub(crate) fn to_text(budget: &Budget, value: &Value) -> Result<Text> {
    if let Value::Text(text) = value {
        return Ok(text.clone());
    }
    let mut out = TextBuilder::new(budget)?;
    print(budget, &mut out, value)?;
    Ok(out.finish())
}

/// Appends `str(value)`.
pub(crate) fn print(budget: &Budget, out: &mut TextBuilder, value: &Value) -> Result<()> {
    match value {
        Value::Text(text) => out.push_text(text),
        Value::Undefined => Ok(()),
        _ => repr(budget, out, value),
    }
}

/// Appends `repr(value)`.
pub(crate) fn repr(budget: &Budget, out: &mut TextBuilder, value: &Value) -> Result<()> {
    budget.spend(1)?;
    let push = |out: &mut TextBuilder, text: &str| out.push(text, Origin::Template);
    match value {
        Value::Undefined => push(out, "Undefined"),
        Value::None => push(out, "None"),
        Value::Bool(true) => push(out, "True"),
        Value::Bool(false) => push(out, "False"),
        Value::Int(number) => push(out, &number.to_string()),
        Value::Float(number) => push(out, &float(*number)),
        Value::Text(text) => quote(out, text),
        Value::List(list) => {
            let (open, close) = match list.kind() {
                ListKind::Tuple if list.items().len() == 1 => ("(", ",)"),
                ListKind::Tuple => ("(", ")"),
                ListKind::List | ListKind::View => ("[", "]"),
                ListKind::Generator => {
                    return fail("a generator is printed; the filter list makes it a list");
                }
            };
            push(out, open)?;
            for (i, item) in list.items().iter().enumerate() {
                if i > 0 {
                    push(out, ", ")?;
                }
                repr(budget, out, item)?;
            }
            push(out, close)
        }
        Value::Map(map) => {
            push(out, "{")?;
            for (i, (key, value)) in map.entries().iter().enumerate() {
                if i > 0 {
                    push(out, ", ")?;
                }
                repr(budget, out, key)?;
                push(out, ": ")?;
                repr(budget, out, value)?;
            }
            push(out, "}")
        }
        Value::Namespace(_) | Value::Loop(_) | Value::Callable(_) => {
            fail(format!("{} cannot be printed", value.kind()))
        }
    }
}

/// A float in Python's format: the shortest digits, with an exponent from 1e16 up and below 1e-4.
pub(crate) fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        format!("{number:?}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.abs())
    }
}

fn quote(out: &mut TextBuilder, text: &Text) -> Result<()> {
    let quote = match text.contains('\'') && !text.contains('"') {
        true => '"',
        false => '\'',
    };
    let quote_text = quote.to_string();
    out.push(&quote_text, Origin::Template)?;
    escape(out, text, |c| match c {
        '\n' => Some("\\n".into()),
        '\r' => Some("\\r".into()),
        '\t' => Some("\\t".into()),
        '\\' => Some("\\\\".into()),
        c if c == quote => Some(format!("\\{c}")),
        c if is_printable(c) => None,
        c => Some(match u32::from(c) {
            code @ 0..0x100 => format!("\\x{code:02x}"),
            code @ 0x100..0x1_0000 => format!("\\u{code:04x}"),
            code => format!("\\U{code:08x}"),
        }),
    })?;
    out.push(&quote_text, Origin::Template)
}

/// Appends a text, replacing the characters for which `escaped` returns a replacement. A replacement has the origin of
/// its character.
pub(crate) fn escape(
    out: &mut TextBuilder,
    text: &Text,
    escaped: impl Fn(char) -> Option<String>,
) -> Result<()> {
    out.budget().spend_reading(text.len())?;
    let mut copied = 0;
    for (at, c) in text.char_indices() {
        let Some(escape) = escaped(c) else { continue };
        out.budget().spend_making()?;
        out.push_slice(text, copied..at)?;
        copied = at + c.len_utf8();
        out.push(&escape, text.origin_at(at))?;
    }
    out.push_slice(text, copied..text.len())
}

/// Python's `str.isprintable`, except for unassigned characters.
fn is_printable(c: char) -> bool {
    let is_format = matches!(
        c,
        '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e000}'..='\u{f8ff}' | '\u{e0001}'..='\u{e007f}' | '\u{f0000}'..
    );
    !c.is_control() && !is_format && (c == ' ' || !c.is_whitespace())
}
