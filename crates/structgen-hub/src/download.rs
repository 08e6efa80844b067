//! Downloads, which resume where they ended and are verified by checksum.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use structgen_artifact::regular_exists;

use crate::checksum::Hasher;
use crate::{Hub, HubError, RemoteFile, Repository};

/// Successive attempts without progress after which a download fails.
const ATTEMPTS: u32 = 4;

/// The delay before another attempt, multiplied by the number of failed ones.
const WAIT: Duration = Duration::from_millis(500);

/// The outcome of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downloaded {
    /// The file existed, with the right checksum.
    Already,
    /// It was downloaded.
    Whole,
    /// The rest of the file was downloaded, after what an earlier attempt had left.
    Rest {
        /// The number of bytes that existed.
        from: u64,
    },
}

impl Hub {
    /// Downloads a file of a repository to a path, whose folder is created if it is missing.
    ///
    /// The file appears under its name once it is complete and has the checksum that the hub lists. Until then its name
    /// ends in some digits of the checksum and `.part`, and another download continues it: in this process, after a
    /// connection that ended early, or in a later one. `progress` is called with the number of bytes downloaded so far.
    ///
    /// # Errors
    /// [`HubError`]. After [`HubError::Damaged`] nothing is left; after other errors the partial file is kept.
    pub fn download(
        &self,
        repository: &Repository,
        file: &RemoteFile,
        target: &Path,
        mut progress: impl FnMut(u64),
    ) -> Result<Downloaded, HubError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| HubError::Io { path, source }
        };
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(at(folder))?;
        }
        if is_whole(target, file).map_err(at(target))? {
            progress(file.size);
            return Ok(Downloaded::Already);
        }
        let part_path = part_path(target, file);
        let io_error = at(&part_path);
        let mut part = Part::open(&part_path, file).map_err(|error| match error {
            TryLockError::WouldBlock => HubError::Busy {
                path: target.to_owned(),
            },
            TryLockError::Error(source) => io_error(source),
        })?;
        let from = part.len;
        progress(part.len);
        self.fill(repository, file, &mut part, &mut progress)?;
        let got = part.hasher.finish();
        if got != file.checksum {
            fs::remove_file(&part_path).map_err(at(&part_path))?;
            return Err(HubError::Damaged {
                path: file.path.clone(),
                expected: file.checksum.clone(),
                got,
            });
        }
        part.file.sync_all().map_err(at(&part_path))?;
        fs::rename(&part_path, target).map_err(at(target))?;
        Ok(match from {
            0 => Downloaded::Whole,
            from => Downloaded::Rest { from },
        })
    }

    /// Sends requests until the file is complete.
    fn fill(
        &self,
        repository: &Repository,
        file: &RemoteFile,
        part: &mut Part,
        progress: &mut impl FnMut(u64),
    ) -> Result<(), HubError> {
        let (commit, path) = (&repository.commit, encoded(&file.path));
        let url = format!(
            "{}/{}/resolve/{commit}/{path}",
            self.endpoint(),
            repository.name
        );
        let mut attempts = 0;
        // A part that was begun anew has made no progress until it is longer than before.
        let mut longest = part.len;
        while part.len < file.size {
            let failure = self.continue_part(repository, file, &url, part, progress)?;
            if part.len == file.size {
                break;
            }
            attempts = match part.len > longest {
                true => 0,
                false => attempts + 1,
            };
            longest = longest.max(part.len);
            if attempts >= ATTEMPTS {
                return Err(failure.unwrap_or_else(|| HubError::Cut {
                    path: file.path.clone(),
                    received: longest,
                    size: file.size,
                }));
            }
            thread::sleep(WAIT * attempts);
        }
        Ok(())
    }

    /// Requests the missing part once. A connection that ends early is not an error; one that cannot be made is.
    fn continue_part(
        &self,
        repository: &Repository,
        file: &RemoteFile,
        url: &str,
        part: &mut Part,
        progress: &mut impl FnMut(u64),
    ) -> Result<Option<HubError>, HubError> {
        let from = (part.len > 0).then_some(part.len);
        let reply = match self.get(url, from, &repository.name, &repository.commit) {
            Err(error @ HubError::Unreachable { .. }) => return Ok(Some(error)),
            reply => reply?,
        };
        let continues = reply.status() == 206 && range_start(&reply) == from;
        if from.is_some() && !continues {
            // The server sent the whole file, or nothing because it regards the file as complete.
            part.restart(file)?;
        }
        if reply.status() == 416 {
            return Ok(None);
        }
        let mut body = reply.into_body().into_reader().take(file.size - part.len);
        let mut buffer = vec![0; 1 << 16];
        loop {
            match body.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(n) => part.append(&buffer[..n])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Ok(None),
            }
            progress(part.len);
        }
    }
}

/// Returns the position of the first byte of a partial reply.
fn range_start<T>(reply: &ureq::http::Response<T>) -> Option<u64> {
    let range = reply.headers().get("content-range")?.to_str().ok()?;
    range
        .strip_prefix("bytes ")?
        .split_once('-')?
        .0
        .parse()
        .ok()
}

/// A file being downloaded.
struct Part {
    path: PathBuf,
    /// Locked, so that no two processes write it.
    file: File,
    len: u64,
    /// The hash of the bytes on disk.
    hasher: Hasher,
}

impl Part {
    /// Opens what an earlier attempt left, or a new file.
    fn open(path: &Path, of: &RemoteFile) -> Result<Self, TryLockError> {
        // Opening a pipe would wait for its other end.
        regular_exists(path).map_err(TryLockError::Error)?;
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(TryLockError::Error)?;
        file.try_lock()?;
        let mut hasher = of.checksum.hasher(of.size);
        let mut len = hash(&mut file, &mut hasher).map_err(TryLockError::Error)?;
        if len > of.size {
            hasher = of.checksum.hasher(of.size);
            file.set_len(0).map_err(TryLockError::Error)?;
            len = 0;
        }
        file.seek(SeekFrom::Start(len))
            .map_err(TryLockError::Error)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            len,
            hasher,
        })
    }

    fn restart(&mut self, of: &RemoteFile) -> Result<(), HubError> {
        let restarted = { self.file.set_len(0) }.and_then(|()| self.file.rewind());
        restarted.map_err(|source| self.failed(source))?;
        self.len = 0;
        self.hasher = of.checksum.hasher(of.size);
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), HubError> {
        { self.file.write_all(bytes) }.map_err(|source| self.failed(source))?;
        self.hasher.update(bytes);
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> HubError {
        HubError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

/// Returns whether a file exists with the size and the checksum that the hub lists.
fn is_whole(path: &Path, file: &RemoteFile) -> io::Result<bool> {
    let found = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    // Opening a pipe would wait for its other end.
    if !found.is_file() || found.len() != file.size {
        return Ok(false);
    }
    let mut hasher = file.checksum.hasher(file.size);
    hash(&mut File::open(path)?, &mut hasher)?;
    Ok(hasher.finish() == file.checksum)
}

/// Hashes a file, and returns its length.
fn hash(file: &mut File, hasher: &mut Hasher) -> io::Result<u64> {
    let mut buffer = vec![0; 1 << 20];
    let mut len = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(len),
            n => {
                hasher.update(&buffer[..n]);
                len += n as u64;
            }
        }
    }
}

/// Returns the path of an incomplete file. Other contents under the same name have another one.
fn part_path(target: &Path, file: &RemoteFile) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", &file.checksum.digits()[..8]));
    target.with_file_name(name)
}

/// Percent-encodes a path for a URL.
fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => text.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::Checksum;

    #[test]
    fn pipes_are_no_downloaded_files() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("model.onnx");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let file = RemoteFile {
            path: "model.onnx".to_owned(),
            size: 0,
            checksum: Checksum::GitObject("0".repeat(40)),
        };
        assert!(!is_whole(&pipe, &file).unwrap());
        assert!(matches!(
            Part::open(&pipe, &file),
            Err(TryLockError::Error(_))
        ));
    }
}
