//! Sets of stacks, stored once.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use structgen_memo::{Interner, Numbers};
use structgen_regular::CancelToken;

use super::covered::drop_covered;
use super::enter::too_many_threads;
use super::written::Written;
use crate::LimitExceeded;
use crate::program::{NodeId, ProcId, Program};
use crate::terminal::TerminalState;

/// A set of stacks, by its place in the store. Equal sets of one network have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetId(pub(crate) u32);

impl SetId {
    /// The empty set: no text goes on.
    pub const DEAD: Self = Self(0);

    /// The place of the set in the store.
    #[inline]
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }

    /// The set with a [`number`](Self::number) of the same network.
    #[inline]
    #[must_use]
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }
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
    /// What has been written that later values refer to. What waits does not know: it is told by what is above it.
    pub(crate) written: Written,
}

/// A frame on top of a set of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Element {
    /// The top.
    pub frame: Frame,
    /// What is below it.
    pub below: SetId,
}

/// The work of a caller.
#[derive(Debug, Default)]
pub(super) struct Work<'c> {
    /// How many elements have been looked at, all in all.
    pub(super) done: Cell<u64>,
    /// Ends it before it is done.
    pub(super) cancel: Option<&'c CancelToken>,
}

impl Work<'_> {
    /// Counts more of it, up to a limit.
    pub(super) fn spend(&self, work: u64, limit: u64) -> Result<(), LimitExceeded> {
        let before = self.done.get();
        let after = before + work;
        self.done.set(after);
        if after > limit {
            return Err(LimitExceeded {
                what: "alternatives looked at for one token",
                limit,
            });
        }
        match self.cancel {
            Some(token) => token.check_between(before, after),
            None => Ok(()),
        }
    }
}

/// What follows from the elements of a set.
#[derive(Clone, Copy, Debug)]
struct Below {
    /// Nested arrays and objects below and in the set, at most.
    depth: u32,
    /// Whether a part with a guide is in it or below.
    guided: bool,
}

/// The elements of a set, sorted. Most sets have one.
#[derive(Debug)]
enum Elements {
    One(Element),
    Many(Box<[Element]>),
}

impl Elements {
    #[inline]
    fn as_slice(&self) -> &[Element] {
        match self {
            Self::One(element) => std::slice::from_ref(element),
            Self::Many(elements) => elements,
        }
    }
}

impl PartialEq for Elements {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Elements {}

impl Hash for Elements {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

/// The store.
#[derive(Debug)]
pub(super) struct Sets {
    program: Arc<Program>,
    /// The nesting on which all stacks stand.
    depth: u32,
    /// Number 0 is the set with id 1: the empty set is not among them.
    sets: Interner<Elements, Below>,
    /// By the two sets that were joined, ascending.
    joined: Numbers,
    /// How many bytes the elements of larger sets take.
    bytes: AtomicUsize,
}

impl Sets {
    /// An empty store, whose stacks stand on so many levels of nesting.
    pub(super) fn new(program: Arc<Program>, depth: u32) -> Self {
        Self {
            program,
            depth,
            sets: Interner::default(),
            joined: Numbers::default(),
            bytes: AtomicUsize::new(0),
        }
    }
}

/// How many sets are joined two by two, which is remembered; more are joined at once, since what each pair gives is stored.
const MOST_IN_PAIRS: usize = 8;

impl Sets {
    /// Makes room for `sets` sets in a store that has none.
    pub(super) fn make_room(&mut self, sets: usize) {
        self.sets = Interner::with_room(sets);
    }

    #[inline(always)]
    pub(super) fn elements(&self, set: SetId) -> &[Element] {
        match set.0.checked_sub(1) {
            Some(number) => self.sets.get(number).0.as_slice(),
            None => &[],
        }
    }

    fn below(&self, set: SetId) -> Below {
        match set.0.checked_sub(1) {
            Some(number) => self.sets.get(number).1,
            None => Below {
                depth: self.depth,
                guided: false,
            },
        }
    }

    /// How deep arrays and objects nest in the set.
    pub(super) fn depth(&self, set: SetId) -> u32 {
        self.below(set).depth
    }

    /// Whether a part with a guide is in the set or below it.
    pub(super) fn is_guided(&self, set: SetId) -> bool {
        self.below(set).guided
    }

    /// The set of these elements, of which at most `limit` may differ. A frame is on top of it once.
    pub(super) fn intern(
        &self,
        mut elements: Vec<Element>,
        limit: usize,
        work: &Work<'_>,
    ) -> Result<SetId, LimitExceeded> {
        self.meter(elements.len(), work)?;
        if elements.len() > 1 {
            elements.sort_unstable();
            elements.dedup();
            drop_covered(&self.program, &mut elements);
            self.share_frames(&mut elements, limit, work)?;
            drop_covered(&self.program, &mut elements);
        }
        self.store(elements, limit)
    }

    /// The set of these elements, as they are; they are sorted and differ.
    fn store(&self, elements: Vec<Element>, limit: usize) -> Result<SetId, LimitExceeded> {
        if elements.len() > limit {
            return Err(too_many_threads(limit));
        }
        match elements[..] {
            [] => Ok(SetId::DEAD),
            [element] => self.single(element),
            _ => {
                let owned = size_of_val(&elements[..]);
                let (set, is_new) = self.number(Elements::Many(elements.into()))?;
                if is_new {
                    self.bytes.fetch_add(owned, Ordering::Relaxed);
                }
                Ok(set)
            }
        }
    }

    /// The set of one element.
    #[inline]
    pub(super) fn single(&self, element: Element) -> Result<SetId, LimitExceeded> {
        Ok(self.number(Elements::One(element))?.0)
    }

    /// The number of a set, and whether it is new.
    #[inline]
    fn number(&self, elements: Elements) -> Result<(SetId, bool), LimitExceeded> {
        let (number, is_new) = self.sets.try_number(elements, |elements| {
            let limit = self.program.limits.states;
            if self.len() >= limit {
                return Err(LimitExceeded {
                    what: "states",
                    limit: limit as u64,
                });
            }
            let elements = elements.as_slice().iter();
            let below = elements.map(|&Element { frame, below }| {
                let below = self.below(below);
                Below {
                    depth: below.depth + u32::from(frame.nests()),
                    guided: below.guided || frame.is_guide(),
                }
            });
            let join = |a: Below, b: Below| Below {
                depth: a.depth.max(b.depth),
                guided: a.guided || b.guided,
            };
            Ok(below.reduce(join).expect("the empty set is not stored"))
        })?;
        Ok((SetId(number + 1), is_new))
    }

    /// Where elements have the same frame, one takes what is below all of them.
    fn share_frames(
        &self,
        elements: &mut Vec<Element>,
        limit: usize,
        work: &Work<'_>,
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
                        joined = self.join_two(joined, other.below, limit, work)?;
                    }
                    joined
                }
                _ => {
                    let sets = elements[from..to].iter().map(|it| it.below);
                    self.join(sets, limit, work)?
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
        &self,
        sets: impl Iterator<Item = SetId>,
        limit: usize,
        work: &Work<'_>,
    ) -> Result<SetId, LimitExceeded> {
        let all = sets.flat_map(|set| self.elements(set));
        let mut all: Vec<Element> = all.copied().collect();
        self.meter(all.len(), work)?;
        all.sort_unstable();
        all.dedup();
        drop_covered(&self.program, &mut all);
        self.store(all, limit)
    }

    /// Counts elements that are looked at.
    fn meter(&self, elements: usize, work: &Work<'_>) -> Result<(), LimitExceeded> {
        work.spend(elements as u64, self.program.limits.work)
    }

    fn join_two(
        &self,
        a: SetId,
        b: SetId,
        limit: usize,
        work: &Work<'_>,
    ) -> Result<SetId, LimitExceeded> {
        if a == b {
            return Ok(a);
        }
        let (first, second) = (a.min(b), a.max(b));
        let key = u64::from(first.0) << 32 | u64::from(second.0);
        if let Some(known) = self.joined.get(key) {
            return Ok(SetId(known as u32));
        }
        let joined = self.join([a, b].into_iter(), limit, work)?;
        self.joined.insert(key, joined.0.into());
        Ok(joined)
    }

    /// How many sets there are, the empty one among them.
    pub(super) fn len(&self) -> usize {
        self.sets.len() + 1
    }

    pub(super) fn memory(&self) -> usize {
        self.sets.memory() + self.joined.memory() + self.bytes.load(Ordering::Relaxed)
    }
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
    /// A value that later ones are compared with.
    Referent(NodeId),
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
            Self::Referent(id) => (13, id.number()),
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
        written: Written::NOTHING,
    };

    /// The start of a terminal; see [`Call::reading`](super::Call::reading) for what has been written.
    pub(super) fn reading(place: Place, terminal: u32, data: u32, extra: u32) -> Self {
        Self {
            node: place.encode(),
            terminal,
            state: crate::terminal::START,
            data,
            extra,
            written: Written::NOTHING,
        }
    }

    pub(super) fn waiting(place: Place, data: u32, extra: u32) -> Self {
        Self {
            node: place.encode(),
            terminal: NOTHING,
            state: 0,
            data,
            extra,
            written: Written::NOTHING,
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
            13 => Place::Referent(NodeId::from_number(id)),
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

    /// Whether an exact state keeps the text that the frame reads: it is a key, or a value that others are compared with.
    pub(super) fn keeps_text(self) -> bool {
        matches!(
            self.place(),
            Place::ObjectKey(_) | Place::ArrayItem(_) | Place::Referent(_)
        )
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
