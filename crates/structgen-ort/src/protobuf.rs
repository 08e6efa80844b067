//! Reading protocol buffers field by field, without what nobody asks for.

use std::io::{self, Read, Seek};

/// The fields of a message and of those within it, in the order of the file.
pub(crate) struct Fields<R> {
    source: R,
    at: u64,
}

impl<R: Read + Seek> Fields<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, at: 0 }
    }

    /// How many bytes were read or passed over.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The number of the next field, and its wire type.
    pub(crate) fn key(&mut self) -> io::Result<(u64, u64)> {
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
