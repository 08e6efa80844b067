//! Why a file cannot be used.

use std::io;
use std::path::PathBuf;

/// Why a file of tables cannot be used or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The system refused.
    #[error("{action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no file, or one of another kind.
    #[error("it is no file of this kind")]
    Kind,
    /// It was written by another version, or on a machine with another byte order.
    #[error("it was written by another version")]
    Version,
    /// It is about another input.
    #[error("it was made for another input")]
    Key,
    /// It does not have the length that it states, or is too long for any such file.
    #[error("it has {found} bytes, which is not its length")]
    Length {
        /// The file's length.
        found: u64,
    },
    /// Its contents are not those that were written.
    #[error("its checksum is wrong")]
    Checksum,
    /// What it says makes no sense.
    #[error("it contradicts itself: {0}")]
    Contents(&'static str),
}

impl ArtifactError {
    /// Whether there is no such file.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}
