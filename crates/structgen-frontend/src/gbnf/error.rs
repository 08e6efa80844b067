//! Why a grammar is refused, with the position marked.

use std::fmt;

use super::GbnfFileError;
use crate::json_schema::SchemaError;
use crate::regex::RegexErrorKind;

/// Why a grammar is refused, and where.
///
/// `Display` shows the line with a caret under the position:
///
/// ```
/// use structgen_frontend::gbnf::{GbnfOptions, parse};
///
/// let error = parse("root ::= 'yes'", &GbnfOptions::default()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 1, column 10: expected something to match, `|` or the end of the rule
///   |
/// 1 | root ::= 'yes'
///   |          ^
/// hint: literals stand in double quotes"
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct GbnfError {
    /// The file, if the error is in one: a path below the folder of [`GbnfFiles`](super::GbnfFiles).
    pub file: Option<String>,
    /// The line, counted from one.
    pub line: usize,
    /// The column in code points, counted from one.
    pub column: usize,
    /// What is wrong.
    pub kind: GbnfErrorKind,
    /// A suggestion, if there is one.
    pub hint: Option<String>,
    /// Boxed to keep `Result` small.
    excerpt: Box<Excerpt>,
}

structgen_sentence::debug_as_sentence!(GbnfError);

/// The part of a line that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Excerpt {
    /// The line's text, shortened around the position if it is long.
    text: String,
    /// The position of the caret in it.
    caret: usize,
}

/// What is wrong with a grammar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GbnfErrorKind {
    /// The text is not GBNF.
    #[error("{0}")]
    Syntax(String),
    /// A rule is not defined.
    #[error("there is no rule `{0}`")]
    UndefinedRule(String),
    /// A rule is defined again.
    #[error("the rule `{name}` is defined already, in line {first_line}")]
    DuplicateRule {
        /// The rule.
        name: String,
        /// The line of its first definition.
        first_line: usize,
    },
    /// The root is not defined.
    #[error("there is no rule `{0}` to start from")]
    NoRoot(String),
    /// An escape does not denote a character.
    #[error("`{0}` is not a Unicode character")]
    NotACharacter(String),
    /// A number, range or counter is invalid.
    #[error("{0}")]
    Range(&'static str),
    /// An extension of GBNF, which [`GbnfOptions::strict`](super::GbnfOptions::strict) refuses.
    #[error("{0} is not part of llama.cpp's GBNF")]
    Extension(&'static str),
    /// A pattern between slashes is refused.
    #[error("in the pattern: {0}")]
    Regex(RegexErrorKind),
    /// The text of a schema is not JSON.
    #[error("the schema is not JSON: {0}")]
    NotJson(String),
    /// A schema is refused.
    #[error("{}{error}", .path.as_ref().map_or_else(|| "in the schema: ".to_owned(), |path| format!("in the schema {path}: ")))]
    Schema {
        /// The file, if the schema is in one.
        path: Option<String>,
        /// Why.
        error: Box<SchemaError>,
    },
    /// A file cannot be used.
    #[error(transparent)]
    File(Box<GbnfFileError>),
    /// An operand is not a regular set.
    #[error("{operand} is not regular: it {it}")]
    NotRegular {
        /// The operand, described by its operator.
        operand: &'static str,
        /// Why it is not regular.
        it: &'static str,
    },
    /// The grammar exceeds a limit.
    #[error("{what} exceed the limit of {limit}")]
    Limit {
        /// What was counted, as a plural.
        what: &'static str,
        /// The limit.
        limit: u32,
    },
}

/// The maximum number of code points shown on either side of the caret.
const CONTEXT: usize = 60;

impl GbnfError {
    /// An error at a byte of the text; the byte is on a character boundary.
    pub(super) fn at(text: &str, position: usize, kind: GbnfErrorKind) -> Self {
        let before: Vec<char> = text[line_start(text, position)..position].chars().collect();
        let shown_before = &before[before.len().saturating_sub(CONTEXT)..];
        let after = text[position..].split(['\n', '\r']).next().unwrap_or("");
        let text_shown = shown_before
            .iter()
            .copied()
            .chain(after.chars().take(CONTEXT))
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        Self {
            file: None,
            line: Self::line_of(text, position),
            column: before.len() + 1,
            kind,
            hint: None,
            excerpt: Box::new(Excerpt {
                text: text_shown,
                caret: shown_before.len(),
            }),
        }
    }

    /// The line of a byte, counted from one.
    pub(super) fn line_of(text: &str, position: usize) -> usize {
        let mut line = 1;
        let mut before = text[..position].chars().peekable();
        while let Some(c) = before.next() {
            // A carriage return followed by a line feed ends one line.
            let ends = c == '\n' || (c == '\r' && before.peek() != Some(&'\n'));
            line += usize::from(ends);
        }
        line
    }

    /// The column of a byte, in code points, counted from one.
    pub(super) fn column_of(text: &str, position: usize) -> usize {
        text[line_start(text, position)..position].chars().count() + 1
    }

    /// An error about a file that is named at a byte of the text.
    pub(super) fn of_file(text: &str, position: usize, error: GbnfFileError) -> Self {
        Self::at(text, position, GbnfErrorKind::File(Box::new(error)))
    }

    pub(super) fn in_file(mut self, path: Option<&str>) -> Self {
        self.file = self.file.or_else(|| path.map(str::to_owned));
        self
    }

    pub(super) fn with_hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into();
        self
    }
}

fn line_start(text: &str, position: usize) -> usize {
    text[..position].rfind(['\n', '\r']).map_or(0, |at| at + 1)
}

impl fmt::Display for GbnfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = number.len();
        if let Some(file) = &self.file {
            write!(f, "{file}, ")?;
        }
        writeln!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.kind
        )?;
        writeln!(f, "{:margin$} |", "")?;
        writeln!(f, "{number} | {}", self.excerpt.text)?;
        write!(f, "{:margin$} | {:2$}^", "", "", self.excerpt.caret)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for GbnfError {}
