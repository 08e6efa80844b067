//! The walk: finds the tokens of a trie that a state accepts.

mod cursor;
mod inside;
mod listed;
mod open;
mod region;

use structgen_automata::{
    ByteClasses, ByteSet, Call, LimitExceeded, Memory, SHORT_TEXT, SetId, StepError,
};
use structgen_vocab::{TokenId, TokenTrie, Vocabulary};

use self::cursor::{Cursor, MANY_BYTES, within_reach};
use self::open::{Child, Children, Open, Stack};
use self::region::Region;
use crate::draft::Draft;
use crate::signs::Signs;
use crate::statistics::WalkCounts;
use crate::tables::{AnyString, BeforeQuote, ClosingTokens, SignedTrie, Strings};
use crate::texts::Texts;

pub(crate) use self::cursor::{AnyText, CoveredSpans, Top, covered_spans, parts};

/// Below a node with fewer nodes, no span is requested.
const FEWEST_NODES: u32 = 3;

/// The minimum number of nodes below a node to search for a span: a search takes a step by every byte, while walking
/// fewer nodes needs only a few steps.
const MANY_NODES: u32 = 512;

/// The minimum number of nodes below a node to check whether all text leads to one state.
const FEW_NODES: u32 = 8;

/// The minimum number of children of a node to look up first which of them may continue.
pub(super) const SOME_CHILDREN: usize = 3;

/// The minimum number of children of a node to find out first which of them may continue, by trying if need be.
const MANY_CHILDREN: usize = 12;

/// Searching for one child costs as much as visiting this many.
const SEARCHED: usize = 8;

/// What to walk.
pub(crate) struct Walk<'w> {
    /// The tokens.
    pub(crate) trie: &'w TokenTrie,
    /// Summaries of its subtrees.
    pub(crate) signs: &'w Signs,
    /// Texts that continue from the state and are already in the mask.
    pub(crate) covered: Option<CoveredSpans>,
    /// The state that is walked.
    pub(crate) sketch: SetId,
    /// Which counters the state keeps.
    pub(crate) memory: Memory,
    /// Whether to search for spans, which pays off if many tokens are walked.
    pub(crate) searches: bool,
    /// The exact state before the whole token, which `sketch` is an abstraction of. If a step depends on what the
    /// sketch omits, the affected tokens are tried on it one by one.
    pub(crate) exact: SetId,
    /// The vocabulary of the trie's tokens; the trie may have only their ends.
    pub(crate) vocabulary: &'w Vocabulary,
    /// The first byte of every token.
    pub(crate) first_bytes: &'w [u8],
    /// Counts of the work.
    pub(crate) counts: &'w WalkCounts,
    /// The first bytes in the trie to walk.
    pub(crate) from: ByteSet,
    /// Which of the tokens to add.
    pub(crate) only: Only<'w>,
    /// Whether tokens that close the string which the state is in are left out.
    pub(crate) stays: bool,
    /// The vocabulary's tokens by the text after a leading space, if the trie is that of the whole vocabulary.
    pub(crate) spaced: Option<&'w Texts>,
    /// What tokens do in strings, if the trie is that of the whole vocabulary.
    pub(crate) strings: Option<&'w Strings>,
}

/// Which tokens of a trie to add. If it has the ends of tokens that close a string, their text before the quote
/// decides.
#[derive(Clone, Copy)]
pub(crate) enum Only<'w> {
    /// All of them.
    All,
    /// Those that do not begin with these bytes.
    Without(ByteSet),
    /// Those that have only these classes of bytes before the quote.
    Within(&'w Strings, ByteClasses),
    /// Those of a set.
    Among(&'w BeforeQuote, &'w ClosingTokens),
    /// Those whose text has at least this many characters and does not begin with these bytes.
    Closing {
        any: &'w AnyString,
        except: ByteSet,
        at_least: u32,
    },
}

impl Walk<'_> {
    /// Adds to `mask` the tokens that the state accepts; returns whether they depend on what the sketch omits.
    ///
    /// The walk is depth first. A byte that is not accepted excludes all tokens that continue with it, and where any
    /// text is accepted, subtrees of text are accepted as a whole.
    pub(crate) fn run(&self, network: &Call<'_>, mask: &mut Draft) -> Result<bool, LimitExceeded> {
        self.run_below(TokenTrie::ROOT, network, mask)
    }

    /// Like [`run`](Self::run) for the tokens below a node of the trie; the state is the one at the node.
    pub(crate) fn run_below(
        &self,
        node: u32,
        network: &Call<'_>,
        mask: &mut Draft,
    ) -> Result<bool, LimitExceeded> {
        let root = match Cursor::new(network, self.sketch) {
            Ok(root) => root,
            // If the start itself depends on a text, every step returns this error.
            Err(StepError::NeedsExact) => Cursor::Set(self.sketch),
            Err(StepError::Limit(limit)) => return Err(limit),
        };
        self.run_from(node, root, network, mask)
    }

    /// Like [`run_below`](Self::run_below) with the state at the node.
    pub(crate) fn run_from<'n>(
        &self,
        node: u32,
        root: Cursor<'n>,
        network: &'n Call<'_>,
        mask: &mut Draft,
    ) -> Result<bool, LimitExceeded> {
        let mut depends_on_texts = false;
        let trie = self.trie;
        let cancel = network.cancel_token();
        let mut stack = Stack::new();
        let endless = self.covered.and_then(|spans| spans.endless);
        let region = self.covered.map(Region::ready);
        let listing = match root.inside() {
            Some(top) if self.from == ByteSet::ALL => {
                top.at.listing().map(|listing| (top, listing))
            }
            _ => None,
        };
        match listing {
            Some((top, listing)) => {
                let place = (top, &listing);
                depends_on_texts |= self.run_listed(node, place, network, &mut stack, mask)?;
            }
            None => stack.push(self.open(node, root, network), region),
        }
        while let Some((parent, child)) = stack.next(trie) {
            let Some(Child {
                node: i,
                byte,
                place,
            }) = child
            else {
                stack.pop();
                continue;
            };
            if parent.is_free && place.is_some_and(|place| self.signs.is_plain(place)) {
                self.allow(trie.subtree_tokens(i), mask);
                continue;
            }
            let cursor = parent.cursor;
            if stack.depth() == 1 && !self.from.contains(byte) {
                continue;
            }
            let below = trie.node(i).end() - i - 1;
            let region = stack
                .region()
                .and_then(|region| region.after(byte, endless.as_ref()));
            if let Some(region) = region {
                let sign = self.signs.below(i);
                if !region.is_ready && sign.is_within(&region.span, region.characters) {
                    self.allow(trie.subtree_tokens(i), mask);
                    continue;
                }
                if let Some(endless) = endless
                    && region.is_endless
                    && sign.is_covered(&endless, 0)
                {
                    continue;
                }
                if sign.is_covered(&region.span, region.characters) {
                    if !region.is_ready {
                        self.allow(trie.tokens(i), mask);
                        stack.push(self.open(i, Cursor::Nowhere, network), Some(region));
                    }
                    continue;
                }
            }
            let walked = self.counts.step();
            if let Some(token) = cancel {
                token.check_between(walked - 1, walked)?;
            }
            if self.stays && byte == b'"' && cursor.closes(self.memory)? {
                continue;
            }
            // Nothing is stepped to from a leaf.
            let next = match below {
                0 => { cursor.continues(network, byte, self.memory) }
                    .map(|continues| continues.then_some(Cursor::Nowhere)),
                _ => cursor.step(network, byte, self.memory),
            };
            let next = match next {
                Ok(None) => continue,
                Ok(Some(next)) => next,
                Err(StepError::NeedsExact) => {
                    depends_on_texts = true;
                    self.try_exactly(i, network, mask)?;
                    continue;
                }
                Err(StepError::Limit(limit)) => return Err(limit),
            };
            if below == 0 {
                self.allow(trie.tokens(i), mask);
                continue;
            }
            let span = if below >= FEWEST_NODES && region.is_none() {
                let is_many = self.searches && below >= MANY_NODES;
                let span = next.span(network, if is_many { below } else { 0 });
                span.map(|span| within_reach(span, self.memory))
            } else {
                None
            };
            if span.is_some_and(|span| self.signs.below(i).is_within(&span, 0)) {
                self.allow(trie.subtree_tokens(i), mask);
                continue;
            }
            self.allow(trie.tokens(i), mask);
            let is_free = span.is_some_and(|span| span.is_free());
            if let Some(strings) = self.strings
                && let Some(any) = strings.any.opened(i, network.program().form().escapes)
                && let Some(at) = next.any_text(network)
                && let Some(depends) = self.take_any(any, &at, network, mask)?
            {
                depends_on_texts |= depends;
                let open = Open {
                    children: Children::All(trie.child_places(i), at.except),
                    cursor: next,
                    is_free,
                };
                stack.push(open, None);
                continue;
            }
            if is_free
                && below >= FEW_NODES
                && let Some((text, except)) = next.any_text(network).and_then(|at| at.one_state())
                && let Ok(text) = Cursor::of(network, text)
            {
                self.take_text(i, next, (text, except), &mut stack, mask);
                continue;
            }
            if let Some(texts) = self.spaced
                && stack.depth() == 1
                && byte == b' '
                && next.first(network).len() >= MANY_BYTES
            {
                depends_on_texts |= self.after_space(i, next, texts, network, mask)?;
                continue;
            }
            if region.is_none()
                && !is_free
                && let Some(top) = next.inside()
            {
                if let Some(listing) = top.at.listing() {
                    let place = (top, &listing);
                    depends_on_texts |= self.run_listed(i, place, network, &mut stack, mask)?;
                    continue;
                }
                if below < MANY_NODES {
                    depends_on_texts |= self.run_inside(i, top, network, &mut stack, mask)?;
                    continue;
                }
            }
            let region = match region {
                None if self.searches && below >= MANY_NODES && !is_free => next
                    .covered_span(network, self.memory, below)?
                    .map(Region::new),
                region => region,
            };
            let open = self.open(i, next, network);
            stack.push(if is_free { open.free() } else { open }, region);
        }
        Ok(depends_on_texts)
    }

    /// Adds the tokens below a node that the exact state accepts, trying them one by one.
    fn try_exactly(
        &self,
        node: u32,
        network: &Call<'_>,
        mask: &mut Draft,
    ) -> Result<(), LimitExceeded> {
        let tokens = self.trie.subtree_tokens(node);
        self.counts.tried(tokens.len());
        for &token in tokens {
            let bytes = self.vocabulary.token_bytes(token).unwrap_or_default();
            if takes(network, self.exact, bytes)? {
                mask.allow(token);
            }
        }
        Ok(())
    }

    /// Adds the tokens that begin with a space, at the node after it. Half of a vocabulary is words with a space before
    /// them, and most of these are decided by their characters.
    fn after_space(
        &self,
        node: u32,
        cursor: Cursor<'_>,
        texts: &Texts,
        network: &Call<'_>,
        mask: &mut Draft,
    ) -> Result<bool, LimitExceeded> {
        let mut depends_on_texts = false;
        let mut others = Vec::new();
        let elements = cursor.elements(network);
        for (element, from) in parts(network, &elements)? {
            let covered = covered_spans(network, element, self.memory, u32::MAX)?;
            if covered.is_none() && from == ByteSet::ALL {
                others.push(element);
                continue;
            }
            if let Some(spans) = covered {
                spans.allow(texts, mask);
            }
            let walk = Walk {
                covered,
                sketch: network.set_of(vec![element])?,
                from,
                spaced: None,
                ..*self
            };
            depends_on_texts |= walk.run_below(node, network, mask)?;
        }
        if !others.is_empty() {
            let walk = Walk {
                covered: None,
                sketch: network.set_of(others)?,
                from: ByteSet::ALL,
                spaced: None,
                ..*self
            };
            depends_on_texts |= walk.run_below(node, network, mask)?;
        }
        Ok(depends_on_texts)
    }

    fn open<'n>(&self, node: u32, cursor: Cursor<'n>, network: &'n Call<'_>) -> Open<'n> {
        let places = self.trie.child_places(node);
        let first = match places.len() {
            ..SOME_CHILDREN => None,
            SOME_CHILDREN..MANY_CHILDREN => cursor.known_first(network),
            _ => Some(cursor.first(network)),
        };
        let children = match first {
            None => Children::All(places, ByteSet::ALL),
            Some(first) if (first.len() as usize) < places.len() / SEARCHED => {
                Children::Few(node, first)
            }
            Some(first) => Children::All(places, first),
        };
        Open {
            children,
            cursor,
            is_free: false,
        }
    }

    /// Adds tokens in a string that may hold any text, by what they do in such strings, without those whose text begins
    /// with one of the bytes that are excepted. Returns whether something depends on what the sketch omits, or `None`
    /// if the state does not determine it.
    pub(crate) fn take_any(
        &self,
        any: &AnyString,
        at: &AnyText<'_>,
        network: &Call<'_>,
        mask: &mut Draft,
    ) -> Result<Option<bool>, LimitExceeded> {
        let reaches_all = match self.memory {
            // The last characters may all be those of a value that is excluded.
            Memory::Short => at.at_most > SHORT_TEXT,
            _ => at.at_most == u32::MAX,
        };
        if !reaches_all || any.may_spell(at.except) {
            return Ok(None);
        }
        let closed = match at.text.run(b"\"", network, self.memory) {
            Ok(closed) => closed,
            Err(StepError::NeedsExact) => return Ok(None),
            Err(StepError::Limit(limit)) => return Err(limit),
        };
        mask.union_with(&any.inside);
        let Some(closed) = closed else {
            return Ok(Some(false));
        };
        let AnyText {
            except, at_least, ..
        } = *at;
        let only = match (at_least, except.is_empty()) {
            (0, true) => Only::All,
            (0, false) if any.begins_with_token => Only::Without(except),
            _ => Only::Closing {
                any,
                except,
                at_least,
            },
        };
        match only {
            Only::All => mask.allow_all(&any.at_quote),
            _ => any
                .closing_at_quote(except, at_least)
                .for_each(|token| mask.allow(token)),
        }
        let SignedTrie { trie, signs } = &any.remainders;
        let ends = Walk {
            trie,
            signs,
            covered: None,
            from: ByteSet::ALL,
            only,
            spaced: None,
            strings: None,
            ..*self
        };
        ends.run_from(TokenTrie::ROOT, closed, network, mask)
            .map(Some)
    }

    /// Opens a node from which plain text leads to one state, unless it begins with one of the bytes in `except`. Up to
    /// what leaves the text, nodes are read in memory order, without the automaton.
    fn take_text<'n>(
        &self,
        node: u32,
        cursor: Cursor<'n>,
        (text, except): (Cursor<'n>, ByteSet),
        stack: &mut Stack<'n>,
        mask: &mut Draft,
    ) {
        let trie = self.trie;
        let mut others = ByteSet::of(b"\"\\");
        others.union_with(ByteSet::NOT_ASCII);
        others.union_with(except);
        let open = |children, cursor| Open {
            children,
            cursor,
            is_free: true,
        };
        let places = trie.child_places(node);
        stack.push(open(Children::All(places.clone(), others), cursor), None);
        let first = stack.exits.len();
        for place in places {
            let byte = trie.child_bytes()[place as usize];
            if byte < b' ' || others.contains(byte) {
                continue;
            }
            let child = trie.child_node(place);
            let (mut at, end) = (child, trie.node(child).end());
            // The tokens of consecutive nodes are consecutive.
            while let Some(exit) = self.signs.next_break(at, end) {
                self.allow(trie.tokens_between(at, exit), mask);
                let node = trie.node(exit);
                if node.byte() >= b' ' {
                    stack.exits.push(exit);
                }
                at = node.end();
            }
            self.allow(trie.tokens_between(at, end), mask);
        }
        if stack.exits.len() > first {
            stack.push(open(Children::Exits(first), text), None);
        }
    }

    /// Adds tokens, unless they are excluded.
    pub(crate) fn allow(&self, tokens: &[TokenId], mask: &mut Draft) {
        let mut allow = |fits: &dyn Fn(TokenId) -> bool| {
            let tokens = tokens.iter().copied().filter(|&token| fits(token));
            tokens.for_each(|token| mask.allow(token));
        };
        match self.only {
            Only::All => mask.allow_all(tokens),
            Only::Without(bytes) => {
                allow(&|token| !bytes.contains(self.first_bytes[token.index()]));
            }
            Only::Within(strings, classes) => {
                allow(&|token| strings.before_quote(token).is_subset(classes));
            }
            Only::Among(tables, set) => allow(&|token| tables.has(token, set)),
            Only::Closing {
                any,
                except,
                at_least,
            } => allow(&|token| any.closes(token, except, at_least)),
        }
    }
}

/// Returns whether the exact state accepts all of the bytes.
pub(crate) fn takes(network: &Call<'_>, exact: SetId, bytes: &[u8]) -> Result<bool, LimitExceeded> {
    Ok(run(network, exact, bytes)?.is_ok())
}

/// Returns the state after the bytes, or the offset of the first one that is not accepted.
pub(crate) fn run(
    network: &Call<'_>,
    exact: SetId,
    bytes: &[u8],
) -> Result<Result<SetId, usize>, LimitExceeded> {
    match network.step_all(exact, bytes) {
        Ok(found) => Ok(found),
        Err(StepError::Limit(limit)) => Err(limit),
        // An exact state has every text, so this error cannot occur.
        Err(StepError::NeedsExact) => Ok(Err(0)),
    }
}
