//! Graphs beside a model's own.

use std::io::Read;
use std::path::Path;

use ort::session::Session;
use structgen_artifact::open_regular;

use crate::model::{refused, session_builder};
use crate::operators::Operators;
use crate::{Device, LoadError, Runtime};

/// The bytes of a regular file.
pub(crate) fn regular_file(file: &Path) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    match open_regular(file).and_then(|mut opened| opened.read_to_end(&mut bytes)) {
        Ok(_) => Ok(bytes),
        Err(source) => Err(LoadError::Read {
            path: file.to_owned(),
            source,
        }),
    }
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
