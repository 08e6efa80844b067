//! A grammar as compact bytes, and back.
//!
//! The bytes are for files of compiled constraints. They are read only by the version that wrote them, and are not
//! trusted: for any input, [`Grammar::from_bytes`] returns an error or a grammar that satisfies the invariants of its
//! types. It does not recurse, uses memory in proportion to the input, and returns only grammars that unfold to at most
//! [`Grammar::MAX_UNFOLDED`] expressions.

mod check;
mod code;
mod ir;
#[cfg(test)]
mod tests;

use code::{Coded, Input};

use crate::Grammar;

/// Why bytes are not a grammar, or a grammar cannot be written as bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BytesError {
    /// The bytes are not an encoded grammar.
    #[error("byte {offset} of the grammar: {what}")]
    Unreadable {
        /// Where.
        offset: usize,
        /// What is wrong at that position.
        what: &'static str,
    },
    /// A part of the grammar violates an invariant of its type.
    #[error("the grammar breaks a promise: {what}")]
    Broken {
        /// The invariant.
        what: &'static str,
    },
    /// The grammar is too large for a file.
    #[error("{what} exceed the limit of {limit}")]
    TooLarge {
        /// What was counted, as a plural.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}

impl Grammar {
    /// The version of the encoding. It changes whenever the bytes of some grammar do.
    pub const BYTES_VERSION: u32 = 7;
    /// The maximum number of bytes of a grammar in a file: a list of a million literals takes some dozens of MiB.
    pub const MAX_BYTES: usize = 256 << 20;
    /// The maximum number of expressions of a grammar in a file.
    pub const MAX_EXPRS: usize = 1 << 22;
    /// The maximum size of a grammar in a file if every shared expression is counted each time it occurs. This bounds
    /// work that visits each occurrence.
    pub const MAX_UNFOLDED: u64 = 1 << 24;

    /// Encodes the grammar. Equal grammars have equal bytes.
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
    /// If [`from_bytes`](Self::from_bytes) would not accept the bytes: the grammar is too large, or a part of it
    /// violates an invariant of its type.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BytesError> {
        check::check(self)?;
        let mut bytes = Vec::new();
        self.put(&mut bytes);
        if bytes.len() > Self::MAX_BYTES {
            return Err(too_many_bytes());
        }
        Ok(bytes)
    }

    /// Decodes a grammar.
    ///
    /// # Errors
    /// If the bytes were not written by [`to_bytes`](Self::to_bytes).
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
