//! Tokens as a flat trie over their bytes.

mod saved;

use std::ops::Range;

use structgen_artifact::Column;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::TokenId;

/// A byte trie over tokens, laid out depth first in one array.
///
/// Node 0 is the root and has no byte. The first child of node `n` is node `n + 1`, and the subtree of `n` ends before
/// node [`end(n)`](TrieNode::end), which is its next sibling if there is one. So a walk over the whole trie is one pass
/// over an array, and skipping a subtree is one jump. Siblings are ordered by byte, tokens with the same bytes by id:
/// the layout depends on the tokens alone.
///
/// ```
/// use structgen_vocab::{TokenId, TokenTrie};
///
/// let tokens: [(TokenId, &[u8]); 3] = [(TokenId(0), b"a"), (TokenId(1), b"ab"), (TokenId(2), b"c")];
/// let trie = TokenTrie::from_tokens(tokens);
/// // The root, `a`, `ab` and `c`.
/// assert_eq!(trie.len(), 4);
/// let a = trie.child(TokenTrie::ROOT, b'a').unwrap();
/// assert_eq!(trie.tokens(a), [TokenId(0)]);
/// assert_eq!(trie.children(a).map(|n| trie.node(n).byte()).collect::<Vec<_>>(), [b'b']);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenTrie {
    /// The nodes, followed by one that only ends the last node's range of tokens.
    nodes: Column<TrieNode>,
    /// The tokens of all nodes, in the order of the nodes.
    tokens: Column<TokenId>,
    /// The bytes and the indices of all children, contiguous for each node: looking up a few of many children need not
    /// touch the child nodes, which are far apart.
    child_bytes: Column<u8>,
    child_nodes: Column<u32>,
    /// Where the children of each node start; they end where those of the next node start.
    child_starts: Column<u32>,
    max_depth: usize,
}

/// One node of a [`TokenTrie`], 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TrieNode {
    /// The subtree's end in the upper 24 bits, the byte in the lower 8: one load gives both the byte to check and where
    /// to continue if it does not match.
    end_and_byte: u32,
    /// Where the tokens of this node start; they end where those of the next node start.
    tokens: u32,
}

impl TrieNode {
    /// The byte on the edge into this node; 0 for the root, which has none.
    #[inline]
    #[must_use]
    pub fn byte(self) -> u8 {
        self.end_and_byte as u8
    }

    /// The index of the first node after this node's subtree.
    #[inline]
    #[must_use]
    pub fn end(self) -> u32 {
        self.end_and_byte >> 8
    }

    fn set_end(&mut self, end: u32) {
        self.end_and_byte = end << 8 | u32::from(self.byte());
    }
}

impl TokenTrie {
    /// The maximum total size of a trie's tokens in bytes.
    pub const MAX_BYTES: usize = (1 << 24) - 2;

    /// Builds the trie of some tokens, in any order; tokens without bytes are left out.
    ///
    /// Takes time and memory linear in the number of bytes, after sorting.
    ///
    /// # Panics
    /// If the tokens have more than [`MAX_BYTES`](Self::MAX_BYTES) bytes in total. The tokens of a
    /// [`Vocabulary`](crate::Vocabulary), and subsets of them, never do.
    pub fn from_tokens<'a>(tokens: impl IntoIterator<Item = (TokenId, &'a [u8])>) -> Self {
        let mut sorted: Vec<(&[u8], TokenId)> = tokens
            .into_iter()
            .filter(|(_, bytes)| !bytes.is_empty())
            .map(|(id, bytes)| (bytes, id))
            .collect();
        sorted.sort_unstable();
        let total: usize = sorted.iter().map(|(bytes, _)| bytes.len()).sum();
        assert!(
            total <= Self::MAX_BYTES,
            "a trie of tokens with {total} bytes"
        );

        let mut nodes = vec![TrieNode {
            end_and_byte: 0,
            tokens: 0,
        }];
        let mut ids = Vec::with_capacity(sorted.len());
        // The path from the root to the last token's node: the open subtrees.
        let mut path: Vec<u32> = vec![0];
        let mut max_depth = 0;
        let mut previous: &[u8] = &[];
        for (bytes, id) in sorted {
            let shared = previous
                .iter()
                .zip(bytes)
                .take_while(|(a, b)| a == b)
                .count();
            for closed in path.drain(shared + 1..) {
                let end = nodes.len() as u32;
                nodes[closed as usize].set_end(end);
            }
            for &byte in &bytes[shared..] {
                path.push(nodes.len() as u32);
                nodes.push(TrieNode {
                    end_and_byte: u32::from(byte),
                    tokens: ids.len() as u32,
                });
            }
            ids.push(id);
            max_depth = max_depth.max(bytes.len());
            previous = bytes;
        }
        let end = nodes.len() as u32;
        for open in path {
            nodes[open as usize].set_end(end);
        }
        nodes.push(TrieNode {
            end_and_byte: end << 8,
            tokens: ids.len() as u32,
        });

        let mut trie = Self {
            nodes: nodes.into(),
            tokens: ids.into(),
            child_bytes: Column::default(),
            child_nodes: Column::default(),
            child_starts: Column::default(),
            max_depth,
        };
        trie.index_children();
        trie
    }

    fn index_children(&mut self) {
        let mut bytes = Vec::with_capacity(self.len());
        let mut nodes = Vec::with_capacity(self.len());
        let mut starts = Vec::with_capacity(self.len() + 1);
        for node in 0..self.len() as u32 {
            starts.push(nodes.len() as u32);
            for child in self.children(node) {
                bytes.push(self.node(child).byte());
                nodes.push(child);
            }
        }
        starts.push(nodes.len() as u32);
        self.child_bytes = bytes.into();
        self.child_nodes = nodes.into();
        self.child_starts = starts.into();
    }

    /// The root's index.
    pub const ROOT: u32 = 0;

    /// The number of nodes, including the root.
    #[inline]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always a root")]
    pub fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The number of tokens.
    #[must_use]
    pub fn token_count(&self) -> usize {
        self.tokens.len()
    }

    /// The memory of the trie, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of_val(&*self.nodes)
            + size_of_val(&*self.tokens)
            + size_of_val(&*self.child_bytes)
            + size_of_val(&*self.child_nodes)
            + size_of_val(&*self.child_starts)
    }

    /// The length of the longest token in bytes, which is the maximum depth of a walk.
    #[must_use]
    pub fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// The node at an index.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline]
    #[must_use]
    pub fn node(&self, index: u32) -> TrieNode {
        self.nodes[index as usize]
    }

    /// The tokens that end at a node: usually none or one; several if tokens share their bytes.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline]
    #[must_use]
    pub fn tokens(&self, index: u32) -> &[TokenId] {
        let index = index as usize;
        &self.tokens[self.nodes[index].tokens as usize..self.nodes[index + 1].tokens as usize]
    }

    /// The tokens that end at the nodes `from..to`.
    ///
    /// # Panics
    /// If there are no such nodes, or `from` is greater than `to`.
    #[inline]
    #[must_use]
    pub fn tokens_between(&self, from: u32, to: u32) -> &[TokenId] {
        let start = |index: u32| self.nodes[index as usize].tokens as usize;
        &self.tokens[start(from)..start(to)]
    }

    /// All tokens in a node's subtree, the node's own first.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline]
    #[must_use]
    pub fn subtree_tokens(&self, index: u32) -> &[TokenId] {
        self.tokens_between(index, self.node(index).end())
    }

    /// The indices of a node's children, ordered by byte.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline]
    #[must_use]
    pub fn children(&self, index: u32) -> TrieChildren<'_> {
        TrieChildren {
            nodes: &self.nodes,
            next: index + 1,
            end: self.node(index).end(),
        }
    }

    /// The places of a node's children, ordered by byte. A place is an index into [`child_bytes`](Self::child_bytes)
    /// and an argument of [`child_node`](Self::child_node).
    ///
    /// # Panics
    /// If there is no such node.
    #[inline]
    #[must_use]
    pub fn child_places(&self, index: u32) -> Range<u32> {
        self.child_starts[index as usize]..self.child_starts[index as usize + 1]
    }

    /// The bytes of all children, by place.
    #[inline]
    #[must_use]
    pub fn child_bytes(&self) -> &[u8] {
        &self.child_bytes
    }

    /// The node of the child at a place.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    #[must_use]
    pub fn child_node(&self, place: u32) -> u32 {
        self.child_nodes[place as usize]
    }

    /// The place of a node's child by byte.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline]
    #[must_use]
    pub fn child_place(&self, index: u32, byte: u8) -> Option<u32> {
        let places = self.child_places(index);
        let bytes = &self.child_bytes[places.start as usize..places.end as usize];
        let found = bytes.binary_search(&byte).ok()?;
        Some(places.start + found as u32)
    }

    /// A node's child by byte.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline]
    #[must_use]
    pub fn child(&self, index: u32, byte: u8) -> Option<u32> {
        self.child_place(index, byte)
            .map(|place| self.child_node(place))
    }

    /// The node reached from the root by some bytes.
    #[must_use]
    pub fn find(&self, bytes: &[u8]) -> Option<u32> {
        bytes
            .iter()
            .try_fold(Self::ROOT, |node, &byte| self.child(node, byte))
    }
}

/// The children of a node of a [`TokenTrie`].
#[derive(Clone, Debug)]
pub struct TrieChildren<'a> {
    nodes: &'a [TrieNode],
    next: u32,
    end: u32,
}

impl Iterator for TrieChildren<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.next >= self.end {
            return None;
        }
        let child = self.next;
        self.next = self.nodes[child as usize].end();
        Some(child)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every token with its bytes, in the order of a recursive walk over children.
    fn walk(trie: &TokenTrie) -> Vec<(Vec<u8>, TokenId)> {
        fn visit(
            trie: &TokenTrie,
            node: u32,
            path: &mut Vec<u8>,
            out: &mut Vec<(Vec<u8>, TokenId)>,
        ) {
            out.extend(trie.tokens(node).iter().map(|&id| (path.clone(), id)));
            for child in trie.children(node) {
                path.push(trie.node(child).byte());
                visit(trie, child, path, out);
                path.pop();
            }
        }
        let mut out = Vec::new();
        visit(trie, TokenTrie::ROOT, &mut Vec::new(), &mut out);
        out
    }

    fn trie(tokens: &[Vec<u8>]) -> TokenTrie {
        TokenTrie::from_tokens(
            tokens
                .iter()
                .enumerate()
                .map(|(id, bytes)| (TokenId(id as u32), bytes.as_slice())),
        )
    }

    #[test]
    fn a_trie_of_nothing_is_a_root() {
        let trie = trie(&[vec![], vec![]]);
        assert_eq!(trie.len(), 1);
        assert_eq!(trie.token_count(), 0);
        assert!(trie.tokens(TokenTrie::ROOT).is_empty());
        assert_eq!(trie.children(TokenTrie::ROOT).count(), 0);
        assert_eq!(trie.node(TokenTrie::ROOT).end(), 1);
    }

    #[test]
    fn a_node_is_eight_bytes() {
        assert_eq!(size_of::<TrieNode>(), 8);
    }

    #[test]
    fn tokens_with_the_same_bytes_share_a_node() {
        let trie = trie(&[b"ab".to_vec(), b"a".to_vec(), b"ab".to_vec()]);
        let ab = trie.find(b"ab").unwrap();
        assert_eq!(trie.tokens(ab), [TokenId(0), TokenId(2)]);
        let a = trie.find(b"a").unwrap();
        assert_eq!(trie.subtree_tokens(a), [TokenId(1), TokenId(0), TokenId(2)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn a_walk_meets_exactly_the_tokens(
            tokens in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..6), 0..60),
        ) {
            let trie = trie(&tokens);
            let mut expected: Vec<(Vec<u8>, TokenId)> = tokens
                .iter()
                .enumerate()
                .filter(|(_, bytes)| !bytes.is_empty())
                .map(|(id, bytes)| (bytes.clone(), TokenId(id as u32)))
                .collect();
            expected.sort();
            prop_assert_eq!(walk(&trie), expected);

            let prefixes: std::collections::BTreeSet<&[u8]> = tokens
                .iter()
                .flat_map(|bytes| (0..=bytes.len()).map(|n| &bytes[..n]))
                .chain([&[] as &[u8]])
                .collect();
            prop_assert_eq!(trie.len(), prefixes.len());
            for prefix in prefixes {
                prop_assert!(trie.find(prefix).is_some());
            }
            for node in 0..trie.len() as u32 {
                let end = trie.node(node).end();
                prop_assert!(end > node && end as usize <= trie.len());
                let under: usize = (node..end).map(|n| trie.tokens(n).len()).sum();
                prop_assert_eq!(trie.subtree_tokens(node).len(), under);
            }
            for byte in 0..=255 {
                let slow = trie.children(TokenTrie::ROOT).find(|&c| trie.node(c).byte() == byte);
                prop_assert_eq!(trie.child(TokenTrie::ROOT, byte), slow);
            }
        }
    }
}
