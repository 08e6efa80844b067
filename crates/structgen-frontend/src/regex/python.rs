//! The dialect of Python's module `re` (3.14, patterns of `str`).

use structgen_grammar::keyed::KeyedMap;
use structgen_grammar::{CharSet, Regular};

use super::cursor::Cursor;
use super::fold::fold_like_python;
use super::groups::Groups;
use super::python_class::{self as class, PythonEscape};
use super::tree::Reference;
use super::{RegexError, RegexOptions, boundary};

/// The syntax tree of the pattern; anchors and boundaries are look-arounds in it.
pub(super) fn parse(pattern: &str, options: RegexOptions) -> Result<Regular, RegexError> {
    PythonParser {
        cursor: Cursor::new(pattern),
        groups: Groups::new(options, PythonFlags::default()).keeping_groups(may_refer(pattern)),
        names: KeyedMap::default(),
        options,
    }
    .run()
}

/// The flags that change what matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PythonFlags {
    pub(super) ignore_case: bool,
    pub(super) ascii: bool,
    multi_line: bool,
    dot_all: bool,
    verbose: bool,
}

struct PythonParser<'p> {
    cursor: Cursor<'p>,
    groups: Groups<PythonFlags>,
    /// The names of groups so far, with the groups' numbers.
    names: KeyedMap<&'p str, u32>,
    options: RegexOptions,
}

impl<'p> PythonParser<'p> {
    fn run(mut self) -> Result<Regular, RegexError> {
        loop {
            let at = self.cursor.position;
            let Some(c) = self.cursor.next() else {
                return self.groups.finish();
            };
            let flags = self.groups.flags;
            match c {
                ' ' | '\t' | '\n' | '\r' | '\u{B}' | '\u{C}' if flags.verbose => {}
                '#' if flags.verbose => {
                    self.comment('\n')?;
                }
                '|' => self.groups.bar()?,
                '&' if self.options.operators => self.groups.and(at)?,
                '~' if self.options.operators => self.groups.not(at),
                '(' => self.group(at)?,
                ')' => self.groups.close(at)?,
                '^' if flags.multi_line => {
                    let line_end = CharSet::from_iter(['\n']);
                    let inside = Regular::Chars(line_end.complement());
                    self.groups.look(at, Regular::look(true, true, inside))?;
                }
                '^' => self.groups.look(at, Regular::anchor(true))?,
                '$' => self.dollar(at)?,
                '.' if flags.dot_all => self.groups.push_set(at, CharSet::all())?,
                '.' => {
                    let line_end = CharSet::from_iter(['\n']);
                    self.groups.push_set(at, line_end.complement())?;
                }
                '[' => {
                    let set = class::parse(&mut self.cursor, at, flags)?;
                    self.groups.push_set(at, set)?;
                }
                '\\' => self.escape(at)?,
                '*' => self.quantify(at, (0, None))?,
                '+' => self.quantify(at, (1, None))?,
                '?' => self.quantify(at, (0, Some(1)))?,
                '{' => match self.braces() {
                    Some(counts) => self.quantify(at, counts)?,
                    None => self.groups.push_char(at, '{')?,
                },
                c => {
                    let set = class::folded(CharSet::from_iter([c]), flags);
                    self.groups.push_set(at, set)?;
                }
            }
        }
    }

    /// The end of the text, or the line feed that ends it; under `m`, the end of any line.
    fn dollar(&mut self, at: usize) -> Result<(), RegexError> {
        let line_end = || Regular::literal("\n");
        let end = || Regular::anchor(false);
        if self.groups.flags.multi_line {
            let inside = Regular::Chars(CharSet::from_iter(['\n']).complement());
            return self.groups.look(at, Regular::look(false, true, inside));
        }
        // If nothing that follows could match the line feed, no look-ahead is needed.
        let is_last = self.groups.is_outermost() && matches!(self.cursor.peek(), None | Some('|'));
        let look = match (is_last, self.options.search) {
            (true, false) => end(),
            (true, true) => Regular::concat([Regular::repeat(line_end(), 0, Some(1)), end()]),
            (false, _) => {
                let last = Regular::repeat(line_end(), 0, Some(1));
                Regular::look(false, false, Regular::concat([last, end()]))
            }
        };
        self.groups.look(at, look)
    }

    fn group(&mut self, at: usize) -> Result<(), RegexError> {
        if !self.cursor.eat("?") {
            return self.groups.open_captured(at).map(drop);
        }
        if let Some(look) = self.cursor.look() {
            return self.groups.open(at, Some(look));
        }
        if self.cursor.eat("#") {
            return match self.comment(')')? {
                true => Ok(()),
                false => Err(RegexError::syntax(at, "the comment is not closed")),
            };
        }
        if self.cursor.eat("P<") {
            let name = self.name('>')?;
            let number = self.groups.open_captured(at)?;
            return match self.names.insert(name, number) {
                Some(_) => Err(RegexError::syntax(at, "another group has this name")),
                None => Ok(()),
            };
        }
        if self.cursor.eat("P=") {
            let name = self.name(')')?;
            let number = self.names.get(name).copied();
            let number = number.ok_or_else(|| RegexError::syntax(at, "no group has this name"))?;
            return self.refer(at, number);
        }
        for (start, what) in [
            ("(", "a group that depends on another one"),
            (">", "an atomic group"),
        ] {
            if self.cursor.eat(start) {
                return Err(RegexError::unsupported(at, what));
            }
        }
        let (flags, ends_group) = self.flags(at)?;
        if !ends_group {
            self.groups.open(at, None)?;
        } else if !self.groups.is_at_start() {
            return Err(RegexError::syntax(
                at,
                "flags for the whole pattern stand at its start",
            ));
        }
        self.groups.flags = flags;
        Ok(())
    }

    /// Reads the name of a group and the character after it.
    fn name(&mut self, end: char) -> Result<&'p str, RegexError> {
        let at = self.cursor.position;
        let rest = self.cursor.rest();
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let starts_well = rest.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let length = length.filter(|&length| starts_well && rest[length..].starts_with(end));
        let Some(length) = length else {
            return Err(RegexError::syntax(at, "this is not the name of a group"));
        };
        let name = &rest[..length];
        self.cursor.position += name.len() + 1;
        Ok(name)
    }

    fn refer(&mut self, at: usize, group: u32) -> Result<(), RegexError> {
        if group > self.groups.captures() {
            return Err(RegexError::syntax(
                at,
                "there is no group with this number before it",
            ));
        }
        if self.groups.is_open(group) {
            return Err(RegexError::syntax(at, "a group cannot refer to itself"));
        }
        let flags = self.groups.flags;
        let fold = match (flags.ignore_case, flags.ascii) {
            (false, _) => None,
            (true, false) => Some(same_in_lower_case as fn(char) -> CharSet),
            (true, true) => Some((|c| fold_like_python(&CharSet::from_iter([c]), true)) as _),
        };
        self.groups.refer(Reference { at, group, fold })
    }

    /// Skips a comment and its end; returns whether it ends before the pattern does. Python reads a backslash and the
    /// character after it as one, so an escaped end ends nothing.
    fn comment(&mut self, end: char) -> Result<bool, RegexError> {
        loop {
            let at = self.cursor.position;
            match self.cursor.next() {
                None => return Ok(false),
                Some('\\') => {
                    let escaped = self.cursor.next();
                    escaped
                        .ok_or_else(|| RegexError::syntax(at, "a backslash ends the pattern"))?;
                }
                Some(c) if c == end => return Ok(true),
                Some(_) => {}
            }
        }
    }

    /// `i-m:` or `im)` after `(?`: the flags, and whether they apply to all that follows.
    fn flags(&mut self, at: usize) -> Result<(PythonFlags, bool), RegexError> {
        let wrong = || {
            RegexError::syntax(
                at,
                "Python has no such group: a group starts with `(`, `(?:`, `(?P<name>` or flags such as `(?i:`",
            )
        };
        let mut flags = self.groups.flags;
        let (mut on, mut count, mut types) = (true, 0, 0);
        loop {
            let flag = match self.cursor.next() {
                Some(':') if on || count > 0 => return Ok((flags, false)),
                Some(')') if on && count > 0 => return Ok((flags, true)),
                Some('-') if on => {
                    on = false;
                    count = 0;
                    continue;
                }
                Some('i') => &mut flags.ignore_case,
                Some('m') => &mut flags.multi_line,
                Some('s') => &mut flags.dot_all,
                Some('x') => &mut flags.verbose,
                Some(c @ ('a' | 'u')) if on => {
                    types += 1;
                    count += 1;
                    flags.ascii = c == 'a';
                    if types > 1 {
                        return Err(RegexError::syntax(at, "`a` and `u` exclude each other"));
                    }
                    continue;
                }
                _ => return Err(wrong()),
            };
            *flag = on;
            count += 1;
        }
    }

    fn escape(&mut self, at: usize) -> Result<(), RegexError> {
        let flags = self.groups.flags;
        let edge = match self.cursor.peek() {
            Some('A') => Some(Regular::anchor(true)),
            Some('Z' | 'z') => Some(Regular::anchor(false)),
            Some('b') => Some(boundary(class::word(flags), false)),
            Some('B') => Some(boundary(class::word(flags), true)),
            _ => None,
        };
        if let Some(edge) = edge {
            self.cursor.next();
            return self.groups.look(at, edge);
        }
        let set = match class::escape(&mut self.cursor, at, flags, false)? {
            PythonEscape::Char(c) => class::folded(CharSet::from_iter([c]), flags),
            PythonEscape::Set(set) => set,
            PythonEscape::Reference(number) => return self.refer(at, number),
        };
        self.groups.push_set(at, set)
    }

    /// What follows a `{`, if it is a quantifier; either number may be left out.
    fn braces(&mut self) -> Option<(u32, Option<u32>)> {
        let mut cursor = self.cursor;
        let min = cursor.number();
        let max = if cursor.eat(",") {
            cursor.number()
        } else {
            Some(min?)
        };
        if !cursor.eat("}") {
            return None;
        }
        self.cursor = cursor;
        Some((min.unwrap_or(0), max))
    }

    fn quantify(&mut self, at: usize, counts: (u32, Option<u32>)) -> Result<(), RegexError> {
        if self.cursor.peek() == Some('+') {
            return Err(RegexError::unsupported(at, "a possessive quantifier"));
        }
        // Lazy quantifiers match the same texts.
        self.cursor.eat("?");
        self.groups.quantify(at, counts, false)
    }
}

/// Whether the pattern may have a back-reference.
fn may_refer(pattern: &str) -> bool {
    let escaped = pattern.split('\\').skip(1);
    pattern.contains("(?P=")
        || escaped
            .into_iter()
            .any(|rest| rest.starts_with(|c| matches!(c, '1'..='9')))
}

/// The characters that a back-reference under `i` takes for one: those with the same lower case.
fn same_in_lower_case(c: char) -> CharSet {
    let lower = |c: char| c.to_lowercase().next();
    let folded = fold_like_python(&CharSet::from_iter([c]), false);
    let chars = folded.ranges().iter().flat_map(|&(low, high)| low..=high);
    chars.filter(|&other| lower(other) == lower(c)).collect()
}
