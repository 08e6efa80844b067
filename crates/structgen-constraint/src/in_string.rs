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
use crate::error::limit;
use crate::statistics::WalkCounts;
use crate::tables::{BeforeQuote, ClosingTokens};

/// What tokens do in a string from some state on.
#[derive(Debug)]
pub(crate) struct InString {
    /// The tokens that stay in the string, without the texts of its span.
    pub(crate) inside: Mask,
    /// The states after the closing quote, and the tokens that lead there.
    pub(crate) closed: Closed,
}

type Closed = Box<[(TerminalState, ClosingTokens)]>;

/// What tokens do in strings, by terminal, state, and the memory of the walk.
#[derive(Debug)]
pub(crate) struct InStrings {
    known: Memo<(u32, TerminalState, Memory), Option<InString>>,
    /// The number of bytes that they own.
    bytes: AtomicUsize,
    /// The maximum number of these bytes.
    limit: usize,
}

/// For each state after the quote, what may follow it is walked. If there are more, as many keys of one object, the
/// tokens are walked instead.
const MOST_CLOSED: usize = 8;

impl InStrings {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            known: Memo::default(),
            bytes: AtomicUsize::new(0),
            limit,
        }
    }

    /// Returns what tokens do from a state of a string's terminal, given how those are found that stay in the string;
    /// `None` if the string ends in too many ways, or no memory is left.
    pub(crate) fn of(
        &self,
        (terminal, at): (u32, TerminalCursor<'_>),
        search: Search<'_>,
        inside: impl FnOnce() -> Result<Mask, LimitExceeded>,
    ) -> Result<Option<&InString>, LimitExceeded> {
        let place = (terminal, at.state(), search.memory);
        if let Some(known) = self.known.get(&place) {
            return Ok(known.as_ref());
        }
        if self.bytes.load(Ordering::Relaxed) >= self.limit {
            return Ok(None);
        }
        let closed = search.closed(at).map_err(limit)?;
        let found = match closed {
            Some(closed) => Some(InString {
                inside: inside()?.kept_elsewhere(),
                closed,
            }),
            None => None,
        };
        let known = self.known.get_or_insert_with(place, || {
            let owned = found.as_ref().map_or(0, InString::memory);
            self.bytes.fetch_add(owned, Ordering::Relaxed);
            found
        });
        Ok(known.as_ref())
    }

    /// Returns the approximate size in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.known.memory() + self.bytes.load(Ordering::Relaxed)
    }
}

impl InString {
    fn memory(&self) -> usize {
        let sets = self.closed.iter().map(|(_, tokens)| tokens.memory());
        let inside = match self.inside.list() {
            Some(list) => size_of_val(list),
            None => self.inside.memory(),
        };
        inside + size_of_val(&*self.closed) + sets.sum::<usize>()
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
    /// Returns the states to which tokens lead that close the string, and these tokens; `None` if there are too many.
    fn closed(&self, at: TerminalCursor<'_>) -> Result<Option<Closed>, StepError> {
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
                    if closed.len() > MOST_CLOSED {
                        return Ok(None);
                    }
                    path.push((end, next));
                    node += 1;
                }
                None => node = end,
            }
        }
        Ok(Some(closed.into()))
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
        let Some(after) = at.step(b'"', self.memory)? else {
            return Ok(());
        };
        let known = { closed.iter() }.position(|(state, _)| *state == after.state());
        let place = known.unwrap_or_else(|| {
            closed.push((after.state(), self.tables.none()));
            closed.len() - 1
        });
        for &token in tokens {
            self.tables.add(token, &mut closed[place].1);
        }
        Ok(())
    }
}
