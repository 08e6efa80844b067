//! Errors of a registry.

use std::io;
use std::path::PathBuf;

/// Why an operation on the registry failed. The registry is then unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A file or folder cannot be read or written.
    #[error("{} cannot be used: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The registry's file is damaged. It is not changed, so that it can be repaired.
    #[error(
        "the list of models {} is damaged: {reason}; mend it, or move it away to begin a new one",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// The registry's file is of a newer version.
    #[error("the list of models {} is of version {version}, which this program does not know", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// A name is not valid.
    #[error("{name:?} is no name of a model: {reason}")]
    Name {
        /// The name.
        name: String,
        /// The reason.
        reason: &'static str,
    },
    /// The name is in use.
    #[error("there is a model {name} already, in {}", folder.display())]
    Taken {
        /// The name.
        name: String,
        /// Its folder.
        folder: PathBuf,
    },
    /// No model has the name.
    #[error("there is no model {name}{}", listed(.known))]
    Unknown {
        /// The name.
        name: String,
        /// The existing names.
        known: Vec<String>,
    },
    /// No model has the capability.
    #[error("no model has the capability {capability:?}{}", listed(.known))]
    NoCapability {
        /// The capability.
        capability: String,
        /// The existing capabilities.
        known: Vec<String>,
    },
}

fn listed(known: &[String]) -> String {
    match known {
        [] => "; none is registered".to_owned(),
        known => format!("; there are: {}", known.join(", ")),
    }
}
