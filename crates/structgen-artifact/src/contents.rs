//! A file's bytes in memory, aligned for numbers.

use std::fs::File;
use std::io::{self, Read};

use zerocopy::IntoBytes;

/// The bytes of a file, which begin where any number may.
///
/// They are read and not mapped: a map would end the process with a signal once another one cuts the file, and its contents could
/// change after they were checked. Every byte is read for the checksum in any case.
#[derive(Debug)]
pub(crate) struct Contents {
    words: Vec<u128>,
    len: usize,
}

impl Contents {
    /// Reads what comes after a head that was read already, up to a length that the file has to have.
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
