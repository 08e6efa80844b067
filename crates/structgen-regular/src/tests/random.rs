//! Random patterns, in the syntax that all dialects share.

use proptest::prelude::*;

/// Patterns of the given leaves, nested to a depth, with quantifiers described by a regular expression.
pub(super) fn patterns(
    leaf: impl Strategy<Value = String> + 'static,
    depth: u32,
    size: u32,
    quantifiers: &'static str,
) -> impl Strategy<Value = String> {
    leaf.prop_recursive(depth, size, 4, move |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 1..5).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 2..5)
                .prop_map(|arms| format!("(?:{})", arms.join("|"))),
            1 => (inner, quantifiers).prop_map(|(body, quantifier)| format!("(?:{body}){quantifier}")),
        ]
    })
}
