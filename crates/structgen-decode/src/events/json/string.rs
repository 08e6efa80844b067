//! The contents of a JSON string, byte by byte.

/// The state between two bytes of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Quoted {
    escape: Escape,
    /// A high surrogate, which waits for the low one.
    high: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Escape {
    #[default]
    None,
    /// After the backslash.
    Begun,
    /// After this many digits of a code unit.
    Code { digits: u8, code: u16 },
}

/// The meaning of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// Nothing yet.
    Nothing,
    /// A character is complete.
    Character(char),
    /// The string is.
    End,
}

impl Quoted {
    /// Returns the number of next bytes that stand for themselves; the byte after them must go through
    /// [`step`](Quoted::step).
    pub(super) fn plain(self, bytes: &[u8]) -> usize {
        if self != Self::default() {
            return 0;
        }
        let special = |&byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1F);
        bytes.iter().position(special).unwrap_or(bytes.len())
    }

    /// Reads a byte that does not stand for itself, or one of an escape. If it is invalid, the error is what was
    /// expected.
    pub(super) fn step(&mut self, byte: u8) -> Result<Said, &'static str> {
        match self.escape {
            Escape::None => match byte {
                b'\\' => self.escape = Escape::Begun,
                _ if self.high.is_some() => return Err(SECOND_HALF),
                b'"' => return Ok(Said::End),
                _ => return Err("a character that is no control character"),
            },
            Escape::Begun => {
                let character = match byte {
                    b'u' => {
                        self.escape = Escape::Code { digits: 0, code: 0 };
                        return Ok(Said::Nothing);
                    }
                    _ if self.high.is_some() => return Err(SECOND_HALF),
                    b'"' | b'\\' | b'/' => char::from(byte),
                    b'b' => '\u{8}',
                    b'f' => '\u{C}',
                    b'n' => '\n',
                    b'r' => '\r',
                    b't' => '\t',
                    _ => return Err("an escape"),
                };
                self.escape = Escape::None;
                return Ok(Said::Character(character));
            }
            Escape::Code { digits, code } => {
                let Some(digit) = char::from(byte).to_digit(16) else {
                    return Err("a hexadecimal digit");
                };
                let code = code << 4 | digit as u16;
                if digits < 3 {
                    let digits = digits + 1;
                    self.escape = Escape::Code { digits, code };
                    return Ok(Said::Nothing);
                }
                self.escape = Escape::None;
                return self.unit(code);
            }
        }
        Ok(Said::Nothing)
    }

    /// Adds a UTF-16 code unit.
    fn unit(&mut self, unit: u16) -> Result<Said, &'static str> {
        let high = self.high.take();
        match (high, unit) {
            (None, 0xD800..=0xDBFF) => {
                self.high = Some(unit);
                Ok(Said::Nothing)
            }
            (None, _) => char::from_u32(unit.into())
                .map(Said::Character)
                .ok_or("the first half of a character before its second"),
            (Some(high), 0xDC00..=0xDFFF) => {
                let both = u32::from(high & 0x3FF) << 10 | u32::from(unit & 0x3FF);
                // The halves' ranges make it a valid code point.
                Ok(char::from_u32(0x1_0000 + both).map_or(Said::Nothing, Said::Character))
            }
            (Some(_), _) => Err(SECOND_HALF),
        }
    }
}

const SECOND_HALF: &str = "the second half of a character, as an escape";
