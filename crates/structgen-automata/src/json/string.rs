//! A JSON string as a machine: quotes and escapes around a content.

use std::sync::Arc;

use structgen_grammar::EscapeForm;

use crate::bytes::{common_run, run_between};
use crate::{
    ByteSet, Children, Continuations, LimitExceeded, Listing, Lookahead, Machine, Span, Uniform,
};

use super::content::{Content, ContentState};
use super::escapes::{ESCAPES, HEXADECIMAL};
use super::text_sets::TextSet;

/// A JSON string including its quotes, with the given unescaped content.
pub(crate) struct StringMachine {
    pub(super) content: Content,
    pub(super) escapes: EscapeForm,
}

/// A state within the string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StringState {
    /// Before the opening quote of a string that is none of these.
    Open(TextSet),
    /// Inside, with no escape in progress.
    Body(ContentState),
    /// After a backslash.
    Escape(ContentState),
    /// After `\u` and `digits` hexadecimal digits of this value.
    Unit {
        content: ContentState,
        digits: u8,
        value: u16,
    },
    /// After the unit of a high surrogate, before the backslash (0) or the `u` (1) of the low one.
    BetweenUnits {
        content: ContentState,
        high: u16,
        seen: u8,
    },
    /// After `\u` and `digits` digits of the low surrogate.
    LowUnit {
        content: ContentState,
        high: u16,
        digits: u8,
        value: u16,
    },
    /// After the closing quote, with the content's label.
    Closed(u32),
}

impl StringMachine {
    pub(crate) fn new(content: Content, escapes: EscapeForm) -> Self {
        Self { content, escapes }
    }
}

impl Machine for StringMachine {
    type State = StringState;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<StringState>, LimitExceeded> {
        Ok(self
            .content
            .start()?
            .map(|_| StringState::Open(TextSet::NONE)))
    }

    fn start_without(&mut self, excluded: u32) -> Result<Option<StringState>, LimitExceeded> {
        let seen = TextSet::of_number(excluded);
        let start = self.content.start_without(seen)?;
        Ok(start.map(|_| StringState::Open(seen)))
    }

    fn step(
        &mut self,
        state: &StringState,
        byte: u8,
    ) -> Result<Option<StringState>, LimitExceeded> {
        match state {
            StringState::Open(seen) if byte == b'"' => {
                Ok(self.content.start_without(*seen)?.map(StringState::Body))
            }
            StringState::Open(_) | StringState::Closed(_) => Ok(None),
            StringState::Body(content) => match byte {
                b'"' if content.is_boundary() => {
                    Ok(self.content.accept(content).map(StringState::Closed))
                }
                b'\\' if content.is_boundary() => {
                    let next = StringState::Escape(content.clone());
                    // If any character can be escaped, it suffices that one may follow.
                    if self.escapes == EscapeForm::Any && self.content.goes_on(content) {
                        return Ok(Some(next));
                    }
                    Ok(self.may_escape(content)?.then_some(next))
                }
                b'"' | b'\\' | 0x00..=0x1F => Ok(None),
                _ => Ok(self.content.step(content, byte)?.map(StringState::Body)),
            },
            StringState::Escape(content) => match byte {
                b'u' => {
                    let next = StringState::Unit {
                        content: content.clone(),
                        digits: 0,
                        value: 0,
                    };
                    // As above, any character may have this form.
                    if self.escapes == EscapeForm::Any && self.content.goes_on(content) {
                        return Ok(Some(next));
                    }
                    Ok(self.may_end_unit(content, 0, 0)?.then_some(next))
                }
                _ => match self.short_escape(byte) {
                    Some(c) => self.escaped(content, c),
                    None => Ok(None),
                },
            },
            StringState::Unit {
                content,
                digits,
                value,
            } => self.step_unit(content, *digits, *value, byte),
            StringState::BetweenUnits {
                content,
                high,
                seen: 0,
            } if byte == b'\\' => Ok(Some(StringState::BetweenUnits {
                content: content.clone(),
                high: *high,
                seen: 1,
            })),
            StringState::BetweenUnits {
                content,
                high,
                seen: 1,
            } if byte == b'u' => Ok(Some(StringState::LowUnit {
                content: content.clone(),
                high: *high,
                digits: 0,
                value: 0,
            })),
            StringState::BetweenUnits { .. } => Ok(None),
            StringState::LowUnit {
                content,
                high,
                digits,
                value,
            } => self.step_low_unit(content, *high, (*digits, *value), byte),
        }
    }

    fn accept(&self, state: &StringState) -> Option<u32> {
        if let StringState::Closed(label) = state {
            Some(*label)
        } else {
            None
        }
    }

    fn is_end(&self, state: &StringState) -> bool {
        matches!(state, StringState::Closed(_))
    }

    fn equivalent_bytes(&mut self, state: &StringState, byte: u8) -> (u8, u8) {
        match state {
            StringState::Open(_) => run_between(b"\"", byte),
            StringState::Body(content) => {
                // Control characters are dead; a quote or a backslash is a run of its own.
                let run = run_between(b"\x1f\"\\", byte);
                if byte < 0x20 {
                    (0, 0x1E.max(byte))
                } else if run.0 == run.1 && matches!(byte, b'"' | b'\\') {
                    run
                } else {
                    common_run(run, self.content.equivalent_bytes(content, byte))
                }
            }
            StringState::Escape(_) => run_between(ESCAPES, byte),
            StringState::Unit { .. } | StringState::LowUnit { .. } => {
                run_between(HEXADECIMAL, byte)
            }
            StringState::BetweenUnits { .. } => run_between(b"\\u", byte),
            StringState::Closed(_) => (0, u8::MAX),
        }
    }

    fn first(&mut self, state: &StringState) -> Option<ByteSet> {
        Some(match state {
            StringState::Open(_) => ByteSet::of(b"\""),
            StringState::Body(content) => match self.content.listed_first(content) {
                Some(listed) => self.first_of_listed(content, listed),
                None => {
                    let mut first = self.content.first(content)?;
                    first.insert(b'"');
                    first.insert(b'\\');
                    first
                }
            },
            StringState::Escape(content) => match self.content.listed_first(content) {
                Some(listed) => self.escapes_of(listed),
                None => ByteSet::of(ESCAPES),
            },
            StringState::Unit {
                content,
                digits,
                value,
            } => match self.content.listed_first(content) {
                Some(listed) => self.digits_of(listed, *digits, *value),
                None => ByteSet::of(HEXADECIMAL),
            },
            StringState::LowUnit { .. } => ByteSet::of(HEXADECIMAL),
            StringState::BetweenUnits { .. } => ByteSet::of(b"\\u"),
            StringState::Closed(_) => ByteSet::default(),
        })
    }

    fn has_classes(&self, state: &StringState) -> bool {
        match state {
            StringState::Body(content) => self.content.has_classes(content),
            _ => false,
        }
    }

    fn is_string(&self) -> bool {
        true
    }

    fn is_grounded(&self) -> bool {
        matches!(self.content, Content::Grounded(_))
    }

    fn is_listed(&self) -> bool {
        self.content.is_listed()
    }

    fn listing(&self, state: &StringState) -> Option<Listing> {
        match state {
            StringState::Body(content) => self.content.listing(content),
            _ => None,
        }
    }

    fn continuations(
        &mut self,
        state: &StringState,
        root: u32,
        child: &Children<'_>,
    ) -> Result<Option<Arc<Continuations>>, LimitExceeded> {
        if self.escapes != EscapeForm::Needed {
            return Ok(None);
        }
        match state {
            StringState::Body(content) => self.content.continuations(content, root, child),
            StringState::Open(seen) => {
                let Some(content) = self.content.start_without(*seen)? else {
                    return Ok(None);
                };
                let Some(quote) = child(root, b'"') else {
                    return Ok(Some(Arc::default()));
                };
                let found = self.content.continuations(&content, quote, child)?;
                Ok(found.map(|found| {
                    let mut found = Arc::unwrap_or_clone(found);
                    found.nodes.push(quote);
                    for (_, bytes) in found.ends.iter_mut().chain(&mut found.escapes) {
                        *bytes += 1;
                    }
                    Arc::new(found)
                }))
            }
            _ => Ok(None),
        }
    }

    fn span(&mut self, state: &StringState) -> Option<Span> {
        match state {
            StringState::Body(content) => self.content.span(content),
            _ => None,
        }
    }

    fn has_long_counters(&self) -> bool {
        self.content.has_long_counters()
    }

    fn abstract_counters(&mut self, state: &StringState, reach: Lookahead) -> Option<StringState> {
        match state {
            StringState::Body(content) => self
                .content
                .abstract_counters(content, reach)
                .map(StringState::Body),
            StringState::Escape(content) => self
                .content
                .abstract_counters(content, reach)
                .map(StringState::Escape),
            _ => None,
        }
    }

    fn uniform(&mut self, state: &StringState) -> Option<Uniform<StringState>> {
        let StringState::Body(content) = state else {
            return None;
        };
        let uniform = self.content.uniform(content)?;
        let state = StringState::Body(uniform.state.clone());
        Some(uniform.with_state(state))
    }

    fn work(&self) -> u64 {
        self.content.work()
    }

    fn memory(&self) -> usize {
        self.content.memory()
    }

    fn cost(&mut self, state: &StringState) -> u32 {
        // A live state has a cost; the steps that proved it live were within the limits.
        let cost = match state {
            StringState::Open(seen) => match self.content.start_without(*seen) {
                Ok(Some(content)) => Ok(Some(self.content.cost(&content).saturating_add(2))),
                _ => Ok(None),
            },
            StringState::Body(content) => Ok(Some(self.content.cost(content).saturating_add(1))),
            StringState::Escape(content) => self.escape_cost(content),
            StringState::Unit {
                content,
                digits,
                value,
            } => self.unit_cost(content, *digits, *value),
            StringState::BetweenUnits {
                content,
                high,
                seen,
            } => self
                .pair_cost(content, u32::from(*high), u32::from(*high), 0, 0)
                .map(|cost| cost.map(|cost| cost.saturating_add(6 - u32::from(*seen)))),
            StringState::LowUnit {
                content,
                high,
                digits,
                value,
            } => self
                .pair_cost(content, u32::from(*high), u32::from(*high), *digits, *value)
                .map(|cost| cost.map(|cost| cost.saturating_add(u32::from(4 - digits)))),
            StringState::Closed(label) => Ok(Some(self.content.weight(*label))),
        };
        cost.ok().flatten().unwrap_or(u32::MAX)
    }
}
