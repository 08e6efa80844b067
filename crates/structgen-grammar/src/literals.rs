//! Finite sets of texts, up to millions of them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashTable;

use crate::keyed::KeyedHasher;

/// A finite set of byte strings as a minimal automaton: common prefixes and common suffixes are stored once.
///
/// A node stands for the possible continuations. Its edges are labelled with one or more bytes, and no two labels begin
/// with the same byte; a non-final node with a single edge is merged into a label instead. Equal nodes are shared: the
/// million texts `item-000000` to `item-999999` take seven nodes. This is a radix trie (Morrison 1968) with equal
/// subtrees shared, built incrementally from the sorted texts as in Daciuk et al. 2000.
///
/// ```
/// use structgen_grammar::LiteralSet;
///
/// let set = LiteralSet::new(["tap", "taps", "top", "tops", "tap"])?;
/// assert_eq!(set.count(), 4);
/// assert!(set.contains(b"tops") && !set.contains(b"to"));
/// assert_eq!(set.iter().next().as_deref(), Some(&b"tap"[..]));
/// // Behind "ta" and "to" comes the same: `t`, then `ap` or `op`, then perhaps an `s`.
/// assert_eq!(set.nodes(), 4);
/// # Ok::<(), structgen_grammar::LiteralsTooLarge>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct LiteralSet(Arc<Graph>);

/// Nodes and edges in flat arrays. Children precede their parents, and the root is last.
#[derive(Default, PartialEq, Eq)]
struct Graph {
    finals: Vec<bool>,
    /// Where the edges of each node begin; they end where those of the next node begin.
    edges: Vec<u32>,
    /// The first byte of each edge's label, stored separately because it is searched.
    first: Vec<u8>,
    ways: Vec<Way>,
    labels: Vec<u8>,
}

/// An edge.
#[derive(PartialEq, Eq)]
struct Way {
    /// The node that it leads to.
    child: u32,
    /// Where its label begins; it ends where that of the next edge begins.
    label: u32,
}

/// The texts are too large for a [`LiteralSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the texts of a list exceed the limit of {limit} bytes together")]
pub struct LiteralsTooLarge {
    /// The maximum number of bytes.
    pub limit: usize,
}

/// A text among all texts: its first eight bytes, which decide most comparisons, and its position.
#[derive(Clone, Copy)]
struct Entry {
    head: u64,
    start: u32,
    length: u32,
}

impl LiteralSet {
    /// The maximum total size of the texts in bytes.
    pub const MAX_BYTES: usize = 1 << 31;

    /// Builds the set of some texts, in any order and with any duplicates.
    ///
    /// Sorts the texts, and takes memory in proportion to them.
    ///
    /// # Errors
    /// If the texts have more than [`MAX_BYTES`](Self::MAX_BYTES) bytes in total.
    pub fn new(
        texts: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> Result<Self, LiteralsTooLarge> {
        let mut arena: Vec<u8> = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        for text in texts {
            let text = text.as_ref();
            // An empty text takes memory as well.
            if arena.len() + entries.len() + text.len() >= Self::MAX_BYTES {
                return Err(LiteralsTooLarge {
                    limit: Self::MAX_BYTES,
                });
            }
            let mut head = [0; 8];
            let known = text.len().min(8);
            head[..known].copy_from_slice(&text[..known]);
            entries.push(Entry {
                head: u64::from_be_bytes(head),
                start: arena.len() as u32,
                length: text.len() as u32,
            });
            arena.extend_from_slice(text);
        }
        let text = |entry: &Entry| &arena[entry.start as usize..][..entry.length as usize];
        let order = |a: &Entry, b: &Entry| {
            let heads = a.head.cmp(&b.head);
            heads.then_with(|| text(a).cmp(text(b)))
        };
        if !entries.is_sorted_by(|a, b| order(a, b).is_le()) {
            entries.sort_unstable_by(order);
        }
        let mut builder = Builder::default();
        for entry in &entries {
            builder.add(text(entry));
        }
        Ok(Self(Arc::new(builder.finish())))
    }

    /// The set with these nodes, each given by whether it is final and by its edges: labels and children. `None` if
    /// they are not a valid set.
    pub(crate) fn from_nodes(
        nodes: impl IntoIterator<Item = (bool, Vec<(Box<[u8]>, u32)>)>,
    ) -> Option<Self> {
        let mut graph = Graph::default();
        for (index, (is_final, edges)) in nodes.into_iter().enumerate() {
            let is_sorted = edges.is_sorted_by(|(a, _), (b, _)| a.first() < b.first());
            let leads_back =
                |(label, child): &(Box<[u8]>, u32)| !label.is_empty() && (*child as usize) < index;
            let bytes: usize = edges.iter().map(|(label, _)| label.len()).sum();
            if !is_sorted
                || !edges.iter().all(leads_back)
                || graph.labels.len() + bytes >= Self::MAX_BYTES
            {
                return None;
            }
            // Every node except the root must have a continuation.
            if index > 0 && !graph.is_live(index as u32 - 1) {
                return None;
            }
            let edges = edges.iter().map(|(label, child)| (&label[..], *child));
            graph.push(is_final, edges);
        }
        (!graph.finals.is_empty()).then(|| {
            graph.close();
            Self(Arc::new(graph))
        })
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.0.is_live(self.root())
    }

    /// Whether the empty text is in the set.
    #[must_use]
    pub fn takes_empty(&self) -> bool {
        self.is_final(self.root())
    }

    /// Whether the text is in the set.
    #[must_use]
    pub fn contains(&self, text: &[u8]) -> bool {
        let (mut node, mut rest) = (self.root(), text);
        while let Some(&byte) = rest.first() {
            let Some(edge) = self.edge(node, byte) else {
                return false;
            };
            let Some(behind) = rest.strip_prefix(self.label(edge)) else {
                return false;
            };
            (node, rest) = (self.child(edge), behind);
        }
        self.is_final(node)
    }

    /// The number of texts; at most `u64::MAX`.
    #[must_use]
    pub fn count(&self) -> u64 {
        let mut counts: Vec<u64> = Vec::with_capacity(self.nodes());
        for node in 0..self.nodes() as u32 {
            let behind = self
                .edges(node)
                .map(|edge| counts[self.child(edge) as usize]);
            counts.push(behind.fold(self.is_final(node).into(), u64::saturating_add));
        }
        counts.last().copied().unwrap_or(0)
    }

    /// The texts, sorted.
    pub fn iter(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        Texts {
            set: self,
            text: Vec::new(),
            open: Vec::new(),
            begun: false,
        }
    }

    /// The number of nodes: at least one, the root. Nodes are numbered from zero.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.0.finals.len()
    }

    /// The root node.
    #[must_use]
    pub fn root(&self) -> u32 {
        self.nodes() as u32 - 1
    }

    /// Whether a text ends at the node.
    ///
    /// # Panics
    /// If there is no such node. The other methods on nodes and edges panic likewise.
    #[inline]
    #[must_use]
    pub fn is_final(&self, node: u32) -> bool {
        self.0.finals[node as usize]
    }

    /// The edges of a node, in the order of their first bytes.
    #[inline]
    #[must_use]
    pub fn edges(&self, node: u32) -> Range<u32> {
        self.0.edges_of(node)
    }

    /// The first bytes of a node's edges, sorted.
    #[inline]
    #[must_use]
    pub fn first_bytes(&self, node: u32) -> &[u8] {
        let Range { start, end } = self.edges(node);
        &self.0.first[start as usize..end as usize]
    }

    /// The edge of a node whose label begins with the byte.
    #[inline]
    #[must_use]
    pub fn edge(&self, node: u32, byte: u8) -> Option<u32> {
        let found = memchr::memchr(byte, self.first_bytes(node))?;
        Some(self.edges(node).start + found as u32)
    }

    /// The label of an edge, at least one byte.
    #[inline]
    #[must_use]
    pub fn label(&self, edge: u32) -> &[u8] {
        self.0.label(edge)
    }

    /// The node that an edge leads to.
    #[inline]
    #[must_use]
    pub fn child(&self, edge: u32) -> u32 {
        self.0.ways[edge as usize].child
    }

    /// The memory of the set, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let graph = &*self.0;
        graph.finals.capacity()
            + graph.edges.capacity() * 4
            + graph.ways.capacity() * size_of::<Way>()
            + graph.first.capacity()
            + graph.labels.capacity()
    }
}

impl Hash for LiteralSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The labels alone distinguish nearly all sets.
        self.0.labels.hash(state);
        self.0.ways.len().hash(state);
    }
}

impl fmt::Debug for LiteralSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiteralSet")
            .field("texts", &self.count())
            .field("nodes", &self.nodes())
            .finish_non_exhaustive()
    }
}

impl Graph {
    fn edges_of(&self, node: u32) -> Range<u32> {
        let node = node as usize;
        let end = self.edges.get(node + 1).copied();
        self.edges[node]..end.unwrap_or(self.ways.len() as u32)
    }

    fn label(&self, edge: u32) -> &[u8] {
        let edge = edge as usize;
        let end = self.ways.get(edge + 1).map(|next| next.label as usize);
        &self.labels[self.ways[edge].label as usize..end.unwrap_or(self.labels.len())]
    }

    /// Whether some text ends at this node or below it: true for all nodes except a root without edges.
    fn is_live(&self, node: u32) -> bool {
        self.finals[node as usize] || !self.edges_of(node).is_empty()
    }

    fn push<'l>(&mut self, is_final: bool, edges: impl Iterator<Item = (&'l [u8], u32)>) -> u32 {
        let node = self.finals.len() as u32;
        self.finals.push(is_final);
        self.edges.push(self.ways.len() as u32);
        for (label, child) in edges {
            self.first.push(label[0]);
            let start = self.labels.len() as u32;
            self.ways.push(Way {
                child,
                label: start,
            });
            self.labels.extend_from_slice(label);
        }
        node
    }

    /// Ends the list, and releases unused memory.
    fn close(&mut self) {
        self.edges.push(self.ways.len() as u32);
        self.finals.shrink_to_fit();
        self.edges.shrink_to_fit();
        self.first.shrink_to_fit();
        self.ways.shrink_to_fit();
        self.labels.shrink_to_fit();
    }
}

/// Builds the graph from sorted texts. Nodes that no later text passes through are finished, and shared if equal.
#[derive(Default)]
struct Builder<'t> {
    graph: Graph,
    /// Finds a finished node by its contents.
    ids: HashTable<u32>,
    previous: Option<&'t [u8]>,
    /// The unfinished nodes on the path of the last text, from the root.
    open: Vec<Open>,
    /// The edges of the open nodes, contiguous for each node: those of a deeper node come later.
    edges: Vec<(&'t [u8], u32)>,
}

/// A node that may still get edges.
struct Open {
    depth: usize,
    is_final: bool,
    /// Where its edges begin.
    edges: usize,
}

impl<'t> Builder<'t> {
    fn add(&mut self, text: &'t [u8]) {
        let shared = match self.previous {
            Some(previous) if previous == text => return,
            Some(previous) => {
                let pairs = previous.iter().zip(text);
                pairs.take_while(|(a, b)| a == b).count()
            }
            None => {
                self.open_at(0, false);
                0
            }
        };
        self.finish_below(shared);
        self.previous = Some(text);
        match self.open.last_mut() {
            // The empty text, which comes first.
            Some(top) if top.depth == text.len() => top.is_final = true,
            _ => self.open_at(text.len(), true),
        }
    }

    fn open_at(&mut self, depth: usize, is_final: bool) {
        let edges = self.edges.len();
        self.open.push(Open {
            depth,
            is_final,
            edges,
        });
    }

    /// Finishes the open nodes that are deeper than `depth`, so that the last open node has exactly this depth.
    fn finish_below(&mut self, depth: usize) {
        while self.open.last().is_some_and(|top| top.depth > depth) {
            let Some(done) = self.open.pop() else { return };
            let id = self.node(&done);
            let parent = self.open.last().map_or(0, |parent| parent.depth);
            if parent < depth {
                self.open_at(depth, false);
            }
            let text = self.previous.unwrap_or_default();
            self.edges.push((&text[parent.max(depth)..done.depth], id));
        }
    }

    /// Finishes a node, reusing an equal one, and removes its edges from the list.
    fn node(&mut self, done: &Open) -> u32 {
        let Self {
            graph, ids, edges, ..
        } = self;
        let own = &edges[done.edges..];
        let hash = hash_of(done.is_final, own.iter().copied());
        let is_equal = |&id: &u32| {
            let theirs = graph.edges_of(id);
            graph.finals[id as usize] == done.is_final
                && theirs.len() == own.len()
                && theirs.zip(own).all(|(edge, &(label, child))| {
                    graph.ways[edge as usize].child == child && graph.label(edge) == label
                })
        };
        let found = ids.find(hash, is_equal).copied();
        let id = found.unwrap_or_else(|| {
            let id = graph.push(done.is_final, own.iter().copied());
            ids.insert_unique(hash, id, |&id| {
                let edges = graph.edges_of(id);
                hash_of(
                    graph.finals[id as usize],
                    edges.map(|edge| (graph.label(edge), graph.ways[edge as usize].child)),
                )
            });
            id
        });
        edges.truncate(done.edges);
        id
    }

    fn finish(mut self) -> Graph {
        self.finish_below(0);
        // The root is the last node. It cannot equal another one, except in the set of the empty text alone.
        let root = self.open.pop().is_some_and(|root| root.is_final);
        let Self {
            mut graph, edges, ..
        } = self;
        graph.push(root, edges.into_iter());
        graph.close();
        graph
    }
}

fn hash_of<'l>(is_final: bool, edges: impl Iterator<Item = (&'l [u8], u32)>) -> u64 {
    let mut hasher = KeyedHasher::default();
    is_final.hash(&mut hasher);
    for (label, child) in edges {
        label.hash(&mut hasher);
        child.hash(&mut hasher);
    }
    hasher.finish()
}

/// The texts of a set, depth first with an explicit stack.
struct Texts<'s> {
    set: &'s LiteralSet,
    text: Vec<u8>,
    /// For each node on the path, its remaining edges and the length of the text there.
    open: Vec<(Range<u32>, usize)>,
    begun: bool,
}

impl Texts<'_> {
    /// Enters a node; returns its text if one ends there.
    fn enter(&mut self, node: u32) -> Option<Vec<u8>> {
        self.open.push((self.set.edges(node), self.text.len()));
        self.set.is_final(node).then(|| self.text.clone())
    }
}

impl Iterator for Texts<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if !std::mem::replace(&mut self.begun, true)
            && let Some(text) = self.enter(self.set.root())
        {
            return Some(text);
        }
        while let Some((edges, length)) = self.open.last_mut() {
            self.text.truncate(*length);
            let Some(edge) = edges.next() else {
                self.open.pop();
                continue;
            };
            self.text.extend_from_slice(self.set.label(edge));
            if let Some(text) = self.enter(self.set.child(edge)) {
                return Some(text);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn listed(set: &LiteralSet) -> Vec<Vec<u8>> {
        set.iter().collect()
    }

    #[test]
    fn nothing_the_empty_text_and_prefixes_are_told_apart() {
        let none = LiteralSet::new(Vec::<&str>::new()).unwrap();
        assert!(none.is_empty() && !none.takes_empty() && none.count() == 0);
        assert!(listed(&none).is_empty());
        let empty = LiteralSet::new([""]).unwrap();
        assert!(!empty.is_empty() && empty.takes_empty());
        assert_eq!(listed(&empty), [b"".to_vec()]);
        let both = LiteralSet::new(["ab", "", "a", "ab"]).unwrap();
        assert_eq!(listed(&both), [&b""[..], b"a", b"ab"]);
        assert!(both.contains(b"") && both.contains(b"a") && !both.contains(b"b"));
    }

    #[test]
    fn what_goes_on_alike_is_stored_once() {
        let texts = (0..100_000).map(|number| format!("item-{number:05}"));
        let set = LiteralSet::new(texts).unwrap();
        assert_eq!((set.count(), set.nodes()), (100_000, 7));
    }

    #[test]
    fn heads_with_zero_bytes_are_in_order() {
        let texts = [&b"a\0"[..], b"a", b"a\0\0\0\0\0\0\0\0", b"a\0b"];
        let set = LiteralSet::new(texts).unwrap();
        assert_eq!(listed(&set), [texts[1], texts[0], texts[2], texts[3]]);
    }

    proptest! {
        #[test]
        fn a_set_holds_what_it_was_made_of(
            texts in prop::collection::vec(prop::collection::vec(97_u8..100, 0..12), 0..60),
            others in prop::collection::vec(prop::collection::vec(97_u8..100, 0..12), 0..20),
        ) {
            let set = LiteralSet::new(&texts).unwrap();
            let sorted: BTreeSet<Vec<u8>> = texts.iter().cloned().collect();
            prop_assert_eq!(set.count(), sorted.len() as u64);
            prop_assert_eq!(listed(&set), sorted.iter().cloned().collect::<Vec<_>>());
            for text in texts.iter().chain(&others) {
                prop_assert_eq!(set.contains(text), sorted.contains(text));
            }
            // Equal sets have equal graphs, whatever the order.
            let again = LiteralSet::new(texts.iter().rev().chain(&texts)).unwrap();
            prop_assert_eq!(&again, &set);
        }
    }
}
