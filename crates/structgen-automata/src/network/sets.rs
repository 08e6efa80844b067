//! Sets of stacks, stored once.

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::covered::drop_covered;
use super::enter::too_many_threads;
use crate::LimitExceeded;
use crate::program::{NodeId, ProcId, Program};
use crate::terminal::TerminalState;

/// A set of stacks, by its place in the store. Equal sets of one network have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetId(pub(crate) u32);

impl SetId {
    /// The empty set: no text goes on.
    pub const DEAD: Self = Self(0);
}

/// What lies on top of a stack: a terminal in progress, or something that waits for what is above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// The place in the program; see the constants for what a place is beside a node.
    pub(crate) node: u32,
    /// The terminal in progress, or `NOTHING`.
    pub(crate) terminal: u32,
    /// Its state.
    pub(crate) state: TerminalState,
    /// A register: a count, or the keys that an object has.
    pub(crate) data: u32,
    /// For a key or item in progress its text, for a colon the label of the key, for a left corner the procedure entered.
    pub(crate) extra: u32,
}

/// A frame on top of a set of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Element {
    /// The top.
    pub frame: Frame,
    /// What is below it.
    pub below: SetId,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    from: u32,
    to: u32,
    /// Nested arrays and objects below and in the set, at most.
    depth: u32,
    /// Whether a part with a guide is in it or below.
    guided: bool,
}

/// The store.
#[derive(Debug)]
pub(super) struct Sets {
    program: Arc<Program>,
    elements: Vec<Element>,
    entries: Vec<Entry>,
    ids: HashTable<SetId>,
    /// By the two sets that were joined, ascending.
    joined: FxHashMap<(SetId, SetId), SetId>,
    /// How many elements were looked at.
    pub(super) work: u64,
}

impl Sets {
    /// An empty store, whose stacks stand on so many levels of nesting.
    pub(super) fn new(program: Arc<Program>, depth: u32) -> Self {
        // The empty set comes first.
        let entries = vec![Entry {
            from: 0,
            to: 0,
            depth,
            guided: false,
        }];
        Self {
            program,
            elements: Vec::new(),
            entries,
            ids: HashTable::new(),
            joined: FxHashMap::default(),
            work: 0,
        }
    }
}

/// How many sets are joined two by two, which is remembered; more are joined at once, since what each pair gives is stored.
const MOST_IN_PAIRS: usize = 8;

impl Sets {
    #[inline]
    pub(super) fn elements(&self, set: SetId) -> &[Element] {
        let entry = self.entries[set.0 as usize];
        &self.elements[entry.from as usize..entry.to as usize]
    }

    /// How deep arrays and objects nest in the set.
    pub(super) fn depth(&self, set: SetId) -> u32 {
        self.entries[set.0 as usize].depth
    }

    /// Whether a part with a guide is in the set or below it.
    pub(super) fn is_guided(&self, set: SetId) -> bool {
        self.entries[set.0 as usize].guided
    }

    /// The set of these elements, of which at most `limit` may differ. A frame is on top of it once.
    pub(super) fn intern(
        &mut self,
        mut elements: Vec<Element>,
        limit: usize,
    ) -> Result<SetId, LimitExceeded> {
        self.meter(elements.len())?;
        if elements.len() > 1 {
            elements.sort_unstable();
            elements.dedup();
            drop_covered(&self.program, &mut elements);
            self.share_frames(&mut elements, limit)?;
            drop_covered(&self.program, &mut elements);
        }
        self.store(elements, limit)
    }

    /// The set of these elements, as they are; they are sorted and differ.
    fn store(&mut self, elements: Vec<Element>, limit: usize) -> Result<SetId, LimitExceeded> {
        if elements.is_empty() {
            return Ok(SetId::DEAD);
        }
        if elements.len() > limit {
            return Err(too_many_threads(limit));
        }
        let hash = hash(&elements);
        let Self {
            elements: stored,
            entries,
            ids,
            ..
        } = self;
        let same = |id: &SetId| {
            let entry = entries[id.0 as usize];
            stored[entry.from as usize..entry.to as usize] == elements[..]
        };
        if let Some(&id) = ids.find(hash, same) {
            return Ok(id);
        }
        let nesting = |element: &Element| {
            entries[element.below.0 as usize].depth + u32::from(element.frame.nests())
        };
        let nested = elements.iter().map(nesting).max().unwrap_or(0);
        let guided = elements
            .iter()
            .any(|element| element.frame.is_guide() || entries[element.below.0 as usize].guided);
        let id = SetId(entries.len() as u32);
        let from = stored.len() as u32;
        stored.extend_from_slice(&elements);
        entries.push(Entry {
            from,
            to: stored.len() as u32,
            depth: nested,
            guided,
        });
        ids.insert_unique(hash, id, |id| {
            let entry = entries[id.0 as usize];
            self::hash(&stored[entry.from as usize..entry.to as usize])
        });
        Ok(id)
    }

    /// Where elements have the same frame, one takes what is below all of them.
    fn share_frames(
        &mut self,
        elements: &mut Vec<Element>,
        limit: usize,
    ) -> Result<(), LimitExceeded> {
        let (mut kept, mut from) = (0, 0);
        while let Some(&Element { frame, below }) = elements.get(from) {
            let same = elements[from..].iter().take_while(|it| it.frame == frame);
            let to = from + same.count();
            let below = match to - from {
                1 => below,
                2..=MOST_IN_PAIRS => {
                    let mut joined = below;
                    for other in &elements[from + 1..to] {
                        joined = self.join_two(joined, other.below, limit)?;
                    }
                    joined
                }
                _ => {
                    let sets = elements[from..to].iter().map(|it| it.below);
                    self.join(sets, limit)?
                }
            };
            elements[kept] = Element { frame, below };
            kept += 1;
            from = to;
        }
        elements.truncate(kept);
        Ok(())
    }

    /// The elements of all these sets, each on what it stands on.
    ///
    /// Frames are not shared: that would join what is below them, and so on down, which is a determinisation, and exponential in the length of
    /// the text where recursion is ambiguous (`r ::= r{3,6} | "a"`). As it is, what waits was made where something was called, and a place in
    /// the text makes at most one of these for each procedure and frame: the nodes of Tomita's graph-structured stack.
    fn join(
        &mut self,
        sets: impl Iterator<Item = SetId>,
        limit: usize,
    ) -> Result<SetId, LimitExceeded> {
        let all = sets.flat_map(|set| self.elements(set));
        let mut all: Vec<Element> = all.copied().collect();
        self.meter(all.len())?;
        all.sort_unstable();
        all.dedup();
        drop_covered(&self.program, &mut all);
        self.store(all, limit)
    }

    /// Counts elements that are looked at.
    fn meter(&mut self, elements: usize) -> Result<(), LimitExceeded> {
        let limit = self.program.limits.work;
        self.work += elements as u64;
        match self.work > limit {
            true => Err(LimitExceeded {
                what: "alternatives looked at for one token",
                limit,
            }),
            false => Ok(()),
        }
    }

    fn join_two(&mut self, a: SetId, b: SetId, limit: usize) -> Result<SetId, LimitExceeded> {
        if a == b {
            return Ok(a);
        }
        let key = (a.min(b), a.max(b));
        if let Some(&known) = self.joined.get(&key) {
            return Ok(known);
        }
        let joined = self.join([a, b].into_iter(), limit)?;
        self.joined.insert(key, joined);
        Ok(joined)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn memory(&self) -> usize {
        self.elements.capacity() * size_of::<Element>()
            + self.entries.capacity() * size_of::<Entry>()
            + self.ids.capacity() * 5
            + self.joined.capacity() * 16
    }
}

fn hash(elements: &[Element]) -> u64 {
    let mut hasher = FxHasher::default();
    elements.hash(&mut hasher);
    hasher.finish()
}

const NOTHING: u32 = u32::MAX;

/// The text of an item of which nothing has been read.
pub(super) const NOT_BEGUN: u32 = u32::MAX;

/// The text of a key or item in progress that a sketch did not keep.
pub(super) const LOST: u32 = u32::MAX - 1;

/// The places of an object or array, in the upper bits of a frame's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A node of the program.
    Node(NodeId),
    /// The place behind a node that called something: it waits, to go on there.
    Return(NodeId),
    /// A counted repetition that waits for its body.
    Repeat(NodeId),
    /// A left-recursive procedure that waits for one it begins with.
    LeftCorner(ProcId),
    ObjectOpen(u32),
    ObjectKey(u32),
    ObjectColon(u32),
    ObjectAfter(u32),
    ArrayOpen(u32),
    ArrayAfter(u32),
    /// An item of an array that compares its items.
    ArrayItem(u32),
    Accept,
    /// A part with a guide, which waits for its procedure.
    Guided(ProcId),
}

const KIND_SHIFT: u32 = 28;

impl Place {
    pub(super) fn encode(self) -> u32 {
        let (kind, id) = match self {
            Self::Node(id) => (0, id.number()),
            Self::Return(id) => (1, id.number()),
            Self::Repeat(id) => (2, id.number()),
            Self::LeftCorner(id) => (3, id.number()),
            Self::ObjectOpen(id) => (4, id),
            Self::ObjectKey(id) => (5, id),
            Self::ObjectColon(id) => (6, id),
            Self::ObjectAfter(id) => (7, id),
            Self::ArrayOpen(id) => (8, id),
            Self::ArrayAfter(id) => (9, id),
            Self::ArrayItem(id) => (10, id),
            Self::Accept => (11, 0),
            Self::Guided(id) => (12, id.number()),
        };
        kind << KIND_SHIFT | id
    }
}

impl Frame {
    /// The bottom of every stack: the text may end.
    pub const ACCEPT: Self = Self {
        node: 11 << KIND_SHIFT,
        terminal: NOTHING,
        state: 0,
        data: 0,
        extra: 0,
    };

    pub(super) fn reading(place: Place, terminal: u32, data: u32, extra: u32) -> Self {
        Self {
            node: place.encode(),
            terminal,
            state: crate::terminal::START,
            data,
            extra,
        }
    }

    pub(super) fn waiting(place: Place, data: u32, extra: u32) -> Self {
        Self {
            node: place.encode(),
            terminal: NOTHING,
            state: 0,
            data,
            extra,
        }
    }

    pub(super) fn place(self) -> Place {
        let id = self.node & ((1 << KIND_SHIFT) - 1);
        match self.node >> KIND_SHIFT {
            0 => Place::Node(NodeId::from_number(id)),
            1 => Place::Return(NodeId::from_number(id)),
            2 => Place::Repeat(NodeId::from_number(id)),
            3 => Place::LeftCorner(ProcId::from_number(id)),
            4 => Place::ObjectOpen(id),
            5 => Place::ObjectKey(id),
            6 => Place::ObjectColon(id),
            7 => Place::ObjectAfter(id),
            8 => Place::ArrayOpen(id),
            9 => Place::ArrayAfter(id),
            10 => Place::ArrayItem(id),
            12 => Place::Guided(ProcId::from_number(id)),
            _ => Place::Accept,
        }
    }

    /// Whether the frame waits for a part with a guide.
    fn is_guide(self) -> bool {
        self.node >> KIND_SHIFT == 12
    }

    /// Whether a terminal is in progress.
    #[inline]
    #[must_use]
    pub fn reads(self) -> bool {
        self.terminal != NOTHING
    }

    /// Whether an exact state keeps the text that the frame reads: it is a key, or an item that others are compared with.
    pub(super) fn keeps_text(self) -> bool {
        matches!(self.place(), Place::ObjectKey(_) | Place::ArrayItem(_))
    }

    /// Whether the frame is one of an object or array.
    fn nests(self) -> bool {
        (4..11).contains(&(self.node >> KIND_SHIFT))
    }

    /// The state of the terminal in progress.
    #[must_use]
    pub fn state(self) -> TerminalState {
        self.state
    }

    /// The frame with its terminal in another state; the text that led there is lost.
    #[must_use]
    pub fn with_state(self, state: TerminalState) -> Self {
        let extra = if self.extra == NOT_BEGUN {
            0
        } else {
            self.extra
        };
        Self {
            state,
            extra,
            ..self
        }
    }
}
