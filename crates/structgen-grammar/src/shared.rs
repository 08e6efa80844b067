//! Values that are shared, and hashed once.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use crate::keyed::secret_hash;

/// A shared value with its hash. Hashing it takes one step, and so does comparing it with another copy of itself or,
/// nearly always, with a different value.
///
/// ```
/// use structgen_grammar::{Regular, Shared};
///
/// let digits = Shared::new(Regular::repeat(Regular::ByteRange(b'0', b'9'), 1, None));
/// assert_eq!(digits, digits.clone());
/// assert!(matches!(*digits, Regular::Repeat { min: 1, .. }));
/// ```
pub struct Shared<T: ?Sized> {
    hash: u64,
    value: Arc<T>,
}

impl<T: Hash> Shared<T> {
    /// Shares a value.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self::from(Arc::new(value))
    }
}

impl<T: ?Sized> Shared<T> {
    /// The address of the value if it may have other owners: equal addresses are the same value, as long as one of
    /// them lives.
    #[must_use]
    pub fn shared_address(this: &Self) -> Option<usize> {
        (Arc::strong_count(&this.value) > 1).then(|| Arc::as_ptr(&this.value).addr())
    }
}

impl<T: Hash + ?Sized> From<Arc<T>> for Shared<T> {
    fn from(value: Arc<T>) -> Self {
        Self {
            hash: secret_hash(&value),
            value,
        }
    }
}

impl<T: Hash> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Hash> From<Vec<T>> for Shared<[T]> {
    fn from(values: Vec<T>) -> Self {
        Self::from(Arc::<[T]>::from(values))
    }
}

impl<T: Hash, const N: usize> From<[T; N]> for Shared<[T]> {
    fn from(values: [T; N]) -> Self {
        Self::from(Arc::<[T]>::from(values))
    }
}

impl<T: Hash> FromIterator<T> for Shared<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::from(Arc::<[T]>::from_iter(values))
    }
}

impl<T: Hash> Default for Shared<[T]> {
    fn default() -> Self {
        Self::from([])
    }
}

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self {
            hash: self.hash,
            value: self.value.clone(),
        }
    }
}

impl<T: ?Sized> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Eq + ?Sized> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && (Arc::ptr_eq(&self.value, &other.value) || *self.value == *other.value)
    }
}

impl<T: Eq + ?Sized> Eq for Shared<T> {}

impl<T: ?Sized> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<T: fmt::Debug + ?Sized> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::Shared;
    use crate::Regular;

    #[test]
    fn equal_values_are_equal_whether_they_are_shared_or_not() {
        let letters = |last| -> Shared<[Regular]> {
            Shared::from([Regular::literal("a"), Regular::literal(last)])
        };
        let ab = letters("b");
        assert_eq!(ab, ab.clone());
        assert_eq!(ab, letters("b"));
        assert_ne!(ab, letters("c"));
    }

    #[test]
    fn equal_hashes_do_not_make_different_values_equal() {
        let (one, mut other) = (Shared::new(1), Shared::new(2));
        other.hash = one.hash;
        assert_ne!(one, other);
    }
}
