//! The nodes of a trie that a walk has open.

use std::ops::Range;

use structgen_automata::{Beginning, ByteSet, TerminalCursor};
use structgen_vocab::TokenTrie;

use super::cursor::Cursor;
use super::region::Region;

/// A node of the trie whose children are to be visited.
pub(super) struct Open<'n> {
    pub(super) children: Children,
    pub(super) cursor: Cursor<'n>,
    /// Whether plain text of any length continues.
    pub(super) is_free: bool,
}

impl Open<'_> {
    /// Returns the node, where plain text of any length continues.
    pub(super) fn free(self) -> Self {
        Self {
            is_free: true,
            ..self
        }
    }
}

/// The remaining children of a node.
pub(super) enum Children {
    /// The children at these indices whose bytes are in the set.
    All(Range<u32>, ByteSet),
    /// The children of the node for these bytes, which are few compared to all of its children.
    Few(u32, ByteSet),
    /// The nodes in the stack's list of exits from this index on: where plain text is left below a node.
    Exits(usize),
}

/// A child of an open node.
#[derive(Clone, Copy)]
pub(super) struct Child {
    pub(super) node: u32,
    pub(super) byte: u8,
    /// Its index in the trie's list of children, if it was found there.
    pub(super) place: Option<u32>,
}

/// The initial capacity in nodes: few tokens are longer.
const ROOM: usize = 7;

// Allocators serve small requests from a cache; for a short walk, a larger allocation would take longer than the walk.
const _: () = assert!(ROOM * size_of::<(Open<'_>, bool)>() <= 1024);

/// The open nodes from the root down. What only some of them have is stored beside them, because the loop copies an
/// open node for every node that it visits.
pub(super) struct Stack<'n> {
    open: Vec<(Open<'n>, bool)>,
    regions: Vec<Region>,
    pub(super) exits: Vec<u32>,
    /// The beginnings of listed texts that are still to be visited, kept as a buffer.
    pub(super) listed: Vec<(u32, Beginning)>,
    /// The path of the innermost loop, kept as a buffer.
    pub(super) inside: Vec<(Range<u32>, TerminalCursor<'n>)>,
}

impl<'n> Stack<'n> {
    pub(super) fn new() -> Self {
        Self {
            open: Vec::with_capacity(ROOM),
            regions: Vec::new(),
            exits: Vec::new(),
            listed: Vec::new(),
            inside: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, open: Open<'n>, region: Option<Region>) {
        self.open.push((open, region.is_some()));
        self.regions.extend(region);
    }

    pub(super) fn pop(&mut self) {
        if let Some((_, true)) = self.open.pop() {
            self.regions.pop();
        }
    }

    /// Returns the depth of the innermost node; the root has depth 1.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the innermost node and its next child, if one is left.
    #[inline]
    pub(super) fn next(&mut self, trie: &TokenTrie) -> Option<(&Open<'n>, Option<Child>)> {
        let (parent, _) = self.open.last_mut()?;
        let child = parent.children.next(trie, &mut self.exits);
        Some((parent, child))
    }

    /// Returns the region of the innermost node.
    #[inline]
    pub(super) fn region(&self) -> Option<&Region> {
        match self.open.last() {
            Some((_, true)) => self.regions.last(),
            _ => None,
        }
    }
}

impl Children {
    #[inline]
    fn next(&mut self, trie: &TokenTrie, exits: &mut Vec<u32>) -> Option<Child> {
        let place = match self {
            Self::All(places, first) => {
                places.find(|&place| first.contains(trie.child_bytes()[place as usize]))?
            }
            Self::Few(node, bytes) => loop {
                if let Some(place) = trie.child_place(*node, bytes.pop()?) {
                    break place;
                }
            },
            // What lies after it belongs to nodes that are already closed.
            Self::Exits(first) => {
                let node = (exits.len() > *first).then(|| exits.pop())??;
                return Some(Child {
                    node,
                    byte: trie.node(node).byte(),
                    place: None,
                });
            }
        };
        Some(Child {
            node: trie.child_node(place),
            byte: trie.child_bytes()[place as usize],
            place: Some(place),
        })
    }
}
