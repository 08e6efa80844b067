//! Classes and escapes of ECMA-262.

use regex_syntax::hir::{Class, ClassUnicode, HirKind};
use structgen_grammar::{CharSet, ecma_space};

use super::RegexError;
use super::cursor::Cursor;
use super::ecma::GroupNames;
use super::fold::fold;

/// The meaning of an escape.
pub(super) enum EcmaEscape {
    /// One code point; it may be a surrogate.
    Char(u32),
    /// One character of a set.
    Set(CharSet),
    /// A word boundary, or its negation. Not valid in a class.
    Boundary {
        /// Whether it is negated.
        negated: bool,
    },
    /// A back-reference to the group with this number. Not valid in a class.
    Reference(u32),
}

const SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

/// The character of a code point; `None` for surrogates.
pub(super) fn scalar(code: u32) -> Option<char> {
    char::from_u32(code)
}

/// Line terminators, which `.` does not match.
pub(super) fn line_ends() -> CharSet {
    CharSet::from_iter(['\n', '\r', '\u{2028}', '\u{2029}'])
}

fn digits() -> CharSet {
    CharSet::new([('0', '9')])
}

/// The word characters of `\w` and `\b`. If case is ignored, they include the long s and the Kelvin sign.
pub(super) fn word(ignore_case: bool) -> CharSet {
    let word = CharSet::new([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]);
    if ignore_case { fold(&word) } else { word }
}

fn space() -> CharSet {
    CharSet::new(ecma_space())
}

/// Reads a class after its `[`, which is at `opened`.
pub(super) fn parse(
    cursor: &mut Cursor<'_>,
    opened: usize,
    groups: &GroupNames<'_>,
    ignore_case: bool,
) -> Result<CharSet, RegexError> {
    let atom = |cursor: &mut Cursor<'_>| atom(cursor, opened, groups, ignore_case);
    let negated = cursor.eat("^");
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut surrogates = false;
    loop {
        let at = cursor.position;
        let Some(low) = atom(cursor)? else {
            break;
        };
        let dash = *cursor;
        if !cursor.eat("-") || cursor.peek() == Some(']') {
            *cursor = dash;
            add(low, &mut ranges, &mut surrogates);
            continue;
        }
        match (low, atom(cursor)?) {
            (EcmaEscape::Char(low), Some(EcmaEscape::Char(high))) => {
                if high < low {
                    return Err(RegexError::syntax(at, "the range's ends are out of order"));
                }
                add_range(low, high, &mut ranges, &mut surrogates);
            }
            // A class cannot be the end of a range: then the dash is a dash.
            (low, high) => {
                add(low, &mut ranges, &mut surrogates);
                add(
                    EcmaEscape::Char(u32::from('-')),
                    &mut ranges,
                    &mut surrogates,
                );
                if let Some(high) = high {
                    add(high, &mut ranges, &mut surrogates);
                }
            }
        }
    }
    if surrogates && ranges.is_empty() && !negated {
        return Err(RegexError::unsupported(
            opened,
            "a class of lone surrogates",
        ));
    }
    let mut set = CharSet::new(ranges);
    if ignore_case {
        set = fold(&set);
    }
    Ok(if negated { set.complement() } else { set })
}

/// A member of a class, or `None` at its end.
fn atom(
    cursor: &mut Cursor<'_>,
    opened: usize,
    groups: &GroupNames<'_>,
    ignore_case: bool,
) -> Result<Option<EcmaEscape>, RegexError> {
    let at = cursor.position;
    match cursor.next() {
        None => Err(RegexError::syntax(opened, "the class is not closed")),
        Some(']') => Ok(None),
        Some('\\') => escape(cursor, at, groups, ignore_case, true).map(Some),
        Some(c) => Ok(Some(EcmaEscape::Char(u32::from(c)))),
    }
}

fn add(member: EcmaEscape, ranges: &mut Vec<(char, char)>, surrogates: &mut bool) {
    match member {
        EcmaEscape::Char(code) => add_range(code, code, ranges, surrogates),
        EcmaEscape::Set(set) => ranges.extend_from_slice(set.ranges()),
        // Not possible in a class.
        EcmaEscape::Boundary { .. } | EcmaEscape::Reference(_) => {}
    }
}

/// Adds a range without surrogates, which no text contains.
fn add_range(low: u32, high: u32, ranges: &mut Vec<(char, char)>, surrogates: &mut bool) {
    *surrogates |= low <= *SURROGATES.end() && high >= *SURROGATES.start();
    let below = (low, high.min(SURROGATES.start() - 1));
    let above = (low.max(SURROGATES.end() + 1), high);
    for (low, high) in [below, above] {
        if low <= high
            && let (Some(low), Some(high)) = (scalar(low), scalar(high))
        {
            ranges.push((low, high));
        }
    }
}

/// Reads an escape after its backslash, which is at `at`.
pub(super) fn escape(
    cursor: &mut Cursor<'_>,
    at: usize,
    groups: &GroupNames<'_>,
    ignore_case: bool,
    in_class: bool,
) -> Result<EcmaEscape, RegexError> {
    let Some(c) = cursor.next() else {
        return Err(RegexError::syntax(at, "a backslash ends the pattern"));
    };
    let char = |c: char| Ok(EcmaEscape::Char(u32::from(c)));
    match c {
        'd' => Ok(EcmaEscape::Set(digits())),
        'D' => Ok(EcmaEscape::Set(digits().complement())),
        'w' => Ok(EcmaEscape::Set(word(ignore_case))),
        'W' => Ok(EcmaEscape::Set(word(ignore_case).complement())),
        's' => Ok(EcmaEscape::Set(space())),
        'S' => Ok(EcmaEscape::Set(space().complement())),
        'p' | 'P' => property(cursor, at, c == 'P').map(EcmaEscape::Set),
        't' => char('\t'),
        'n' => char('\n'),
        'v' => char('\u{B}'),
        'f' => char('\u{C}'),
        'r' => char('\r'),
        'b' if in_class => char('\u{8}'),
        'b' | 'B' if !in_class => Ok(EcmaEscape::Boundary { negated: c == 'B' }),
        'c' => match cursor.peek() {
            Some(letter) if letter.is_ascii_alphabetic() => {
                cursor.next();
                Ok(EcmaEscape::Char(u32::from(letter) % 32))
            }
            _ => Err(RegexError::syntax(at, "`\\c` needs a letter after it")),
        },
        'x' => match cursor.hex(2) {
            Some(code) => Ok(EcmaEscape::Char(code)),
            None => Err(RegexError::syntax(at, "`\\x` needs two hexadecimal digits")),
        },
        'u' => unicode(cursor, at),
        'k' if !in_class && groups.is_named() => named_reference(cursor, at, groups),
        '0'..='9' => digit(cursor, at, c, groups, in_class),
        c if c.is_ascii_alphabetic() => Err(RegexError::syntax(
            at,
            format!("ECMA-262 has no escape `\\{c}`"),
        )),
        c => char(c),
    }
}

/// `\k<name>`.
fn named_reference(
    cursor: &mut Cursor<'_>,
    at: usize,
    groups: &GroupNames<'_>,
) -> Result<EcmaEscape, RegexError> {
    let name = cursor.rest().strip_prefix('<');
    let name = name.and_then(|rest| Some(rest.split_once('>')?.0));
    let mut numbers = groups.names.iter().filter(|(it, _)| name == Some(*it));
    match (name, numbers.next(), numbers.next()) {
        (Some(name), Some(&(_, number)), None) => {
            cursor.position += name.len() + 2;
            Ok(EcmaEscape::Reference(number))
        }
        (_, Some(_), Some(_)) => {
            let what = "a back-reference to a name that several groups have";
            Err(RegexError::unsupported(at, what))
        }
        _ => Err(RegexError::syntax(at, "no group has this name")),
    }
}

/// `\0`, a back-reference, or an octal escape of annex B.
fn digit(
    cursor: &mut Cursor<'_>,
    at: usize,
    first: char,
    groups: &GroupNames<'_>,
    in_class: bool,
) -> Result<EcmaEscape, RegexError> {
    if !in_class && first != '0' {
        let digits = cursor.pattern[at + 1..]
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .unwrap_or_default();
        // Too many digits: no group has that number.
        if let Ok(number) = digits.parse::<u32>()
            && number <= groups.captures
        {
            cursor.position = at + 1 + digits.len();
            return Ok(EcmaEscape::Reference(number));
        }
    }
    if first >= '8' {
        return Ok(EcmaEscape::Char(u32::from(first)));
    }
    let mut code = first.to_digit(8).unwrap_or(0);
    while let Some(digit) = cursor.peek().and_then(|c| c.to_digit(8)) {
        if code * 8 + digit > 0o377 {
            break;
        }
        code = code * 8 + digit;
        cursor.next();
    }
    Ok(EcmaEscape::Char(code))
}

/// `\uXXXX`, a pair of surrogates in this form, or `\u{…}`.
fn unicode(cursor: &mut Cursor<'_>, at: usize) -> Result<EcmaEscape, RegexError> {
    if let Some(inside) = cursor.rest().strip_prefix('{')
        && let Some((digits, _)) = inside.split_once('}')
    {
        let code = u32::from_str_radix(digits, 16).ok();
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return match code.filter(|&code| plain && code <= u32::from(char::MAX)) {
            Some(code) => {
                cursor.position += digits.len() + 2;
                Ok(EcmaEscape::Char(code))
            }
            None => Err(RegexError::syntax(at, "this is not a code point")),
        };
    }
    let Some(code) = cursor.hex(4) else {
        return Err(RegexError::syntax(
            at,
            "`\\u` needs four hexadecimal digits or a code point in braces",
        ));
    };
    if (0xD800..0xDC00).contains(&code) {
        let mut ahead = *cursor;
        if ahead.eat("\\u")
            && let Some(low) = ahead.hex(4)
            && (0xDC00..0xE000).contains(&low)
        {
            *cursor = ahead;
            return Ok(EcmaEscape::Char(
                0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00),
            ));
        }
    }
    Ok(EcmaEscape::Char(code))
}

/// `\p{…}`: the tables are those of `regex-syntax`.
fn property(cursor: &mut Cursor<'_>, at: usize, negated: bool) -> Result<CharSet, RegexError> {
    let name = cursor
        .rest()
        .strip_prefix('{')
        .and_then(|inside| inside.split_once('}'))
        .map(|(name, _)| name)
        .filter(|name| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'='))
        })
        .ok_or_else(|| RegexError::syntax(at, "`\\p` needs a Unicode property in braces"))?;
    let set = match name {
        _ if is_surrogate(name) => CharSet::new([]),
        "Changes_When_NFKC_Casefolded" | "CWKCF" => {
            return Err(RegexError::unsupported(
                at,
                "the property `Changes_When_NFKC_Casefolded`",
            ));
        }
        _ => unicode_class(&format!("\\p{{{name}}}")).ok_or_else(|| {
            RegexError::syntax(at, format!("`{name}` is not a known Unicode property"))
        })?,
    };
    cursor.position += name.len() + 2;
    Ok(if negated { set.complement() } else { set })
}

/// Whether the property is the general category of surrogates, which no text contains.
fn is_surrogate(property: &str) -> bool {
    let value = ["General_Category=", "gc="]
        .iter()
        .find_map(|prefix| property.strip_prefix(prefix));
    matches!(value.unwrap_or(property), "Surrogate" | "Cs")
}

/// The characters of a class of the crate `regex`; `None` if its tables are not built in.
pub(super) fn unicode_class(class: &str) -> Option<CharSet> {
    let hir = regex_syntax::parse(class).ok()?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => Some(char_set(class)),
        // `regex-syntax` turns a class of one character into a literal.
        HirKind::Literal(literal) => Some(std::str::from_utf8(&literal.0).ok()?.chars().collect()),
        _ => None,
    }
}

pub(super) fn char_set(class: &ClassUnicode) -> CharSet {
    CharSet::new(class.iter().map(|range| (range.start(), range.end())))
}
