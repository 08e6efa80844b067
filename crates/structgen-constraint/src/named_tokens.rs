//! The tokens that a grammar names, or all others where it excludes one.

use structgen_grammar::TokenTerminal;
use structgen_vocab::{TokenId, TokenMask, Vocabulary};

use crate::CompileError;
use crate::draft::Draft;

/// The tokens of a token terminal in a vocabulary.
#[derive(Clone, Debug)]
pub(crate) enum NamedTokens {
    /// This token.
    One(TokenId),
    /// Any of these.
    Many(TokenMask),
}

impl NamedTokens {
    /// Finds the tokens of a terminal.
    pub(crate) fn find(
        terminal: &TokenTerminal,
        vocabulary: &Vocabulary,
        eos: &[TokenId],
    ) -> Result<Self, CompileError> {
        let found = match terminal {
            TokenTerminal::Name(name) | TokenTerminal::NotName(name) => by_name(vocabulary, name),
            TokenTerminal::Id(id) | TokenTerminal::NotId(id) => {
                ((*id as usize) < vocabulary.len()).then_some(TokenId(*id))
            }
        };
        let token = found.ok_or_else(|| CompileError::UnknownToken {
            name: token_name(terminal),
        })?;
        Ok(match terminal {
            TokenTerminal::Name(_) | TokenTerminal::Id(_) => Self::One(token),
            TokenTerminal::NotName(_) | TokenTerminal::NotId(_) => {
                Self::Many(others(vocabulary, token, eos))
            }
        })
    }

    /// Returns whether the terminal matches the token.
    pub(crate) fn contains(&self, token: TokenId) -> bool {
        match self {
            Self::One(one) => *one == token,
            Self::Many(many) => many.contains(token),
        }
    }

    /// Adds the tokens to a mask.
    pub(crate) fn allow(&self, mask: &mut TokenMask) {
        match self {
            Self::One(one) => mask.allow(*one),
            Self::Many(many) => mask.union_with(many),
        }
    }

    /// Adds the tokens to a mask that is being computed.
    pub(crate) fn add_to(&self, draft: &mut Draft) {
        match self {
            Self::One(one) => draft.allow(*one),
            Self::Many(many) => draft.as_bits().union_with(many),
        }
    }

    pub(crate) fn first(&self) -> Option<TokenId> {
        match self {
            Self::One(one) => Some(*one),
            Self::Many(many) => many.first(),
        }
    }

    pub(crate) fn is_one(&self) -> bool {
        matches!(self, Self::One(_))
    }
}

/// Returns the token as the grammar names it.
fn token_name(terminal: &TokenTerminal) -> String {
    match terminal {
        TokenTerminal::Name(name) | TokenTerminal::NotName(name) => name.clone(),
        TokenTerminal::Id(id) | TokenTerminal::NotId(id) => format!("[{id}]"),
    }
}

/// Returns the special token with this name, or else the token with this text.
fn by_name(vocabulary: &Vocabulary, name: &str) -> Option<TokenId> {
    vocabulary.special_token(name).or_else(|| {
        let trie = vocabulary.trie();
        let node = trie.find(name.as_bytes())?;
        trie.tokens(node).first().copied()
    })
}

/// Returns all tokens except this one and those that end the output: those with a text, and the special ones.
fn others(vocabulary: &Vocabulary, token: TokenId, eos: &[TokenId]) -> TokenMask {
    let mut mask = TokenMask::new(vocabulary.len());
    vocabulary
        .tokens()
        .filter(|(_, bytes)| !bytes.is_empty())
        .for_each(|(id, _)| mask.allow(id));
    vocabulary
        .special_tokens()
        .for_each(|(id, _)| mask.allow(id));
    mask.deny(token);
    eos.iter().for_each(|&id| mask.deny(id));
    mask
}
