//! What a constraint's matchers have done so far.

use std::cell::Cell;

/// What the matchers of a constraint have found out so far. Every number is kept while they work, so that asking costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Nodes of the program.
    pub nodes: usize,
    /// States that are kept.
    pub states: usize,
    /// How often all states were thrown away, since they took more memory than they may.
    pub states_dropped: u64,
    /// Masks that were at hand.
    pub masks_found: u64,
    /// Masks that were computed.
    pub masks_computed: u64,
    /// Masks that were thrown away to make room.
    pub masks_evicted: u64,
    /// About how many bytes the kept masks take.
    pub mask_bytes: usize,
    /// Children of trie nodes that walks stepped to.
    pub nodes_walked: u64,
    /// Tokens that were tried one by one, since they depend on what a walk leaves out.
    pub tokens_tried: u64,
}

impl Statistics {
    /// Adds the numbers of another constraint.
    pub fn add(&mut self, other: &Self) {
        self.nodes += other.nodes;
        self.states += other.states;
        self.states_dropped += other.states_dropped;
        self.masks_found += other.masks_found;
        self.masks_computed += other.masks_computed;
        self.masks_evicted += other.masks_evicted;
        self.mask_bytes += other.mask_bytes;
        self.nodes_walked += other.nodes_walked;
        self.tokens_tried += other.tokens_tried;
    }
}

/// What the walks for one mask did. Cells, since the walks of a mask count together and one is often made of another.
#[derive(Debug, Default)]
pub(crate) struct WalkCounts {
    /// See [`Statistics::nodes_walked`].
    pub(crate) nodes: Cell<u64>,
    /// See [`Statistics::tokens_tried`].
    pub(crate) tried: Cell<u64>,
}

impl WalkCounts {
    #[inline]
    pub(crate) fn step(&self) {
        self.nodes.set(self.nodes.get() + 1);
    }

    pub(crate) fn tried(&self, tokens: usize) {
        self.tried.set(self.tried.get() + tokens as u64);
    }
}
