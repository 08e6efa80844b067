//! The files of a grammar, whose contents the caller provides.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Returns the contents of a file by its path.
type Read = dyn Fn(&str) -> Result<String, Box<dyn Error + Send + Sync>> + Send + Sync;

/// The files that a grammar may use in `%json "…"` and `%import name "…"`.
///
/// Files are only read by the given function. It is called with paths below its folder only, such as `types/date.gbnf`:
/// parts separated by slashes, none of them empty, `.` or `..`. In a grammar, a path is relative to the folder of the
/// file that contains it.
///
/// ```
/// use structgen_frontend::gbnf::{GbnfFiles, GbnfOptions, parse};
///
/// let files = GbnfFiles::new(|path| match path {
///     "types/date.gbnf" => Ok("root ::= [0-9]{4} \"-\" [0-9]{2}".to_owned()),
///     _ => Err("there is no such file".into()),
/// });
/// let options = GbnfOptions { files: Some(files), ..GbnfOptions::default() };
/// assert!(parse("%import date \"types/date.gbnf\"\nroot ::= date \"!\"", &options).is_ok());
///
/// let error = parse("root ::= %json \"../secret.json\"", &options).unwrap_err();
/// assert!(error.to_string().contains("leads out of the folder"));
/// ```
#[derive(Clone)]
pub struct GbnfFiles {
    read: Arc<Read>,
    name: Option<String>,
    max_bytes: u64,
}

impl GbnfFiles {
    /// Files read by this function, at most 16 MiB in total. Errors are shown by their `Display`.
    #[must_use]
    pub fn new(
        read: impl Fn(&str) -> Result<String, Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            read: Arc::new(read),
            name: None,
            max_bytes: 16 << 20,
        }
    }

    /// Sets the path of the grammar itself: paths in it are relative to its folder, and nothing that it imports may
    /// import it.
    #[must_use]
    pub fn with_name(mut self, path: impl Into<String>) -> Self {
        self.name = Some(path.into());
        self
    }

    /// Sets the maximum total size in bytes of a grammar's files.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

impl fmt::Debug for GbnfFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GbnfFiles")
            .field("name", &self.name)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

impl PartialEq for GbnfFiles {
    /// Whether both use the same function.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.read, &other.read)
            && (&self.name, self.max_bytes) == (&other.name, other.max_bytes)
    }
}

/// Why a file cannot be used.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GbnfFileError {
    /// No files were configured.
    #[error("a grammar given as text cannot use files")]
    NoFiles,
    /// The path is not well-formed.
    #[error(
        "the path {0:?} is invalid: parts between slashes, relative to the file that contains it"
    )]
    NotAPath(String),
    /// The path goes above the folder.
    #[error("the path {0:?} leads out of the folder")]
    Outside(String),
    /// The file cannot be read.
    #[error("the file {path} cannot be read: {reason}")]
    Unreadable {
        /// The path below the folder.
        path: String,
        /// Why.
        reason: String,
    },
    /// A file imports itself, directly or through others.
    #[error("files import one another: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    /// The files are too large in total.
    #[error("the files have more than {0} bytes in total")]
    TooLarge(u64),
    /// The chain of imports is too long.
    #[error("imports nest more than {0} deep")]
    TooDeep(usize),
}

structgen_sentence::debug_as_sentence!(GbnfFileError);

/// The files of one grammar while it is parsed.
pub(super) struct FileReader<'o> {
    files: Option<&'o GbnfFiles>,
    bytes_left: u64,
}

impl<'o> FileReader<'o> {
    pub(super) fn new(files: Option<&'o GbnfFiles>) -> Self {
        Self {
            files,
            bytes_left: files.map_or(0, |files| files.max_bytes),
        }
    }

    /// The text of a file, by its path below the folder.
    pub(super) fn read(&mut self, path: &str) -> Result<String, GbnfFileError> {
        let files = self.files.ok_or(GbnfFileError::NoFiles)?;
        let text = (files.read)(path).map_err(|error| GbnfFileError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        let left = self.bytes_left.checked_sub(text.len() as u64);
        self.bytes_left = left.ok_or(GbnfFileError::TooLarge(files.max_bytes))?;
        Ok(text)
    }
}

/// Resolves `path` in the file `from` to a path below the folder.
pub(super) fn resolve(from: Option<&str>, path: &str) -> Result<String, GbnfFileError> {
    let is_part = |part: &str| !part.contains(['\\', ':']) && !part.contains(char::is_control);
    let mut parts: Vec<&str> = from.unwrap_or("").split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.pop().is_none() => return Err(GbnfFileError::Outside(path.to_owned())),
            ".." => {}
            "" => return Err(GbnfFileError::NotAPath(path.to_owned())),
            part if is_part(part) => parts.push(part),
            _ => return Err(GbnfFileError::NotAPath(path.to_owned())),
        }
    }
    match parts.is_empty() {
        true => Err(GbnfFileError::NotAPath(path.to_owned())),
        false => Ok(parts.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_folder() {
        for (from, path, expected) in [
            (None, "a.gbnf", Some("a.gbnf")),
            (None, "./b/../a.gbnf", Some("a.gbnf")),
            (Some("x/y.gbnf"), "a.gbnf", Some("x/a.gbnf")),
            (Some("x/y.gbnf"), "../a.gbnf", Some("a.gbnf")),
            (Some("x/y.gbnf"), "../../a.gbnf", None),
            (None, "../a.gbnf", None),
            (None, "b/../../b/a.gbnf", None),
            (None, "/etc/passwd", None),
            (None, "a//b", None),
            (None, "a/", None),
            (None, "", None),
            (None, ".", None),
            (None, "a\\b", None),
            (None, "C:a", None),
            (None, "a\0b", None),
        ] {
            assert_eq!(resolve(from, path).ok().as_deref(), expected, "{path:?}");
        }
    }
}
