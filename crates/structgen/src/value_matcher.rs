//! A constraint on a single value of a document.

use std::sync::Arc;

use structgen_constraint::{Mask, Matcher};
use structgen_decode::{Constraint, constraint::ConstraintError};
use structgen_vocab::{TokenId, TokenMask};

/// The constraint of a document from the start of one of its values to the end of that value.
///
/// It allows what the document's constraint allows there; a token that ends the value may contain some of what comes
/// after it.
#[derive(Clone)]
pub(crate) struct ValueMatcher {
    matcher: Matcher,
    /// The reader's state before each accepted token, and after the last.
    readers: Vec<ValueReader>,
}

impl ValueMatcher {
    /// Creates it from a matcher that is `before` bytes before the value.
    pub(crate) fn new(matcher: Matcher, before: usize) -> Self {
        Self {
            matcher,
            readers: vec![ValueReader::new(before)],
        }
    }

    fn reader(&self) -> ValueReader {
        self.readers[self.readers.len() - 1]
    }
}

impl Constraint for ValueMatcher {
    type Mask = Mask;

    fn mask(&mut self) -> Result<Arc<Mask>, ConstraintError> {
        Constraint::mask(&mut self.matcher)
    }

    fn ready_mask(&mut self) -> Result<Option<Arc<Mask>>, ConstraintError> {
        Constraint::ready_mask(&mut self.matcher)
    }

    fn accept_token(&mut self, token: TokenId) -> Result<(), ConstraintError> {
        Constraint::accept_token(&mut self.matcher, token)?;
        let vocabulary = self.matcher.constraint().vocabulary();
        let mut reader = self.reader();
        reader.read(vocabulary.token_bytes(token).unwrap_or_default());
        self.readers.push(reader);
        Ok(())
    }

    fn is_accepting(&self) -> bool {
        self.is_finished()
    }

    fn is_finished(&self) -> bool {
        self.reader().end.is_some() || self.matcher.is_finished()
    }

    fn rollback(&mut self, n: usize) -> Result<(), ConstraintError> {
        Constraint::rollback(&mut self.matcher, n)?;
        self.readers.truncate(self.readers.len() - n);
        Ok(())
    }

    fn forced_token(&mut self) -> Result<Option<TokenId>, ConstraintError> {
        Constraint::forced_token(&mut self.matcher)
    }

    fn completion_cost(&mut self) -> Result<u64, ConstraintError> {
        match self.is_finished() {
            true => Ok(0),
            false => Constraint::completion_cost(&mut self.matcher),
        }
    }

    fn completion_cost_after(&mut self, token: TokenId) -> Result<u64, ConstraintError> {
        Constraint::completion_cost_after(&mut self.matcher, token)
    }

    fn tokens_within(&mut self, most: u64) -> Result<Option<Arc<TokenMask>>, ConstraintError> {
        Constraint::tokens_within(&mut self.matcher, most)
    }

    fn sets_temperatures(&self) -> bool {
        Constraint::sets_temperatures(&self.matcher)
    }

    fn temperature(&mut self) -> Result<Option<f32>, ConstraintError> {
        Constraint::temperature(&mut self.matcher)
    }

    fn eos(&self) -> &[TokenId] {
        self.matcher.constraint().eos()
    }
}

/// Finds the end of a JSON value in text that is known to be JSON.
#[derive(Clone, Copy, Debug)]
struct ValueReader {
    /// Bytes still to come before the value.
    before: usize,
    /// The number of open brackets and braces.
    depth: usize,
    state: State,
    /// Bytes read, including those before the value.
    read: usize,
    /// Where the value ended.
    end: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Between JSON tokens.
    Between,
    String,
    /// After a backslash.
    Escape,
    /// In a number or literal that is the value.
    Scalar,
}

impl ValueReader {
    fn new(before: usize) -> Self {
        Self {
            before,
            depth: 0,
            state: State::Between,
            read: 0,
            end: None,
        }
    }

    fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.end.is_some() {
                return;
            }
            if self.before > 0 {
                self.before -= 1;
                self.read += 1;
                continue;
            }
            let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            match (self.state, byte) {
                (State::Escape, _) => self.state = State::String,
                (State::String, b'\\') => self.state = State::Escape,
                (State::String, b'"') => {
                    self.state = State::Between;
                    self.close(0);
                }
                (State::String, _) => {}
                (State::Scalar, b',' | b']' | b'}') => self.end = Some(self.read),
                (State::Scalar, _) if is_space => self.end = Some(self.read),
                (State::Scalar, _) => {}
                (State::Between, b'"') => self.state = State::String,
                (State::Between, b'{' | b'[') => self.depth += 1,
                (State::Between, b'}' | b']') => self.close(1),
                (State::Between, _) if self.depth == 0 && !is_space => self.state = State::Scalar,
                (State::Between, _) => {}
            }
            self.read += 1;
        }
    }

    /// Ends a string or container with the current byte.
    fn close(&mut self, depth: usize) {
        self.depth = self.depth.saturating_sub(depth);
        if self.depth == 0 {
            self.end = Some(self.read + 1);
        }
    }
}

/// Returns the value `before` bytes after the start of a text, up to the end of the text if nothing ends it earlier.
pub(crate) fn first_value(text: &str, before: usize) -> Option<&str> {
    let mut reader = ValueReader::new(before);
    reader.read(text.as_bytes());
    text.get(before..reader.end.unwrap_or(text.len()))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_value_is_found_in_whatever_pieces_it_comes() {
        for (text, value) in [
            (r#"":"a\"b,]","c":1"#, r#""a\"b,]""#),
            (r#"": -1.5e3,"c""#, "-1.5e3"),
            (r#"":null}"#, "null"),
            (r#"":[1,{"a":"]}"}],2"#, r#"[1,{"a":"]}"}]"#),
            (r#"":{},"b""#, "{}"),
            (r#"":12"#, "12"),
        ] {
            assert_eq!(first_value(text, 2), Some(value));
            for size in 1..text.len() {
                let mut reader = ValueReader::new(2);
                for piece in text.as_bytes().chunks(size) {
                    reader.read(piece);
                }
                let end = reader.end.unwrap_or(text.len());
                assert_eq!(text[2..end].trim(), value);
            }
        }
    }
}
