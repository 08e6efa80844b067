//! A JSON string as a machine: quotes and escapes around a content.

use std::sync::Arc;

use structgen_grammar::EscapeForm;

use crate::bytes::{common_run, run_between};
use crate::{ByteSet, Children, Continuations, LimitExceeded, Listing, Machine, Span, Uniform};

use super::content::{Content, ContentState};

/// A JSON string including its quotes, with the given unescaped content.
pub(crate) struct StringMachine {
    content: Content,
    escapes: EscapeForm,
}

/// A state within the string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StringState {
    /// Before the opening quote.
    Open,
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

    /// Returns the state after an escaped character.
    fn escaped(
        &mut self,
        content: &ContentState,
        c: char,
    ) -> Result<Option<StringState>, LimitExceeded> {
        let mut buffer = [0; 4];
        Ok(self
            .content
            .run(content, c.encode_utf8(&mut buffer).as_bytes())?
            .map(StringState::Body))
    }

    /// Returns the character of an escape of one letter, if that escape may be used.
    fn short_escape(&self, letter: u8) -> Option<char> {
        let c = match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'/' if self.escapes == EscapeForm::Any => '/',
            _ => return None,
        };
        Some(c)
    }

    /// Returns the value of a hexadecimal digit. Needed escapes have one spelling: lower case.
    fn hex_digit(&self, byte: u8) -> Option<u16> {
        match byte {
            b'0'..=b'9' => Some(u16::from(byte - b'0')),
            b'a'..=b'f' => Some(u16::from(byte - b'a') + 10),
            b'A'..=b'F' if self.escapes == EscapeForm::Any => Some(u16::from(byte - b'A') + 10),
            _ => None,
        }
    }

    /// Returns whether a character may be written as `\uXXXX`.
    fn unit_allowed(&self, c: char) -> bool {
        self.escapes == EscapeForm::Any
            || (c < ' ' && !matches!(c, '\n' | '\t' | '\r' | '\u{8}' | '\u{c}'))
    }

    /// Returns the least cost of continuing with a character of `from..=to` in `\u` form, or `None` if none is live.
    ///
    /// It tries the control characters, which may have no other form, and then the first live character. This gives a
    /// known completion whose cost decreases with every digit.
    fn cost_of_units(
        &mut self,
        content: &ContentState,
        from: u32,
        to: u32,
    ) -> Result<Option<u32>, LimitExceeded> {
        let to = if self.escapes == EscapeForm::Needed {
            to.min(0x1F)
        } else {
            to
        };
        let mut best: Option<u32> = None;
        let mut code = from;
        while code <= to {
            let Some(c) = char::from_u32(code) else {
                code += 1;
                continue;
            };
            if !self.unit_allowed(c) {
                code += 1;
                continue;
            }
            let mut buffer = [0; 4];
            let bytes = c.encode_utf8(&mut buffer).as_bytes();
            let mut state = content.clone();
            let mut died_at = None;
            for (i, &byte) in bytes.iter().enumerate() {
                match self.content.step(&state, byte)? {
                    Some(next) => state = next,
                    None => {
                        died_at = Some(i);
                        break;
                    }
                }
            }
            match died_at {
                None => {
                    let cost = self.content.cost(&state).saturating_add(1);
                    best = Some(best.map_or(cost, |best| best.min(cost)));
                    if code >= 0x20 {
                        return Ok(best);
                    }
                    code += 1;
                }
                // All characters with this first byte, and with those equivalent to it, are dead.
                Some(0) if bytes.len() == 1 => {
                    code = u32::from(self.content.equivalent_bytes(content, bytes[0]).1) + 1;
                }
                Some(i) => {
                    let shared = 1_u32 << (6 * (bytes.len() - 1 - i));
                    code = (code / shared + 1) * shared;
                }
            }
        }
        Ok(best)
    }

    /// Returns the characters that `\u` with these first digits can stand for, without surrogate pairs.
    fn unit_range(digits: u8, value: u16) -> (u32, u32) {
        let shift = 4 * u32::from(4 - digits);
        let from = u32::from(value) << shift;
        (from, from + (1_u32 << shift) - 1)
    }

    /// Returns the cost after `\u` and some digits; `None` if nothing is live.
    fn unit_cost(
        &mut self,
        content: &ContentState,
        digits: u8,
        value: u16,
    ) -> Result<Option<u32>, LimitExceeded> {
        let (from, to) = Self::unit_range(digits, value);
        let left = u32::from(4 - digits);
        if let Some(cost) = self.cost_of_units(content, from, to)? {
            return Ok(Some(cost.saturating_add(left)));
        }
        let (high_from, high_to) = (from.max(0xD800), to.min(0xDBFF));
        if self.escapes == EscapeForm::Needed || high_from > high_to {
            return Ok(None);
        }
        let cost = self.pair_cost(content, high_from, high_to, 0, 0)?;
        // The rest of this unit, `\u`, and the other unit.
        Ok(cost.map(|cost| cost.saturating_add(left + 2 + 4)))
    }

    /// Returns the cost after a pair whose high surrogate is in the range and whose low one begins with these digits.
    fn pair_cost(
        &mut self,
        content: &ContentState,
        high_from: u32,
        high_to: u32,
        digits: u8,
        value: u16,
    ) -> Result<Option<u32>, LimitExceeded> {
        let (low_from, low_to) = Self::unit_range(digits, value);
        let (low_from, low_to) = (low_from.max(0xDC00), low_to.min(0xDFFF));
        if low_from > low_to {
            return Ok(None);
        }
        let code = |high: u32, low: u32| 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        if low_to - low_from == 0x3FF {
            return self.cost_of_units(content, code(high_from, low_from), code(high_to, low_to));
        }
        for high in high_from..=high_to {
            if let Some(cost) =
                self.cost_of_units(content, code(high, low_from), code(high, low_to))?
            {
                return Ok(Some(cost));
            }
        }
        Ok(None)
    }

    /// Returns the cost after a backslash; `None` if no escape is live.
    fn escape_cost(&mut self, content: &ContentState) -> Result<Option<u32>, LimitExceeded> {
        let mut best = self
            .unit_cost(content, 0, 0)?
            .map(|cost| cost.saturating_add(1));
        for letter in *b"\"\\ntrbf/" {
            let Some(c) = self.short_escape(letter) else {
                continue;
            };
            if let Some(StringState::Body(next)) = self.escaped(content, c)? {
                let cost = self.content.cost(&next).saturating_add(2);
                best = Some(best.map_or(cost, |best| best.min(cost)));
            }
        }
        Ok(best)
    }

    fn step_unit(
        &mut self,
        content: &ContentState,
        digits: u8,
        value: u16,
        byte: u8,
    ) -> Result<Option<StringState>, LimitExceeded> {
        let Some(digit) = self.hex_digit(byte) else {
            return Ok(None);
        };
        let (digits, value) = (digits + 1, (value << 4) | digit);
        if digits < 4 {
            let next = StringState::Unit {
                content: content.clone(),
                digits,
                value,
            };
            return Ok(self.unit_cost(content, digits, value)?.map(|_| next));
        }
        match char::from_u32(u32::from(value)) {
            Some(c) if self.unit_allowed(c) => self.escaped(content, c),
            None if self.unit_cost(content, 4, value)?.is_some() => {
                Ok(Some(StringState::BetweenUnits {
                    content: content.clone(),
                    high: value,
                    seen: 0,
                }))
            }
            _ => Ok(None),
        }
    }

    /// Returns the bytes that may come next in the middle of listed texts, of which these may.
    fn first_of_listed(&self, content: &ContentState, listed: ByteSet) -> ByteSet {
        let mut first = listed.and(ByteSet::PRINTABLE);
        first.remove(b'"');
        first.remove(b'\\');
        if content.is_boundary() {
            if self.content.accept(content).is_some() {
                first.insert(b'"');
            }
            if !self.escapes_of(listed).is_empty() {
                first.insert(b'\\');
            }
        }
        first
    }

    /// Returns the bytes that may follow a backslash if the content continues with one of these bytes.
    fn escapes_of(&self, listed: ByteSet) -> ByteSet {
        let mut first = ByteSet::default();
        for &letter in ESCAPES {
            let c = self.short_escape(letter);
            if c.is_some_and(|c| listed.contains(c as u8)) {
                first.insert(letter);
            }
        }
        let mut ascii = (0..0x80).filter(|&byte| listed.contains(byte));
        if self.escapes == EscapeForm::Any && !listed.is_empty()
            || ascii.any(|byte| self.unit_allowed(char::from(byte)))
        {
            first.insert(b'u');
        }
        first
    }

    /// Returns the digits that may come next in a `\u` escape if the content continues with one of these bytes.
    fn digits_of(&self, listed: ByteSet, digits: u8, value: u16) -> ByteSet {
        if !listed.and(ByteSet::NOT_ASCII).is_empty() {
            return ByteSet::of(HEXADECIMAL);
        }
        let mut first = ByteSet::default();
        let unread = 4 * u32::from(4 - digits);
        for unit in (0..0x80_u32).filter(|&unit| listed.contains(unit as u8)) {
            if unit >> unread == u32::from(value) {
                let digit = LOWER_CASE[(unit >> (unread - 4)) as usize % 16];
                first.insert(digit);
                first.insert(digit.to_ascii_uppercase());
            }
        }
        first
    }

    fn step_low_unit(
        &mut self,
        content: &ContentState,
        high: u16,
        (digits, value): (u8, u16),
        byte: u8,
    ) -> Result<Option<StringState>, LimitExceeded> {
        let Some(digit) = self.hex_digit(byte) else {
            return Ok(None);
        };
        let (digits, value) = (digits + 1, (value << 4) | digit);
        if digits < 4 {
            let next = StringState::LowUnit {
                content: content.clone(),
                high,
                digits,
                value,
            };
            let cost = self.pair_cost(content, high.into(), high.into(), digits, value)?;
            return Ok(cost.map(|_| next));
        }
        if !(0xDC00..=0xDFFF).contains(&value) {
            return Ok(None);
        }
        let code = 0x1_0000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(value) - 0xDC00);
        match char::from_u32(code) {
            Some(c) => self.escaped(content, c),
            None => Ok(None),
        }
    }
}

/// The bytes that may follow a backslash, sorted.
const ESCAPES: &[u8] = b"\"/\\bfnrtu";

/// Hexadecimal digits, sorted.
const HEXADECIMAL: &[u8] = b"0123456789ABCDEFabcdef";

/// Hexadecimal digits by value.
const LOWER_CASE: &[u8; 16] = b"0123456789abcdef";

impl Machine for StringMachine {
    type State = StringState;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<StringState>, LimitExceeded> {
        Ok(self.content.start()?.map(|_| StringState::Open))
    }

    fn step(
        &mut self,
        state: &StringState,
        byte: u8,
    ) -> Result<Option<StringState>, LimitExceeded> {
        match state {
            StringState::Open if byte == b'"' => Ok(self.content.start()?.map(StringState::Body)),
            StringState::Open | StringState::Closed(_) => Ok(None),
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
                    Ok(self.escape_cost(content)?.map(|_| next))
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
                    Ok(self.unit_cost(content, 0, 0)?.map(|_| next))
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
            StringState::Open => run_between(b"\"", byte),
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
            StringState::Open => ByteSet::of(b"\""),
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
            StringState::Open => {
                let Some(content) = self.content.start()? else {
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

    fn abstract_counters(&mut self, state: &StringState, reach: u32) -> Option<StringState> {
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
            StringState::Open => match self.content.start() {
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
