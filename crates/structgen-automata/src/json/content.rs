//! The content of a JSON string, as a machine over its unescaped UTF-8 bytes.

use std::sync::Arc;

use structgen_grammar::{CharSet, Regular, StringContent, StringShape};

use crate::bytes::{LONGEST_ESCAPE, common_run};
use crate::listing::{Beginning, ListedTexts, Listing, narrow};
use crate::{
    ByteSet, Children, Continuations, LimitExceeded, Lookahead, Machine, SHORT_TEXT, Span, Uniform,
};
use structgen_regular::{RegularLimits, RegularMachine};

use super::grounded::{GroundedContent, GroundedState};
use super::keys::{KeyContent, KeyState};
use super::text_sets::TextSet;
use super::utf8::Utf8;

/// The unescaped content of a string.
pub(crate) enum Content {
    /// Any text of `min` to `max` code points.
    Any { min: u32, max: Option<u32> },
    /// A text of a regular set. `plain`: its known completions need no escape.
    Regular {
        machine: Box<RegularMachine>,
        plain: bool,
    },
    /// One of these texts.
    Literals(ListedTexts),
    /// A key of an object.
    Keys(KeyContent),
    /// A span of an input.
    Grounded(Box<GroundedContent>),
}

/// A state of the content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ContentState {
    /// The number of complete code points (capped where more do not matter), and the UTF-8 state of the next.
    Any(u32, Utf8),
    /// A state of the machine.
    Regular(<RegularMachine as Machine>::State, Utf8),
    /// The literals `low..high` begin with the text so far, which is `depth` bytes long.
    Literals {
        low: u32,
        high: u32,
        depth: u32,
        utf8: Utf8,
    },
    /// A place in a key.
    Key(KeyState),
    /// A position in the spans of an input.
    Grounded(GroundedState),
}

impl Content {
    /// Creates the content of a shape; its length becomes part of it.
    pub(crate) fn new(shape: &StringShape, limits: &RegularLimits) -> Result<Self, LimitExceeded> {
        let StringShape {
            content,
            min_length: min,
            max_length: max,
        } = shape;
        Ok(match content {
            StringContent::Any => Self::Any {
                min: *min,
                max: *max,
            },
            StringContent::Regular(regular) => {
                let plain = is_plain(regular);
                let machine = if *min == 0 && max.is_none() {
                    RegularMachine::new(regular, *limits)?
                } else {
                    let lengths = Regular::repeat(Regular::Chars(CharSet::all()), *min, *max);
                    RegularMachine::new(
                        &Regular::Intersection([regular.clone(), lengths].into()),
                        *limits,
                    )?
                };
                Self::Regular {
                    machine: Box::new(machine),
                    plain,
                }
            }
            StringContent::Literals(texts) => {
                let fits = |text: &str| {
                    let length = text.chars().count();
                    length >= *min as usize && max.is_none_or(|max| length <= max as usize)
                };
                Self::Literals(texts.iter().filter(|text| fits(text)).cloned().collect())
            }
        })
    }

    /// Returns the work of the machines so far, see [`Machine::work`].
    pub(crate) fn work(&self) -> u64 {
        match self {
            Self::Regular { machine, .. } => machine.work(),
            Self::Keys(keys) => keys.work(),
            Self::Any { .. } | Self::Literals(_) | Self::Grounded(_) => 0,
        }
    }

    /// Returns the approximate size in bytes of the tables of a regular set.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Regular { machine, .. } => machine.memory(),
            _ => 0,
        }
    }

    pub(crate) fn start(&mut self) -> Result<Option<ContentState>, LimitExceeded> {
        self.start_without(TextSet::NONE)
    }

    /// Returns the state before the content, which is none of these texts if it is a key.
    pub(super) fn start_without(
        &mut self,
        seen: TextSet,
    ) -> Result<Option<ContentState>, LimitExceeded> {
        Ok(match self {
            Self::Any { min, max } => max
                .is_none_or(|max| *min <= max)
                .then_some(ContentState::Any(0, Utf8::Boundary)),
            Self::Regular { machine, .. } => machine
                .start()?
                .map(|state| ContentState::Regular(state, Utf8::Boundary)),
            Self::Literals(texts) => (!texts.is_empty()).then_some(ContentState::Literals {
                low: 0,
                high: texts.len() as u32,
                depth: 0,
                utf8: Utf8::Boundary,
            }),
            Self::Keys(keys) => keys.start(seen)?.map(ContentState::Key),
            Self::Grounded(spans) => spans.start()?.map(ContentState::Grounded),
        })
    }

    pub(crate) fn step(
        &mut self,
        state: &ContentState,
        byte: u8,
    ) -> Result<Option<ContentState>, LimitExceeded> {
        match (self, state) {
            (Self::Any { min, max }, ContentState::Any(length, utf8)) => {
                if *utf8 == Utf8::Boundary && max.is_some_and(|max| *length >= max) {
                    return Ok(None);
                }
                let Some(next) = utf8.step(byte) else {
                    return Ok(None);
                };
                // Above the minimum, a length without a maximum does not matter.
                let counted = if next == Utf8::Boundary {
                    length + 1
                } else {
                    *length
                };
                let length = if max.is_none() {
                    counted.min(*min)
                } else {
                    counted
                };
                Ok(Some(ContentState::Any(length, next)))
            }
            (Self::Regular { machine, .. }, ContentState::Regular(state, utf8)) => {
                let Some(utf8) = utf8.step(byte) else {
                    return Ok(None);
                };
                Ok(machine
                    .step(state, byte)?
                    .map(|state| ContentState::Regular(state, utf8)))
            }
            (
                Self::Literals(texts),
                ContentState::Literals {
                    low,
                    high,
                    depth,
                    utf8,
                },
            ) => {
                let Some(utf8) = utf8.step(byte) else {
                    return Ok(None);
                };
                Ok(
                    narrow(texts, (*low, *high), *depth, byte).map(|(low, high)| {
                        ContentState::Literals {
                            low,
                            high,
                            depth: depth + 1,
                            utf8,
                        }
                    }),
                )
            }
            (Self::Keys(keys), ContentState::Key(state)) => {
                Ok(keys.step(state, byte)?.map(ContentState::Key))
            }
            (Self::Grounded(spans), ContentState::Grounded(state)) => {
                Ok(spans.step(state, byte)?.map(ContentState::Grounded))
            }
            _ => unreachable!("a state belongs to its content"),
        }
    }

    /// Returns the label under which the content may end here: that of the key, or 0.
    pub(crate) fn accept(&self, state: &ContentState) -> Option<u32> {
        let (is_accepted, label) = match (self, state) {
            (Self::Any { min, .. }, ContentState::Any(length, _)) => (length >= min, 0),
            (Self::Regular { machine, .. }, ContentState::Regular(state, _)) => {
                (machine.accept(state).is_some(), 0)
            }
            (Self::Literals(texts), ContentState::Literals { low, depth, .. }) => {
                (texts[*low as usize].len() == *depth as usize, 0)
            }
            (Self::Keys(keys), ContentState::Key(state)) => return keys.accept(state),
            (Self::Grounded(spans), ContentState::Grounded(state)) => (spans.accepts(state), 0),
            _ => unreachable!("a state belongs to its content"),
        };
        (is_accepted && state.is_boundary()).then_some(label)
    }

    /// Returns the cost beyond the bytes once the content has ended under the label.
    pub(crate) fn weight(&self, label: u32) -> u32 {
        match self {
            Self::Keys(keys) => keys.weight(label),
            _ => 0,
        }
    }

    /// Returns the length in bytes of JSON of a known completion, without the closing quote.
    pub(crate) fn cost(&mut self, state: &ContentState) -> u32 {
        match (self, state) {
            (Self::Any { min, .. }, ContentState::Any(length, utf8)) => match utf8.missing() {
                0 => min.saturating_sub(*length),
                missing => missing + min.saturating_sub(length + 1),
            },
            (Self::Regular { machine, plain }, ContentState::Regular(state, _)) => machine
                .cost(state)
                .saturating_mul(if *plain { 1 } else { LONGEST_ESCAPE }),
            (
                Self::Literals(texts),
                ContentState::Literals {
                    low, high, depth, ..
                },
            ) => (*low..*high)
                .map(|text| texts.escaped_from(text as usize, *depth as usize))
                .min()
                .unwrap_or(0),
            (Self::Keys(keys), ContentState::Key(state)) => keys.cost(state),
            (Self::Grounded(spans), ContentState::Grounded(state)) => spans.cost(state),
            _ => unreachable!("a state belongs to its content"),
        }
    }

    /// Returns plain text that is known to continue from here, see [`Machine::span`].
    pub(crate) fn span(&mut self, state: &ContentState) -> Option<Span> {
        match (self, state) {
            (Self::Any { max, .. }, ContentState::Any(length, Utf8::Boundary)) => {
                Some(Span::free(max.map_or(u32::MAX, |max| max - length)))
            }
            (Self::Keys(keys), ContentState::Key(state)) => {
                keys.is_free(state).then(|| Span::free(u32::MAX))
            }
            (Self::Regular { machine, .. }, ContentState::Regular(state, Utf8::Boundary)) => {
                machine.is_universal(state).then(|| Span::free(u32::MAX))
            }
            _ => None,
        }
    }

    /// Returns a superset of the bytes of text that may come next, see [`Machine::first`].
    pub(crate) fn first(&mut self, state: &ContentState) -> Option<ByteSet> {
        match (self, state) {
            (Self::Any { .. }, _) => Some(ByteSet::PRINTABLE),
            (
                Self::Literals(texts),
                ContentState::Literals {
                    low, high, depth, ..
                },
            ) => Some(listed_first(texts, (*low, *high), *depth)),
            (Self::Keys(keys), ContentState::Key(state)) => keys.first(state),
            (Self::Grounded(spans), ContentState::Grounded(state)) => Some(spans.first(state)),
            _ => None,
        }
    }

    /// Returns whether the content is one of some listed texts.
    pub(crate) fn is_listed(&self) -> bool {
        match self {
            Self::Literals(_) => true,
            Self::Keys(keys) => keys.is_listed(),
            Self::Any { .. } | Self::Regular { .. } | Self::Grounded(_) => false,
        }
    }

    /// Returns the listed texts with which the content may go on, if no others may.
    pub(crate) fn listing(&self, state: &ContentState) -> Option<Listing> {
        match (self, state) {
            (
                Self::Literals(texts),
                &ContentState::Literals {
                    low, high, depth, ..
                },
            ) => Some(Listing {
                texts: texts.clone(),
                keys: None,
                start: Beginning { low, high, depth },
            }),
            (Self::Keys(keys), ContentState::Key(state)) => keys.listing(state),
            _ => None,
        }
    }

    /// Returns a superset of the bytes of the content that may come next, if they can be listed.
    pub(crate) fn listed_first(&self, state: &ContentState) -> Option<ByteSet> {
        match (self, state) {
            (
                Self::Literals(texts),
                ContentState::Literals {
                    low, high, depth, ..
                },
            ) => Some(listed_first(texts, (*low, *high), *depth)),
            (Self::Keys(keys), ContentState::Key(state)) => keys.listed_first(state),
            (Self::Regular { machine, .. }, ContentState::Regular(state, _)) => {
                machine.first(state).map(ByteSet::of_runs)
            }
            _ => None,
        }
    }

    /// Returns the continuations in a span of an input, see [`Machine::continuations`].
    pub(crate) fn continuations(
        &mut self,
        state: &ContentState,
        root: u32,
        child: &Children<'_>,
    ) -> Result<Option<Arc<Continuations>>, LimitExceeded> {
        match (self, state) {
            (Self::Grounded(spans), ContentState::Grounded(state)) => {
                spans.continuations(state, root, child)
            }
            _ => Ok(None),
        }
    }

    /// Returns whether some character may follow, as far as the structure shows.
    pub(crate) fn goes_on(&self, state: &ContentState) -> bool {
        match (self, state) {
            (Self::Any { max, .. }, ContentState::Any(length, Utf8::Boundary)) => {
                max.is_none_or(|max| *length < max)
            }
            (Self::Literals(texts), ContentState::Literals { high, depth, .. }) => {
                texts[*high as usize - 1].len() > *depth as usize
            }
            (Self::Keys(keys), ContentState::Key(state)) => keys.goes_on(state),
            _ => false,
        }
    }

    /// Returns whether a span of a class of characters may begin here, see [`Machine::has_classes`].
    pub(crate) fn has_classes(&self, state: &ContentState) -> bool {
        match (self, state) {
            (Self::Regular { machine, .. }, ContentState::Regular(state, Utf8::Boundary)) => {
                machine.has_classes(state)
            }
            (Self::Keys(keys), ContentState::Key(state)) => keys.has_classes(state),
            _ => false,
        }
    }

    /// Returns the bytes around this one that lead to the same state, see [`Machine::equivalent_bytes`].
    pub(crate) fn equivalent_bytes(&mut self, state: &ContentState, byte: u8) -> (u8, u8) {
        let run = match (self, state) {
            (Self::Regular { machine, .. }, ContentState::Regular(state, _)) => {
                machine.equivalent_bytes(state, byte)
            }
            (
                Self::Literals(texts),
                ContentState::Literals {
                    low, high, depth, ..
                },
            ) => listed_run(texts, (*low, *high), *depth, byte),
            (Self::Keys(keys), ContentState::Key(state)) => keys.equivalent_bytes(state, byte),
            (Self::Grounded(spans), ContentState::Grounded(state)) => {
                spans.equivalent_bytes(state, byte)
            }
            _ => (0, u8::MAX),
        };
        common_run(run, Utf8::equivalent_bytes(byte))
    }

    /// Returns whether there are counters that no short token exhausts, see [`Machine::has_long_counters`].
    pub(crate) fn has_long_counters(&self) -> bool {
        match self {
            Self::Any { min, max } => *min > SHORT_TEXT || max.is_some_and(|max| max > SHORT_TEXT),
            Self::Regular { machine, .. } => machine.has_long_counters(),
            Self::Keys(keys) => keys.has_long_counters(),
            Self::Literals(_) | Self::Grounded(_) => false,
        }
    }

    /// Returns a state that accepts the same short texts, see [`Machine::abstract_counters`].
    pub(crate) fn abstract_counters(
        &mut self,
        state: &ContentState,
        reach: Lookahead,
    ) -> Option<ContentState> {
        match (self, state) {
            (Self::Any { min, max }, ContentState::Any(length, utf8)) => {
                // The number of characters does not matter far below the minimum, nor between it and far below the
                // maximum.
                let is_far_from = |end: u32| end.saturating_sub(*length) > reach.characters;
                let abstracted = if is_far_from(*min) {
                    0
                } else if length >= min && max.is_none_or(is_far_from) {
                    *min
                } else {
                    return None;
                };
                (abstracted != *length).then_some(ContentState::Any(abstracted, *utf8))
            }
            (Self::Regular { machine, .. }, ContentState::Regular(state, utf8)) => machine
                .abstract_counters(state, reach)
                .map(|state| ContentState::Regular(state, *utf8)),
            (Self::Keys(keys), ContentState::Key(state)) => {
                keys.abstract_counters(state, reach).map(ContentState::Key)
            }
            _ => None,
        }
    }

    /// Returns how a string that may hold any text ends, see [`Machine::uniform`](crate::Machine::uniform).
    pub(crate) fn uniform(&self, state: &ContentState) -> Option<Uniform<ContentState>> {
        match (self, state) {
            (&Self::Any { min, max }, &ContentState::Any(length, Utf8::Boundary)) => {
                Some(Uniform {
                    state: ContentState::Any(length.max(min), Utf8::Boundary),
                    except: Vec::new(),
                    at_least: min.saturating_sub(length),
                    at_most: max.map_or(u32::MAX, |max| max - length),
                })
            }
            (Self::Keys(keys), ContentState::Key(state)) => {
                let (state, except) = keys.uniform(state)?;
                Some(Uniform {
                    state: ContentState::Key(state),
                    except,
                    at_least: 0,
                    at_most: u32::MAX,
                })
            }
            _ => None,
        }
    }

    /// Feeds all bytes.
    pub(crate) fn run(
        &mut self,
        state: &ContentState,
        bytes: &[u8],
    ) -> Result<Option<ContentState>, LimitExceeded> {
        let mut state = state.clone();
        for &byte in bytes {
            match self.step(&state, byte)? {
                Some(next) => state = next,
                None => return Ok(None),
            }
        }
        Ok(Some(state))
    }
}

impl ContentState {
    /// Returns whether the text is between two characters.
    pub(crate) fn is_boundary(&self) -> bool {
        let (Self::Any(_, utf8)
        | Self::Regular(_, utf8)
        | Self::Literals { utf8, .. }
        | Self::Key(KeyState { utf8, .. })
        | Self::Grounded(GroundedState { utf8, .. })) = self;
        *utf8 == Utf8::Boundary
    }
}

/// Returns the bytes at `depth` of the texts of `range`.
pub(super) fn listed_first(texts: &[Box<str>], range: (u32, u32), depth: u32) -> ByteSet {
    let part = &texts[range.0 as usize..range.1 as usize];
    let mut first = ByteSet::default();
    let mut from = 0;
    while let Some(text) = part.get(from) {
        let next = text.as_bytes().get(depth as usize).copied();
        if let Some(byte) = next {
            first.insert(byte);
        }
        // Sorted texts with the same byte are adjacent.
        let same = |text: &str| text.as_bytes().get(depth as usize).copied() <= next;
        from += part[from..].partition_point(|text| same(text));
    }
    first
}

/// Returns the bytes around this one that continue none of the texts of `range`; one that does is a run of its own.
pub(super) fn listed_run(texts: &[Box<str>], range: (u32, u32), depth: u32, byte: u8) -> (u8, u8) {
    let at = |text: &str| text.as_bytes().get(depth as usize).copied();
    let part = &texts[range.0 as usize..range.1 as usize];
    let from = part.partition_point(|text| at(text) < Some(byte));
    match part.get(from).and_then(|text| at(text)) {
        Some(next) if next == byte => (byte, byte),
        next => {
            let before = from.checked_sub(1).and_then(|before| at(&part[before]));
            (
                before.map_or(0, |before| before + 1),
                next.map_or(u8::MAX, |next| next - 1),
            )
        }
    }
}

/// The number of characters of a range that [`is_plain`] examines: more than there are control and special characters
/// before the first plain one.
const LOOKED_AT: usize = 64;

/// Returns whether the shortest texts of a set, as the machine's cost finds them, can be written without escapes: every
/// class has a plain character among its shortest. If the structure does not show it, the answer is no.
pub(crate) fn is_plain(regular: &Regular) -> bool {
    let needs_escape = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    match regular {
        Regular::Never | Regular::Empty => true,
        Regular::Bytes(bytes) => !bytes.iter().any(|&byte| needs_escape(byte)),
        Regular::Chars(set) => {
            set.ranges().iter().any(|&(low, high)| {
                (low as u32..=high as u32)
                    .take(LOOKED_AT)
                    .any(|c| (0x20..0x80).contains(&c) && !needs_escape(c as u8))
            }) || set
                .ranges()
                .first()
                .is_some_and(|&(low, _)| low >= '\u{80}')
        }
        Regular::ByteRange(low, high) => (*low..=*high).any(|byte| !needs_escape(byte)),
        Regular::Concat(parts) | Regular::Union(parts) => parts.iter().all(is_plain),
        // The common characters of the operands are unknown, unless one of them has only plain ones.
        Regular::Intersection(arms) => arms.iter().any(is_all_plain),
        Regular::Complement(_) | Regular::Look { .. } => false,
        Regular::Repeat { body, .. } => is_plain(body),
    }
}

/// Returns whether no text of the set has a character that needs an escape.
fn is_all_plain(regular: &Regular) -> bool {
    let needs_escape = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    match regular {
        Regular::Never | Regular::Empty => true,
        Regular::Bytes(bytes) => !bytes.iter().any(|&byte| needs_escape(byte)),
        Regular::Chars(set) => set.ranges().iter().all(|&(low, high)| {
            let needing = (0..0x20).chain([b'"', b'\\']).map(char::from);
            { needing }.all(|c| c < low || c > high)
        }),
        Regular::ByteRange(low, high) => !(*low..=*high).any(needs_escape),
        Regular::Concat(parts) | Regular::Union(parts) => parts.iter().all(is_all_plain),
        Regular::Intersection(arms) => arms.iter().any(is_all_plain),
        Regular::Complement(_) | Regular::Look { .. } => false,
        Regular::Repeat { body, .. } => is_all_plain(body),
    }
}
