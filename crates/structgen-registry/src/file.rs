//! The registry's file: read and written as a whole.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use structgen_artifact::{Replacement, regular_exists};

use crate::{RegisteredModel, RegistryError};

/// The version of the format.
const VERSION: u64 = 1;

/// A larger file is not a registry.
const LARGEST: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u64,
    models: Vec<RegisteredModel>,
}

/// Reads the models of a file; returns none if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Vec<RegisteredModel>, RegistryError> {
    let cannot = |source| RegistryError::Io {
        path: path.to_owned(),
        source,
    };
    let damaged = |reason: String| RegistryError::Damaged {
        path: path.to_owned(),
        reason,
    };
    if !regular_exists(path).map_err(cannot)? {
        return Ok(Vec::new());
    }
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut text))
        .map_err(cannot)?;
    if text.len() as u64 > LARGEST {
        return Err(damaged(format!("it is larger than {LARGEST} bytes")));
    }
    // Check the version first: a newer one may have unknown fields.
    let json: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    match json["version"].as_u64() {
        Some(VERSION) => {}
        Some(version) => {
            return Err(RegistryError::Newer {
                path: path.to_owned(),
                version,
            });
        }
        None => return Err(damaged("it has no version".to_owned())),
    }
    let contents: Contents =
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    let mut models = contents.models;
    models.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = models.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(damaged(format!(
            "the model {} is in it twice",
            pair[0].name
        )));
    }
    Ok(models)
}

/// Atomically replaces the file.
pub(crate) fn write(path: &Path, models: &[RegisteredModel]) -> Result<(), RegistryError> {
    let cannot = |source| RegistryError::Io {
        path: path.to_owned(),
        source,
    };
    let contents = Contents {
        version: VERSION,
        models: models.to_vec(),
    };
    let mut new = Replacement::of(path, ".models-").map_err(cannot)?;
    serde_json::to_writer_pretty(&mut new, &contents).map_err(|error| cannot(error.into()))?;
    new.write_all(b"\n").map_err(cannot)?;
    new.as_file().sync_all().map_err(cannot)?;
    new.persist().map_err(cannot)
}

/// Waits for the lock of the registry, which is held until the file is dropped.
pub(crate) fn lock(path: &Path) -> Result<File, RegistryError> {
    let cannot = |source| RegistryError::Io {
        path: path.to_owned(),
        source,
    };
    // Opening a pipe would wait for its other end.
    regular_exists(path).map_err(cannot)?;
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(cannot)?;
    file.lock().map_err(cannot)?;
    Ok(file)
}
