//! The nodes of a trie that a walk has in hand.

use std::ops::Range;

use structgen_automata::{ByteSet, TerminalCursor};
use structgen_vocab::TokenTrie;

use super::cursor::Cursor;
use super::region::Region;

/// A node of the trie whose children come next.
pub(super) struct Open<'n> {
    pub(super) children: Children,
    pub(super) cursor: Cursor<'n>,
    /// Whether plain text of any length goes on.
    pub(super) is_free: bool,
}

impl Open<'_> {
    /// The same where plain text of any length goes on.
    pub(super) fn free(self) -> Self {
        Self {
            is_free: true,
            ..self
        }
    }
}

/// The children of a node that are left.
pub(super) enum Children {
    /// The children at these places whose bytes are in the set.
    All(Range<u32>, ByteSet),
    /// The children of the node for these bytes, few beside all of its children.
    Few(u32, ByteSet),
    /// The nodes in the stack's list of exits, from this place on: below a node, where plain text is left.
    Exits(usize),
}

/// A child of an open node.
#[derive(Clone, Copy)]
pub(super) struct Child {
    pub(super) node: u32,
    pub(super) byte: u8,
    /// Its place in the trie's list of children, where it was found there.
    pub(super) place: Option<u32>,
}

/// For how many nodes there is room from the start: few tokens are longer, and an allocator is quick with so little.
const ROOM: usize = 8;

/// The open nodes from the root down. What only some of them have lies beside them: the loop copies an open node for
/// every node that it goes through.
pub(super) struct Stack<'n> {
    open: Vec<(Open<'n>, bool)>,
    regions: Vec<Region>,
    pub(super) exits: Vec<u32>,
    /// The path of the innermost loop, whose memory is kept.
    pub(super) inside: Vec<(u32, TerminalCursor<'n>)>,
}

impl<'n> Stack<'n> {
    pub(super) fn new() -> Self {
        Self {
            open: Vec::with_capacity(ROOM),
            regions: Vec::new(),
            exits: Vec::new(),
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

    /// How deep the innermost node is, the root being 1.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// The innermost node, and its next child, if one is left.
    #[inline]
    pub(super) fn next(&mut self, trie: &TokenTrie) -> Option<(&Open<'n>, Option<Child>)> {
        let (parent, _) = self.open.last_mut()?;
        let child = parent.children.next(trie, &mut self.exits);
        Some((parent, child))
    }

    /// The region around the innermost node.
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
            // What lies after it belongs to nodes that are closed by now.
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
