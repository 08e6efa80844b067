//! A grammar as compact bytes, and back.
//!
//! The bytes are made for files of compiled constraints: read by the version that wrote them, and trusted in nothing.
//! Whatever they say, [`Grammar::from_bytes`] gives a grammar that keeps the promises of its types or an error; it
//! neither recurses nor takes memory out of proportion, and what it gives unfolds to no more than
//! [`Grammar::MAX_UNFOLDED`] expressions.

mod check;
mod code;
mod ir;
#[cfg(test)]
mod tests;

use code::{Coded, Input};

use crate::Grammar;

/// Why bytes are no grammar, or a grammar cannot be written as bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BytesError {
    /// The bytes are not what is written for a grammar.
    #[error("byte {offset} of the grammar: {what}")]
    Unreadable {
        /// Where.
        offset: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// A part of the grammar breaks a promise of its type.
    #[error("the grammar breaks a promise: {what}")]
    Broken {
        /// Which promise.
        what: &'static str,
    },
    /// The grammar is too large for a file.
    #[error("{what} exceed the limit of {limit}")]
    TooLarge {
        /// What was counted, in the plural.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}

impl Grammar {
    /// Changes with the bytes of any grammar. Files of grammars are of another version then.
    pub const BYTES_VERSION: u32 = 7;
    /// The most bytes that a grammar may take in a file: a list of a million literals takes some dozens of MiB.
    pub const MAX_BYTES: usize = 256 << 20;
    /// The most expressions of a grammar in a file.
    pub const MAX_EXPRS: usize = 1 << 22;
    /// How large a grammar in a file may be where every shared expression is counted each time that it occurs: work
    /// that does so is bounded.
    pub const MAX_UNFOLDED: u64 = 1 << 24;

    /// The grammar as bytes. Equal grammars give equal bytes.
    ///
    /// ```
    /// use structgen_grammar::{Grammar, GrammarBuilder, JsonForm};
    ///
    /// let mut builder = GrammarBuilder::new();
    /// let root = builder.declare("root");
    /// let yes = builder.bytes("yes");
    /// builder.define(root, yes);
    /// let grammar = builder.finish(root, JsonForm::generate());
    /// let bytes = grammar.to_bytes()?;
    /// assert_eq!(Grammar::from_bytes(&bytes)?, grammar);
    /// assert!(Grammar::from_bytes(&bytes[1..]).is_err());
    /// # Ok::<(), structgen_grammar::BytesError>(())
    /// ```
    ///
    /// # Errors
    /// When [`from_bytes`](Self::from_bytes) would not take them: the grammar is too large, or a part of it breaks a
    /// promise of its type.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BytesError> {
        check::check(self)?;
        let mut bytes = Vec::new();
        self.put(&mut bytes);
        if bytes.len() > Self::MAX_BYTES {
            return Err(too_many_bytes());
        }
        Ok(bytes)
    }

    /// The grammar that was written as these bytes.
    ///
    /// # Errors
    /// When they are not what [`to_bytes`](Self::to_bytes) writes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BytesError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(too_many_bytes());
        }
        let mut input = Input::new(bytes);
        let grammar = Self::take(&mut input)?;
        input.finish()?;
        check::check(&grammar)?;
        Ok(grammar)
    }
}

fn too_many_bytes() -> BytesError {
    BytesError::TooLarge {
        what: "bytes of the grammar",
        limit: Grammar::MAX_BYTES as u64,
    }
}
