//! The immutable part of a constraint that concerns the vocabulary.

use std::sync::Arc;

use structgen_vocab::TokenId;

use crate::VocabularyTables;
use crate::named_tokens::NamedTokens;

/// The vocabulary of a constraint, and the tokens that its grammar names.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) tables: Arc<VocabularyTables>,
    /// The tokens of each token terminal.
    pub(crate) tokens: Vec<NamedTokens>,
    pub(crate) eos: Vec<TokenId>,
}
