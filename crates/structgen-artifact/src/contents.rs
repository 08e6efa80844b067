//! A file's bytes in memory, aligned for numbers.

use std::fs::File;
use std::io::{self, Read};

use zerocopy::IntoBytes;

/// The bytes of a file, aligned for any number.
///
/// They are read rather than mapped: a map would end the process with a signal if another process truncated the file,
/// and its contents could change after they were checked. Every byte is read for the checksum in any case.
#[derive(Debug)]
pub(crate) struct Contents {
    words: Vec<u128>,
    len: usize,
}

impl Contents {
    /// Reads what follows a head that was already read, up to the length that the file must have.
    pub(crate) fn read(head: &[u8], mut file: File, len: usize) -> io::Result<Self> {
        let mut words = vec![0; len.div_ceil(size_of::<u128>())];
        let (start, rest) = words.as_mut_bytes()[..len].split_at_mut(head.len());
        start.copy_from_slice(head);
        file.read_exact(rest)?;
        Ok(Self { words, len })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.words.as_bytes()[..self.len]
    }
}
