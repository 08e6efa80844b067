//! Reads protocol buffers from memory, field by field.

/// The fields of a message.
pub(super) struct Fields<'b> {
    rest: &'b [u8],
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'b> {
    Number(u64),
    Float(f32),
    /// A text, bytes, or a message.
    Bytes(&'b [u8]),
    /// Eight bytes, which no field here uses.
    Other,
}

impl<'b> Fields<'b> {
    pub(super) fn of(message: &'b [u8]) -> Self {
        Self { rest: message }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn bytes(&mut self, len: u64) -> Option<&'b [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(usize::try_from(len).ok()?)?;
        self.rest = rest;
        Some(bytes)
    }

    fn field(&mut self) -> Option<(u64, Value<'b>)> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => self.bytes(8).map(|_| Value::Other)?,
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.bytes(len)?)
            }
            5 => Value::Float(f32::from_le_bytes(self.bytes(4)?.try_into().ok()?)),
            _ => return None,
        };
        Some((key >> 3, value))
    }
}

impl<'b> Iterator for Fields<'b> {
    /// The number of a field and its value; `None` if the bytes are not a message, which ends the iteration.
    type Item = Option<(u64, Value<'b>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_what_is_cut_off_is_none() {
        let message = [
            0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d, 0, 0, 0x80, 0x3f,
        ];
        let fields: Vec<_> = Fields::of(&message).collect();
        let expected = [
            Some((1, Value::Number(150))),
            Some((2, Value::Bytes(b"hi"))),
            Some((3, Value::Float(1.0))),
        ];
        assert_eq!(fields, expected);
        for cut in [1, 2, 4, 5, 6, 8, 11] {
            assert_eq!(Fields::of(&message[..cut]).last(), Some(None), "{cut}");
        }
        assert_eq!(Fields::of(&[0xff; 20]).collect::<Vec<_>>(), [None]);
        let huge = [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(Fields::of(&huge).collect::<Vec<_>>(), [None]);
    }
}
