use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::search::Place;
use super::{Damage, Source};

/// Why there is no ONNX Runtime library to work with.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// No library was found, or none that could be loaded.
    #[error(
        "the ONNX Runtime library was not found.{}\nInstall it with `structgen runtime install`, or set \
         ORT_DYLIB_PATH to its file",
        list(looked)
    )]
    NotFound {
        /// Every place, in order, and what was there.
        looked: Vec<Looked>,
    },
    /// The library that was asked for by name cannot be used.
    #[error(
        "the ONNX Runtime library given by {source_name} cannot be used.{}",
        list(looked)
    )]
    Unusable {
        /// What named it.
        source_name: Source,
        /// What was wrong.
        looked: Vec<Looked>,
    },
    /// The library that was installed into the cache folder is no longer what it was.
    #[error(
        "the ONNX Runtime library in {} is damaged: {damage}; repair it with `structgen runtime install{}`",
        folder.display(),
        if *cuda { " --cuda" } else { "" }
    )]
    Damaged {
        /// Its folder.
        folder: PathBuf,
        /// Whether it is the library with the CUDA provider.
        cuda: bool,
        /// What is wrong.
        damage: Damage,
    },
    /// A process has one library, and it is another one.
    #[error(
        "the ONNX Runtime library {} is loaded already, and {} cannot be loaded beside it",
        loaded.display(),
        asked.display()
    )]
    OtherLoaded {
        /// The library in use.
        loaded: PathBuf,
        /// The library asked for.
        asked: PathBuf,
    },
    /// There is no folder to install into.
    #[error("no cache folder is known: set STRUCTGEN_CACHE to a folder, or HOME")]
    NoCacheFolder,
    /// No wheel is pinned for this platform.
    #[error(
        "no ONNX Runtime package {package} is pinned for {os} on {arch}; set ORT_DYLIB_PATH to a library of version \
         1.24 or later"
    )]
    UnsupportedPlatform {
        /// The package.
        package: &'static str,
        /// The operating system.
        os: &'static str,
        /// The processor.
        arch: &'static str,
    },
    /// There is no Python to fetch with.
    #[error(
        "installing needs Python 3 with pip, and {tried} could not be started ({source}); install Python, or set \
         ORT_DYLIB_PATH to a library"
    )]
    NoPython {
        /// The command that was tried first.
        tried: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The package could not be fetched, or its hash is not the pinned one.
    #[error("{step} failed; nothing was installed. The last lines it wrote:\n{output}")]
    Fetch {
        /// What was being done.
        step: &'static str,
        /// The end of the tool's output.
        output: String,
    },
    /// The disk is full.
    #[error("the disk with {} is full: nothing was installed; free about {megabytes} MB, or set STRUCTGEN_CACHE to \
             another folder", folder.display())]
    DiskFull {
        /// The folder on the full disk.
        folder: PathBuf,
        /// About how much is needed.
        megabytes: u32,
    },
    /// A file operation in the cache folder failed.
    #[error("{action} {} failed", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

structgen_sentence::debug_as_sentence!(RuntimeError);

impl RuntimeError {
    /// The error of an installed library that was not verified.
    pub(super) fn unverified(folder: &Path, cuda: bool, damage: Damage) -> Self {
        match damage {
            Damage::Unreadable { file, source }
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                Self::Io {
                    action: "reading",
                    path: folder.join(file),
                    source,
                }
            }
            damage => Self::Damaged {
                folder: folder.to_owned(),
                cuda,
                damage,
            },
        }
    }
}

/// A place that was looked at, and why it was of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// The kind of place.
    pub source: Source,
    /// The folder, file or command.
    pub place: String,
    /// What is wrong with the file there; none if there is none.
    pub reason: Option<String>,
}

impl Looked {
    pub(super) fn nothing(source: Source, place: &Place) -> Self {
        Self {
            source,
            place: place.describe(),
            reason: place.obstacle().map(|error| error.to_string()),
        }
    }

    pub(super) fn unusable(source: Source, library: PathBuf, reason: String) -> Self {
        Self {
            source,
            place: library.display().to_string(),
            reason: Some(reason),
        }
    }
}

impl fmt::Display for Looked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason.as_deref().unwrap_or("no library there");
        write!(f, "{}: {}: {reason}", self.source, self.place)
    }
}

fn list(looked: &[Looked]) -> String {
    looked.iter().map(|place| format!("\n  {place}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_may_not_be_read_is_not_called_damaged() {
        let error = |kind: io::ErrorKind| {
            let damage = Damage::Unreadable {
                file: "hashes.json".to_owned(),
                source: kind.into(),
            };
            RuntimeError::unverified(Path::new("cache"), false, damage).to_string()
        };
        let denied = error(io::ErrorKind::PermissionDenied);
        assert!(
            denied.starts_with("reading") && denied.contains("hashes.json"),
            "{denied}"
        );
        assert!(error(io::ErrorKind::NotFound).contains("is damaged"));
    }
}
