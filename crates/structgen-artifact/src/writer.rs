//! Writes a file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use zerocopy::IntoBytes;

use crate::replacement::{Replacement, folder_of, replaced};
use crate::{ALIGN, ArtifactError, BYTE_ORDER, CHECKSUM, Format, HEAD, Plain, checksum};

/// Collects arrays and writes them to a file.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Creates a writer without arrays. The key identifies what the contents were computed from.
    #[must_use]
    pub fn new(format: Format, key: [u8; 32]) -> Self {
        let mut bytes = Vec::with_capacity(1 << 16);
        bytes.extend(format.magic);
        bytes.extend(format.version.to_ne_bytes());
        bytes.extend(BYTE_ORDER.to_ne_bytes());
        bytes.extend(key);
        bytes.resize(HEAD, 0);
        Self { bytes }
    }

    /// Adds an array after the others.
    pub fn put<T: Plain>(&mut self, items: &[T]) {
        let items = items.as_bytes();
        self.bytes.extend((items.len() as u64).to_ne_bytes());
        self.bytes
            .resize(self.bytes.len().next_multiple_of(ALIGN), 0);
        self.bytes.extend(items);
        self.bytes
            .resize(self.bytes.len().next_multiple_of(ALIGN), 0);
    }

    /// Writes a temporary file beside `path` and renames it, so that nobody ever sees a partial file and readers of the
    /// old file keep it. Creates the folder if there is none. Several processes may write at once; one of the files
    /// remains. Temporary files of writers that were killed are removed by the next writer. Permissions and symbolic
    /// links are kept, as by any [`Replacement`].
    ///
    /// # Errors
    /// If writing fails, for example for lack of space or permission.
    pub fn save(mut self, path: &Path) -> Result<(), ArtifactError> {
        reseal(&mut self.bytes);
        let write = || -> io::Result<()> {
            let path = replaced(path)?;
            let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
            let prefix = format!(".{}-", name.to_string_lossy());
            fs::create_dir_all(folder_of(&path))?;
            let mut file = Replacement::of(&path, &prefix)?;
            file.write_all(&self.bytes)?;
            file.persist()
        };
        write().map_err(failed(path))
    }

    /// Writes to a pipe or a device ([`is_special`](crate::is_special)), which [`save`](Self::save) would replace.
    ///
    /// # Errors
    /// If it cannot be opened, or writing fails.
    pub fn write_to(mut self, path: &Path) -> Result<(), ArtifactError> {
        reseal(&mut self.bytes);
        let opened = OpenOptions::new().write(true).open(path);
        { opened.and_then(|mut file| file.write_all(&self.bytes)) }.map_err(failed(path))
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> ArtifactError {
    |source| ArtifactError::Io {
        action: "writing",
        path: path.to_owned(),
        source,
    }
}

/// Updates the length and checksum in a file's bytes, which tests of readers need after changing them. Does nothing if
/// the bytes are shorter than a head.
pub fn reseal(bytes: &mut [u8]) {
    if bytes.len() < HEAD {
        return;
    }
    let length = (bytes.len() as u64).to_ne_bytes();
    bytes[CHECKSUM - 8..CHECKSUM].copy_from_slice(&length);
    let sum = checksum(&bytes[..CHECKSUM], &bytes[HEAD..]);
    bytes[CHECKSUM..HEAD].copy_from_slice(&sum.to_ne_bytes());
}
