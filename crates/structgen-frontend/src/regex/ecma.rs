//! The dialect of ECMA-262 (2025, section 22.2.1 and annex B.1.2), as a stack machine: nesting costs no call depth.

use structgen_grammar::{CharSet, Regular};

use super::class::{self, Escape};
use super::{MAX_ANCHORS, RegexError, RegexOptions, boundary};

/// The syntax tree of the pattern; what it looks at, anchors included, are look-arounds in it.
pub(super) fn parse(pattern: &str, options: RegexOptions) -> Result<Regular, RegexError> {
    Parser {
        cursor: Cursor {
            pattern,
            position: 0,
        },
        groups: GroupNames::scan(pattern),
        max_nesting: options.nesting(),
        frames: vec![Frame::default()],
        anchors: 0,
    }
    .run()
}

/// The text of a pattern and a place in it.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'p> {
    pub(super) pattern: &'p str,
    pub(super) position: usize,
}

impl<'p> Cursor<'p> {
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

    /// A number in decimal digits, if there is one; too large ones stay at the largest value.
    fn number(&mut self) -> Option<u32> {
        let mut value: Option<u32> = None;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            self.position += 1;
            let so_far = value.unwrap_or(0);
            value = Some(so_far.saturating_mul(10).saturating_add(digit));
        }
        value
    }
}

/// What an escape that looks like a back-reference has to know: it is one only if there is such a group.
pub(super) struct GroupNames {
    pub(super) captures: u32,
    pub(super) named: bool,
}

impl GroupNames {
    fn scan(pattern: &str) -> Self {
        let mut found = Self {
            captures: 0,
            named: false,
        };
        let mut in_class = false;
        let mut rest = pattern.chars();
        while let Some(c) = rest.next() {
            match c {
                '\\' => {
                    rest.next();
                }
                '[' => in_class = true,
                ']' => in_class = false,
                '(' if !in_class => {
                    let inside = rest.as_str();
                    let named = inside.starts_with("?<")
                        && !inside.starts_with("?<=")
                        && !inside.starts_with("?<!");
                    found.named |= named;
                    found.captures += u32::from(named || !inside.starts_with('?'));
                }
                _ => {}
            }
        }
        found
    }
}

/// A group that is still open.
#[derive(Default)]
struct Frame {
    /// Where its parenthesis stands; 0 for the whole pattern.
    opened: usize,
    /// What the group looks at, if it is a look-around: whether behind, whether negated.
    look: Option<(bool, bool)>,
    arms: Vec<Regular>,
    parts: Vec<Part>,
}

/// A part of an alternative. Characters stay by themselves until it is known that no quantifier follows.
enum Part {
    Char(char),
    /// Not to be repeated: `^*` and `a**` are errors.
    Fixed(Regular),
    Set(Regular),
}

impl Frame {
    fn end_alternative(&mut self) {
        let mut parts = Vec::new();
        let mut literal = String::new();
        for part in self.parts.drain(..) {
            match part {
                Part::Char(c) => literal.push(c),
                Part::Fixed(set) | Part::Set(set) => {
                    flush(&mut literal, &mut parts);
                    parts.push(set);
                }
            }
        }
        flush(&mut literal, &mut parts);
        self.arms.push(if parts.len() == 1 {
            parts.swap_remove(0)
        } else {
            Regular::concat(parts)
        });
    }

    fn close(mut self) -> Regular {
        self.end_alternative();
        if self.arms.len() == 1 {
            self.arms.swap_remove(0)
        } else {
            Regular::union(self.arms)
        }
    }
}

fn flush(literal: &mut String, parts: &mut Vec<Regular>) {
    if !literal.is_empty() {
        parts.push(Regular::literal(literal));
        literal.clear();
    }
}

struct Parser<'p> {
    cursor: Cursor<'p>,
    groups: GroupNames,
    max_nesting: u32,
    /// The open groups; the first is the whole pattern, and it is always there.
    frames: Vec<Frame>,
    anchors: u32,
}

impl Parser<'_> {
    fn run(mut self) -> Result<Regular, RegexError> {
        loop {
            let at = self.cursor.position;
            let Some(c) = self.cursor.next() else {
                break;
            };
            match c {
                '|' => self.frame().end_alternative(),
                '(' => self.open_group(at)?,
                ')' => self.close_group(at)?,
                '^' => self.look(at, Regular::anchor(true))?,
                '$' => {
                    self.refuse_ahead(at)?;
                    self.look(at, Regular::anchor(false))?;
                }
                '.' => self.push_set(class::dot()),
                '[' => {
                    let set = class::parse(&mut self.cursor, at, &self.groups)?;
                    self.push_set(set);
                }
                '\\' => self.escape(at)?,
                '*' => self.quantify(at, 0, None)?,
                '+' => self.quantify(at, 1, None)?,
                '?' => self.quantify(at, 0, Some(1))?,
                '{' => match self.braces() {
                    Some((min, max)) => self.quantify(at, min, max)?,
                    None => self.push(Part::Char('{')),
                },
                c => self.push(Part::Char(c)),
            }
        }
        let open = self.frames.len() > 1;
        match self.frames.pop() {
            Some(frame) if !open => Ok(frame.close()),
            frame => Err(RegexError::syntax(
                frame.map_or(0, |frame| frame.opened),
                "a group is not closed",
            )),
        }
    }

    fn frame(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn push(&mut self, part: Part) {
        self.frame().parts.push(part);
    }

    fn push_set(&mut self, set: CharSet) {
        self.push(match set.ranges() {
            &[(low, high)] if low == high => Part::Char(low),
            _ => Part::Set(Regular::Chars(set)),
        });
    }

    fn look(&mut self, at: usize, look: Regular) -> Result<(), RegexError> {
        self.count_look(at)?;
        self.push(Part::Fixed(look));
        Ok(())
    }

    fn count_look(&mut self, at: usize) -> Result<(), RegexError> {
        self.anchors += 1;
        if self.anchors > MAX_ANCHORS {
            return Err(RegexError::limit(at, "anchors", MAX_ANCHORS));
        }
        Ok(())
    }

    /// What looks ahead inside a look-behind may look beyond the place that the look-behind is asked at.
    fn refuse_ahead(&self, at: usize) -> Result<(), RegexError> {
        let is_behind = |frame: &Frame| matches!(frame.look, Some((true, _)));
        if self.frames.iter().any(is_behind) {
            return Err(RegexError::unsupported(
                at,
                "a look-ahead inside a look-behind",
            ));
        }
        Ok(())
    }

    fn open_group(&mut self, at: usize) -> Result<(), RegexError> {
        if self.frames.len() > self.max_nesting as usize {
            return Err(RegexError::limit(at, "nested groups", self.max_nesting));
        }
        let mut look = None;
        if self.cursor.eat("?") {
            look = self.group_kind(at)?;
        }
        self.frames.push(Frame {
            opened: at,
            look,
            ..Frame::default()
        });
        Ok(())
    }

    /// Reads on behind `(?`; what the group looks at, if it does.
    fn group_kind(&mut self, at: usize) -> Result<Option<(bool, bool)>, RegexError> {
        for (start, behind, negated) in [
            ("=", false, false),
            ("!", false, true),
            ("<=", true, false),
            ("<!", true, true),
        ] {
            if self.cursor.eat(start) {
                if !behind {
                    self.refuse_ahead(at)?;
                }
                self.count_look(at)?;
                return Ok(Some((behind, negated)));
            }
        }
        if self.cursor.eat(":") {
            return Ok(None);
        }
        if self.cursor.eat("<") {
            let name_at = self.cursor.position;
            let name = self.cursor.rest().split('>').next().unwrap_or_default();
            let closed = self.cursor.rest().len() > name.len();
            let starts_well =
                name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'));
            let is_name =
                |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '\u{200C}' | '\u{200D}');
            if !closed || !starts_well || !name.chars().all(is_name) {
                return Err(RegexError::syntax(name_at, "this is no name of a group"));
            }
            self.cursor.position += name.len() + 1;
            return Ok(None);
        }
        let modifiers = self.cursor.rest();
        let flags = modifiers.trim_start_matches(['i', 'm', 's', '-']);
        if flags.starts_with(':') && flags.len() < modifiers.len() {
            return Err(RegexError::unsupported(at, "a group with flags"));
        }
        Err(RegexError::syntax(
            at,
            "ECMA-262 has no such group: a group starts with `(`, `(?:` or `(?<name>`",
        ))
    }

    fn close_group(&mut self, at: usize) -> Result<(), RegexError> {
        if self.frames.len() < 2 {
            return Err(RegexError::syntax(at, "no group is open here"));
        }
        if let Some(frame) = self.frames.pop() {
            let look = frame.look;
            let body = frame.close();
            self.push(match look {
                None => Part::Set(body),
                // Annex B lets a look-ahead be repeated.
                Some((false, negated)) => Part::Set(Regular::look(false, negated, body)),
                Some((true, negated)) => Part::Fixed(Regular::look(true, negated, body)),
            });
        }
        Ok(())
    }

    fn escape(&mut self, at: usize) -> Result<(), RegexError> {
        match class::escape(&mut self.cursor, at, &self.groups, false)? {
            Escape::Char(code) => {
                let c = class::scalar(code)
                    .ok_or_else(|| RegexError::unsupported(at, "a lone surrogate"))?;
                self.push(Part::Char(c));
            }
            Escape::Set(set) => self.push_set(set),
            Escape::Boundary { negated } => {
                self.refuse_ahead(at)?;
                self.look(at, boundary(class::word(), negated))?;
            }
        }
        Ok(())
    }

    /// What follows a `{`, if it is a quantifier.
    fn braces(&mut self) -> Option<(u32, Option<u32>)> {
        let mut cursor = self.cursor;
        let min = cursor.number()?;
        let max = if cursor.eat(",") {
            cursor.number()
        } else {
            Some(min)
        };
        if !cursor.eat("}") {
            return None;
        }
        self.cursor = cursor;
        Some((min, max))
    }

    fn quantify(&mut self, at: usize, min: u32, max: Option<u32>) -> Result<(), RegexError> {
        // Lazy quantifiers find the same texts.
        self.cursor.eat("?");
        if max.is_some_and(|max| max < min) {
            return Err(RegexError::syntax(
                at,
                "the quantifier's numbers are out of order",
            ));
        }
        let body = match self.frame().parts.pop() {
            Some(Part::Char(c)) => Regular::literal(c.encode_utf8(&mut [0; 4])),
            Some(Part::Set(set)) => set,
            Some(Part::Fixed(_)) | None => {
                return Err(RegexError::syntax(at, "there is nothing to repeat"));
            }
        };
        self.push(Part::Fixed(Regular::repeat(body, min, max)));
        Ok(())
    }
}
