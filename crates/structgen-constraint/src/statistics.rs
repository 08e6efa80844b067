//! What the matchers of a constraint have done so far.

use std::array;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counts of the work of a constraint's matchers. They are updated as the matchers work, so reading them is cheap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The number of nodes of the program.
    pub nodes: usize,
    /// The number of cached states.
    pub states: usize,
    /// How often all states were dropped because they took too much memory.
    pub states_dropped: u64,
    /// The number of masks that were found in the cache.
    pub masks_found: u64,
    /// The number of masks that were computed.
    pub masks_computed: u64,
    /// The number of masks that were evicted.
    pub masks_evicted: u64,
    /// The approximate size of the cached masks in bytes.
    pub mask_bytes: usize,
    /// The number of children of trie nodes that walks stepped to.
    pub nodes_walked: u64,
    /// The number of tokens that were tried one by one because they depend on what a sketch omits.
    pub tokens_tried: u64,
}

impl Statistics {
    /// Adds the counts of another constraint.
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

/// The counters behind [`Statistics`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// See [`Statistics`], as for the others.
    pub(crate) states_dropped: AtomicU64,
    /// Counted on the path on which nothing is computed.
    pub(crate) masks_found: Counter,
    pub(crate) masks_computed: AtomicU64,
    pub(crate) masks_evicted: AtomicU64,
    pub(crate) nodes_walked: AtomicU64,
    pub(crate) tokens_tried: AtomicU64,
}

impl Counters {
    /// Returns the counts; those that are not counted here are zero.
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

/// The number of threads that do not contend for a shared counter.
pub(crate) const LANES: usize = 8;

/// A counter that many threads add to without contention: with few threads, each has its own part.
#[derive(Debug)]
pub(crate) struct Counter([Lane; LANES]);

/// Aligned to two cache lines, since the adjacent line is fetched as well.
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

/// Returns a number for the calling thread; threads are numbered from 0.
#[inline]
pub(crate) fn lane() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static LANE: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    LANE.with(|&lane| lane)
}

/// Counts of the walks for one mask. Cells, since the walks of a mask share them.
#[derive(Debug, Default)]
pub(crate) struct WalkCounts {
    /// See [`Statistics::nodes_walked`].
    pub(crate) nodes: Cell<u64>,
    /// See [`Statistics::tokens_tried`].
    pub(crate) tried: Cell<u64>,
}

impl WalkCounts {
    /// Counts a node, and returns the count.
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
