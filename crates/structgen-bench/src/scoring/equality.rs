//! Equality of values.

use serde_json::{Number, Value};

/// Returns whether two values are equal: numbers by value (`1` is `1.0`), keys in any order, all else exactly.
#[must_use]
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => numbers_equal(a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let in_b = |(key, a)| b.get(key).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(in_b)
        }
        _ => a == b,
    }
}

fn numbers_equal(a: &Number, b: &Number) -> bool {
    match a.is_f64() || b.is_f64() {
        true => a.as_f64() == b.as_f64(),
        // Integers beyond 2^53 must not be rounded.
        false => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_equal_by_value_and_all_else_exactly() {
        for (a, b, same) in [
            (json!(1), json!(1.0), true),
            (json!(12.5), json!(12.50), true),
            (
                json!(9_007_199_254_740_993_u64),
                json!(9_007_199_254_740_992_u64),
                false,
            ),
            (json!(1), json!("1"), false),
            (json!(1), json!(true), false),
            (json!("a"), json!("A"), false),
            (json!(null), json!(""), false),
            (json!([1, 2]), json!([1.0, 2]), true),
            (json!([1, 2]), json!([2, 1]), false),
            (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1.0}), true),
            (json!({"a": 1}), json!({"a": 1, "b": null}), false),
            (json!({"a": 1, "c": 1}), json!({"a": 1, "b": 1}), false),
        ] {
            assert_eq!(equal(&a, &b), same, "{a} {b}");
            assert_eq!(equal(&b, &a), same, "{b} {a}");
        }
    }
}
