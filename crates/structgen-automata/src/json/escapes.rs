//! The escapes of a JSON string: short ones, units of UTF-16, and pairs of them.

use structgen_grammar::EscapeForm;

use super::content::ContentState;
use super::string::{StringMachine, StringState};
use crate::{ByteSet, LimitExceeded};

/// The bytes that may follow a backslash, sorted.
pub(super) const ESCAPES: &[u8] = b"\"/\\bfnrtu";

/// Hexadecimal digits, sorted.
pub(super) const HEXADECIMAL: &[u8] = b"0123456789ABCDEFabcdef";

/// Hexadecimal digits by value.
pub(super) const LOWER_CASE: &[u8; 16] = b"0123456789abcdef";

impl StringMachine {
    /// Returns the state after an escaped character.
    pub(super) fn escaped(
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
    pub(super) fn short_escape(&self, letter: u8) -> Option<char> {
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
    pub(super) fn hex_digit(&self, byte: u8) -> Option<u16> {
        match byte {
            b'0'..=b'9' => Some(u16::from(byte - b'0')),
            b'a'..=b'f' => Some(u16::from(byte - b'a') + 10),
            b'A'..=b'F' if self.escapes == EscapeForm::Any => Some(u16::from(byte - b'A') + 10),
            _ => None,
        }
    }

    /// Returns whether a character may be written as `\uXXXX`.
    pub(super) fn unit_allowed(&self, c: char) -> bool {
        self.escapes == EscapeForm::Any
            || (c < ' ' && !matches!(c, '\n' | '\t' | '\r' | '\u{8}' | '\u{c}'))
    }

    /// Returns the least cost of continuing with a character of `from..=to` in `\u` form, or `None` if none is live.
    ///
    /// It tries the control characters, which may have no other form, and then the first live character. This gives a
    /// known completion whose cost decreases with every digit.
    pub(super) fn cost_of_units(
        &mut self,
        content: &ContentState,
        from: u32,
        to: u32,
    ) -> Result<Option<u32>, LimitExceeded> {
        let mut best: Option<u32> = None;
        let mut next = from;
        while let Some((code, state)) = self.live_unit(content, next, to)? {
            let cost = self.content.cost(&state).saturating_add(1);
            best = Some(best.map_or(cost, |best| best.min(cost)));
            if code >= 0x20 {
                break;
            }
            next = code + 1;
        }
        Ok(best)
    }

    /// Returns the first live character of `from..=to` that may be written in `\u` form, and the state after it.
    fn live_unit(
        &mut self,
        content: &ContentState,
        from: u32,
        to: u32,
    ) -> Result<Option<(u32, ContentState)>, LimitExceeded> {
        let to = match self.escapes {
            EscapeForm::Needed => to.min(0x1F),
            EscapeForm::Any => to,
        };
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
                None => return Ok(Some((code, state))),
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
        Ok(None)
    }

    /// Returns the characters that `\u` with these first digits can stand for, without surrogate pairs.
    pub(super) fn unit_range(digits: u8, value: u16) -> (u32, u32) {
        let shift = 4 * u32::from(4 - digits);
        let from = u32::from(value) << shift;
        (from, from + (1_u32 << shift) - 1)
    }

    /// Returns whether something is live after a backslash.
    pub(super) fn may_escape(&mut self, content: &ContentState) -> Result<bool, LimitExceeded> {
        for &letter in ESCAPES {
            if let Some(c) = self.short_escape(letter)
                && self.escaped(content, c)?.is_some()
            {
                return Ok(true);
            }
        }
        self.may_end_unit(content, 0, 0)
    }

    /// Returns whether something is live after `\u` and some digits.
    pub(super) fn may_end_unit(
        &mut self,
        content: &ContentState,
        digits: u8,
        value: u16,
    ) -> Result<bool, LimitExceeded> {
        let (from, to) = Self::unit_range(digits, value);
        if self.live_unit(content, from, to)?.is_some() {
            return Ok(true);
        }
        Ok(match self.high_units(from, to) {
            Some((from, to)) => self.pair_cost(content, from, to, 0, 0)?.is_some(),
            None => false,
        })
    }

    /// Returns the high surrogates in a range, if there are any and pairs may be used.
    fn high_units(&self, from: u32, to: u32) -> Option<(u32, u32)> {
        let (from, to) = (from.max(0xD800), to.min(0xDBFF));
        (self.escapes == EscapeForm::Any && from <= to).then_some((from, to))
    }

    /// Returns the cost after `\u` and some digits; `None` if nothing is live.
    pub(super) fn unit_cost(
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
        let Some((from, to)) = self.high_units(from, to) else {
            return Ok(None);
        };
        let cost = self.pair_cost(content, from, to, 0, 0)?;
        // The rest of this unit, `\u`, and the other unit.
        Ok(cost.map(|cost| cost.saturating_add(left + 2 + 4)))
    }

    /// Returns the cost after a pair whose high surrogate is in the range and whose low one begins with these digits.
    pub(super) fn pair_cost(
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
    pub(super) fn escape_cost(
        &mut self,
        content: &ContentState,
    ) -> Result<Option<u32>, LimitExceeded> {
        let mut best = self
            .unit_cost(content, 0, 0)?
            .map(|cost| cost.saturating_add(1));
        for &letter in ESCAPES {
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

    pub(super) fn step_unit(
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
            let is_live = self.may_end_unit(content, digits, value)?;
            return Ok(is_live.then_some(next));
        }
        match char::from_u32(u32::from(value)) {
            Some(c) if self.unit_allowed(c) => self.escaped(content, c),
            None if self.may_end_unit(content, 4, value)? => Ok(Some(StringState::BetweenUnits {
                content: content.clone(),
                high: value,
                seen: 0,
            })),
            _ => Ok(None),
        }
    }

    /// Returns the bytes that may come next in the middle of listed texts, of which these may.
    pub(super) fn first_of_listed(&self, content: &ContentState, listed: ByteSet) -> ByteSet {
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
    pub(super) fn escapes_of(&self, listed: ByteSet) -> ByteSet {
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
    pub(super) fn digits_of(&self, listed: ByteSet, digits: u8, value: u16) -> ByteSet {
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

    pub(super) fn step_low_unit(
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
