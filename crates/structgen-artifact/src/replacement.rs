//! Replaces a file as a whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The suffix of temporary files.
const SUFFIX: &str = ".tmp";

/// A temporary file that takes the place of another one once it is complete, so that nobody ever sees a partial file.
/// While it is written it is locked, and those of processes that were killed are removed by the next one with the same
/// prefix.
///
/// It keeps the permissions of the file that it replaces; without one, it has those of any new file. If the path is a
/// symbolic link to a file, the link stays, and that file is replaced.
///
/// ```
/// use std::io::Write;
///
/// use structgen_artifact::Replacement;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("list");
/// let mut file = Replacement::of(&path, ".list-")?;
/// file.write_all(b"one\n")?;
/// assert!(!path.exists());
/// file.persist()?;
/// assert_eq!(std::fs::read_to_string(path)?, "one\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Replacement {
    file: NamedTempFile,
    path: PathBuf,
}

impl Replacement {
    /// Creates an empty temporary file in the folder of the file that it will replace. Its name begins with the prefix
    /// and ends in `.tmp`. It is removed if it is dropped before it is [persisted](Self::persist).
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn of(path: &Path, prefix: &str) -> io::Result<Self> {
        let path = replaced(path)?;
        let folder = folder_of(&path);
        remove_abandoned(folder, prefix);
        let file = create_locked(folder, prefix)?;
        if let Ok(existing) = path.metadata() {
            let permissions = existing.permissions();
            // Some file systems have one mode for all files, and refuse any other.
            if permissions != file.as_file().metadata()?.permissions() {
                file.as_file().set_permissions(permissions)?;
            }
        }
        Ok(Self { file, path })
    }

    /// Returns the temporary file.
    #[must_use]
    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// If it cannot be renamed. The file that it should replace is then unchanged.
    pub fn persist(self) -> io::Result<()> {
        self.file.persist(self.path)?;
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.file.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Creates a temporary file and locks it, so that others see that it is in use.
fn create_locked(folder: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    let mut named = tempfile::Builder::new();
    named.prefix(prefix).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Subject to the umask.
        named.permissions(fs::Permissions::from_mode(0o666));
    }
    loop {
        let file = named.tempfile_in(folder)?;
        // If the file system has no locks, no file is considered abandoned either.
        let is_locked = file.as_file().lock().is_ok();
        // Before it was locked, another process may have removed it as abandoned.
        if !is_locked || file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the files of dead writers, whose locks the system has released.
fn remove_abandoned(folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_temporary = name.starts_with(prefix) && name.ends_with(SUFFIX);
        if !is_temporary || !entry.metadata().is_ok_and(|file| file.is_file()) {
            continue;
        }
        let path = entry.path();
        // Files that cannot be opened, locked or removed do no harm.
        let _ = File::open(&path)
            .is_ok_and(|file| file.try_lock().is_ok() && fs::remove_file(&path).is_ok());
    }
}

/// Returns the path of the file that is replaced: that of an existing file without symbolic links.
pub(crate) fn replaced(path: &Path) -> io::Result<PathBuf> {
    match path.exists() {
        true => path.canonicalize(),
        false => Ok(path.to_owned()),
    }
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}
