//! Files of computed tables: versioned, keyed, checked, and read as a whole.
//!
//! Tables that take long to compute and depend on one input alone are stored in a file. [`Writer`] writes arrays of
//! plain numbers one after another; [`Reader`] returns them in the same order as [`Column`]s, which share the file's
//! bytes without copying. A file is not trusted: its kind, version, key, length and checksum must be correct. A
//! checksum detects accidents and is not a signature. Users of the arrays check that they are valid, so a forged file
//! is refused or harmless to the process; but only computing the tables again would show that they are correct. So keep
//! these files where the program itself is kept.
//!
//! ```
//! use structgen_artifact::{Format, Reader, Writer};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("squares");
//! let format = Format { magic: *b"squares\0", version: 1 };
//! let mut writer = Writer::new(format, [7; 32]);
//! writer.put(&[0_u32, 1, 4, 9]);
//! writer.save(&path)?;
//!
//! let mut reader = Reader::open(&path, format, [7; 32])?;
//! let squares = reader.take::<u32>()?;
//! reader.finish()?;
//! assert_eq!(squares[3], 9);
//! assert!(Reader::open(&path, format, [8; 32]).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod column;
mod contents;
mod error;
mod reader;
mod regular;
mod replacement;
mod writer;

pub use column::{Column, Plain};
pub use error::ArtifactError;
pub use reader::Reader;
pub use regular::{is_special, open_regular, regular_exists};
pub use replacement::Replacement;
pub use writer::{Writer, reseal};

/// The kind of a file's contents, and the version of their layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The first bytes of the file.
    pub magic: [u8; 8],
    /// Changes whenever the layout or the meaning of the contents does. Files of other versions are refused.
    pub version: u32,
}

/// The length of the head in bytes: magic, version, byte order, key, length, checksum.
const HEAD: usize = 64;
/// The offset of the checksum in the head. It covers what is before it, and everything after the head.
const CHECKSUM: usize = 56;
/// The alignment of arrays.
const ALIGN: usize = 16;
/// Read as a number, it shows whether the file was written in this machine's byte order.
const BYTE_ORDER: u32 = 0x0102_0304;

fn checksum(head: &[u8], body: &[u8]) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(head);
    hash.update(body);
    hash.digest()
}
