//! Regular expressions: from pattern text to [`Regular`].
//!
//! There are three dialects: that of the Rust crate `regex`, parsed by `regex-syntax`; that of ECMA-262, which JSON
//! Schema's `pattern` uses; and that of Python's module `re`. All produce the same syntax tree. Anchors (`^`, `$`) and
//! word boundaries are resolved exactly, wherever they occur, and so is look-around, which sees the whole text and is
//! also available in the dialect of the crate `regex`. Lazy quantifiers match the same texts as greedy ones.
//!
//! Back-references, in the dialects that have them, are exact where the group has finitely many texts (10,000 at most),
//! as in `(["']).*\1` or `(\d)\1{3}`. These are errors with a position:
//!
//! - other back-references,
//! - references to a group in a look-around from outside it, and to a group in a look-behind from within it,
//! - references to a group in an operand of `&` or `~`, or to a name that several groups have,
//! - in Python's dialect, references to a group in a repetition whose rounds do not all set it,
//! - atomic groups and possessive quantifiers,
//! - repeated look-aheads in a look-behind, and those that look at more than one character before its end.

mod anchored;
mod behind;
mod captures;
mod class;
mod cursor;
mod ecma;
mod error;
mod fold;
mod groups;
mod python;
mod python_class;
mod references;
mod rust;
mod texts;
mod tree;

use structgen_grammar::{CharSet, Regular};

use self::anchored::Anchored;
pub use captures::parse_named;
pub use error::{RegexError, RegexErrorKind};

/// The syntax of patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The syntax and the Unicode classes of the Rust crate `regex`.
    Rust,
    /// ECMA-262 (JavaScript) with whole code points, as with its flag `u`. Accepted as without that flag are needless
    /// escapes such as `\_`, a lone `{`, `}` or `]`, octal escapes such as `\101`, classes at the ends of a range, as
    /// in `[\w-a]` (then the dash is a dash), and repeated look-aheads.
    ///
    /// Modifiers such as `(?i:…)` are those of ECMA-262 2025, with `i` by Unicode's simple case folding.
    Ecma262,
    /// Python's module `re` for patterns of `str`, as of Python 3.14: `\\d`, `\\w` and `\\s` are Unicode's unless
    /// `(?a)` is set, and `$` also matches before a line feed at the end of the text. Look-behinds may have any length.
    Python,
}

/// How a pattern is parsed.
///
/// ```
/// use structgen_frontend::regex::{Dialect, RegexOptions};
///
/// let options = RegexOptions::json_schema();
/// assert_eq!(options.dialect, Dialect::Ecma262);
/// assert!(options.search);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegexOptions {
    /// The syntax of the pattern.
    pub dialect: Dialect,
    /// Whether the pattern may match anywhere in the text; otherwise the whole text must match.
    pub search: bool,
    /// The maximum nesting of groups; in the dialect of the crate `regex`, quantifiers and alternatives count as well.
    /// Values above 500 count as 500.
    pub max_nesting: u32,
    /// Whether `&` and `~` are operators. `a&b` is the intersection and binds tighter than `|`. `~a` is the complement
    /// of the single part after it, as in `~(ab)`, and binds tighter than quantifiers: `~a*` is `(~a)*`. Escaped by a
    /// backslash, they are characters. An operand matches on its own: one that looks around, for instance by an anchor,
    /// is an error unless it is the whole text.
    pub operators: bool,
}

impl RegexOptions {
    /// Patterns of the Rust crate `regex` that must match the whole text.
    #[must_use]
    pub fn rust() -> Self {
        Self {
            dialect: Dialect::Rust,
            search: false,
            max_nesting: DEFAULT_NESTING,
            operators: false,
        }
    }

    /// Patterns of JSON Schema's `pattern`: ECMA-262, found anywhere in the text.
    #[must_use]
    pub fn json_schema() -> Self {
        Self {
            dialect: Dialect::Ecma262,
            search: true,
            max_nesting: DEFAULT_NESTING,
            operators: false,
        }
    }

    /// Patterns of Python's module `re` that must match the whole text, as with `re.fullmatch`.
    #[must_use]
    pub fn python() -> Self {
        Self {
            dialect: Dialect::Python,
            ..Self::rust()
        }
    }

    /// The same, with another dialect.
    #[must_use]
    pub fn with_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// The same, with `&` and `~` as operators or as characters.
    ///
    /// ```
    /// use structgen_frontend::regex::{RegexOptions, parse};
    /// use structgen_grammar::Regular;
    ///
    /// let options = RegexOptions::rust().with_operators(true);
    /// let words_but_no = parse("[a-z]+&~(no)", options)?;
    /// assert!(matches!(words_but_no, Regular::Intersection(_)));
    /// # Ok::<(), structgen_frontend::regex::RegexError>(())
    /// ```
    #[must_use]
    pub fn with_operators(self, operators: bool) -> Self {
        Self { operators, ..self }
    }

    /// The same dialect, with the pattern found anywhere (`true`) or matching the whole text (`false`).
    #[must_use]
    pub fn with_search(self, search: bool) -> Self {
        Self { search, ..self }
    }

    fn nesting(self) -> u32 {
        self.max_nesting.min(500)
    }
}

const DEFAULT_NESTING: u32 = 250;
/// The maximum number of anchors and look-arounds in one pattern: each of them may double a part of the result.
const MAX_ANCHORS: u32 = 100;

/// Parses a pattern into the set of all texts that it matches.
///
/// Counters stay counters (`a{1000000}` is one node), characters stay characters, and the result may be empty. A
/// pattern that looks around sees only its own text: within a larger expression, it does not see the text around it.
///
/// ```
/// use structgen_frontend::regex::{parse, RegexOptions};
/// use structgen_grammar::Regular;
///
/// let set = parse("^ab$", RegexOptions::json_schema())?;
/// assert_eq!(set, Regular::literal("ab"));
/// let error = parse(r"(a*)\1", RegexOptions::json_schema()).unwrap_err();
/// assert_eq!(error.to_string(), "a back-reference to a group with infinitely many texts is not supported (at byte 4 of the pattern)");
/// # Ok::<(), structgen_frontend::regex::RegexError>(())
/// ```
///
/// # Errors
/// [`RegexErrorKind::Syntax`] if the pattern is invalid in the dialect, [`RegexErrorKind::Unsupported`] if it is valid
/// but uses something unsupported, [`RegexErrorKind::Limit`] if it nests too deeply, has too many anchors, or exceeds a
/// limit on back-references.
pub fn parse(pattern: &str, options: RegexOptions) -> Result<Regular, RegexError> {
    let tree = match options.dialect {
        Dialect::Rust => rust::parse(pattern, options)?,
        Dialect::Ecma262 => ecma::parse(pattern, options)?,
        Dialect::Python => python::parse(pattern, options)?,
    };
    Ok(whole_text(tree, options.search))
}

/// The texts that a tree matches, or in which it is found: a set that does not look around.
fn whole_text(tree: Regular, search: bool) -> Regular {
    match Anchored::of(&tree) {
        Some(anchored) if search => anchored.found_anywhere(),
        Some(anchored) => anchored.whole(),
        None => {
            let any = Regular::any_text;
            let text = if search {
                Regular::concat([any(), tree, any()])
            } else {
                tree
            };
            Regular::Intersection([text].into())
        }
    }
}

/// A word boundary, or, if `negated`, any other position.
fn boundary(word: CharSet, negated: bool) -> Regular {
    let look = |behind, none| Regular::look(behind, none, Regular::Chars(word.clone()));
    let case = |before| Regular::concat([look(true, before), look(false, before == negated)]);
    Regular::union([case(false), case(true)])
}

#[cfg(test)]
mod tests;
