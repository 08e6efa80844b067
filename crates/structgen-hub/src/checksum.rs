//! Checksums of files, as listed by the hub.

use std::fmt;

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// The checksum of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// SHA-256 of the bytes, in hexadecimal: for files stored outside the repository (Git LFS).
    Sha256(String),
    /// SHA-1 of the bytes as a Git object, in hexadecimal: for files in the repository itself.
    GitObject(String),
}

impl Checksum {
    /// Parses a checksum of hexadecimal digits.
    pub(crate) fn sha256(digits: &str) -> Option<Self> {
        is_hexadecimal(digits, 64).then(|| Self::Sha256(digits.to_owned()))
    }

    pub(crate) fn git_object(digits: &str) -> Option<Self> {
        is_hexadecimal(digits, 40).then(|| Self::GitObject(digits.to_owned()))
    }

    /// Returns a hasher for a file of `size` bytes, to compare with this checksum.
    pub(crate) fn hasher(&self, size: u64) -> Hasher {
        match self {
            Self::Sha256(_) => Hasher::Sha256(Sha256::new()),
            Self::GitObject(_) => {
                Hasher::GitObject(Sha1::new().chain_update(format!("blob {size}\0")))
            }
        }
    }

    /// Returns the hexadecimal digits.
    #[must_use]
    pub fn digits(&self) -> &str {
        match self {
            Self::Sha256(digits) | Self::GitObject(digits) => digits,
        }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha256(digits) => write!(f, "SHA-256 {digits}"),
            Self::GitObject(digits) => write!(f, "Git object {digits}"),
        }
    }
}

fn is_hexadecimal(digits: &str, len: usize) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    digits.len() == len && digits.bytes().all(is_digit)
}

/// A hash in progress.
#[derive(Clone)]
pub(crate) enum Hasher {
    Sha256(Sha256),
    GitObject(Sha1),
}

impl Hasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hash) => hash.update(bytes),
            Self::GitObject(hash) => hash.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Checksum {
        let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            Self::Sha256(hash) => Checksum::Sha256(digits(&hash.finalize())),
            Self::GitObject(hash) => Checksum::GitObject(digits(&hash.finalize())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8], like: &Checksum) -> String {
        let mut hasher = like.hasher(bytes.len() as u64);
        hasher.update(bytes);
        hasher.finish().to_string()
    }

    #[test]
    fn checksums_are_those_of_git() {
        // `echo hello | git hash-object --stdin`, and `echo hello | sha256sum`.
        let git = Checksum::GitObject(String::new());
        assert_eq!(
            of(b"hello\n", &git),
            "Git object ce013625030ba8dba906f756967f9e9ca394464a"
        );
        let sha256 = Checksum::Sha256(String::new());
        assert_eq!(
            of(b"hello\n", &sha256),
            "SHA-256 5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
        );
        assert_eq!(Checksum::sha256("12"), None);
        assert_eq!(Checksum::git_object(&"G".repeat(40)), None);
    }
}
