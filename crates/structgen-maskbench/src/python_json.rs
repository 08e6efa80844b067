//! JSON as Python's `json.dumps(data, ensure_ascii=False)` writes it.

use std::fmt::Write;

use serde_json::{Number, Value};

/// The text of a value: `", "` and `": "` between things, non-ASCII characters as they are.
pub(crate) fn to_python_json(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => write_number(text, number),
        Value::String(string) => write_string(text, string),
        Value::Array(items) => {
            text.push('[');
            for (i, item) in items.iter().enumerate() {
                text.push_str(if i > 0 { ", " } else { "" });
                write_value(text, item);
            }
            text.push(']');
        }
        Value::Object(members) => {
            text.push('{');
            for (i, (key, value)) in members.iter().enumerate() {
                text.push_str(if i > 0 { ", " } else { "" });
                write_string(text, key);
                text.push_str(": ");
                write_value(text, value);
            }
            text.push('}');
        }
    }
}

/// Python escapes the same characters as serde_json, and in the same way.
fn write_string(text: &mut String, string: &str) {
    text.push_str(&serde_json::to_string(string).unwrap_or_default());
}

/// Integers as they are; floats as `repr` writes them: the shortest digits, with an exponent below 1e-4 and from 1e16 on.
fn write_number(text: &mut String, number: &Number) {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        let _ = write!(text, "{number}");
        return;
    };
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if float != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(text, "{mantissa}e{sign}{:02}", exponent.abs());
    } else {
        let _ = write!(text, "{float:?}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::to_python_json;

    #[test]
    fn values_look_as_python_writes_them() {
        let value = json!({"a": [1, 1.0, -0.5, 1e16, 1e15, 0.0001, 0.00001, 1.5e-7, 1e300], "é": "ü\n\u{1f}\"", "b": {}, "c": [], "d": null, "e": true});
        let expected = "{\"a\": [1, 1.0, -0.5, 1e+16, 1000000000000000.0, 0.0001, 1e-05, 1.5e-07, 1e+300], \"é\": \"ü\\n\\u001f\\\"\", \
                        \"b\": {}, \"c\": [], \"d\": null, \"e\": true}";
        assert_eq!(to_python_json(&value), expected);
    }
}
