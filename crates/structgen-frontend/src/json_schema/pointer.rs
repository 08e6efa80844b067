//! JSON Pointers of keywords.

use structgen_grammar::json_pointer::escaped;

/// The pointer of a keyword in the schema of this pointer; without a keyword, that of the schema.
pub(crate) fn pointer_below(schema: &str, keyword: &str) -> String {
    let mut pointer = String::with_capacity(schema.len() + 1 + keyword.len());
    push_below(&mut pointer, schema, keyword);
    pointer
}

/// Adds the pointer of a keyword in the schema of this pointer to a text.
pub(crate) fn push_below(text: &mut String, schema: &str, keyword: &str) {
    text.push_str(schema);
    if !keyword.is_empty() {
        push_key(text, keyword);
    }
}

/// Adds a key to a pointer.
pub(crate) fn push_key(pointer: &mut String, key: &str) {
    pointer.push('/');
    pointer.push_str(&escaped(key));
}
