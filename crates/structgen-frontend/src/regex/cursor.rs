//! The text of a pattern and a position in it.

/// The text of a pattern and a position in it.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'p> {
    pub(super) pattern: &'p str,
    pub(super) position: usize,
}

impl<'p> Cursor<'p> {
    pub(super) fn new(pattern: &'p str) -> Self {
        Self {
            pattern,
            position: 0,
        }
    }

    pub(super) fn rest(&self) -> &'p str {
        &self.pattern[self.position..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.position += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.position += text.len();
        }
        found
    }

    /// A decimal number, if there is one; it saturates.
    pub(super) fn number(&mut self) -> Option<u32> {
        let mut value: Option<u32> = None;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            self.position += 1;
            let so_far = value.unwrap_or(0);
            value = Some(so_far.saturating_mul(10).saturating_add(digit));
        }
        value
    }

    /// Exactly this number of hexadecimal digits, if present.
    pub(super) fn hex(&mut self, count: usize) -> Option<u32> {
        let digits = self.rest().get(..count)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.position += count;
        u32::from_str_radix(digits, 16).ok()
    }

    /// The look-around that starts after `(?`, if one does: whether behind, whether negated.
    pub(super) fn look(&mut self) -> Option<(bool, bool)> {
        [
            ("=", (false, false)),
            ("!", (false, true)),
            ("<=", (true, false)),
            ("<!", (true, true)),
        ]
        .into_iter()
        .find_map(|(start, look)| self.eat(start).then_some(look))
    }
}
