//! Reading protocol buffers field by field, without what nobody asks for.

use std::io::{self, Read, Seek};

/// The maximum number of messages within messages that are followed; what is deeper is passed over.
const DEEPEST: usize = 96;

/// What is done with the fields of a file: which of them are messages to be read, and what becomes of the others.
pub(crate) trait Visitor {
    /// A kind of message.
    type Message: Copy;

    /// Returns the message that a field has, if it is to be read.
    fn within(message: Self::Message, field: u64) -> Option<Self::Message>;

    /// Begins a message; an error ends the walk.
    fn begin(&mut self, _message: Self::Message) -> io::Result<()> {
        Ok(())
    }

    /// Ends a message.
    fn end(&mut self, _message: Self::Message) {}

    /// Takes a number.
    fn number(&mut self, message: Self::Message, field: u64, number: u64);

    /// Reads the value of a field, which has `len` bytes; returns `false` if it is not of interest.
    fn value<R: Read + Seek>(
        &mut self,
        message: Self::Message,
        field: u64,
        len: u64,
        fields: &mut Fields<R>,
    ) -> io::Result<bool>;
}

/// Visits the fields of a file of `len` bytes that is one message, without recursion.
pub(crate) fn walk<R: Read + Seek, V: Visitor>(
    source: R,
    len: u64,
    message: V::Message,
    visitor: &mut V,
) -> io::Result<()> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let mut fields = Fields { source, at: 0 };
    let mut open = vec![(message, len)];
    while let Some(&(message, end)) = open.last() {
        if fields.at() >= end {
            visitor.end(message);
            open.pop();
            continue;
        }
        let (field, wire_type) = fields.key()?;
        let len = match wire_type {
            0 => {
                let number = fields.varint()?;
                visitor.number(message, field, number);
                continue;
            }
            1 => 8,
            5 => 4,
            2 => fields.varint()?,
            _ => return Err(invalid()),
        };
        let field_end = fields.at().checked_add(len).filter(|&at| at <= end);
        let field_end = field_end.ok_or_else(invalid)?;
        if wire_type == 2 {
            if visitor.value(message, field, len, &mut fields)? {
                continue;
            }
            if open.len() < DEEPEST
                && let Some(inner) = V::within(message, field)
            {
                visitor.begin(inner)?;
                open.push((inner, field_end));
                continue;
            }
        }
        fields.skip_to(field_end)?;
    }
    Ok(())
}

/// The fields of a message and of those within it, in the order of the file.
pub(crate) struct Fields<R> {
    source: R,
    at: u64,
}

impl<R: Read + Seek> Fields<R> {
    /// How many bytes were read or passed over.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The number of the next field, and its wire type.
    fn key(&mut self) -> io::Result<(u64, u64)> {
        let key = self.varint()?;
        Ok((key >> 3, key & 7))
    }

    pub(crate) fn varint(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.read(&mut byte)?;
            number |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(number);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    /// A text of this length, which the caller has limited.
    pub(crate) fn text(&mut self, len: u64) -> io::Result<String> {
        let mut text = vec![0; len as usize];
        self.read(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.source.read_exact(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn skip_to(&mut self, at: u64) -> io::Result<()> {
        let by = i64::try_from(at - self.at).map_err(|_| io::ErrorKind::InvalidData)?;
        // Near places are in the reader's buffer.
        self.source.seek_relative(by)?;
        self.at = at;
        Ok(())
    }
}
