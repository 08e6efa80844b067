//! Sets of texts as trees by their bytes, whose equal parts are stored once.
//!
//! Adding a text creates at most as many nodes as it has bytes, however many texts there are, and equal sets have equal
//! numbers, in whatever order their texts were added.

use std::sync::atomic::{AtomicUsize, Ordering};

use structgen_memo::Interner;

/// A set of texts, or what follows a common beginning in the texts of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TextSet(u32);

impl TextSet {
    /// The empty set.
    pub(crate) const NONE: Self = Self(0);

    /// Returns the set with this number.
    pub(crate) fn of_number(number: u32) -> Self {
        Self(number)
    }

    /// Returns its number.
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// The sets of the keys that objects have so far, or of the values that arrays have.
#[derive(Debug, Default)]
pub(crate) struct TextSets {
    /// The nodes; the number of a set is one more.
    nodes: Interner<TextNode>,
    /// The number of bytes that nodes own.
    bytes: AtomicUsize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct TextNode {
    /// Whether a text ends here.
    ends: bool,
    /// The number of texts.
    texts: u32,
    /// What follows, by the next byte.
    next: Box<[(u8, TextSet)]>,
}

impl TextNode {
    fn place(&self, byte: u8) -> Result<usize, usize> {
        self.next.binary_search_by_key(&byte, |&(byte, _)| byte)
    }
}

impl TextSets {
    fn node(&self, set: TextSet) -> Option<&TextNode> {
        set.0.checked_sub(1).map(|number| &self.nodes.get(number).0)
    }

    fn add(&self, node: TextNode) -> TextSet {
        let owned = size_of_val(&*node.next);
        let (number, is_new) = self.nodes.number(node, |_| ());
        if is_new {
            self.bytes.fetch_add(owned, Ordering::Relaxed);
        }
        TextSet(number + 1)
    }

    /// Returns the set with one more text.
    pub(crate) fn with(&self, set: TextSet, text: &[u8]) -> TextSet {
        // The nodes on the path; their successors are then made from the end.
        let mut path = Vec::with_capacity(text.len());
        let mut at = set;
        for &byte in text {
            path.push((at, byte));
            at = self.after(at, byte);
        }
        let mut last = self.node(at).cloned().unwrap_or_default();
        if last.ends {
            return set;
        }
        last.ends = true;
        last.texts += 1;
        let mut below = self.add(last);
        for (at, byte) in path.into_iter().rev() {
            let node = self.node(at).cloned().unwrap_or_default();
            let place = node.place(byte);
            let mut next = node.next.into_vec();
            match place {
                Ok(place) => next[place].1 = below,
                Err(place) => next.insert(place, (byte, below)),
            }
            below = self.add(TextNode {
                texts: node.texts + 1,
                next: next.into(),
                ..node
            });
        }
        below
    }

    /// Returns what follows a byte.
    pub(crate) fn after(&self, set: TextSet, byte: u8) -> TextSet {
        let node = self.node(set);
        let found = node.and_then(|node| Some(node.next[node.place(byte).ok()?].1));
        found.unwrap_or(TextSet::NONE)
    }

    /// Returns whether a text is in the set.
    pub(crate) fn has(&self, set: TextSet, text: &[u8]) -> bool {
        let after = |set, &byte: &u8| self.after(set, byte);
        self.has_end(text.iter().fold(set, after))
    }

    /// Returns whether a text ends here.
    pub(crate) fn has_end(&self, set: TextSet) -> bool {
        self.node(set).is_some_and(|node| node.ends)
    }

    /// Returns the number of texts.
    pub(crate) fn len(&self, set: TextSet) -> u32 {
        self.node(set).map_or(0, |node| node.texts)
    }

    /// Returns the last text in byte order.
    pub(crate) fn last(&self, mut set: TextSet) -> Option<Vec<u8>> {
        self.node(set)?;
        let mut text = Vec::new();
        while let Some(&(byte, next)) = self.next(set).last() {
            text.push(byte);
            set = next;
        }
        Some(text)
    }

    /// Returns the first text from this one on, in byte order. Texts are short.
    pub(crate) fn first_from(&self, set: TextSet, from: &[u8]) -> Option<Vec<u8>> {
        let (least, rest) = match from.split_first() {
            Some((&least, rest)) => (least, rest),
            None if self.has_end(set) => return Some(Vec::new()),
            None => (0, from),
        };
        self.next(set).iter().find_map(|&(byte, after)| {
            let rest = if byte == least { rest } else { &[] };
            let text = (byte >= least).then(|| self.first_from(after, rest))??;
            Some([&[byte], &text[..]].concat())
        })
    }

    /// Returns what follows, by the next byte.
    pub(crate) fn next(&self, set: TextSet) -> &[(u8, TextSet)] {
        self.node(set).map_or(&[], |node| &node.next)
    }

    /// Returns the bytes around this one with which no text continues; one with which some text does is a run of its
    /// own.
    pub(crate) fn run(&self, set: TextSet, byte: u8) -> (u8, u8) {
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
        let sets = TextSets::default();
        let all = |keys: &[&str]| {
            let with = |set, key: &&str| sets.with(set, key.as_bytes());
            keys.iter().fold(TextSet::NONE, with)
        };
        let set = all(&["ab", "a", "", "é"]);
        assert_eq!(set, all(&["é", "", "ab", "a", "a"]));
        assert_ne!(set, all(&["ab", "a", "é"]));
        assert_eq!(sets.len(set), 4);
        assert!(sets.has_end(set));
        let a = sets.after(set, b'a');
        assert_eq!((sets.len(a), sets.has_end(a)), (2, true));
        assert_eq!(sets.after(a, b'c'), TextSet::NONE);
        assert_eq!(sets.run(a, b'b'), (b'b', b'b'));
        assert_eq!(sets.run(a, b'x'), (b'c', u8::MAX));
        assert_eq!(sets.run(a, b'a'), (0, b'a'));
    }

    #[test]
    fn memory_grows_with_the_keys_and_not_with_their_square() {
        let grown = |n: u32| {
            let sets = TextSets::default();
            let with = |set, i| sets.with(set, format!("key{i}").as_bytes());
            (0..n).fold(TextSet::NONE, with);
            sets.memory()
        };
        let (few, many) = (grown(2_000), grown(8_000));
        assert!(many < few * 8, "2,000 keys take {few}, 8,000 take {many}");
        assert!(many < 16 << 20, "{many}");
    }
}
