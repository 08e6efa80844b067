//! What tokens are up to the quote that closes a JSON string.

use rustc_hash::FxHashMap;
use structgen_automata::any_string;
use structgen_grammar::EscapeForm;
use structgen_vocab::{TokenId, TokenTrie};

use super::Listed;
use super::any_string::{Place, run};

/// The tokens that close a JSON string, by what they are up to the quote.
#[derive(Debug)]
pub(crate) struct BeforeQuote {
    /// Those with a text before the quote, by that text.
    pub(crate) closing: TokenTrie,
    /// Those that begin with the quote.
    pub(crate) at_once: Vec<TokenId>,
    /// The number of each of them.
    numbers: FxHashMap<TokenId, u32>,
}

/// A set of tokens that close a string.
#[derive(Debug)]
pub(crate) struct ClosingTokens(Box<[u64]>);

impl BeforeQuote {
    /// Sorts tokens by where they are in a string that may hold anything.
    pub(super) fn new(tokens: &[Listed<'_>]) -> Self {
        let string =
            any_string(EscapeForm::Any).expect("a string that may hold anything has no limit");
        let (mut closing, mut at_once) = (Vec::new(), Vec::new());
        let mut numbers = FxHashMap::default();
        for &(id, bytes) in tokens {
            let Place::Closed(end) = run(&string, bytes) else {
                continue;
            };
            numbers.insert(id, numbers.len() as u32);
            match &bytes[..end - 1] {
                [] => at_once.push(id),
                text => closing.push((id, text)),
            }
        }
        Self {
            closing: TokenTrie::from_tokens(closing),
            at_once,
            numbers,
        }
    }

    /// Returns the set without tokens.
    pub(crate) fn none(&self) -> ClosingTokens {
        ClosingTokens(vec![0; self.numbers.len().div_ceil(64)].into())
    }

    /// Adds a token that closes a string to a set.
    pub(crate) fn add(&self, token: TokenId, set: &mut ClosingTokens) {
        if let Some(&number) = self.numbers.get(&token) {
            set.0[number as usize / 64] |= 1 << (number % 64);
        }
    }

    /// Returns whether a token is in a set.
    pub(crate) fn has(&self, token: TokenId, set: &ClosingTokens) -> bool {
        let number = self.numbers.get(&token);
        number.is_some_and(|&number| set.0[number as usize / 64] >> (number % 64) & 1 == 1)
    }

    pub(super) fn memory(&self) -> usize {
        self.closing.memory()
            + self.at_once.len() * size_of::<TokenId>()
            + self.numbers.capacity() * size_of::<(TokenId, u32)>()
    }
}

impl ClosingTokens {
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.0)
    }
}
