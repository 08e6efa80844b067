//! Files of graphs beside a model's own.

use std::path::Path;
use std::{fs, io};

use crate::LoadError;

/// The bytes of a file, which is no pipe and no device: those need not end.
pub(crate) fn regular_file(file: &Path) -> Result<Vec<u8>, LoadError> {
    let failed = |source| LoadError::Read {
        path: file.to_owned(),
        source,
    };
    if !fs::metadata(file).map_err(failed)?.is_file() {
        let reason = "it is no regular file";
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, reason)));
    }
    fs::read(file).map_err(failed)
}
