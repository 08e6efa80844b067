//! Escaping of keys in JSON Pointers (RFC 6901).

use std::borrow::Cow;

/// Escapes a key as a segment of a JSON Pointer.
///
/// ```
/// assert_eq!(structgen_grammar::json_pointer::escaped("a/b~"), "a~1b~0");
/// assert_eq!(structgen_grammar::json_pointer::unescaped("a~1b~0"), "a/b~");
/// ```
#[must_use]
pub fn escaped(key: &str) -> Cow<'_, str> {
    match key.contains(['~', '/']) {
        true => Cow::Owned(key.replace('~', "~0").replace('/', "~1")),
        false => Cow::Borrowed(key),
    }
}

/// Unescapes a segment of a JSON Pointer.
#[must_use]
pub fn unescaped(part: &str) -> Cow<'_, str> {
    match part.contains('~') {
        true => Cow::Owned(part.replace("~1", "/").replace("~0", "~")),
        false => Cow::Borrowed(part),
    }
}
