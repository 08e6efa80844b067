//! What depending on structgen must not do to a user's build.

#[test]
fn arbitrary_precision_of_serde_json_is_not_switched_on() {
    // With the feature, a number keeps its digits; without, it is a float.
    let text = "1.00000000000000000000000000000000001";
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(value.to_string(), "1.0");
    // With the feature, numbers do not survive serde's buffering of internally tagged and flattened types as numbers.
    #[derive(serde::Deserialize)]
    struct Outer {
        #[serde(flatten)]
        inner: std::collections::BTreeMap<String, f64>,
    }
    let outer: Outer = serde_json::from_str(r#"{"a": 1.5}"#).unwrap();
    assert_eq!(outer.inner["a"], 1.5);
}
