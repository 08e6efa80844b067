//! YAML as the command line reads it: the bytes are the document.

use serde_json::Value;

#[path = "../../crates/structgen-cli/src/yaml.rs"]
mod reader;

/// Converts a document to JSON.
/// True when it was taken.
///
/// # Panics
/// When the result is not JSON, or is another value as YAML.
pub fn yaml(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let Ok(json) = reader::to_json(text) else {
        return false;
    };
    let read = |json: &str| match serde_json::from_str::<Value>(json) {
        Ok(value) => Some(value),
        // Numbers are kept as they are written.
        Err(error) if error.to_string().contains("number out of range") => None,
        Err(error) => panic!("{error}: {json}"),
    };
    let value = read(&json);
    let again = reader::to_json(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(read(&again), value, "{json}");
    true
}
