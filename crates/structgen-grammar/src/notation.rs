//! How GBNF writes characters, classes and repetitions, for code that writes grammars.

use crate::CharSet;

/// Appends a character as in literals and classes: with a backslash if it is in `special`, by its code point if it is
/// not printable.
///
/// ```
/// let mut text = String::new();
/// for c in ['a', '"', '\n', '\u{7}', 'é'] {
///     structgen_grammar::notation::push_char(&mut text, c, &['"', '\\']);
/// }
/// assert_eq!(text, r#"a\"\n\x07é"#);
/// ```
pub fn push_char(text: &mut String, c: char, special: &[char]) {
    match c {
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        // GBNF has no escape for a circumflex; as a code point it is not read as a negation.
        '^' if special.contains(&c) => text.push_str("\\x5E"),
        _ if special.contains(&c) => text.extend(['\\', c]),
        _ if (' '..='~').contains(&c) || c.is_alphanumeric() => text.push(c),
        _ => {
            let code = u32::from(c);
            text.push_str(&match code {
                0..=0xFF => format!("\\x{code:02X}"),
                0x100..=0xFFFF => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            });
        }
    }
}

/// The characters that are escaped by a backslash in a class.
pub const SPECIAL_IN_CLASS: &[char] = &['[', ']', '\\', '-', '^'];

/// A class, negated if that takes fewer ranges. At most `most` ranges are written, followed by a note about the others.
///
/// ```
/// use structgen_grammar::{CharSet, notation::class};
///
/// assert_eq!(class(&CharSet::new([('a', 'z'), ('-', '-')]), usize::MAX), r"[\-a-z]");
/// assert_eq!(class(&CharSet::new([('"', '"')]).complement(), usize::MAX), "[^\"]");
/// assert_eq!(class(&CharSet::all(), usize::MAX), ".");
/// ```
#[must_use]
pub fn class(set: &CharSet, most: usize) -> String {
    let complement = set.complement();
    if complement.is_empty() {
        return ".".to_owned();
    }
    let negated = complement.ranges().len() < set.ranges().len();
    let ranges = if negated {
        complement.ranges()
    } else {
        set.ranges()
    };
    let mut text = String::from(if negated { "[^" } else { "[" });
    for &(low, high) in ranges.iter().take(most) {
        push_char(&mut text, low, SPECIAL_IN_CLASS);
        if low < high {
            if u32::from(high) > u32::from(low) + 1 {
                text.push('-');
            }
            push_char(&mut text, high, SPECIAL_IN_CLASS);
        }
    }
    if ranges.len() > most {
        text += &format!("… {} more", ranges.len() - most);
    }
    text.push(']');
    text
}

/// A quantifier: `*`, `+`, `?`, or numbers in braces.
///
/// ```
/// use structgen_grammar::notation::quantifier;
///
/// assert_eq!(quantifier(0, None), "*");
/// assert_eq!(quantifier(2, Some(5)), "{2,5}");
/// ```
#[must_use]
pub fn quantifier(min: u32, max: Option<u32>) -> String {
    match (min, max) {
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (0, Some(1)) => "?".to_owned(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) if min == max => format!("{{{min}}}"),
        (min, Some(max)) => format!("{{{min},{max}}}"),
    }
}
