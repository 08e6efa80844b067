//! Regular expressions: from pattern text to [`Regular`].
//!
//! Two dialects are read: that of the Rust crate `regex`, through `regex-syntax`, and that of ECMA-262, which JSON Schema's `pattern`
//! names. Both come out as the same syntax tree. Anchors (`^`, `$`) are resolved exactly, wherever they stand; what a regular
//! set over single strings cannot say in this version (look-around, back-references, `\b`) is refused by position.

mod anchored;
mod class;
mod ecma;
mod error;
mod rust;

use structgen_grammar::Regular;

pub use error::{RegexError, RegexErrorKind};

/// How a pattern is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The syntax and the Unicode classes of the Rust crate `regex`.
    Rust,
    /// ECMA-262 (JavaScript) with whole code points, as with its flag `u`; harmless needless escapes such as `\_` and a lone `{`, `}` or `]`
    /// are taken as they are without that flag.
    Ecma262,
}

/// How a pattern is read.
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
    /// How the pattern is written.
    pub dialect: Dialect,
    /// Whether the pattern may match anywhere in the text; otherwise the whole text has to match.
    pub search: bool,
    /// How deep groups may nest; in the dialect of the crate `regex`, quantifiers and alternatives count as well. Values above 500 count as
    /// 500.
    pub max_nesting: u32,
}

impl RegexOptions {
    /// Patterns of the Rust crate `regex` that have to match the whole text.
    #[must_use]
    pub fn rust() -> Self {
        Self {
            dialect: Dialect::Rust,
            search: false,
            max_nesting: DEFAULT_NESTING,
        }
    }

    /// What JSON Schema's `pattern` says: ECMA-262, found anywhere in the text.
    #[must_use]
    pub fn json_schema() -> Self {
        Self {
            dialect: Dialect::Ecma262,
            search: true,
            max_nesting: DEFAULT_NESTING,
        }
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

/// Reads a pattern: the set of all texts that it matches.
///
/// Counters stay counters (`a{1000000}` is one node), characters stay characters, and the result may be empty.
///
/// ```
/// use structgen_frontend::regex::{parse, RegexOptions};
/// use structgen_grammar::Regular;
///
/// let set = parse("^ab$", RegexOptions::json_schema())?;
/// assert_eq!(set, Regular::literal("ab"));
/// let error = parse("a(?=b)", RegexOptions::json_schema()).unwrap_err();
/// assert_eq!(error.to_string(), "look-ahead is not supported (at byte 1 of the pattern)");
/// # Ok::<(), structgen_frontend::regex::RegexError>(())
/// ```
///
/// # Errors
/// [`RegexErrorKind::Syntax`] when the pattern is none of the dialect, [`RegexErrorKind::Unsupported`] when it is one but says something that
/// is not supported, [`RegexErrorKind::Limit`] when it nests too deeply or has too many anchors.
pub fn parse(pattern: &str, options: RegexOptions) -> Result<Regular, RegexError> {
    let anchored = match options.dialect {
        Dialect::Rust => rust::parse(pattern, options)?,
        Dialect::Ecma262 => ecma::parse(pattern, options)?,
    };
    Ok(if options.search {
        anchored.found_anywhere()
    } else {
        anchored.whole()
    })
}

#[cfg(test)]
mod tests;
