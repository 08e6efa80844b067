//! Checks whether a text matches, and if not, where and why. No tokenizer is needed.

use std::fmt;
use std::sync::{Arc, OnceLock};

use structgen_automata::{CapturePiece, CaptureSpan};
use structgen_constraint::{
    CancelToken, CompiledConstraint, ConstraintOptions, Matcher, MatcherError, Refusal,
    VocabularyTables,
};
use structgen_vocab::Vocabulary;

use crate::{Constraint, Result};

/// Checks texts against a constraint, byte by byte.
///
/// ```
/// use structgen::{Checker, Constraint, Profile, SchemaOptions};
///
/// let options = SchemaOptions::new().with_profile(Profile::Exact);
/// let schema = r#"{"type": "object", "properties": {"a": {"type": "boolean"}}}"#;
/// let checker = Checker::new(&Constraint::json_schema_str(schema, &options)?)?;
/// assert!(checker.check(b"{\"a\": true}")?.is_none());
/// let mismatch = checker.check(b"{\n \"a\": 19}")?.unwrap();
/// assert_eq!((mismatch.offset, mismatch.line, mismatch.column), (8, 2, 7));
/// # Ok::<(), structgen::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checker {
    compiled: CompiledConstraint,
    cancel: Option<CancelToken>,
}

/// Where a text stops matching.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The offset in bytes of the first byte that does not match, or the length of the text if it ends too early.
    pub offset: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// The character there, or `None` at the end of the text.
    pub found: Option<char>,
    /// The bytes that would be allowed there, sorted.
    pub expected: Vec<u8>,
    /// Whether the text could have ended there.
    pub may_end: bool,
}

impl Checker {
    /// Compiles a constraint over single bytes.
    ///
    /// # Errors
    /// [`Error::Compile`](crate::Error::Compile) if no text matches, or a limit is exceeded.
    pub fn new(constraint: &Constraint) -> Result<Self> {
        Self::cancellable(constraint, None)
    }

    /// Compiles a constraint like [`new`](Checker::new). Compiling and checking end once the token is cancelled or its
    /// deadline has passed.
    ///
    /// ```
    /// use std::time::Duration;
    /// use structgen::{CancelToken, Checker, Constraint, Error};
    ///
    /// let grammar = Constraint::gbnf(r#"root ::= root "+" root | "a""#)?;
    /// let token = CancelToken::with_timeout(Duration::from_millis(50));
    /// let checker = Checker::cancellable(&grammar, token)?;
    /// let text = ["a"; 10_000].join("+");
    /// assert!(matches!(checker.check(text.as_bytes()), Err(Error::Matcher(_))));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Checker::new`], and if it takes too long.
    pub fn cancellable(
        constraint: &Constraint,
        token: impl Into<Option<CancelToken>>,
    ) -> Result<Self> {
        let cancel = token.into();
        let mut options = ConstraintOptions::default();
        options.limits.cancel.clone_from(&cancel);
        Ok(Self {
            compiled: constraint.compile_with(byte_tables()?, &options)?,
            cancel,
        })
    }

    /// Returns the checker with another token, such as one whose deadline is for the next text only. Nothing is
    /// compiled again.
    #[must_use]
    pub fn with_cancel_token(&self, token: impl Into<Option<CancelToken>>) -> Self {
        Self {
            compiled: self.compiled.clone(),
            cancel: token.into(),
        }
    }

    /// Returns the number of nodes in the constraint's automaton, whose states are computed as texts are read.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.compiled.program().len()
    }

    /// Checks a whole text; returns `None` if it matches.
    ///
    /// # Errors
    /// [`Error::Matcher`](crate::Error::Matcher) if a limit is exceeded; whether the text matches is then unknown.
    pub fn check(&self, text: &[u8]) -> Result<Option<Mismatch>> {
        let refusal = self.matcher().check_text(text)?;
        Ok(refusal.map(|refusal| Mismatch::of(refusal, text)))
    }

    /// Returns a matcher over single bytes, at the start of a text.
    pub(crate) fn matcher(&self) -> Matcher {
        let matcher = self.compiled.matcher();
        match &self.cancel {
            Some(token) => matcher.with_cancel_token(token.clone()),
            None => matcher,
        }
    }

    /// Returns the named parts of a whole text, in the order of their starts, or `None` if the text does not match.
    /// [`Matcher::captures`](structgen_constraint::Matcher::captures) explains how ambiguous texts are parsed.
    ///
    /// ```
    /// use structgen::{Checker, Constraint};
    ///
    /// let checker = Checker::new(&Constraint::regex("(?P<user>[a-z]+)@(?P<host>[a-z.]+)")?)?;
    /// let captures = checker.captures(b"ada@example.org")?.unwrap();
    /// assert_eq!((&*captures[1].name, captures[1].span.clone()), ("host", 4..15));
    /// # Ok::<(), structgen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Matcher`](crate::Error::Matcher) if a limit is exceeded.
    pub fn captures(&self, text: &[u8]) -> Result<Option<Vec<CaptureSpan>>> {
        let Some(captures) = self.compiled.captures() else {
            return Ok(self.check(text)?.is_none().then(Vec::new));
        };
        let found = captures.find(&[CapturePiece::text(text)], &[], true);
        Ok(found.map_err(MatcherError::from)?)
    }
}

/// Returns the tables of the vocabulary of all 256 single bytes.
pub(crate) fn byte_tables() -> Result<&'static Arc<VocabularyTables>> {
    static TABLES: OnceLock<Arc<VocabularyTables>> = OnceLock::new();
    if let Some(tables) = TABLES.get() {
        return Ok(tables);
    }
    let vocabulary = Vocabulary::from_tokens((0..=u8::MAX).map(|byte| vec![byte]), &[])
        .map_err(structgen_vocab::TokenizerError::from)?;
    Ok(TABLES.get_or_init(|| Arc::new(VocabularyTables::new(Arc::new(vocabulary)))))
}

impl Mismatch {
    /// Locates a refusal in its text.
    fn of(refusal: Refusal, text: &[u8]) -> Self {
        let before = &text[..refusal.offset];
        let line_start = before
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        // A character's first byte may match where a later one does not: report the whole character.
        let mut start = refusal.offset;
        while start > line_start && text.get(start).is_some_and(|byte| byte & 0xC0 == 0x80) {
            start -= 1;
        }
        Self {
            offset: refusal.offset,
            line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
            column: 1 + String::from_utf8_lossy(&text[line_start..start])
                .chars()
                .count(),
            found: String::from_utf8_lossy(&text[start..text.len().min(start + 4)])
                .chars()
                .next(),
            expected: refusal.expected,
            may_end: refusal.may_end,
        }
    }

    /// Describes what would be allowed there, in words: `","`, `a digit`, `a space or line break`, …
    #[must_use]
    pub fn expected_in_words(&self) -> String {
        in_words(&self.expected, self.may_end)
    }
}

/// Describes sorted bytes in words, and whether the text may end.
pub(crate) fn in_words(bytes: &[u8], may_end: bool) -> String {
    let mut words = describe(bytes);
    if may_end {
        words.push("the end of the text".to_owned());
    }
    match words.len() {
        0 => "nothing".to_owned(),
        1 => words.remove(0),
        _ => {
            let last = words.pop().unwrap_or_default();
            format!("{} or {last}", words.join(", "))
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = match self.found {
            None => "the text ends".to_owned(),
            Some(found) => format!("found {found:?}"),
        };
        let Self {
            offset,
            line,
            column,
            ..
        } = self;
        let expected = self.expected_in_words();
        write!(
            f,
            "at byte {offset} (line {line}, column {column}): {found}, expected {expected}"
        )
    }
}

fn describe(bytes: &[u8]) -> Vec<String> {
    const CLASSES: [(&str, &[u8]); 4] = [
        (
            "a letter or digit",
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        ),
        (
            "a letter",
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        ),
        ("a lower-case letter", b"abcdefghijklmnopqrstuvwxyz"),
        ("a digit", b"0123456789"),
    ];
    let has = |byte: u8| bytes.binary_search(&byte).is_ok();
    if (0x20..0x7F).all(has) {
        return vec!["any character".to_owned()];
    }
    if bytes.len() > 90 && has(b'a') && has(b' ') {
        let missing: Vec<char> = (0x20..0x7F)
            .filter(|&byte| !has(byte))
            .map(char::from)
            .collect();
        return vec![format!("any character but {}", quote(&missing).join(", "))];
    }
    let mut left: Vec<u8> = bytes.to_vec();
    let mut words = Vec::new();
    for (name, class) in CLASSES {
        if class.iter().all(|byte| left.contains(byte)) {
            left.retain(|byte| !class.contains(byte));
            words.push(name.to_owned());
        }
    }
    let space = left.iter().any(|byte| b" \t\r\n".contains(byte));
    left.retain(|byte| !b" \t\r\n".contains(byte));
    let (ascii, other): (Vec<u8>, Vec<u8>) = left.into_iter().partition(u8::is_ascii);
    let quoted: Vec<char> = ascii.into_iter().map(char::from).collect();
    words.splice(0..0, quote(&quoted));
    match other.iter().any(|&byte| byte >= 0xC0) {
        true => words.push("a character beyond ASCII".to_owned()),
        false if !other.is_empty() => words.push("the rest of a character".to_owned()),
        false => {}
    }
    if space {
        words.push("whitespace".to_owned());
    }
    words
}

fn quote(characters: &[char]) -> Vec<String> {
    let quote = |&c: &char| match c {
        '"' | '\'' | '\\' => format!("`{c}`"),
        _ => format!("`{}`", c.escape_debug()),
    };
    characters.iter().map(quote).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: &[u8], may_end: bool) -> String {
        let mut expected = bytes.to_vec();
        expected.sort_unstable();
        let mismatch = Mismatch {
            offset: 0,
            line: 1,
            column: 1,
            found: None,
            expected,
            may_end,
        };
        mismatch.expected_in_words()
    }

    #[test]
    fn expectations_are_grouped() {
        assert_eq!(words(b",}", false), "`,` or `}`");
        assert_eq!(words(b"\"", false), "`\"`");
        assert_eq!(
            words(b"-0123456789", true),
            "`-`, a digit or the end of the text"
        );
        assert_eq!(words(b" \n\t,", false), "`,` or whitespace");
        assert_eq!(words(b"", true), "the end of the text");
        let string: Vec<u8> = (0x20..0x7F)
            .filter(|byte| !b"\"".contains(byte))
            .chain(0xC2..0xF5)
            .collect();
        assert_eq!(words(&string, false), "any character but `\"`");
    }

    #[test]
    fn a_mismatch_within_a_character_shows_the_character() {
        let checker = Checker::new(&Constraint::choices(["aé"]).unwrap()).unwrap();
        let mismatch = checker.check("aè".as_bytes()).unwrap().unwrap();
        assert_eq!(
            (mismatch.offset, mismatch.column, mismatch.found),
            (2, 2, Some('è'))
        );
        let early = checker.check(b"a").unwrap().unwrap();
        assert_eq!((early.offset, early.found), (1, None));
        assert_eq!(checker.check("aé".as_bytes()).unwrap(), None);
    }
}
