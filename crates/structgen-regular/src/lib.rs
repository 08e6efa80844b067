//! Regular sets as byte automata, by derivatives.
//!
//! A state is an expression: the set of what may still follow. Nothing is determinised ahead of time and no counter is
//! unrolled, so building a machine costs about as much as reading the expression. Intersection and complement need no
//! construction of their own.
//!
//! A [`RegularMachine`] steps through bytes; [`is_empty`], [`count`] and [`strings`] answer questions about a set.
//! [`Lookahead`] is for machines that compute masks, in `structgen-automata`.

mod abstraction;
mod arena;
mod byte_classes;
mod cancel;
mod characters;
mod counted;
mod counting;
mod derivative;
mod facts;
mod finite;
mod gaps;
mod limit;
mod liveness;
mod look;
mod lower;
mod normal;
mod relaxed;
mod steps;
mod universal;

use rustc_hash::FxHashMap;
use structgen_grammar::Regular;

use self::arena::{Arena, NodeId};
pub use self::cancel::CancelToken;
pub use self::counting::{count, strings};
#[doc(hidden)]
pub use self::gaps::is_gap;
pub use self::limit::LimitExceeded;
use self::limit::too_many_expressions;
use self::liveness::Liveness;
use self::steps::Steps;

/// The maximum number of characters of a short text: counters that no short text exhausts are abstracted
/// ([`RegularMachine::abstract_counters`]). All but a few hundred tokens of today's vocabularies are short.
pub const SHORT_TEXT: u32 = 32;

/// What a text may have at most: counters that no such text exhausts are
/// [abstracted](RegularMachine::abstract_counters).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lookahead {
    /// The number of characters.
    pub characters: u32,
    /// The number of runs of [whitespace](is_gap) and of what may be an escape of it in a JSON string.
    pub gaps: u32,
}

impl Lookahead {
    /// A short text; few tokens have more gaps.
    const SHORT: Self = Self {
        characters: SHORT_TEXT,
        gaps: 2,
    };
}

/// Limits on the size and work of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegularLimits {
    /// The maximum number of expressions of a machine, including their operands: its [memory](Self::bytes).
    pub expressions: usize,
    /// The maximum number of states that one search for a completion may visit, beyond one for each byte that every
    /// completion has; those that many kinds of bytes may follow count more. Only sets with intersections, complements
    /// or look-around are searched.
    pub search: usize,
}

/// The approximate size of an expression in bytes.
const EXPRESSION_BYTES: usize = 100;

impl RegularLimits {
    /// Returns the approximate maximum size of a machine in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.expressions.saturating_mul(EXPRESSION_BYTES)
    }
}

impl Default for RegularLimits {
    fn default() -> Self {
        Self {
            expressions: 500_000,
            search: 50_000,
        }
    }
}

/// A state of a [`RegularMachine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegularState(NodeId);

/// A regular set as a lazy byte automaton.
///
/// ```
/// use structgen_regular::{RegularLimits, RegularMachine};
/// use structgen_grammar::{CharSet, Regular};
///
/// // The lower-case words but "no".
/// let words = Regular::repeat(Regular::Chars(CharSet::new([('a', 'z')])), 1, None);
/// let set = Regular::Intersection([words, Regular::Complement(Regular::literal("no").into())].into());
/// let mut machine = RegularMachine::new(&set, RegularLimits::default())?;
///
/// let mut state = machine.start()?.expect("not empty");
/// for byte in *b"no" {
///     state = machine.step(&state, byte)?.expect("a word may start like this");
/// }
/// assert_eq!(machine.is_accepting(&state), false);
/// assert_eq!(machine.cost(&state), 1);
/// # Ok::<(), structgen_regular::LimitExceeded>(())
/// ```
#[derive(Clone, Debug)]
pub struct RegularMachine {
    steps: Steps,
    start: NodeId,
    liveness: Liveness,
    /// Cached counts: the answer, and the limit it was requested with.
    counted: FxHashMap<NodeId, (u32, u32)>,
    limits: RegularLimits,
}

impl RegularMachine {
    /// Creates a machine for the set. Any depth of nesting is accepted; nothing is decided yet.
    ///
    /// # Errors
    /// If the expression itself is larger than the limit.
    pub fn new(regular: &Regular, limits: RegularLimits) -> Result<Self, LimitExceeded> {
        let mut arena = Arena::new();
        arena.most_size = limits.expressions;
        let start = arena.lower(regular, &limits)?;
        if arena.is_broken {
            return Err(too_many_expressions(limits.expressions));
        }
        Ok(Self {
            steps: Steps::new(arena, limits.expressions),
            start,
            liveness: Liveness::default(),
            counted: FxHashMap::default(),
            limits,
        })
    }

    /// Returns whether the string is in the set. Unlike [`RegularMachine::step`], it searches no completions.
    ///
    /// ```
    /// use structgen_regular::{RegularLimits, RegularMachine};
    /// use structgen_grammar::{CharSet, Regular};
    ///
    /// let digits = Regular::repeat(Regular::Chars(CharSet::new([('0', '9')])), 2, Some(4));
    /// let mut machine = RegularMachine::new(&digits, RegularLimits::default())?;
    /// assert!(machine.contains(b"123")?);
    /// assert!(!machine.contains(b"12345")?);
    /// # Ok::<(), structgen_regular::LimitExceeded>(())
    /// ```
    ///
    /// # Errors
    /// If a limit of the machine does not suffice.
    pub fn contains(&mut self, string: &[u8]) -> Result<bool, LimitExceeded> {
        let mut state = self.start;
        for &byte in string {
            if state == Arena::NEVER {
                return Ok(false);
            }
            self.steps.begin();
            state = self.steps.step(state, byte)?;
        }
        Ok(self.steps.arena.nullable(state))
    }

    /// Returns the state after some bytes, or `None` if no string of the set continues like this.
    ///
    /// # Errors
    /// As for [`step`](Self::step).
    pub fn run(
        &mut self,
        from: &RegularState,
        bytes: &[u8],
    ) -> Result<Option<RegularState>, LimitExceeded> {
        let mut state = *from;
        for &byte in bytes {
            match self.step(&state, byte)? {
                Some(next) => state = next,
                None => return Ok(None),
            }
        }
        Ok(Some(state))
    }

    /// Returns the number of expressions of the machine so far, as [`RegularLimits::expressions`] counts them.
    #[must_use]
    pub fn size(&self) -> usize {
        self.steps.arena.size()
    }

    /// Returns the work of the machine so far: the number of expressions that it looked at.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.steps.arena.work
    }

    /// Returns the approximate size of the machine in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.size().saturating_mul(EXPRESSION_BYTES)
    }

    /// Returns whether every UTF-8 text continues from a state; then no text of any length can be wrong. `false` if the
    /// structure of the expression does not show it.
    #[must_use]
    pub fn is_universal(&mut self, state: &RegularState) -> bool {
        self.steps.arena.is_universal(state.0)
    }

    /// Returns whether every UTF-8 text completes a state and continues. `false` if the structure of the expression
    /// does not show it.
    #[must_use]
    pub fn is_everything(&self, state: &RegularState) -> bool {
        self.steps.arena.is_everything(state.0)
    }

    /// Returns whether every UTF-8 text is in the set. `false` if the structure of the expression does not show it.
    #[must_use]
    pub fn contains_every_text(&self) -> bool {
        self.steps.arena.is_everything(self.start)
    }

    /// Returns the state before the first byte, or `None` if the set is empty. Every state that is returned is live:
    /// some continuation completes it.
    ///
    /// # Errors
    /// If a limit does not suffice to decide that.
    pub fn start(&mut self) -> Result<Option<RegularState>, LimitExceeded> {
        self.steps.begin();
        self.if_live(self.start)
    }

    /// Returns the state after one more byte, or `None` if no string of the set continues like this.
    ///
    /// # Errors
    /// If a limit does not suffice to decide that.
    pub fn step(
        &mut self,
        state: &RegularState,
        byte: u8,
    ) -> Result<Option<RegularState>, LimitExceeded> {
        self.steps.begin();
        let next = self.steps.step(state.0, byte)?;
        self.if_live(next)
    }

    /// Returns whether the text so far is in the set.
    #[must_use]
    pub fn is_accepting(&self, state: &RegularState) -> bool {
        self.steps.arena.nullable(state.0)
    }

    /// Returns whether no byte can follow. This is exact for sets without intersections and complements; otherwise
    /// `false` may mean that it is unknown.
    #[must_use]
    pub fn is_end(&self, state: &RegularState) -> bool {
        state.0 == Arena::EMPTY
    }

    /// Returns the length in bytes of a known completion, which is the shortest for sets without intersections and
    /// complements. From every state that is not accepting, some byte leads to a state of lower cost. Saturates at
    /// `u32::MAX`.
    #[must_use]
    pub fn cost(&self, state: &RegularState) -> u32 {
        self.liveness.cost(state.0, &self.steps.arena)
    }

    /// Returns the bytes that may come next as runs, if a literal or a finite set comes next; `None` if finding them
    /// takes more.
    #[must_use]
    pub fn first(&self, state: &RegularState) -> Option<Vec<(u8, u8)>> {
        self.steps.arena.first(state.0)
    }

    /// Returns the first and last byte of a run around `byte` that all lead to the same state.
    pub fn equivalent_bytes(&mut self, state: &RegularState, byte: u8) -> (u8, u8) {
        match self.steps.classes(state.0) {
            Ok(classes) => classes.run(byte),
            Err(_) => (byte, byte),
        }
    }

    /// Returns whether classes of characters may follow; `false` if only a literal is left.
    #[must_use]
    pub fn has_classes(&self, state: &RegularState) -> bool {
        self.steps.arena.has_classes(state.0)
    }

    /// Returns whether the set has a counter that no [short](SHORT_TEXT) text exhausts, so that some state may have an
    /// [abstraction](Self::abstract_counters).
    #[must_use]
    pub fn has_long_counters(&self) -> bool {
        self.steps.arena.has_long_counters(self.start)
    }

    /// Returns a state that continues with the same texts within `lookahead` as this one, without the counters that no
    /// such text exhausts; `None` if it is the state itself. Its cost and completions are meaningless.
    pub fn abstract_counters(
        &mut self,
        state: &RegularState,
        lookahead: Lookahead,
    ) -> Option<RegularState> {
        let id = self.steps.arena.abstracted(state.0, lookahead);
        (id != state.0).then_some(RegularState(id))
    }

    fn if_live(&mut self, id: NodeId) -> Result<Option<RegularState>, LimitExceeded> {
        let live = self
            .liveness
            .is_live(id, &mut self.steps, self.limits.search)?;
        Ok(live.then_some(RegularState(id)))
    }
}

/// Returns whether the set is empty.
///
/// ```
/// use structgen_regular::{RegularLimits, is_empty};
/// use structgen_grammar::Regular;
///
/// let set = Regular::Intersection([Regular::literal("a"), Regular::literal("b")].into());
/// assert!(is_empty(&set, RegularLimits::default())?);
/// # Ok::<(), structgen_regular::LimitExceeded>(())
/// ```
///
/// # Errors
/// If a limit does not suffice to decide that.
pub fn is_empty(regular: &Regular, limits: RegularLimits) -> Result<bool, LimitExceeded> {
    let mut machine = RegularMachine::new(regular, limits)?;
    Ok(machine.start()?.is_none())
}

#[cfg(test)]
mod tests;
