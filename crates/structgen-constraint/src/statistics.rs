//! What a constraint's matchers have done so far.

use std::array;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

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

/// What is counted as it happens.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// See [`Statistics`], as the others.
    pub(crate) states_dropped: AtomicU64,
    /// The one that is counted where nothing is computed.
    pub(crate) masks_found: Counter,
    pub(crate) masks_computed: AtomicU64,
    pub(crate) masks_evicted: AtomicU64,
    pub(crate) nodes_walked: AtomicU64,
    pub(crate) tokens_tried: AtomicU64,
}

impl Counters {
    /// The numbers; those that are not counted are zero.
    pub(crate) fn read(&self) -> Statistics {
        Statistics {
            states_dropped: read(&self.states_dropped),
            masks_found: self.masks_found.read(),
            masks_computed: read(&self.masks_computed),
            masks_evicted: read(&self.masks_evicted),
            nodes_walked: read(&self.nodes_walked),
            tokens_tried: read(&self.tokens_tried),
            ..Statistics::default()
        }
    }
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// How many threads do not wait for one another where they would share a count.
pub(crate) const LANES: usize = 8;

/// A number that many threads add to without waiting for one another: each has a part of its own as long as there are few.
#[derive(Debug)]
pub(crate) struct Counter([Lane; LANES]);

/// On a line of the processor's cache, and the one that is fetched with it.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Lane(AtomicU64);

impl Default for Counter {
    fn default() -> Self {
        Self(array::from_fn(|_| Lane::default()))
    }
}

impl Counter {
    #[inline]
    pub(crate) fn add(&self, count: u64) {
        add(&self.0[lane() % LANES].0, count);
    }

    fn read(&self) -> u64 {
        self.0.iter().map(|Lane(count)| read(count)).sum()
    }
}

/// A number of the calling thread's own, counted from 0.
#[inline]
pub(crate) fn lane() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static LANE: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    LANE.with(|&lane| lane)
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
    /// Counts a node, and returns how many there are by now.
    #[inline]
    pub(crate) fn step(&self) -> u64 {
        let nodes = self.nodes.get() + 1;
        self.nodes.set(nodes);
        nodes
    }

    pub(crate) fn steps(&self, nodes: usize) {
        self.nodes.set(self.nodes.get() + nodes as u64);
    }

    pub(crate) fn tried(&self, tokens: usize) {
        self.tried.set(self.tried.get() + tokens as u64);
    }
}
