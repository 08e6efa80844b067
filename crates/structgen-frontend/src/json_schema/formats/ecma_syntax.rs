//! Whether a text is a pattern of ECMA-262 (2024, section 22.2.1, with the flag `u`). Unlike the set of `regex.rs` this
//! is exact, but it is no finite automaton. Escaped punctuation stands for itself, as in that set.

use std::collections::HashSet;
use std::str::Chars;
use std::sync::LazyLock;

use structgen_grammar::CharSet;

use super::ecma_properties::is_property;
use super::idna::property;

/// Whether the text is a pattern.
pub(super) fn is_pattern(text: &str) -> bool {
    let mut checker = Checker {
        rest: text.chars(),
        captures: 0,
        highest_reference: 0,
        names: HashSet::new(),
        references: HashSet::new(),
    };
    checker.pattern().is_some() && checker.has_what_it_refers_to()
}

/// Reads a pattern; every method returns `None` at a mistake.
struct Checker<'t> {
    rest: Chars<'t>,
    captures: u32,
    highest_reference: u32,
    names: HashSet<String>,
    references: HashSet<String>,
}

/// What an escape or an item of a class matches.
enum Matched {
    /// This code point, which may be a surrogate.
    One(u32),
    Many,
}

impl Checker<'_> {
    fn pattern(&mut self) -> Option<()> {
        // For each open group, whether a quantifier may follow it.
        let mut open: Vec<bool> = Vec::new();
        let mut is_repeatable = false;
        while let Some(c) = self.rest.next() {
            is_repeatable = match c {
                '^' | '$' | '|' => false,
                '(' => {
                    open.push(self.group()?);
                    false
                }
                ')' => open.pop()?,
                '*' | '+' | '?' | '{' => {
                    if !is_repeatable || (c == '{' && !self.braces()) {
                        return None;
                    }
                    self.skips('?');
                    false
                }
                '[' => {
                    self.class()?;
                    true
                }
                '\\' => self.escape()?,
                ']' | '}' => return None,
                _ => true,
            };
        }
        open.is_empty().then_some(())
    }

    fn has_what_it_refers_to(&self) -> bool {
        self.highest_reference <= self.captures && self.references.is_subset(&self.names)
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    /// Whether the character comes next, which is then read.
    fn skips(&mut self, c: char) -> bool {
        let mut after = self.rest.clone();
        let is_next = after.next() == Some(c);
        if is_next {
            self.rest = after;
        }
        is_next
    }

    /// The start of a group; whether a quantifier may follow the group.
    fn group(&mut self) -> Option<bool> {
        if !self.skips('?') {
            self.captures += 1;
            return Some(true);
        }
        match self.rest.next()? {
            ':' => Some(true),
            '=' | '!' => Some(false),
            '<' if self.skips('=') || self.skips('!') => Some(false),
            '<' => {
                self.captures += 1;
                let name = self.name()?;
                self.names.insert(name).then_some(true)
            }
            _ => None,
        }
    }

    /// The name of a group, up to `>`.
    fn name(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            let c = match self.rest.next()? {
                '>' if name.is_empty() => return None,
                '>' => return Some(name),
                '\\' if self.skips('u') => char::from_u32(self.code_point()?)?,
                c => c,
            };
            let is_part = match name.as_str() {
                "" => matches!(c, '$' | '_') || NAME_STARTS.contains(c),
                _ => matches!(c, '$' | '\u{200C}' | '\u{200D}') || NAME_PARTS.contains(c),
            };
            if !is_part {
                return None;
            }
            name.push(c);
        }
    }

    /// The rest of `{n}`, `{n,}` or `{n,m}`, with the numbers in order.
    fn braces(&mut self) -> bool {
        let low = self.digits();
        if low.is_empty() {
            return false;
        }
        if self.skips(',') && self.peek().is_some_and(|c| c.is_ascii_digit()) {
            let high = self.digits();
            let (low, high) = (low.trim_start_matches('0'), high.trim_start_matches('0'));
            if (low.len(), low) > (high.len(), high) {
                return false;
            }
        }
        self.skips('}')
    }

    fn digits(&mut self) -> String {
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            digits.push(digit);
            self.rest.next();
        }
        digits
    }

    /// What follows a backslash outside classes; whether a quantifier may follow.
    fn escape(&mut self) -> Option<bool> {
        match self.peek()? {
            'b' | 'B' => {
                self.rest.next();
                return Some(false);
            }
            'k' => {
                self.rest.next();
                let reference = self.skips('<').then(|| self.name())??;
                self.references.insert(reference);
            }
            '1'..='9' => {
                let number = self.digits().parse().unwrap_or(u32::MAX);
                self.highest_reference = self.highest_reference.max(number);
            }
            _ => {
                self.character_escape()?;
            }
        }
        Some(true)
    }

    /// What may follow a backslash anywhere.
    fn character_escape(&mut self) -> Option<Matched> {
        let one = |c: char| Some(Matched::One(c.into()));
        match self.rest.next()? {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => Some(Matched::Many),
            'p' | 'P' => {
                let (name, rest) = self.rest.as_str().strip_prefix('{')?.split_once('}')?;
                self.rest = rest.chars();
                is_property(name).then_some(Matched::Many)
            }
            't' => one('\t'),
            'n' => one('\n'),
            'v' => one('\u{B}'),
            'f' => one('\u{C}'),
            'r' => one('\r'),
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => one('\0'),
            'c' => {
                let letter = self.rest.next().filter(char::is_ascii_alphabetic)?;
                Some(Matched::One(u32::from(letter) % 32))
            }
            'x' => self.hexadecimal(2).map(Matched::One),
            'u' => self.code_point().map(Matched::One),
            c if c.is_ascii_punctuation() && c != '_' => one(c),
            _ => None,
        }
    }

    /// What follows `\u`.
    fn code_point(&mut self) -> Option<u32> {
        if self.skips('{') {
            let (digits, rest) = self.rest.as_str().split_once('}')?;
            self.rest = rest.chars();
            let is_number = digits.chars().all(|c| c.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits.trim_start_matches('0'), 16);
            let is_zero = !digits.is_empty() && digits.chars().all(|c| c == '0');
            let code = if is_zero { Some(0) } else { code.ok() };
            return code.filter(|&code| is_number && code <= u32::from(char::MAX));
        }
        let high = self.hexadecimal(4)?;
        let after = self.rest.clone();
        if (0xD800..0xDC00).contains(&high)
            && self.skips('\\')
            && self.skips('u')
            && let Some(low) = self
                .hexadecimal(4)
                .filter(|low| (0xDC00..0xE000).contains(low))
        {
            return Some(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
        }
        self.rest = after;
        Some(high)
    }

    fn hexadecimal(&mut self, digits: usize) -> Option<u32> {
        (0..digits).try_fold(0, |code, _| {
            Some(code * 16 + self.rest.next()?.to_digit(16)?)
        })
    }

    /// The rest of a class, with its ranges in order.
    fn class(&mut self) -> Option<()> {
        self.skips('^');
        while !self.skips(']') {
            let low = self.class_item()?;
            let mut after = self.rest.clone();
            let is_range = after.next() == Some('-') && after.next() != Some(']');
            if !is_range {
                continue;
            }
            self.rest.next();
            match (low, self.class_item()?) {
                (Matched::One(low), Matched::One(high)) if low <= high => {}
                _ => return None,
            }
        }
        Some(())
    }

    fn class_item(&mut self) -> Option<Matched> {
        match self.rest.next()? {
            '\\' if self.skips('b') => Some(Matched::One(8)),
            '\\' => self.character_escape(),
            c => Some(Matched::One(c.into())),
        }
    }
}

static NAME_STARTS: LazyLock<CharSet> = LazyLock::new(|| property("ID_Start"));
static NAME_PARTS: LazyLock<CharSet> = LazyLock::new(|| property("ID_Continue"));
