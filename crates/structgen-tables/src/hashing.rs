//! A reader that counts and hashes the bytes read.

use std::io::{self, Read};

use xxhash_rust::xxh3::Xxh3;

pub(crate) struct Hashing<R> {
    from: R,
    bytes: u64,
    hash: Xxh3,
}

impl<R: Read> Hashing<R> {
    pub(crate) fn new(from: R) -> Self {
        Self {
            from,
            bytes: 0,
            hash: Xxh3::new(),
        }
    }

    /// Returns the number of bytes, and their hash.
    pub(crate) fn finish(self) -> (u64, u64) {
        (self.bytes, self.hash.digest())
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.hash.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
