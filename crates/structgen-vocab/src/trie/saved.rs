//! Saves tries in files.

use structgen_artifact::{ArtifactError, Reader, Writer};

use super::TokenTrie;
use crate::{TokenId, TokenMask};

/// Returns whether all tokens are below a number, and none occurs twice.
fn are_distinct(tokens: &[TokenId], ids: usize) -> bool {
    let mut seen = TokenMask::new(ids);
    tokens.iter().all(|&id| {
        let is_new = id.index() < ids && !seen.contains(id);
        if is_new {
            seen.allow(id);
        }
        is_new
    })
}

impl TokenTrie {
    /// Writes the trie to a file of tables.
    pub fn put(&self, writer: &mut Writer) {
        writer.put(&self.nodes);
        writer.put(&self.tokens);
        writer.put(&self.child_bytes);
        writer.put(&self.child_nodes);
        writer.put(&self.child_starts);
    }

    /// Reads a trie from a file of tables, with token ids below `ids`. The result is a valid trie, whatever the file
    /// contains, and has each token at one node at most; which tokens it has at which nodes is not checked.
    ///
    /// # Errors
    /// If the file does not contain such a trie.
    pub fn take(reader: &mut Reader, ids: usize) -> Result<Self, ArtifactError> {
        let mut trie = Self {
            nodes: reader.take()?,
            tokens: reader.take()?,
            child_bytes: reader.take()?,
            child_nodes: reader.take()?,
            child_starts: reader.take()?,
            max_depth: 0,
        };
        match trie.depth_if_sound(ids) {
            Some(depth) => trie.max_depth = depth,
            None => return Err(ArtifactError::Contents("a trie is none")),
        }
        Ok(trie)
    }

    /// The depth of the trie; `None` if its arrays are inconsistent.
    fn depth_if_sound(&self, ids: usize) -> Option<usize> {
        let len = self.nodes.len().checked_sub(1)?;
        let (root, last) = (self.nodes.first()?, self.nodes.last()?);
        let sizes = len > 0
            && root.end() as usize == len
            && (root.tokens, root.byte()) == (0, 0)
            && last.end() as usize == len
            && last.tokens as usize == self.tokens.len()
            && self.child_bytes.len() == len - 1
            && self.child_nodes.len() == len - 1
            && self.child_starts.len() == len + 1
            && self.child_starts[len] as usize == len - 1
            && are_distinct(&self.tokens, ids);
        if !sizes
            || self
                .nodes
                .windows(2)
                .any(|two| two[0].tokens > two[1].tokens)
        {
            return None;
        }
        // The ends of the open subtrees.
        let mut open: Vec<u32> = Vec::new();
        let (mut depth, mut place) = (0, 0);
        for (node, index) in self.nodes[..len].iter().zip(0..) {
            while open.last().is_some_and(|&end| end <= index) {
                open.pop();
            }
            let around = open.last().copied().unwrap_or(len as u32);
            if node.end() <= index || node.end() > around {
                return None;
            }
            open.push(node.end());
            depth = depth.max(open.len() - 1);
            // `child_nodes` must so far list exactly the children of all earlier nodes.
            if self.child_starts[index as usize] as usize != place {
                return None;
            }
            let (mut child, mut previous) = (index + 1, None);
            while child < node.end() {
                let byte = self.nodes[child as usize].byte();
                let listed = (self.child_nodes.get(place), self.child_bytes.get(place));
                if listed != (Some(&child), Some(&byte)) || previous >= Some(byte) {
                    return None;
                }
                // A child whose end is not after it would loop forever. Advance anyway: it is rejected when its own
                // turn comes.
                child = self.nodes[child as usize].end().max(child + 1);
                (previous, place) = (Some(byte), place + 1);
            }
        }
        Some(depth)
    }

    /// Whether the trie contains exactly these tokens, each at the node of its bytes.
    pub(crate) fn is_of<'a>(
        &self,
        count: usize,
        bytes: impl Fn(TokenId) -> Option<&'a [u8]>,
    ) -> bool {
        let mut path: Vec<u8> = Vec::with_capacity(self.max_depth);
        let mut open: Vec<u32> = Vec::with_capacity(self.max_depth);
        let mut leaves_have_tokens = true;
        for index in 0..self.len() as u32 {
            while open.last().is_some_and(|&end| end <= index) {
                open.pop();
                path.pop();
            }
            let node = self.node(index);
            if index != Self::ROOT {
                open.push(node.end());
                path.push(node.byte());
            }
            let tokens = self.tokens(index);
            // Tokens with the same bytes occur once each, ordered by id.
            if !tokens.is_sorted_by(|a, b| a < b)
                || tokens.iter().any(|&id| bytes(id) != Some(&path[..]))
            {
                return false;
            }
            let is_leaf = node.end() == index + 1 && index != Self::ROOT;
            leaves_have_tokens &= !(is_leaf && tokens.is_empty());
        }
        leaves_have_tokens && self.token_count() == count
    }
}
