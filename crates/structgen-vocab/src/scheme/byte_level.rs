//! GPT-2's byte-level alphabet: a printable character for each byte.

/// The bytes of a byte-level string.
///
/// A string with a character outside the alphabet stands for itself. Added tokens that contain spaces or other scripts
/// decode this way.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    text.chars()
        .map(byte_of)
        .collect::<Option<Vec<u8>>>()
        .unwrap_or_else(|| text.as_bytes().to_vec())
}

/// The byte of a character of the alphabet.
///
/// Bytes that are printable in Latin-1 stand for themselves. The 68 others (controls, spaces, the soft hyphen) are, in
/// order, the characters from U+0100 on.
fn byte_of(c: char) -> Option<u8> {
    let code = u32::from(c);
    match code {
        0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF => Some(code as u8),
        // The bytes 0x00..=0x20, then 0x7F..=0xA0, then 0xAD.
        0x100..=0x120 => Some((code - 0x100) as u8),
        0x121..=0x142 => Some((code - 0x121 + 0x7F) as u8),
        0x143 => Some(0xAD),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_alphabet_has_one_character_for_each_byte() {
        let bytes: Vec<u8> = (0..=0x10_FFFF)
            .filter_map(char::from_u32)
            .filter_map(byte_of)
            .collect();
        assert_eq!(bytes.len(), 256);
        assert_eq!(bytes.iter().collect::<BTreeSet<_>>().len(), 256);
    }

    #[test]
    fn known_strings() {
        assert_eq!(bytes("Ġhello"), b" hello");
        assert_eq!(bytes("Ċĉč"), b"\n\t\r");
        assert_eq!(bytes("Ã©"), "é".as_bytes());
        assert_eq!(bytes("ðŁ"), [0xF0, 0x9F]);
        assert_eq!(bytes("ł"), [0xA0]);
        assert_eq!(bytes("Ń"), [0xAD]);
    }

    #[test]
    fn a_string_with_a_foreign_character_is_itself() {
        assert_eq!(bytes("a b"), b"a b");
        assert_eq!(bytes("Ġ東"), "Ġ東".as_bytes());
    }
}
