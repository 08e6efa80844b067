//! The text of a grammar and a position in it.

use super::ConvertError;

/// An error at a byte of the text.
pub(super) fn error_at(text: &str, at: usize, message: impl Into<String>) -> ConvertError {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    ConvertError {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message: message.into(),
    }
}

/// The maximum nesting of groups, which are parsed recursively.
pub(super) const MAX_NESTING: u32 = 200;

#[derive(Clone)]
pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Consumes the leading characters that satisfy the predicate.
    pub(super) fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// The text before `end`; consumes both.
    pub(super) fn up_to(&mut self, end: &str) -> Option<&'t str> {
        let rest = self.rest();
        let len = rest.find(end)?;
        self.at += len + end.len();
        Some(&rest[..len])
    }

    /// The current nesting of groups.
    pub(super) fn check_depth(&self, depth: u32) -> Result<(), ConvertError> {
        if depth > MAX_NESTING {
            return Err(self.error(format!("groups nest deeper than {MAX_NESTING}")));
        }
        Ok(())
    }

    pub(super) fn error(&self, message: impl Into<String>) -> ConvertError {
        error_at(self.text, self.at, message)
    }

    /// The character with this code point.
    pub(super) fn character(
        &self,
        at: usize,
        digits: &str,
        radix: u32,
    ) -> Result<char, ConvertError> {
        u32::from_str_radix(digits, radix)
            .ok()
            .and_then(char::from_u32)
            .ok_or_else(|| error_at(self.text, at, "this is not a Unicode character"))
    }
}
