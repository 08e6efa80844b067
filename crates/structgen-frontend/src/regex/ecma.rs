//! The dialect of ECMA-262 (2025, section 22.2.1 and annex B.1.2), with an explicit stack: nesting does not use the
//! call stack.

use structgen_grammar::{CharSet, Regular};

use super::class::{self, EcmaEscape};
use super::cursor::Cursor;
use super::fold::fold;
use super::groups::Groups;
use super::tree::Reference;
use super::{RegexError, RegexOptions, boundary};

/// The syntax tree of the pattern; anchors and boundaries are look-arounds in it.
pub(super) fn parse(pattern: &str, options: RegexOptions) -> Result<Regular, RegexError> {
    let names = GroupNames::scan(pattern);
    EcmaParser {
        cursor: Cursor::new(pattern),
        groups: Groups::new(options, EcmaFlags::default()).keeping_groups(names.may_refer),
        names,
        operators: options.operators,
    }
    .run()
}

/// The modifiers of ECMA-262 2025.
#[derive(Clone, Copy, Default)]
struct EcmaFlags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
}

/// The groups of the pattern: an escape is a back-reference only if there is such a group.
pub(super) struct GroupNames<'p> {
    pub(super) captures: u32,
    /// The names, with the numbers of their groups.
    pub(super) names: Vec<(&'p str, u32)>,
    /// Whether there may be a back-reference.
    may_refer: bool,
}

impl<'p> GroupNames<'p> {
    /// Whether a group has a name, so that `\k` refers to one.
    pub(super) fn is_named(&self) -> bool {
        !self.names.is_empty()
    }

    fn scan(pattern: &'p str) -> Self {
        let mut found = Self {
            captures: 0,
            names: Vec::new(),
            may_refer: false,
        };
        let mut in_class = false;
        let mut rest = pattern.chars();
        while let Some(c) = rest.next() {
            match c {
                '\\' => found.may_refer |= matches!(rest.next(), Some('1'..='9' | 'k')),
                '[' => in_class = true,
                ']' => in_class = false,
                '(' if !in_class => {
                    let inside = rest.as_str();
                    let name = inside.strip_prefix("?<");
                    let name = name.filter(|name| !name.starts_with(['=', '!']));
                    found.captures += u32::from(name.is_some() || !inside.starts_with('?'));
                    if let Some(name) = name.and_then(group_name) {
                        found.names.push((name, found.captures));
                    }
                }
                _ => {}
            }
        }
        found
    }
}

struct EcmaParser<'p> {
    cursor: Cursor<'p>,
    names: GroupNames<'p>,
    groups: Groups<EcmaFlags>,
    operators: bool,
}

impl EcmaParser<'_> {
    fn run(mut self) -> Result<Regular, RegexError> {
        loop {
            let at = self.cursor.position;
            let Some(c) = self.cursor.next() else {
                return self.groups.finish();
            };
            let flags = self.groups.flags;
            match c {
                '|' => self.groups.bar()?,
                '&' if self.operators => self.groups.and(at)?,
                '~' if self.operators => self.groups.not(at),
                '(' => self.open_group(at)?,
                ')' => self.groups.close(at)?,
                '^' => self.groups.look(at, line_edge(true, flags))?,
                '$' => self.groups.look(at, line_edge(false, flags))?,
                '.' if flags.dot_all => self.groups.push_set(at, CharSet::all())?,
                '.' => self.groups.push_set(at, class::line_ends().complement())?,
                '[' => {
                    let ignore_case = flags.ignore_case;
                    let set = class::parse(&mut self.cursor, at, &self.names, ignore_case)?;
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
                c => self.push_char(at, c)?,
            }
        }
    }

    fn push_char(&mut self, at: usize, c: char) -> Result<(), RegexError> {
        if self.groups.flags.ignore_case {
            let folded = fold(&CharSet::from_iter([c]));
            self.groups.push_set(at, folded)
        } else {
            self.groups.push_char(at, c)
        }
    }

    fn open_group(&mut self, at: usize) -> Result<(), RegexError> {
        if !self.cursor.eat("?") {
            return self.groups.open_captured(at).map(drop);
        }
        if let Some(look) = self.cursor.look() {
            return self.groups.open(at, Some(look));
        }
        if self.cursor.eat("<") {
            self.name()?;
            return self.groups.open_captured(at).map(drop);
        }
        let flags = self.modifiers().ok_or_else(|| {
            RegexError::syntax(
                at,
                "ECMA-262 has no such group: a group starts with `(`, `(?:`, `(?<name>` or modifiers such as `(?i:`",
            )
        })?;
        self.groups.open(at, None)?;
        self.groups.flags = flags;
        Ok(())
    }

    /// Skips the rest of `(?<name>`.
    fn name(&mut self) -> Result<(), RegexError> {
        let at = self.cursor.position;
        let Some(name) = group_name(self.cursor.rest()) else {
            return Err(RegexError::syntax(at, "this is not the name of a group"));
        };
        self.cursor.position += name.len() + 1;
        Ok(())
    }

    /// `:`, possibly after modifiers: each at most once, and not just a dash.
    fn modifiers(&mut self) -> Option<EcmaFlags> {
        let (modifiers, _) = self.cursor.rest().split_once(':')?;
        let mut flags = self.groups.flags;
        let mut seen = Vec::new();
        let mut on = true;
        for c in modifiers.chars() {
            let flag = match c {
                '-' => {
                    if !std::mem::replace(&mut on, false) {
                        return None;
                    }
                    continue;
                }
                'i' => &mut flags.ignore_case,
                'm' => &mut flags.multi_line,
                's' => &mut flags.dot_all,
                _ => return None,
            };
            if seen.contains(&c) {
                return None;
            }
            seen.push(c);
            *flag = on;
        }
        if modifiers == "-" {
            return None;
        }
        self.cursor.position += modifiers.len() + 1;
        Some(flags)
    }

    fn escape(&mut self, at: usize) -> Result<(), RegexError> {
        let ignore_case = self.groups.flags.ignore_case;
        match class::escape(&mut self.cursor, at, &self.names, ignore_case, false)? {
            EcmaEscape::Char(code) => {
                let c = class::scalar(code)
                    .ok_or_else(|| RegexError::unsupported(at, "a lone surrogate"))?;
                self.push_char(at, c)
            }
            EcmaEscape::Set(set) if ignore_case => self.groups.push_set(at, fold(&set)),
            EcmaEscape::Set(set) => self.groups.push_set(at, set),
            EcmaEscape::Reference(group) => self.groups.refer(Reference {
                at,
                group,
                fold: ignore_case.then_some(|c| fold(&CharSet::from_iter([c]))),
            }),
            EcmaEscape::Boundary { negated } => self
                .groups
                .look(at, boundary(class::word(ignore_case), negated)),
        }
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

    fn quantify(&mut self, at: usize, counts: (u32, Option<u32>)) -> Result<(), RegexError> {
        // Lazy quantifiers match the same texts.
        self.cursor.eat("?");
        self.groups.quantify(at, counts, false)
    }
}

/// `^` or `$`.
fn line_edge(start: bool, flags: EcmaFlags) -> Regular {
    if flags.multi_line {
        Regular::look(start, true, Regular::Chars(class::line_ends().complement()))
    } else {
        Regular::anchor(start)
    }
}

/// The name of a group before its `>`, if there is one here.
fn group_name(text: &str) -> Option<&str> {
    let starts = |c: char| c.is_alphabetic() || matches!(c, '_' | '$');
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '\u{200C}' | '\u{200D}');
    let end = text.find(|c| !goes_on(c))?;
    let is_name = text.starts_with(starts) && text[end..].starts_with('>');
    is_name.then(|| &text[..end])
}
