//! Arrays that own their memory or borrow it from a file.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use yoke::Yoke;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::ArtifactError;
use crate::contents::Contents;

/// Items of arrays in files: types that any bytes are valid for, such as numbers and structs that derive zerocopy's
/// traits.
pub trait Plain: FromBytes + IntoBytes + Immutable + Copy + Send + Sync + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + Copy + Send + Sync + 'static> Plain for T {}

/// An immutable array, in its own memory or in that of a file. Cloning copies a handle.
pub struct Column<T: 'static>(Yoke<&'static [T], Arc<Memory<T>>>);

/// The memory of an array.
enum Memory<T> {
    Own(Vec<T>),
    /// The file's contents, which all its arrays share, and a range of them.
    File(Arc<Contents>, Range<usize>),
}

impl<T: Plain> Column<T> {
    /// Returns the array in a part of a file.
    pub(crate) fn in_file(file: Arc<Contents>, part: Range<usize>) -> Result<Self, ArtifactError> {
        let memory = Arc::new(Memory::File(file, part));
        let yoke = Yoke::try_attach_to_cart(memory, |memory| match memory {
            Memory::Own(items) => Ok(&items[..]),
            Memory::File(file, part) => { file.bytes().get(part.clone()) }
                .and_then(|bytes| <[T]>::ref_from_bytes(bytes).ok())
                .ok_or(ArtifactError::Contents(
                    "an array's length is not its items'",
                )),
        });
        yoke.map(Self)
    }
}

impl<T: 'static> From<Vec<T>> for Column<T> {
    fn from(items: Vec<T>) -> Self {
        let memory = Arc::new(Memory::Own(items));
        Self(Yoke::attach_to_cart(memory, |memory| match memory {
            Memory::Own(items) => &items[..],
            Memory::File(..) => &[],
        }))
    }
}

impl<T: 'static> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<T: 'static> Default for Column<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: 'static> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.0.get()
    }
}

impl<T: 'static> Clone for Column<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: fmt::Debug + 'static> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

impl<T: PartialEq + 'static> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Eq + 'static> Eq for Column<T> {}
