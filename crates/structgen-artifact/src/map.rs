//! The memory map: the only unsafe code of the workspace.

#![allow(
    unsafe_code,
    reason = "a map is memory that other processes can reach; what keeps it sound is said below"
)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a file for reading.
///
/// A map is sound as long as nobody writes to the file or shortens it. [`Writer::save`](crate::Writer::save) never does: it writes a new
/// file and renames it into place, so that a file that is mapped stays as it is until its last reader lets go of it. Somebody who writes
/// into the cache folder's files by other means could as well replace the program; the documentation of [`Reader`](crate::Reader) says so.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: files of tables are only ever replaced, never changed; see above.
    unsafe { Mmap::map(file) }
}
