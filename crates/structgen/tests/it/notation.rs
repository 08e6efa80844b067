//! The notation is the same as in training.

use serde_json::Value;

/// Written by `training/notation.py`.
const CASES: &str = include_str!("../data/notation.jsonl");

#[test]
fn schemas_are_rendered_as_in_training() {
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let rendered = structgen::compact_notation(&case["schema"]);
        assert_eq!(rendered, case["notation"], "{}", case["schema"]);
    }
}
