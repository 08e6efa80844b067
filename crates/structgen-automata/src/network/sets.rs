//! Sets of stacks, interned.

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

/// The id of a set of stacks (a pushdown state). Equal sets of one network have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetId(pub(crate) u32);

impl SetId {
    /// The empty set: no text continues.
    pub const DEAD: Self = Self(0);

    /// Returns the number of the set.
    #[inline]
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }

    /// Creates the id from a [`number`](Self::number) of the same network.
    #[inline]
    #[must_use]
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// The top of a stack: a terminal in progress, or something that waits for what is above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// A [`Place`], encoded: a position in the program.
    pub(crate) node: u32,
    /// The terminal in progress, or `NOTHING`.
    pub(crate) terminal: u32,
    /// Its state.
    pub(crate) state: TerminalState,
    /// A register: a count, or the keys of an object.
    pub(crate) data: u32,
    /// For a key or item in progress its text, for a colon the label of the key, for a left corner the procedure
    /// entered.
    pub(crate) extra: u32,
    /// The referents written so far. Frames that wait do not have it; they receive it from the frame above.
    pub(crate) written: Written,
}

/// A frame on top of a set of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Element {
    /// The top.
    pub frame: Frame,
    /// The set below it.
    pub below: SetId,
}

/// The work of one caller.
#[derive(Debug, Default)]
pub(super) struct Work<'c> {
    /// The number of elements visited so far.
    pub(super) done: Cell<u64>,
    /// Cancels the work.
    pub(super) cancel: Option<&'c CancelToken>,
}

impl Work<'_> {
    /// Counts more work, up to a limit.
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

/// What is derived from the elements of a set.
#[derive(Clone, Copy, Debug)]
struct Below {
    /// The maximum nesting of arrays and objects in and below the set.
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

/// The interned sets.
#[derive(Debug)]
pub(super) struct Sets {
    program: Arc<Program>,
    /// The nesting below all stacks.
    depth: u32,
    /// Number 0 is the set with id 1; the empty set is not stored.
    sets: Interner<Elements, Below>,
    /// By the two sets that were joined, ascending.
    joined: Numbers,
    /// The size in bytes of the elements of larger sets.
    bytes: AtomicUsize,
}

impl Sets {
    /// Creates an empty store, whose stacks begin at this depth of nesting.
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

/// Up to this many sets are joined in pairs, which are cached; more are joined at once, since each pair's result is
/// stored.
const MOST_IN_PAIRS: usize = 8;

impl Sets {
    /// Reserves capacity for `sets` sets in an empty store.
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

    /// Returns the maximum nesting of arrays and objects in the set.
    pub(super) fn depth(&self, set: SetId) -> u32 {
        self.below(set).depth
    }

    /// Returns whether a part with a guide is in the set or below it.
    pub(super) fn is_guided(&self, set: SetId) -> bool {
        self.below(set).guided
    }

    /// Returns the set of these elements, at most `limit` distinct ones. Elements with the same frame are joined.
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

    /// Stores the set of these elements, which are sorted and distinct.
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

    /// Returns the set of one element.
    #[inline]
    pub(super) fn single(&self, element: Element) -> Result<SetId, LimitExceeded> {
        Ok(self.number(Elements::One(element))?.0)
    }

    /// Returns the number of a set, and whether it is new.
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

    /// Joins the sets below elements that have the same frame.
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

    /// Returns the union of the elements of these sets.
    ///
    /// Frames are not shared here. That would join what is below them, and so on down, which would determinise the
    /// stacks and take space exponential in the length of the text if recursion is ambiguous (`r ::= r{3,6} | "a"`).
    /// Sets that wait were created by calls, and a position in the text creates at most one for each procedure and
    /// frame: these are the nodes of Tomita's graph-structured stack.
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

    /// Counts visited elements.
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

    /// Returns the number of sets, including the empty one.
    pub(super) fn len(&self) -> usize {
        self.sets.len() + 1
    }

    pub(super) fn memory(&self) -> usize {
        self.sets.memory() + self.joined.memory() + self.bytes.load(Ordering::Relaxed)
    }
}

const NOTHING: u32 = u32::MAX;

/// The text of an item of which nothing was read.
pub(super) const NOT_BEGUN: u32 = u32::MAX;

/// The text of a key or item in progress that a sketch omits.
pub(super) const LOST: u32 = u32::MAX - 1;

/// A position in the program, encoded in a frame's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A node of the program.
    Node(NodeId),
    /// After a node that made a call: waits to continue there.
    Return(NodeId),
    /// A counted repetition that waits for its body.
    Repeat(NodeId),
    /// A left-recursive procedure that waits for one that it begins with.
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

    /// Returns the start of a terminal; [`Call::reading`](super::Call::reading) adds what was written.
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

    /// Returns whether the frame waits for a part with a guide.
    fn is_guide(self) -> bool {
        self.node >> KIND_SHIFT == 12
    }

    /// Returns whether a terminal is in progress.
    #[inline]
    #[must_use]
    pub fn reads(self) -> bool {
        self.terminal != NOTHING
    }

    /// Returns whether an exact state keeps the text that the frame reads: a key, or a value that others are compared
    /// with.
    #[must_use]
    pub fn keeps_text(self) -> bool {
        matches!(
            self.place(),
            Place::ObjectKey(_) | Place::ArrayItem(_) | Place::Referent(_)
        )
    }

    /// Returns whether the frame belongs to an object or array.
    fn nests(self) -> bool {
        (4..11).contains(&(self.node >> KIND_SHIFT))
    }

    /// Returns the number of the terminal in progress.
    #[must_use]
    pub fn terminal(self) -> u32 {
        self.terminal
    }

    /// Returns the state of the terminal in progress.
    #[must_use]
    pub fn state(self) -> TerminalState {
        self.state
    }

    /// Returns whether the frame reads a key.
    pub(super) fn is_key(self) -> bool {
        matches!(self.place(), Place::ObjectKey(_))
    }

    /// Returns the frame with its terminal in another state; the text that led there is lost.
    #[must_use]
    pub fn with_state(self, state: TerminalState) -> Self {
        let extra = match self.keeps_text() {
            true => LOST,
            false => self.extra,
        };
        Self {
            state,
            extra,
            ..self
        }
    }
}
