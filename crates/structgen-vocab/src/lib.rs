//! Byte-exact vocabularies from tokenizers, the token trie and the token mask.
//!
//! A grammar is about bytes, a language model about tokens. This crate connects the two: a [`Vocabulary`] knows the
//! bytes that every token adds to a text, a [`TokenTrie`] arranges the tokens so that one walk over bytes visits all of
//! them, and a [`TokenMask`] is a set of tokens. A [`Tokenizer`] encodes and decodes texts. Nothing here knows a
//! grammar.
//!
//! ```
//! use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};
//!
//! let vocabulary = Vocabulary::from_tokens(
//!     ["1", "12", "x"].map(|token| token.as_bytes().to_vec()),
//!     &[(TokenId(3), "<eos>")],
//! )?;
//! // The tokens that start with a digit: one node's subtree.
//! let mut mask = TokenMask::new(vocabulary.len());
//! let digit = vocabulary.trie().child(TokenTrie::ROOT, b'1').unwrap();
//! mask.allow_all(vocabulary.trie().subtree_tokens(digit));
//! assert_eq!(mask.iter().collect::<Vec<_>>(), [TokenId(0), TokenId(1)]);
//! # Ok::<(), structgen_vocab::VocabularyError>(())
//! ```

mod error;
mod file;
mod mask;
mod names;
mod scheme;
mod source;
mod token_id;
mod tokenizer;
mod trie;
mod vocabulary;

pub use error::{TokenizerError, VocabularyError};
pub use mask::{TokenMask, TokenMaskIter};
pub use source::tokenizer_file;
pub use token_id::TokenId;
pub use tokenizer::{Tokenizer, TokenizerOptions};
pub use trie::{TokenTrie, TrieChildren, TrieNode};
pub use vocabulary::Vocabulary;
