//! The files that a grammar names: whoever reads the grammar says what they hold.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// What a file holds, by its path.
type Read = dyn Fn(&str) -> Result<String, Box<dyn Error + Send + Sync>> + Send + Sync;

/// The files that a grammar may name, by `%json "…"` and `%import name "…"`.
///
/// Nothing is ever read but by the given function. It is asked for paths below its folder only, such as `types/date.gbnf`: parts between slashes, none of them
/// empty, `.` or `..`. In the grammar a path is relative to the folder of the file that names it.
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
    /// The files that this function reads, at most 16 MiB in all. An error is shown as its `Display` says.
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

    /// Sets the path of the grammar itself: what it names is relative to its folder, and nothing that it imports may import it.
    #[must_use]
    pub fn with_name(mut self, path: impl Into<String>) -> Self {
        self.name = Some(path.into());
        self
    }

    /// Sets how many bytes the files of one grammar may have together.
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
    /// Whether both read with the very same function.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.read, &other.read)
            && (&self.name, self.max_bytes) == (&other.name, other.max_bytes)
    }
}

/// Why there is no file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GbnfFileError {
    /// Nobody said where files come from.
    #[error("a grammar that is read as a text names no files")]
    NoFiles,
    /// The path is not written as paths are here.
    #[error("the path {0:?} is none: parts between slashes, relative to the file it stands in")]
    NotAPath(String),
    /// The path goes above the folder.
    #[error("the path {0:?} leads out of the folder")]
    Outside(String),
    /// Whoever reads the files says that this one cannot be read.
    #[error("the file {path} cannot be read: {reason}")]
    Unreadable {
        /// The path below the folder.
        path: String,
        /// Why.
        reason: String,
    },
    /// A file imports itself, be it through others.
    #[error("files import one another: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    /// The files have too many bytes together.
    #[error("the files have more than {0} bytes together")]
    TooLarge(u64),
    /// Too many files import one another in a row.
    #[error("files import one another more than {0} deep")]
    TooDeep(usize),
}

/// The files of one grammar, while it is read.
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

/// The path below the folder that `path` stands for in the file `from`.
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
