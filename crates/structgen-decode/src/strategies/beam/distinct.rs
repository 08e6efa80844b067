//! Decides when two outputs are the same.

use serde_json::Value;

use super::Distinct;

/// Returns a key: texts with the same key are the same output. `None` if outputs are compared by their tokens.
pub(super) fn key(text: &[u8], distinct: Distinct) -> Option<Vec<u8>> {
    match distinct {
        Distinct::Tokens => None,
        Distinct::Text => Some(text.to_vec()),
        Distinct::JsonValue => Some(json_key(text).unwrap_or_else(|| text.to_vec())),
    }
}

/// Returns the same key for texts of the same JSON value.
fn json_key(text: &[u8]) -> Option<Vec<u8>> {
    // Turn numbers into strings with their exact values, distinct from all other strings: a parser would round them.
    let mut marked = Vec::with_capacity(text.len() + 16);
    let mut at = 0;
    let mut in_string = false;
    while let Some(&byte) = text.get(at) {
        if in_string {
            marked.push(byte);
            if byte == b'\\' {
                marked.extend(text.get(at + 1));
                at += 1;
            }
            in_string = byte != b'"';
            at += 1;
        } else if byte == b'-' || byte.is_ascii_digit() {
            let is_part = |b: &u8| b.is_ascii_digit() || b"+-.eE".contains(b);
            let len = text[at..].iter().take_while(|b| is_part(b)).count();
            let number = std::str::from_utf8(&text[at..at + len]).ok()?;
            // Only valid numbers are marked: others have no value.
            serde_json::from_str::<serde::de::IgnoredAny>(number).ok()?;
            marked.extend_from_slice(br#""\u0000"#);
            marked.extend_from_slice(exact(number).as_bytes());
            marked.push(b'"');
            at += len;
        } else {
            in_string = byte == b'"';
            // Escape texts that start like marked numbers.
            marked.push(byte);
            if in_string {
                marked.push(b't');
            }
            at += 1;
        }
    }
    let value: Value = serde_json::from_slice(&marked).ok()?;
    let mut key = Vec::new();
    write(&value, &mut key);
    Some(key)
}

/// Writes a value with its keys in order. The parser limits its nesting.
fn write(value: &Value, key: &mut Vec<u8>) {
    match value {
        Value::Array(items) => {
            key.push(b'[');
            for item in items {
                write(item, key);
                key.push(b',');
            }
            key.push(b']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|&(name, _)| name);
            key.push(b'{');
            for (name, value) in members {
                key.extend_from_slice(format!("{name:?}:").as_bytes());
                write(value, key);
                key.push(b',');
            }
            key.push(b'}');
        }
        other => key.extend_from_slice(other.to_string().as_bytes()),
    }
}

/// Returns a number as its digits without leading and trailing zeros, and the power of ten of the last of them.
fn exact(number: &str) -> String {
    let (sign, number) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let kept = digits.trim_end_matches('0');
    let zeros = (digits.len() - kept.len()) as i64;
    if kept.is_empty() {
        return "0".to_owned();
    }
    match exponent.parse::<i64>() {
        Ok(e) if e.unsigned_abs() < 1 << 60 => {
            format!("{sign}{kept}e{}", e + zeros - fraction.len() as i64)
        }
        // For such exponents, the notation stands for the value.
        _ => format!("{sign}{mantissa}e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        let key = |text: &str| key(text.as_bytes(), Distinct::JsonValue);
        key(a) == key(b)
    }

    #[test]
    fn equal_values_have_equal_keys_and_others_do_not() {
        for (a, b) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("-0", "0.000"),
            ("0.10", "1E-1"),
            (r#"{"a":1,"b":[2, 3]}"#, r#"{ "b" : [2.0,3], "a" : 1 }"#),
            (r#""A\n""#, r#""\u0041\u000a""#),
            ("12345678901234567890123.0", "12345678901234567890123"),
        ] {
            assert!(same(a, b), "{a} and {b}");
        }
        for (a, b) in [
            ("1", "-1"),
            ("1", r#""1""#),
            ("1", r#""\u00001e0""#),
            ("12345678901234567890123", "12345678901234567890124"),
            (r#"{"a":1}"#, r#"{"b":1}"#),
            ("[1,2]", "[2,1]"),
            ("[[1],2]", "[[1,2]]"),
            (r#"{"a":"b:1,"}"#, r#"{"a":"b","1":""}"#),
            ("no json 1", "no json 1.0"),
            ("true", r#""true""#),
        ] {
            assert!(!same(a, b), "{a} and {b}");
        }
    }

    #[test]
    fn texts_of_any_kind_have_a_key() {
        for text in ["", "-", "1.", "\"", "\"\\", "{\"a\":", "1 2", "\u{e9}1"] {
            assert_eq!(
                key(text.as_bytes(), Distinct::JsonValue),
                Some(text.as_bytes().to_vec())
            );
        }
        let deep = "[".repeat(100_000);
        assert!(key(deep.as_bytes(), Distinct::JsonValue).is_some());
    }
}
