//! The record of what was installed, and the check of the files against it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use structgen_artifact::open_regular;
use xxhash_rust::xxh3::Xxh3;

use super::search::library_version;

/// The file with the record, beside the libraries.
const RECORD: &str = "hashes.json";

/// What is wrong with an installed library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The folder has no record of hashes.
    #[error("it has no record of hashes ({RECORD}), or one that cannot be read")]
    NoRecord,
    /// A file cannot be read.
    #[error("{file} cannot be read: {source}")]
    Unreadable {
        /// The file's name.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file is longer or shorter than it was.
    #[error("{file} has {found} bytes, and {installed} were installed")]
    Length {
        /// The file's name.
        file: String,
        /// Its bytes.
        found: u64,
        /// The bytes that were installed.
        installed: u64,
    },
    /// A file has other contents than it had.
    #[error("the contents of {file} have changed")]
    Contents {
        /// The file's name.
        file: String,
    },
}

impl Damage {
    fn of_record(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::Unreadable {
                file: RECORD.to_owned(),
                source,
            },
            _ => Self::NoRecord,
        }
    }

    /// Returns whether the system denied access to a file, which may be undamaged.
    #[must_use]
    pub fn is_denied_access(&self) -> bool {
        matches!(self, Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }
}

/// The files of an installed library.
///
/// A hash guards against accidents: a copy that was cut, a disk that failed. It is no signature, since whoever can
/// write the libraries can write the record too. So it is a fast one, and every start can afford to hash all of the
/// file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hashes {
    files: BTreeMap<String, Hashed>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hashed {
    bytes: u64,
    xxh3_128: String,
}

impl Hashes {
    /// Hashes all files of a folder and writes the record beside them.
    pub(super) fn record(folder: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().into_string();
            let name = name.map_err(|_| io::Error::from(io::ErrorKind::InvalidFilename))?;
            files.insert(name, hash(File::open(entry.path())?)?);
        }
        let hashes = Self { files };
        let text = serde_json::to_string_pretty(&hashes)?;
        fs::write(folder.join(RECORD), text + "\n")?;
        Ok(hashes)
    }

    /// Reads a folder's record and checks all its files.
    pub(super) fn verify(folder: &Path) -> Result<Self, Damage> {
        // A record is a few hundred bytes.
        let mut text = String::new();
        let record = open_regular(&folder.join(RECORD))
            .and_then(|file| file.take(1 << 20).read_to_string(&mut text));
        record.map_err(Damage::of_record)?;
        let hashes: Self = serde_json::from_str(&text).map_err(|_| Damage::NoRecord)?;
        for (name, installed) in &hashes.files {
            // A record that names other folders' files is not ours.
            if Path::new(name).file_name() != Some(name.as_ref()) {
                return Err(Damage::NoRecord);
            }
            let unreadable = |source| Damage::Unreadable {
                file: name.clone(),
                source,
            };
            let file = open_regular(&folder.join(name)).map_err(unreadable)?;
            // The length first, which costs nothing.
            let found = file.metadata().map_err(unreadable)?.len();
            if found != installed.bytes {
                return Err(Damage::Length {
                    file: name.clone(),
                    found,
                    installed: installed.bytes,
                });
            }
            if hash(file).map_err(unreadable)? != *installed {
                return Err(Damage::Contents { file: name.clone() });
            }
        }
        match hashes.library() {
            Some(_) => Ok(hashes),
            None => Err(Damage::NoRecord),
        }
    }

    /// The name of the runtime's own library, which loads the others.
    pub(super) fn library(&self) -> Option<&str> {
        let mut names = self.files.keys().map(String::as_str);
        names.find(|name| library_version(name).is_some())
    }
}

/// The bytes of a folder's files.
pub(super) fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok());
    files.map(|file| file.len()).sum()
}

/// The runtime's own library in a folder that was verified.
pub(super) fn verified_library(folder: &Path) -> Result<PathBuf, Damage> {
    let hashes = Hashes::verify(folder)?;
    let library = hashes.library().ok_or(Damage::NoRecord)?;
    Ok(folder.join(library))
}

fn hash(mut file: impl Read) -> io::Result<Hashed> {
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        let n = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..n]);
        bytes += n as u64;
    }
    Ok(Hashed {
        bytes,
        xxh3_128: format!("{:032x}", hasher.digest128()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = match cfg!(windows) {
        true => "onnxruntime.dll",
        false if cfg!(target_os = "macos") => "libonnxruntime.1.31.1.dylib",
        false => "libonnxruntime.so.1.31.1",
    };

    fn installed() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(LIBRARY), vec![7; 300_000]).unwrap();
        fs::write(folder.path().join("provider"), "other").unwrap();
        Hashes::record(folder.path()).unwrap();
        folder
    }

    #[test]
    fn what_was_recorded_is_verified() {
        let folder = installed();
        let library = verified_library(folder.path()).unwrap();
        assert_eq!(library, folder.path().join(LIBRARY));
    }

    #[test]
    fn every_damage_is_named() {
        let damage = |change: &dyn Fn(&Path)| {
            let folder = installed();
            change(folder.path());
            verified_library(folder.path()).unwrap_err().to_string()
        };
        let cut = damage(&|folder| fs::write(folder.join("provider"), "oth").unwrap());
        assert_eq!(cut, "provider has 3 bytes, and 5 were installed");
        let flipped = damage(&|folder| fs::write(folder.join("provider"), "0ther").unwrap());
        assert_eq!(flipped, "the contents of provider have changed");
        let gone = damage(&|folder| fs::remove_file(folder.join("provider")).unwrap());
        assert!(gone.starts_with("provider cannot be read: "), "{gone}");
        let no_record = "it has no record of hashes (hashes.json), or one that cannot be read";
        for text in [
            "",
            "{",
            "[]",
            r#"{"files": {}}"#,
            r#"{"files": {"../provider": {"bytes": 5, "xxh3_128": ""}}}"#,
        ] {
            let found = damage(&|folder| fs::write(folder.join(RECORD), text).unwrap());
            assert_eq!(found, no_record, "{text}");
        }
        assert_eq!(
            damage(&|folder| fs::remove_file(folder.join(RECORD)).unwrap()),
            no_record
        );
    }

    #[test]
    #[cfg(unix)]
    fn pipes_are_refused_and_not_opened() {
        for name in [LIBRARY, RECORD] {
            let folder = installed();
            let pipe = folder.path().join(name);
            fs::remove_file(&pipe).unwrap();
            let made = std::process::Command::new("mkfifo").arg(&pipe).status();
            assert!(made.unwrap().success());
            let damage = verified_library(folder.path()).unwrap_err().to_string();
            let expected = match name == RECORD {
                true => "it has no record of hashes",
                false => "cannot be read: it is no regular file",
            };
            assert!(damage.contains(expected), "{damage}");
        }
    }

    #[test]
    fn a_library_that_is_not_recorded_is_not_taken() {
        let folder = installed();
        let newer = LIBRARY.replace("1.31.1", "9.0.0");
        fs::write(folder.path().join(newer), "planted").unwrap();
        let library = verified_library(folder.path()).unwrap();
        assert!(library.ends_with(LIBRARY));
    }
}
