//! Sets of keys as trees by their bytes, of which equal parts are stored once.
//!
//! A key more makes as many new nodes as it has bytes, however many keys there are, and equal sets have equal numbers,
//! in whatever order their keys came.

use std::sync::atomic::{AtomicUsize, Ordering};

use structgen_memo::Interner;

/// A set of keys, or what follows a beginning in all keys of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct KeySet(u32);

impl KeySet {
    /// No keys.
    pub(crate) const NONE: Self = Self(0);
}

/// All sets of the keys that objects have so far.
#[derive(Debug, Default)]
pub(crate) struct KeySets {
    /// The nodes; the number of a set is one more.
    nodes: Interner<KeyNode>,
    /// How many bytes nodes own.
    bytes: AtomicUsize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct KeyNode {
    /// Whether a key ends here.
    ends: bool,
    /// How many keys there are.
    keys: u32,
    /// What follows, by the next byte.
    next: Box<[(u8, KeySet)]>,
}

impl KeyNode {
    fn place(&self, byte: u8) -> Result<usize, usize> {
        self.next.binary_search_by_key(&byte, |&(byte, _)| byte)
    }
}

impl KeySets {
    fn node(&self, set: KeySet) -> Option<&KeyNode> {
        set.0.checked_sub(1).map(|number| &self.nodes.get(number).0)
    }

    fn add(&self, node: KeyNode) -> KeySet {
        let owned = size_of_val(&*node.next);
        let (number, is_new) = self.nodes.number(node, |_| ());
        if is_new {
            self.bytes.fetch_add(owned, Ordering::Relaxed);
        }
        KeySet(number + 1)
    }

    /// The set with one more key.
    pub(crate) fn with(&self, set: KeySet, key: &[u8]) -> KeySet {
        // The nodes on the way, and then their successors from the end.
        let mut path = Vec::with_capacity(key.len());
        let mut at = set;
        for &byte in key {
            path.push((at, byte));
            at = self.after(at, byte);
        }
        let mut last = self.node(at).cloned().unwrap_or_default();
        if last.ends {
            return set;
        }
        last.ends = true;
        last.keys += 1;
        let mut below = self.add(last);
        for (at, byte) in path.into_iter().rev() {
            let node = self.node(at).cloned().unwrap_or_default();
            let place = node.place(byte);
            let mut next = node.next.into_vec();
            match place {
                Ok(place) => next[place].1 = below,
                Err(place) => next.insert(place, (byte, below)),
            }
            below = self.add(KeyNode {
                keys: node.keys + 1,
                next: next.into(),
                ..node
            });
        }
        below
    }

    /// What follows a byte.
    pub(crate) fn after(&self, set: KeySet, byte: u8) -> KeySet {
        let node = self.node(set);
        let found = node.and_then(|node| Some(node.next[node.place(byte).ok()?].1));
        found.unwrap_or(KeySet::NONE)
    }

    /// Whether a key ends here.
    pub(crate) fn has_end(&self, set: KeySet) -> bool {
        self.node(set).is_some_and(|node| node.ends)
    }

    /// How many keys there are.
    pub(crate) fn len(&self, set: KeySet) -> u32 {
        self.node(set).map_or(0, |node| node.keys)
    }

    /// What follows, by the next byte.
    pub(crate) fn next(&self, set: KeySet) -> &[(u8, KeySet)] {
        self.node(set).map_or(&[], |node| &node.next)
    }

    /// The bytes around this one with which no key goes on; one with which some key does stands alone.
    pub(crate) fn run(&self, set: KeySet, byte: u8) -> (u8, u8) {
        let next = self.next(set);
        let from = next.partition_point(|&(other, _)| other < byte);
        match next.get(from) {
            Some(&(other, _)) if other == byte => (byte, byte),
            above => (
                from.checked_sub(1).map_or(0, |before| next[before].0 + 1),
                above.map_or(u8::MAX, |&(other, _)| other - 1),
            ),
        }
    }

    pub(crate) fn memory(&self) -> usize {
        self.nodes.memory() + self.bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_one_in_whatever_order_their_keys_came() {
        let sets = KeySets::default();
        let all = |keys: &[&str]| {
            let with = |set, key: &&str| sets.with(set, key.as_bytes());
            keys.iter().fold(KeySet::NONE, with)
        };
        let set = all(&["ab", "a", "", "é"]);
        assert_eq!(set, all(&["é", "", "ab", "a", "a"]));
        assert_ne!(set, all(&["ab", "a", "é"]));
        assert_eq!(sets.len(set), 4);
        assert!(sets.has_end(set));
        let a = sets.after(set, b'a');
        assert_eq!((sets.len(a), sets.has_end(a)), (2, true));
        assert_eq!(sets.after(a, b'c'), KeySet::NONE);
        assert_eq!(sets.run(a, b'b'), (b'b', b'b'));
        assert_eq!(sets.run(a, b'x'), (b'c', u8::MAX));
        assert_eq!(sets.run(a, b'a'), (0, b'a'));
    }

    #[test]
    fn memory_grows_with_the_keys_and_not_with_their_square() {
        let grown = |n: u32| {
            let sets = KeySets::default();
            let with = |set, i| sets.with(set, format!("key{i}").as_bytes());
            (0..n).fold(KeySet::NONE, with);
            sets.memory()
        };
        let (few, many) = (grown(2_000), grown(8_000));
        assert!(many < few * 8, "2,000 keys take {few}, 8,000 take {many}");
        assert!(many < 16 << 20, "{many}");
    }
}
