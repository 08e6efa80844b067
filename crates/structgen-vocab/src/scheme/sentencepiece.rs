//! SentencePiece's byte tokens.

/// The byte of a token `<0xHH>`, with hexadecimal digits of either case.
///
/// Like the reference decoder, this accepts a sign as the first digit, as in `<0x+F>`.
pub(super) fn fallback_byte(name: &str) -> Option<u8> {
    let digits = name.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() != 2 {
        return None;
    }
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_tokens_and_strings_that_look_like_them() {
        assert_eq!(fallback_byte("<0x0A>"), Some(b'\n'));
        assert_eq!(fallback_byte("<0xff>"), Some(0xFF));
        assert_eq!(fallback_byte("<0x+F>"), Some(0x0F));
        for text in [
            "<0x>", "<0xA>", "<0x0A", "<0x00A>", "<0xG0>", "<0xé>", " <0x0A>", "<0x0A> ",
        ] {
            assert_eq!(fallback_byte(text), None, "{text}");
        }
    }
}
