//! A known string, written with any escapes.

/// How far a string was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Read {
    /// The number of bytes of its text.
    bytes: u32,
    /// The number of bytes of the escape of the next character.
    escape: u8,
}

impl Read {
    /// Returns whether the byte is the quote after the text.
    pub(super) fn is_end(self, text: &str, byte: u8) -> bool {
        byte == b'"' && self.escape == 0 && self.bytes as usize == text.len()
    }

    /// Reads one more byte of a string, written in any way.
    pub(super) fn step(self, text: &str, byte: u8) -> Option<Self> {
        let Self { bytes, escape } = self;
        let rest = &text.as_bytes()[bytes as usize..];
        let written = |bytes| Some(Self { bytes, escape: 0 });
        if escape == 0 && byte != b'\\' {
            return match rest.first() {
                Some(&next) if next == byte && byte != b'"' => written(bytes + 1),
                _ => None,
            };
        }
        // An escape stands for a whole character.
        let next = text.get(bytes as usize..)?.chars().next()?;
        let behind = bytes + next.len_utf8() as u32;
        let short = match byte {
            b'b' => '\u{8}',
            b't' => '\t',
            b'n' => '\n',
            b'f' => '\u{C}',
            b'r' => '\r',
            byte => char::from(byte),
        };
        let is_short = short == next && b"\"\\/btnfr".contains(&byte);
        let mut units = [0; 2];
        let units = next.encode_utf16(&mut units);
        let is_digit = |unit: u16, place: u8| {
            let digit = u32::from(unit >> (12 - 4 * place) & 0xF);
            char::from(byte).to_digit(16) == Some(digit)
        };
        let fits = match escape {
            0 => true,
            1 if is_short => return written(behind),
            1 | 7 => byte == b'u',
            2..=5 => is_digit(units[0], escape - 2),
            6 => byte == b'\\',
            _ => is_digit(units[1], escape - 8),
        };
        match escape {
            _ if !fits => None,
            5 if units.len() == 1 => written(behind),
            11 => written(behind),
            _ => Some(Self {
                bytes,
                escape: escape + 1,
            }),
        }
    }
}
