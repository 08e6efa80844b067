//! The content of a string that comes from an input: a span of it that is in a set.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use structgen_grammar::{StringContent, StringShape};
use structgen_regular::RegularLimits;

use super::content::{Content, ContentState};
use super::escaped_length;
use super::utf8::Utf8;
use crate::input::{Input, Spans, SpansState};
use crate::{ByteSet, LimitExceeded};

/// The most pairs of a place in the input and a state of the set that are looked at.
const MAX_PLACES: usize = 1 << 22;

/// The spans of an input that are in a set of strings.
pub(crate) struct GroundedContent {
    spans: Spans,
    set: Set,
}

/// A set of strings, as far as it leaves spans out.
enum Set {
    Any,
    Lengths {
        min: u32,
        max: u32,
    },
    Content {
        content: Box<Content>,
        /// What is known of a place in the input and a state: the cost of the completion there.
        known: FxHashMap<(u32, ContentState), Option<u32>>,
    },
}

/// Where in a span a text stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroundedState {
    at: SpansState,
    pub(super) utf8: Utf8,
    set: SetState,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum SetState {
    Any,
    /// So many code points have begun.
    Length(u32),
    Content(Box<ContentState>),
}

impl GroundedContent {
    /// The spans of an input that are in the shape.
    pub(crate) fn new(
        input: Arc<Input>,
        shape: &StringShape,
        limits: &RegularLimits,
    ) -> Result<Self, LimitExceeded> {
        let StringShape {
            content,
            min_length,
            max_length,
        } = shape;
        let set = match (content, min_length, max_length) {
            // No span is empty.
            (StringContent::Any, 0 | 1, None) => Set::Any,
            (StringContent::Any, &min, max) => Set::Lengths {
                min,
                max: max.unwrap_or(u32::MAX),
            },
            _ => Set::Content {
                content: Box::new(Content::new(shape, limits)?),
                known: FxHashMap::default(),
            },
        };
        Ok(Self {
            spans: Spans::new(input),
            set,
        })
    }

    pub(super) fn start(&mut self) -> Result<Option<GroundedState>, LimitExceeded> {
        let set = match &mut self.set {
            Set::Any => SetState::Any,
            Set::Lengths { .. } => SetState::Length(0),
            Set::Content { content, .. } => match content.start()? {
                Some(state) => SetState::Content(Box::new(state)),
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
        let set = match (&mut self.set, &state.set) {
            (Set::Lengths { .. }, &SetState::Length(length)) => {
                SetState::Length(length + u32::from(state.utf8 == Utf8::Boundary))
            }
            (Set::Content { content, .. }, SetState::Content(set)) => {
                match content.step(set, byte)? {
                    Some(set) => SetState::Content(Box::new(set)),
                    None => return Ok(None),
                }
            }
            _ => SetState::Any,
        };
        self.if_live(GroundedState { at, utf8, set })
    }

    /// The state, if some span goes on to an end that is in the set.
    fn if_live(&mut self, state: GroundedState) -> Result<Option<GroundedState>, LimitExceeded> {
        let is_live = match state.set {
            // Whatever begins goes on to the end of a word.
            SetState::Any => true,
            _ => self.costs(&state, |_| true)?.is_some(),
        };
        Ok(is_live.then_some(state))
    }

    pub(super) fn accepts(&self, state: &GroundedState) -> bool {
        let is_in_set = match (&self.set, &state.set) {
            (Set::Lengths { min, .. }, SetState::Length(length)) => length >= min,
            (Set::Content { content, .. }, SetState::Content(set)) => content.accept(set).is_some(),
            _ => true,
        };
        is_in_set && self.spans.is_end(state.at)
    }

    /// How many bytes of JSON the shortest completion takes, the closing quote excluded.
    pub(super) fn cost(&mut self, state: &GroundedState) -> u32 {
        // The steps that made the state live have passed the limits already.
        let cost = self.costs(state, |cost| cost == 0);
        cost.ok().flatten().unwrap_or(u32::MAX)
    }

    /// The least cost of a completion, or the first that is good enough; `None` where there is no completion.
    fn costs(
        &mut self,
        state: &GroundedState,
        is_enough: impl Fn(u32) -> bool,
    ) -> Result<Option<u32>, LimitExceeded> {
        let mut best: Option<u32> = None;
        let has_begun = state.at.depth > 0;
        for place in self.spans.places(state.at) {
            let cost = match (&mut self.set, &state.set) {
                (Set::Lengths { min, max }, &SetState::Length(length)) => {
                    // A character that has begun is counted.
                    length_cost(&self.spans, place, has_begun, (length, *min, *max))
                }
                (Set::Content { content, known }, SetState::Content(set)) => {
                    content_cost(&self.spans, place, has_begun, (content, set), known)?
                }
                _ => length_cost(&self.spans, place, has_begun, (0, 0, u32::MAX)),
            };
            if let Some(cost) = cost {
                best = Some(best.map_or(cost, |best| best.min(cost)));
                if is_enough(cost) {
                    break;
                }
            }
        }
        Ok(best)
    }

    pub(super) fn first(&mut self, state: &GroundedState) -> ByteSet {
        self.spans.first(state.at)
    }

    pub(super) fn equivalent_bytes(&mut self, state: &GroundedState, byte: u8) -> (u8, u8) {
        self.spans.equivalent_bytes(state.at, byte)
    }
}

/// What is left to write from a place in the input up to the first end with enough characters; `None` where they would
/// be too many.
fn length_cost(
    spans: &Spans,
    mut place: u32,
    mut has_begun: bool,
    (mut length, min, max): (u32, u32, u32),
) -> Option<u32> {
    let mut cost = 0_u32;
    loop {
        if has_begun && length >= min && spans.ends_at(place) {
            return (length <= max).then_some(cost);
        }
        let byte = spans.byte(place).filter(|_| length <= max)?;
        let begins = byte & 0xC0 != 0x80;
        length += u32::from(begins);
        cost += escaped_length(&[byte]);
        has_begun = true;
        place += 1;
    }
}

/// The same up to the first end that is in the set. From a place in the input there is one way on, and all of it is
/// remembered.
fn content_cost(
    spans: &Spans,
    mut place: u32,
    mut has_begun: bool,
    (content, state): (&mut Content, &ContentState),
    known: &mut FxHashMap<(u32, ContentState), Option<u32>>,
) -> Result<Option<u32>, LimitExceeded> {
    let mut state = state.clone();
    let mut way: Vec<((u32, ContentState), u32)> = Vec::new();
    let mut cost = loop {
        if has_begun {
            if spans.ends_at(place) && content.accept(&state).is_some() {
                break Some(0);
            }
            if let Some(&known) = known.get(&(place, state.clone())) {
                break known;
            }
        }
        let Some(byte) = spans.byte(place) else {
            break None;
        };
        let next = content.step(&state, byte)?;
        if has_begun {
            way.push(((place, state), escaped_length(&[byte])));
        } else {
            // Before the first byte a span cannot end, which is not what is remembered of a place.
            let Some(next) = next else {
                return Ok(None);
            };
            let rest = content_cost(spans, place + 1, true, (content, &next), known)?;
            return Ok(rest.map(|rest| rest + escaped_length(&[byte])));
        }
        match next {
            Some(next) => state = next,
            None => break None,
        }
        has_begun = true;
        place += 1;
    };
    if known.len() + way.len() > MAX_PLACES {
        return Err(LimitExceeded {
            what: "places in the input",
            limit: MAX_PLACES as u64,
        });
    }
    for (at, bytes) in way.into_iter().rev() {
        cost = cost.map(|cost| cost.saturating_add(bytes));
        known.insert(at, cost);
    }
    Ok(cost)
}
