//! Structural tags: the bytes are the JSON.

use structgen_frontend::json_schema::SchemaOptions;
use structgen_tools::StructuralTag;

use crate::SplitMix;
use crate::walk;

/// Reads a structural tag, generates from it, and checks what came out.
/// True when the input was taken and everything was looked at.
///
/// # Panics
/// When a text that was generated does not fit, on a dead end, or when an error has no pointer into the document.
pub fn structural_tag(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let tag = match StructuralTag::from_json(text, &SchemaOptions::new()) {
        Ok(tag) => tag,
        Err(error) => {
            if let Some(pointer) = error.pointer() {
                assert!(pointer.starts_with('#'), "{pointer}");
            }
            return false;
        }
    };
    let Ok(constraint) = walk::compile(tag.grammar().clone()) else {
        return false;
    };
    let mut random = SplitMix::new(data.len() as u64);
    for _ in 0..2 {
        let Some(text) = walk::text(&constraint, &mut random, 16) else {
            return false;
        };
        walk::is_taken(&constraint, &text);
    }
    true
}
