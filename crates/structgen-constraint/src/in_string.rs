//! What tokens do in a string of a terminal, up to the quote that closes it.
//!
//! Masks in one state of a terminal differ only in what follows the string: an item of an array has another place than
//! the next one, and a key of an object other members after it. So what tokens do up to the quote is found once for the
//! state, and for each mask only what may follow the quote, which few tokens have.

use std::sync::atomic::{AtomicUsize, Ordering};

use structgen_automata::{
    CancelToken, LimitExceeded, Memory, StepError, TerminalCursor, TerminalState,
};
use structgen_memo::Memo;
use structgen_vocab::{TokenId, TokenTrie};

use crate::Mask;
use crate::statistics::WalkCounts;
use crate::tables::{BeforeQuote, ClosingTokens};

/// The tokens that are more than text, by what they do in a string from some state on.
#[derive(Debug)]
pub(crate) struct InString {
    /// The tokens that stay in the string.
    pub(crate) inside: Mask,
    /// The states after the closing quote, and the tokens that lead there.
    pub(crate) closed: Closed,
}

type Closed = Box<[(TerminalState, ClosingTokens)]>;

/// What is known of the states of terminals.
#[derive(Debug, Default)]
pub(crate) struct InStrings {
    known: Memo<(u32, TerminalState, Memory), Option<InString>>,
    /// The number of bytes that they own.
    bytes: AtomicUsize,
}

impl InStrings {
    /// Returns what tokens do from a state of a string's terminal, given how those are found that stay in the string;
    /// `None` if that depends on texts that are not known.
    pub(crate) fn of(
        &self,
        (terminal, at): (u32, TerminalCursor<'_>),
        search: Search<'_>,
        inside: impl FnOnce() -> Result<Option<Mask>, LimitExceeded>,
    ) -> Result<Option<&InString>, LimitExceeded> {
        let place = (terminal, at.state(), search.memory);
        if let Some(known) = self.known.get(&place) {
            return Ok(known.as_ref());
        }
        let closed = match search.closed(at) {
            Ok(closed) => Some(closed),
            Err(StepError::NeedsExact) => None,
            Err(StepError::Limit(limit)) => return Err(limit),
        };
        let found = match closed {
            Some(closed) => inside()?.map(|inside| InString { inside, closed }),
            None => None,
        };
        let owned = found.as_ref().map_or(0, InString::memory);
        self.bytes.fetch_add(owned, Ordering::Relaxed);
        Ok(self.known.insert(place, found).as_ref())
    }

    /// Returns the approximate size in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.known.memory() + self.bytes.load(Ordering::Relaxed)
    }
}

impl InString {
    fn memory(&self) -> usize {
        let sets = self.closed.iter().map(|(_, tokens)| tokens.memory());
        self.inside.memory() + size_of_val(&*self.closed) + sets.sum::<usize>()
    }
}

/// A search for the tokens that close a string.
pub(crate) struct Search<'s> {
    pub(crate) tables: &'s BeforeQuote,
    pub(crate) memory: Memory,
    pub(crate) counts: &'s WalkCounts,
    pub(crate) cancel: Option<&'s CancelToken>,
}

impl Search<'_> {
    /// Returns the states to which tokens lead that close the string, and these tokens.
    fn closed(&self, at: TerminalCursor<'_>) -> Result<Closed, StepError> {
        let mut closed = Vec::new();
        self.close(&self.tables.at_once, at, &mut closed)?;
        let trie = &self.tables.closing;
        // The nodes whose subtrees are being visited, by their ends, and the states there.
        let mut path = vec![(trie.len() as u32, at)];
        let mut node = TokenTrie::ROOT + 1;
        while let Some(&(end, at)) = path.last() {
            if node >= end {
                path.pop();
                continue;
            }
            let walked = self.counts.step();
            if let Some(token) = self.cancel {
                token.check_between(walked - 1, walked)?;
            }
            let end = trie.node(node).end();
            match at.step(trie.node(node).byte(), self.memory)? {
                Some(next) => {
                    self.close(trie.tokens(node), next, &mut closed)?;
                    path.push((end, next));
                    node += 1;
                }
                None => node = end,
            }
        }
        Ok(closed.into())
    }

    /// Adds tokens whose text leads to a state, if the quote may follow it.
    fn close(
        &self,
        tokens: &[TokenId],
        at: TerminalCursor<'_>,
        closed: &mut Vec<(TerminalState, ClosingTokens)>,
    ) -> Result<(), StepError> {
        if tokens.is_empty() {
            return Ok(());
        }
        let Some(behind) = at.step(b'"', self.memory)? else {
            return Ok(());
        };
        let known = { closed.iter() }.position(|(state, _)| *state == behind.state());
        let place = known.unwrap_or_else(|| {
            closed.push((behind.state(), self.tables.none()));
            closed.len() - 1
        });
        for &token in tokens {
            self.tables.add(token, &mut closed[place].1);
        }
        Ok(())
    }
}
