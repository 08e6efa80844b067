//! The content of a grounded string: a span of the input that is in a set.

mod walk;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use structgen_grammar::{StringContent, StringShape};
use structgen_regular::RegularLimits;

use super::content::{Content, ContentState};
use super::utf8::Utf8;
use crate::bytes::escaped_length;
use crate::input::{Input, OpenSpan, Recognised, Spans, SpansState};
use crate::{ByteSet, Children, Continuations, LimitExceeded};

/// The maximum number of pairs of a position in the input and a state of the set to visit.
const MAX_POSITIONS: usize = 1 << 22;

/// The spans of an input that are in a set of strings. If the set is a pattern, the strings recognised in the input
/// count as spans: `09:30` may be what a text has as `half past nine`.
pub(crate) struct GroundedContent {
    spans: Spans,
    set: Set,
    /// Cached continuations of states that have many, by the node of the token trie where they begin.
    continuations: FxHashMap<(GroundedState, u32), Arc<Continuations>>,
}

/// A set of strings that restricts spans.
enum Set {
    Any,
    Lengths { min: u32, max: u32 },
    Content(Box<SetStates>),
}

/// A state within a span.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroundedState {
    at: SpansState,
    pub(super) utf8: Utf8,
    set: SetState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SetState {
    Any,
    /// The number of code points that have begun.
    Length(u32),
    Content(u32),
}

/// A set with numbered states and cached steps, since the text is traversed once for many of its states.
struct SetStates {
    content: Content,
    states: Vec<ContentState>,
    ids: FxHashMap<ContentState, u32>,
    /// By state and byte; [`DEAD`] if no text of the set continues.
    steps: FxHashMap<(u32, u8), u32>,
    /// By state, whether it is final.
    accepts: Vec<bool>,
    /// Known completions by position in the input and state.
    known: FxHashMap<(u32, u32), Option<SpanEnd>>,
}

/// The completion of a span that has begun.
#[derive(Clone, Copy)]
struct SpanEnd {
    /// The number of bytes of JSON left to write.
    cost: u32,
    /// Its end in the input.
    end: u32,
}

const DEAD: u32 = u32::MAX;

/// The number of bytes of a path to visit before it is remembered; most paths are shorter.
const SHORT_WAY: usize = 32;

impl SetStates {
    fn new(content: Content) -> Self {
        Self {
            content,
            states: Vec::new(),
            ids: FxHashMap::default(),
            steps: FxHashMap::default(),
            accepts: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    fn start(&mut self) -> Result<Option<u32>, LimitExceeded> {
        let start = self.content.start()?;
        Ok(start.map(|start| self.number(start)))
    }

    fn number(&mut self, state: ContentState) -> u32 {
        if let Some(&known) = self.ids.get(&state) {
            return known;
        }
        let id = self.states.len() as u32;
        self.accepts.push(self.content.accept(&state).is_some());
        self.states.push(state.clone());
        self.ids.insert(state, id);
        id
    }

    fn step(&mut self, state: u32, byte: u8) -> Result<Option<u32>, LimitExceeded> {
        let next = match self.steps.get(&(state, byte)) {
            Some(&next) => next,
            None => {
                let next = self.content.step(&self.states[state as usize], byte)?;
                let next = next.map_or(DEAD, |next| self.number(next));
                self.steps.insert((state, byte), next);
                next
            }
        };
        Ok((next != DEAD).then_some(next))
    }

    fn accepts(&self, state: u32) -> bool {
        self.accepts[state as usize]
    }

    /// Returns the first end, from a position of the input on, that is in the set; `None` if there is none. Each
    /// position has one path, and long ones are remembered.
    fn completion(
        &mut self,
        input: &Input,
        OpenSpan {
            mut position,
            first_end,
        }: OpenSpan,
        mut state: u32,
    ) -> Result<Option<SpanEnd>, LimitExceeded> {
        let mut read = 0;
        let mut way: Vec<((u32, u32), u32)> = Vec::new();
        let mut cost = 0_u32;
        let mut rest = loop {
            let may_end = position >= first_end;
            if may_end && input.may_end(position) && self.accepts(state) {
                break Some(SpanEnd {
                    cost: 0,
                    end: position,
                });
            }
            // What is remembered for a position applies to spans that may end.
            if may_end && let Some(&known) = self.known.get(&(position, state)) {
                break known;
            }
            let Some(byte) = input.byte(position) else {
                break None;
            };
            let bytes = escaped_length(&[byte]);
            if may_end && read >= SHORT_WAY {
                way.push(((position, state), bytes));
            } else {
                cost += bytes;
            }
            match self.step(state, byte)? {
                Some(next) => state = next,
                None => break None,
            }
            (read, position) = (read + 1, position + 1);
        };
        if self.known.len() + way.len() > MAX_POSITIONS {
            return Err(LimitExceeded {
                what: "positions in the input",
                limit: MAX_POSITIONS as u64,
            });
        }
        let longer = |rest: Option<SpanEnd>, bytes: u32| {
            rest.map(|SpanEnd { cost, end }| SpanEnd {
                cost: cost.saturating_add(bytes),
                end,
            })
        };
        for (at, bytes) in way.into_iter().rev() {
            rest = longer(rest, bytes);
            self.known.insert(at, rest);
        }
        Ok(longer(rest, cost))
    }
}

impl Set {
    /// Returns the state after one more byte of a text.
    fn step(&mut self, state: SetState, byte: u8) -> Result<Option<SetState>, LimitExceeded> {
        Ok(match (self, state) {
            (Self::Lengths { .. }, SetState::Length(length)) => {
                Some(SetState::Length(length + u32::from(byte & 0xC0 != 0x80)))
            }
            (Self::Content(set), SetState::Content(state)) => {
                set.step(state, byte)?.map(SetState::Content)
            }
            _ => Some(SetState::Any),
        })
    }

    fn accepts(&self, state: SetState) -> bool {
        match (self, state) {
            (Self::Lengths { min, .. }, SetState::Length(length)) => length >= *min,
            (Self::Content(set), SetState::Content(state)) => set.accepts(state),
            _ => true,
        }
    }

    /// Returns up to where in the input a span at a position can continue: at least up to the end that completes it.
    /// `None` if it cannot.
    fn live_to(
        &mut self,
        input: &Input,
        at: OpenSpan,
        state: SetState,
    ) -> Result<Option<u32>, LimitExceeded> {
        Ok(match (self, state) {
            (Self::Lengths { min, max }, SetState::Length(length)) => {
                input.completion(at, (length, *min, *max))
            }
            (Self::Content(set), SetState::Content(state)) => {
                set.completion(input, at, state)?.map(|found| found.end)
            }
            // Any span that has begun continues to the end of a word.
            _ => Some(u32::MAX),
        })
    }
}

impl GroundedContent {
    /// Creates the spans of an input that are in the shape, with recognised strings.
    pub(crate) fn new(
        input: Arc<Input>,
        shape: &StringShape,
        recognised: Recognised,
        limits: &RegularLimits,
    ) -> Result<Self, LimitExceeded> {
        let StringShape {
            content,
            min_length,
            max_length,
        } = shape;
        let set = match (content, min_length, max_length) {
            // Spans are never empty.
            (StringContent::Any, 0 | 1, None) => Set::Any,
            (StringContent::Any, &min, max) => Set::Lengths {
                min,
                max: max.unwrap_or(u32::MAX),
            },
            _ => Set::Content(Box::new(SetStates::new(Content::new(shape, limits)?))),
        };
        Ok(Self {
            spans: Spans::new(input, recognised),
            set,
            continuations: FxHashMap::default(),
        })
    }

    pub(super) fn start(&mut self) -> Result<Option<GroundedState>, LimitExceeded> {
        let set = match &mut self.set {
            Set::Any => SetState::Any,
            Set::Lengths { .. } => SetState::Length(0),
            Set::Content(set) => match set.start()? {
                Some(state) => SetState::Content(state),
                None => return Ok(None),
            },
        };
        let Some(at) = self.spans.start() else {
            return Ok(None);
        };
        let utf8 = Utf8::Boundary;
        self.if_live(GroundedState { at, utf8, set })
    }

    pub(super) fn step(
        &mut self,
        state: &GroundedState,
        byte: u8,
    ) -> Result<Option<GroundedState>, LimitExceeded> {
        let Some(at) = self.spans.step(state.at, byte) else {
            return Ok(None);
        };
        let Some(utf8) = state.utf8.step(byte) else {
            return Ok(None);
        };
        let Some(set) = self.set.step(state.set, byte)? else {
            return Ok(None);
        };
        self.if_live(GroundedState { at, utf8, set })
    }

    /// Returns the state, if some span continues to an end that is in the set.
    fn if_live(&mut self, state: GroundedState) -> Result<Option<GroundedState>, LimitExceeded> {
        let is_live = match state.set {
            // Any span that has begun continues to the end of a word.
            SetState::Any => true,
            _ => self.completion_cost(&state)?.is_some(),
        };
        Ok(is_live.then_some(state))
    }

    pub(super) fn accepts(&self, state: &GroundedState) -> bool {
        self.set.accepts(state.set) && self.spans.is_end(state.at)
    }

    /// Returns the length in bytes of JSON of a known completion, without the closing quote.
    pub(super) fn cost(&mut self, state: &GroundedState) -> u32 {
        // The steps that proved the state live were within the limits.
        let cost = self.completion_cost(state);
        cost.ok().flatten().unwrap_or(u32::MAX)
    }

    /// Returns the cost of a completion; `None` if there is none.
    ///
    /// It is the shortest or, if the set excludes spans, that of the first suffix that has one. Suffixes keep their
    /// order, so this stays the first until it is completed, and its cost decreases on the way.
    fn completion_cost(&mut self, state: &GroundedState) -> Result<Option<u32>, LimitExceeded> {
        let has_begun = state.at.depth > 0;
        let input = self.spans.input();
        let mut positions = self.spans.positions(state.at);
        let written = |at: OpenSpan, lengths| {
            let end = input.completion(at, lengths)?;
            Some(input.written_length(at.position, end))
        };
        match (&mut self.set, &state.set) {
            (Set::Content(set), &SetState::Content(state)) => {
                for at in positions {
                    if let Some(found) = set.completion(input, at, state)? {
                        return Ok(Some(found.cost));
                    }
                }
                Ok(None)
            }
            (Set::Lengths { min, max }, &SetState::Length(length)) => {
                Ok(positions.find_map(|at| written(at, (length, *min, *max))))
            }
            _ => {
                let mut best: Option<u32> = None;
                for cost in positions.filter_map(|at| written(at, (0, 0, u32::MAX))) {
                    best = Some(best.map_or(cost, |best| best.min(cost)));
                    // None is cheaper.
                    if cost <= u32::from(!has_begun) {
                        break;
                    }
                }
                Ok(best)
            }
        }
    }

    /// Returns the continuations of a state, see [`Machine::continuations`](crate::Machine::continuations). `root` is
    /// the node at the state.
    pub(super) fn continuations(
        &mut self,
        state: &GroundedState,
        root: u32,
        child: &Children<'_>,
    ) -> Result<Option<Arc<Continuations>>, LimitExceeded> {
        /// The minimum number of nodes for continuations to be cached.
        const MANY: usize = 32;
        if state.utf8 != Utf8::Boundary {
            return Ok(None);
        }
        let key = (state.clone(), root);
        if let Some(known) = self.continuations.get(&key) {
            return Ok(Some(known.clone()));
        }
        let found = Arc::new(walk::continuations(self, state, root, child)?);
        if found.nodes.len() >= MANY {
            self.continuations.insert(key, found.clone());
        }
        Ok(Some(found))
    }

    pub(super) fn first(&mut self, state: &GroundedState) -> ByteSet {
        self.spans.first(state.at)
    }

    pub(super) fn equivalent_bytes(&mut self, state: &GroundedState, byte: u8) -> (u8, u8) {
        self.spans.equivalent_bytes(state.at, byte)
    }
}
