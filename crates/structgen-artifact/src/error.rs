//! Errors of reading and writing files.

use std::io;
use std::path::PathBuf;

/// Why a file of tables could not be read or written.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// An operation of the system failed.
    #[error("{action} {path}: {source}", path = path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is not a file, or a file of another kind.
    #[error("it is no file of this kind")]
    Kind,
    /// It was written by another version, or on a machine with another byte order.
    #[error("it was written by another version")]
    Version,
    /// It was computed from another input.
    #[error("it was made for another input")]
    Key,
    /// It does not have the length that its head states, or exceeds the maximum.
    #[error("it has {found} bytes, which is not its length")]
    Length {
        /// The file's length.
        found: u64,
    },
    /// Its contents do not match their checksum.
    #[error("its checksum is wrong")]
    Checksum,
    /// Its contents are invalid.
    #[error("it contradicts itself: {0}")]
    Contents(&'static str),
}

structgen_sentence::debug_as_sentence!(ArtifactError);

impl ArtifactError {
    /// Returns whether the file does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}
