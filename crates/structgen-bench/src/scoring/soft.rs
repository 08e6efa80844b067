//! A score for answers that are almost correct.

use std::cmp::Ordering;

use serde_json::Value;

use super::equality::equal;

/// Returns how close two values are, from 0 to 1; 1 for equal ones only. It is symmetric.
///
/// The two are aligned as trees: objects by key, arrays by the best-scoring alignment in order. The score is the mean
/// over the leaves of both, counting aligned ones once; a leaf on one side only scores 0, and an empty object or array
/// is a leaf. Strings score their similarity (1 minus the edit distance divided by the longer one's length, in
/// characters). All other leaves score 1 or 0: a close number is as wrong as any other.
#[must_use]
pub fn soft_score(a: &Value, b: &Value) -> f64 {
    let score = aligned(a, b);
    score.sum / score.leaves as f64
}

/// The sum over some leaves' scores.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    sum: f64,
    leaves: usize,
}

impl Score {
    /// Scores leaves on one side only.
    fn unmatched(value: &Value) -> Self {
        Self {
            sum: 0.0,
            leaves: leaves(value),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            leaves: self.leaves + other.leaves,
        }
    }

    /// A larger sum is better, then fewer leaves.
    fn compare(&self, other: &Self) -> Ordering {
        { self.sum.total_cmp(&other.sum) }.then(other.leaves.cmp(&self.leaves))
    }
}

fn leaves(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Array(items) => items.iter().map(leaves).sum(),
        Value::Object(members) => members.values().map(leaves).sum(),
        _ => 1,
    };
    inside.max(1)
}

fn aligned(a: &Value, b: &Value) -> Score {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if !(a.is_empty() && b.is_empty()) => {
            let both_or_a = a.iter().map(|(key, value)| match b.get(key) {
                Some(other) => aligned(value, other),
                None => Score::unmatched(value),
            });
            let only_b = b.iter().filter(|(key, _)| !a.contains_key(*key));
            both_or_a
                .chain(only_b.map(|(_, value)| Score::unmatched(value)))
                .fold(Score::default(), Score::plus)
        }
        (Value::Array(a), Value::Array(b)) if !(a.is_empty() && b.is_empty()) => sequences(a, b),
        (Value::String(a), Value::String(b)) => Score {
            sum: strsim::normalized_levenshtein(a, b),
            leaves: 1,
        },
        _ => Score {
            sum: f64::from(equal(a, b)),
            leaves: leaves(a).max(leaves(b)),
        },
    }
}

/// Finds the best alignment of two sequences in order (Needleman and Wunsch 1970).
fn sequences(a: &[Value], b: &[Value]) -> Score {
    let mut row = vec![Score::default()];
    for item in b {
        let last = row[row.len() - 1];
        row.push(last.plus(Score::unmatched(item)));
    }
    for item in a {
        let mut next = vec![row[0].plus(Score::unmatched(item))];
        for (at, other) in b.iter().enumerate() {
            let choices = [
                row[at].plus(aligned(item, other)),
                row[at + 1].plus(Score::unmatched(item)),
                next[at].plus(Score::unmatched(other)),
            ];
            let best = choices.into_iter().max_by(Score::compare);
            next.push(best.unwrap_or_default());
        }
        row = next;
    }
    row[row.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn each_rule_has_its_score() {
        for (a, b, score) in [
            // Objects by key; a key on one side only scores 0.
            (json!({"a": 1, "b": true}), json!({"b": true, "a": 1}), 1.0),
            (json!({"a": 1, "b": 2}), json!({"a": 1, "b": 3}), 0.5),
            (json!({"a": 1}), json!({"a": 1, "b": 3}), 0.5),
            (json!({"a": {"b": 1, "c": 2}}), json!({"a": 1}), 0.0),
            // Strings by edit distance in characters.
            (json!("Grät"), json!("Graz"), 0.5),
            (json!("12"), json!(12), 0.0),
            // Numbers by value; being close does not count.
            (json!(100), json!(100.0), 1.0),
            (json!(100), json!(101), 0.0),
            (json!(null), json!(false), 0.0),
            // Arrays in order: an additional item does not shift the others.
            (json!([1, 2, 3]), json!([0, 1, 2, 3]), 0.75),
            (json!([1, 2]), json!([2, 1]), 1.0 / 3.0),
            (
                json!([{"n": "ab", "q": 1}, {"n": "cd", "q": 2}]),
                json!([{"n": "cd", "q": 2}]),
                0.5,
            ),
            // Empty containers are leaves.
            (json!([]), json!([]), 1.0),
            (json!([]), json!([1]), 0.0),
            (json!({}), json!([]), 0.0),
            (json!({"a": []}), json!({"a": {}}), 0.0),
        ] {
            assert!(
                (soft_score(&a, &b) - score).abs() < 1e-12,
                "{a} {b}: {}",
                soft_score(&a, &b)
            );
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2..3i64).prop_map(Value::from),
            prop_oneof![Just(0.5), Just(1.0)].prop_map(Value::from),
            "[abä]{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_score_is_one_for_equal_values_only(a in values(), b in values()) {
            let score = soft_score(&a, &b);
            prop_assert!((0.0..=1.0).contains(&score), "{}", score);
            prop_assert_eq!(score == 1.0, equal(&a, &b), "{}", score);
            prop_assert_eq!(soft_score(&a, &a), 1.0);
        }

        #[test]
        fn the_score_is_symmetric(a in values(), b in values()) {
            prop_assert!((soft_score(&a, &b) - soft_score(&b, &a)).abs() < 1e-12);
        }

        #[test]
        fn one_wrong_leaf_costs_its_share(values in prop::collection::vec(0..9i64, 1..9), at in any::<prop::sample::Index>()) {
            let object = |values: &[i64]| Value::Object(
                values.iter().enumerate().map(|(key, &value)| (key.to_string(), value.into())).collect()
            );
            let mut wrong = values.clone();
            wrong[at.index(values.len())] += 10;
            let expected = 1.0 - 1.0 / values.len() as f64;
            prop_assert!((soft_score(&object(&values), &object(&wrong)) - expected).abs() < 1e-12);
        }
    }
}
