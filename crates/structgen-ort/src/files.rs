//! Graphs beside a model's own.

use std::path::Path;
use std::{fs, io};

use ort::session::Session;

use crate::model::{refused, session_builder};
use crate::operators::Operators;
use crate::{Device, LoadError, Runtime};

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

/// A session of a graph in memory.
pub(crate) fn side_session(
    runtime: &'static Runtime,
    bytes: &[u8],
    name: &str,
    device: Device,
) -> Result<Session, LoadError> {
    let operators = Operators::of_bytes(bytes).unwrap_or_default();
    let mut builder = session_builder(runtime, device, &operators)?;
    let session = builder.commit_from_memory(bytes);
    session.map_err(|error| refused(name, &error))
}

/// Refuses a graph that has other inputs than these.
pub(crate) fn takes_only(session: &Session, inputs: &[&str]) -> Result<(), LoadError> {
    let mut given = session.inputs().iter();
    match given.find(|input| !inputs.contains(&input.name())) {
        Some(other) => Err(LoadError::UnknownInput {
            name: other.name().to_owned(),
            dtype: other.dtype().to_string(),
        }),
        None => Ok(()),
    }
}
