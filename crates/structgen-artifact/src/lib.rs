//! Files of computed tables: versioned, keyed, checked, read at once.
//!
//! What takes long to compute and depends on one input alone is kept in a file: [`Writer`] puts arrays of plain numbers one behind another,
//! [`Reader`] takes them back in the same order as [`Column`]s, which lie in the file's bytes and are not copied. A file is not trusted: it has
//! to be of the right kind, version, key and length, and its checksum has to be right. A checksum finds accidents and is no signature:
//! whoever reads the arrays checks that they make sense, so that a forged file is refused or harmless to the process, but only
//! computing them anew would show that they are the right ones. So files belong where the program's own are.
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
mod writer;

pub use column::{Column, Plain};
pub use error::ArtifactError;
pub use reader::Reader;
pub use writer::{Writer, reseal};

/// What a file is: the kind of its contents and how they are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The first bytes of the file.
    pub magic: [u8; 8],
    /// Changes whenever the layout or the meaning of the contents does. A file of another version is refused.
    pub version: u32,
}

/// The bytes of the head: magic, version, byte order, key, length, checksum.
const HEAD: usize = 64;
/// Where the checksum lies in the head; what is before it and what is behind the head is what it sums.
const CHECKSUM: usize = 56;
/// Arrays begin at multiples of this.
const ALIGN: usize = 16;
/// Read as a number it tells whether the file was written in this machine's byte order.
const BYTE_ORDER: u32 = 0x0102_0304;

fn checksum(head: &[u8], body: &[u8]) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(head);
    hash.update(body);
    hash.digest()
}
