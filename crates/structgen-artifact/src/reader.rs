//! Reads a file.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::contents::Contents;
use crate::{ALIGN, ArtifactError, BYTE_ORDER, CHECKSUM, Column, Format, HEAD, Plain, checksum};

/// A file of tables, whose arrays are read in the order in which they were written.
///
/// The file is read as a whole, so nothing that later happens to it changes the arrays: neither a
/// [`Writer`](crate::Writer) that replaces it, nor a program that truncates or overwrites it in place.
#[derive(Debug)]
pub struct Reader {
    contents: Arc<Contents>,
    at: usize,
}

impl Reader {
    /// The maximum size of a file in bytes: 1 GiB, far more than tables take.
    pub const MAX_BYTES: u64 = 1 << 30;

    /// Opens a file and checks everything except the contents of its arrays.
    ///
    /// # Errors
    /// If it cannot be read, or was not written for this format and key.
    pub fn open(path: &Path, format: Format, key: [u8; 32]) -> Result<Self, ArtifactError> {
        let failed = |action| {
            move |source| ArtifactError::Io {
                action,
                path: path.to_owned(),
                source,
            }
        };
        // Checked first, because opening a pipe would block until its other end is opened.
        if !fs::metadata(path).map_err(failed("opening"))?.is_file() {
            return Err(ArtifactError::Kind);
        }
        let mut file = File::open(path).map_err(failed("opening"))?;
        let found = file.metadata().map_err(failed("reading"))?.len();
        if found > Self::MAX_BYTES {
            return Err(ArtifactError::Length { found });
        }
        if found < HEAD as u64 {
            return Err(ArtifactError::Kind);
        }
        // A large file of another kind is not read further.
        let mut head = [0; HEAD];
        file.read_exact(&mut head).map_err(failed("reading"))?;
        if head[..8] != format.magic {
            return Err(ArtifactError::Kind);
        }
        if head[8..12] != format.version.to_ne_bytes() || head[12..16] != BYTE_ORDER.to_ne_bytes() {
            return Err(ArtifactError::Version);
        }
        if head[16..48] != key {
            return Err(ArtifactError::Key);
        }
        if head[48..56] != found.to_ne_bytes() {
            return Err(ArtifactError::Length { found });
        }
        let contents = Contents::read(&head, file, found as usize).map_err(failed("reading"))?;
        let body = &contents.bytes()[HEAD..];
        if head[CHECKSUM..] != checksum(&head[..CHECKSUM], body).to_ne_bytes() {
            return Err(ArtifactError::Checksum);
        }
        Ok(Self {
            contents: Arc::new(contents),
            at: HEAD,
        })
    }

    /// Returns the next array.
    ///
    /// # Errors
    /// If there is none, or it does not consist of such items.
    pub fn take<T: Plain>(&mut self) -> Result<Column<T>, ArtifactError> {
        let behind = ArtifactError::Contents("an array ends behind the file");
        let bytes = self.contents.bytes();
        let Some(length) = bytes.get(self.at..self.at + 8) else {
            return Err(behind);
        };
        let length = u64::from_ne_bytes(length.try_into().unwrap_or_default());
        let start = self.at + ALIGN;
        let end = usize::try_from(length)
            .ok()
            .and_then(|length| start.checked_add(length));
        let Some(end) = end.filter(|&end| end <= bytes.len()) else {
            return Err(behind);
        };
        self.at = end.next_multiple_of(ALIGN);
        Column::in_file(self.contents.clone(), start..end)
    }

    /// Returns the only item of the next array.
    ///
    /// # Errors
    /// As [`take`](Self::take), and if it has fewer or more items.
    pub fn take_one<T: Plain>(&mut self) -> Result<T, ArtifactError> {
        match self.take::<T>()?[..] {
            [item] => Ok(item),
            _ => Err(ArtifactError::Contents("one item was expected")),
        }
    }

    /// Checks that there are no further arrays.
    ///
    /// # Errors
    /// If there are.
    pub fn finish(self) -> Result<(), ArtifactError> {
        if self.at == self.contents.bytes().len() {
            Ok(())
        } else {
            Err(ArtifactError::Contents("there is more than expected"))
        }
    }
}
