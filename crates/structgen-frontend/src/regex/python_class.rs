//! Classes and escapes of Python's module `re`.

use structgen_grammar::{ASCII_SPACE, CharSet, WIDE_SPACE};

use super::RegexError;
use super::class::unicode_class;
use super::cursor::Cursor;
use super::fold::fold_like_python;
use super::python::PythonFlags;

/// The meaning of an escape.
pub(super) enum PythonEscape {
    /// One character.
    Char(char),
    /// One character of a set.
    Set(CharSet),
    /// A back-reference to the group with this number. Not valid in a class.
    Reference(u32),
}

/// `\w`: letters, numbers and the underscore.
pub(super) fn word(flags: PythonFlags) -> CharSet {
    let ascii = || CharSet::new([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]);
    known(flags, r"[\p{L}\p{N}_]", ascii)
}

fn digits(flags: PythonFlags) -> CharSet {
    known(flags, r"\p{Nd}", || CharSet::new([('0', '9')]))
}

/// `\s`: the characters of `str.isspace`.
fn space(flags: PythonFlags) -> CharSet {
    if flags.ascii {
        return CharSet::new(ASCII_SPACE);
    }
    let separators = [('\u{1C}', '\u{1F}'), ('\u{85}', '\u{85}')];
    let all = ASCII_SPACE.into_iter().chain(separators);
    CharSet::new(all.chain(WIDE_SPACE))
}

fn known(flags: PythonFlags, class: &str, ascii: impl Fn() -> CharSet) -> CharSet {
    match unicode_class(class) {
        Some(set) if !flags.ascii => set,
        _ => ascii(),
    }
}

/// The set, closed under case folding if case is ignored.
pub(super) fn folded(set: CharSet, flags: PythonFlags) -> CharSet {
    if flags.ignore_case {
        fold_like_python(&set, flags.ascii)
    } else {
        set
    }
}

/// Reads a class after its `[`, which is at `opened`.
pub(super) fn parse(
    cursor: &mut Cursor<'_>,
    opened: usize,
    flags: PythonFlags,
) -> Result<CharSet, RegexError> {
    let unclosed = || RegexError::syntax(opened, "the class is not closed");
    let negated = cursor.eat("^");
    // Characters, whose case may be ignored, and classes, which do not depend on case.
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut classes: Vec<(char, char)> = Vec::new();
    let mut is_first = true;
    loop {
        let at = cursor.position;
        // A bracket in the first position is a character.
        if !std::mem::take(&mut is_first) && cursor.eat("]") {
            break;
        }
        let low = atom(cursor, flags)?.ok_or_else(unclosed)?;
        let mut ahead = *cursor;
        if !ahead.eat("-") || ahead.peek() == Some(']') {
            match low {
                PythonEscape::Char(c) => ranges.push((c, c)),
                PythonEscape::Set(set) => classes.extend_from_slice(set.ranges()),
                // Not possible in a class.
                PythonEscape::Reference(_) => {}
            }
            continue;
        }
        *cursor = ahead;
        let high = atom(cursor, flags)?.ok_or_else(unclosed)?;
        match (low, high) {
            (PythonEscape::Char(low), PythonEscape::Char(high)) if low <= high => {
                ranges.push((low, high))
            }
            (PythonEscape::Char(_), PythonEscape::Char(_)) => {
                return Err(RegexError::syntax(at, "the range's ends are out of order"));
            }
            _ => return Err(RegexError::syntax(at, "a class cannot end a range")),
        }
    }
    let chars = folded(CharSet::new(ranges), flags);
    let set = CharSet::new(chars.ranges().iter().copied().chain(classes));
    Ok(if negated { set.complement() } else { set })
}

/// A member of a class, or `None` at the end of the pattern.
fn atom(cursor: &mut Cursor<'_>, flags: PythonFlags) -> Result<Option<PythonEscape>, RegexError> {
    let at = cursor.position;
    match cursor.next() {
        Some('\\') => escape(cursor, at, flags, true).map(Some),
        other => Ok(other.map(PythonEscape::Char)),
    }
}

/// Reads an escape after its backslash, which is at `at`; not one that looks around.
pub(super) fn escape(
    cursor: &mut Cursor<'_>,
    at: usize,
    flags: PythonFlags,
    in_class: bool,
) -> Result<PythonEscape, RegexError> {
    let Some(c) = cursor.next() else {
        return Err(RegexError::syntax(at, "a backslash ends the pattern"));
    };
    Ok(match c {
        'd' => PythonEscape::Set(digits(flags)),
        'D' => PythonEscape::Set(digits(flags).complement()),
        'w' => PythonEscape::Set(word(flags)),
        'W' => PythonEscape::Set(word(flags).complement()),
        's' => PythonEscape::Set(space(flags)),
        'S' => PythonEscape::Set(space(flags).complement()),
        'a' => PythonEscape::Char('\u{7}'),
        'b' if in_class => PythonEscape::Char('\u{8}'),
        'f' => PythonEscape::Char('\u{C}'),
        'n' => PythonEscape::Char('\n'),
        'r' => PythonEscape::Char('\r'),
        't' => PythonEscape::Char('\t'),
        'v' => PythonEscape::Char('\u{B}'),
        'x' => code_point(cursor, at, 2)?,
        'u' => code_point(cursor, at, 4)?,
        'U' => code_point(cursor, at, 8)?,
        'N' => return Err(RegexError::unsupported(at, "a character by its name")),
        '0'..='9' => octal(cursor, at, c, in_class)?,
        c if c.is_ascii_alphabetic() => {
            return Err(RegexError::syntax(
                at,
                format!(
                    "Python has no escape `\\{c}`{}",
                    if in_class { " in a class" } else { "" }
                ),
            ));
        }
        c => PythonEscape::Char(c),
    })
}

fn code_point(
    cursor: &mut Cursor<'_>,
    at: usize,
    digits: usize,
) -> Result<PythonEscape, RegexError> {
    let code = cursor.hex(digits).ok_or_else(|| {
        RegexError::syntax(at, format!("this escape needs {digits} hexadecimal digits"))
    })?;
    match char::from_u32(code) {
        Some(c) => Ok(PythonEscape::Char(c)),
        None if (0xD800..0xE000).contains(&code) => {
            Err(RegexError::unsupported(at, "a lone surrogate"))
        }
        None => Err(RegexError::syntax(at, "this is not a code point")),
    }
}

/// `\0`, three octal digits, in a class any octal digits; a back-reference otherwise.
fn octal(
    cursor: &mut Cursor<'_>,
    at: usize,
    first: char,
    in_class: bool,
) -> Result<PythonEscape, RegexError> {
    let digit = |c: char| c.to_digit(8);
    let mut ahead = *cursor;
    let mut digits = vec![first];
    while digits.len() < 3 && ahead.peek().and_then(digit).is_some() {
        digits.extend(ahead.next());
    }
    let is_octal = in_class || first == '0' || digits.len() == 3;
    let Some(code) = digits
        .iter()
        .try_fold(0, |code, &c| Some(code * 8 + digit(c)?))
        .filter(|_| is_octal)
    else {
        if in_class {
            return Err(RegexError::syntax(at, "this is not an octal escape"));
        }
        let mut number = first.to_digit(10).unwrap_or(0);
        if let Some(digit) = cursor.peek().and_then(|c| c.to_digit(10)) {
            cursor.next();
            number = number * 10 + digit;
        }
        return Ok(PythonEscape::Reference(number));
    };
    *cursor = ahead;
    match char::from_u32(code).filter(|_| code <= 0o377) {
        Some(c) => Ok(PythonEscape::Char(c)),
        None => Err(RegexError::syntax(
            at,
            "the octal escape is larger than \\377",
        )),
    }
}
