//! The walk: which tokens of a trie a state takes.

use std::ops::Range;

use structgen_automata::{
    ByteSet, Element, LimitExceeded, Memory, Network, SetId, Span, StepError,
};
use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};

use crate::signs::Signs;
use crate::statistics::WalkCounts;

/// Where the walk stands on the automaton's side: mostly inside one terminal, where a step is a table look-up.
#[derive(Clone, Copy)]
enum Cursor {
    /// Inside the terminal on top of one stack, where it cannot end.
    Inside(Element),
    /// The same, where it may end under the label, and what follows then: a number, or whitespace.
    Ending {
        element: Element,
        label: u32,
        after: SetId,
    },
    /// Anywhere.
    Set(SetId),
}

impl Cursor {
    fn new(network: &mut Network, set: SetId) -> Result<Self, StepError> {
        match *network.elements(set) {
            [element] if element.frame.reads() => Self::of(network, element),
            _ => Ok(Self::Set(set)),
        }
    }

    fn of(network: &mut Network, element: Element) -> Result<Self, StepError> {
        let Some(label) = network.accept_label(element.frame) else {
            return Ok(Self::Inside(element));
        };
        let after = network.follow(element.frame, element.below)?;
        if network.is_end(element.frame) {
            return Self::new(network, after);
        }
        Ok(Self::Ending {
            element,
            label,
            after,
        })
    }

    /// The cursor behind one more byte; `None` where no text goes on.
    #[inline]
    fn step(self, network: &mut Network, byte: u8) -> Result<Option<Self>, StepError> {
        let (element, known) = match self {
            Self::Inside(element) => (element, None),
            Self::Ending {
                element,
                label,
                after,
            } => (element, Some((label, after))),
            Self::Set(set) => {
                let next = network.step(set, byte, Memory::Sketch)?;
                return match next {
                    SetId::DEAD => Ok(None),
                    next => Self::new(network, next).map(Some),
                };
            }
        };
        let frame = element.frame;
        let state = network.step_terminal(frame, frame.state(), byte)?;
        let is_dead = state == structgen_automata::DEAD;
        let frame = frame.with_state(state);
        let element = Element { frame, ..element };
        let Some((label, after)) = known else {
            return if is_dead {
                Ok(None)
            } else {
                Self::of(network, element).map(Some)
            };
        };
        let next = network.step(after, byte, Memory::Sketch)?;
        match (is_dead, next) {
            (true, SetId::DEAD) => Ok(None),
            (true, next) => Self::new(network, next).map(Some),
            // The terminal goes on, and what follows it does not change.
            (false, SetId::DEAD)
                if network.accept_label(frame) == Some(label) && !network.is_end(frame) =>
            {
                Ok(Some(Self::Ending {
                    element,
                    label,
                    after,
                }))
            }
            (false, SetId::DEAD) => Self::of(network, element).map(Some),
            (false, next) => {
                let own = network.single(frame, element.below)?;
                let both = network.union(own, next)?;
                Self::new(network, both).map(Some)
            }
        }
    }
}

impl Cursor {
    /// The bytes that may come next, as far as that is known without trying each.
    fn first(self, network: &mut Network) -> ByteSet {
        match self {
            Self::Inside(element) => network.first_of(element.frame),
            Self::Ending { element, after, .. } => {
                let mut first = network.first(after);
                first.union_with(network.first_of(element.frame));
                first
            }
            Self::Set(set) => network.first(set),
        }
    }

    /// A stretch of text that goes on from here whatever it is made of.
    fn span(self, network: &mut Network) -> Option<Span> {
        let set = match self {
            Self::Inside(Element { frame, .. })
            | Self::Ending {
                element: Element { frame, .. },
                ..
            } => return network.span(frame, frame.state()),
            Self::Set(set) => set,
        };
        let count = network.elements(set).len().min(MOST_ELEMENTS);
        let spans = (0..count).filter_map(|i| {
            let frame = network.elements(set)[i].frame;
            network.span(frame, frame.state())
        });
        // One that takes as much as possible: no other does more.
        spans.max_by_key(|span| (span.closed.len(), span.code_points))
    }
}

/// How many alternatives of a state are asked for a span.
const MOST_ELEMENTS: usize = 4;

/// Below a node with fewer nodes nobody asks for a span.
const FEWEST_NODES: u32 = 3;

/// Where a node has at least so many children, it is found out at once which of them may go on.
const MANY_CHILDREN: usize = 12;

/// A node of the trie whose children come next.
struct Open {
    /// The places of the children that are left.
    places: Range<u32>,
    cursor: Cursor,
    /// The bytes that may come next, at most.
    first: ByteSet,
    /// Whether plain text of any length goes on.
    is_free: bool,
    /// How many characters there are up to here, where all of them are of the covered span.
    covered: Option<u32>,
}

/// What to walk.
pub(crate) struct Walk<'w> {
    /// The tokens.
    pub(crate) trie: &'w TokenTrie,
    /// What its subtrees are made of.
    pub(crate) signs: &'w Signs,
    /// A stretch from the state that is walked whose texts are in the mask already.
    pub(crate) covered: Option<Span>,
    /// The state that is walked.
    pub(crate) sketch: SetId,
    /// The state before the whole token, that `sketch` is a sketch of: where a step depends on what the sketch left out, the tokens in
    /// question are tried one by one on it.
    pub(crate) exact: SetId,
    /// The vocabulary of the trie's tokens, which may be only their ends.
    pub(crate) vocabulary: &'w Vocabulary,
    /// What is counted.
    pub(crate) counts: &'w WalkCounts,
    /// First bytes of the trie that are walked.
    pub(crate) from: Bytes,
    /// First bytes of tokens that are left out.
    pub(crate) without: Bytes,
}

/// A set of bytes.
#[derive(Clone, Copy)]
pub(crate) struct Bytes([bool; 256]);

impl Bytes {
    pub(crate) const ALL: Self = Self([true; 256]);
    pub(crate) const NONE: Self = Self([false; 256]);

    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut set = Self::NONE;
        for &byte in bytes {
            set.0[usize::from(byte)] = true;
        }
        set
    }

    fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }

    fn is_empty(&self) -> bool {
        self.0 == Self::NONE.0
    }
}

impl Walk<'_> {
    /// Adds to `mask` the tokens that the state takes; returns whether that depends on what the sketch left out.
    ///
    /// Depth first: a byte that does not fit leaves out all tokens that go on with it, and where any text fits, all that is text is
    /// taken at once.
    pub(crate) fn run(
        &self,
        network: &mut Network,
        mask: &mut TokenMask,
    ) -> Result<bool, LimitExceeded> {
        let mut depends_on_texts = false;
        let root = match Cursor::new(network, self.sketch) {
            Ok(root) => root,
            // Where the start itself depends on a text, every step will say so.
            Err(StepError::NeedsExact) => Cursor::Set(self.sketch),
            Err(StepError::Limit(limit)) => return Err(limit),
        };
        let trie = self.trie;
        let mut open: Vec<Open> = Vec::with_capacity(32);
        let covered = self.covered.map(|_| 0);
        open.push(self.open(TokenTrie::ROOT, root, covered, network));
        while let Some(parent) = open.last_mut() {
            let Some(place) = parent.places.next() else {
                open.pop();
                continue;
            };
            let byte = trie.child_bytes()[place as usize];
            if !parent.first.contains(byte) {
                continue;
            }
            if parent.is_free && self.signs.is_plain(place) {
                self.allow(trie.subtree_tokens(trie.child_node(place)), mask);
                continue;
            }
            let (cursor, before) = (parent.cursor, parent.covered);
            if open.len() == 1 && !self.from.contains(byte) {
                continue;
            }
            let i = trie.child_node(place);
            let covered = self.covered_behind(before, byte);
            if let (Some(span), Some(characters)) = (&self.covered, covered)
                && self.signs.below(i).is_covered(span, characters)
            {
                continue;
            }
            self.counts.step();
            match cursor.step(network, byte) {
                Ok(None) => {}
                Ok(Some(next)) => {
                    let below = trie.node(i).end() - i - 1;
                    let span = if below >= FEWEST_NODES {
                        next.span(network)
                    } else {
                        None
                    };
                    if span.is_some_and(|span| self.signs.below(i).is_within(&span, 0)) {
                        self.allow(trie.subtree_tokens(i), mask);
                        continue;
                    }
                    self.allow(trie.tokens(i), mask);
                    if below > 0 {
                        let is_free = span.is_some_and(|span| span.is_free());
                        let node = self.open(i, next, covered, network);
                        open.push(Open { is_free, ..node });
                    }
                }
                Err(StepError::NeedsExact) => {
                    depends_on_texts = true;
                    self.counts.tried(trie.subtree_tokens(i).len());
                    for &token in trie.subtree_tokens(i) {
                        let bytes = self.vocabulary.token_bytes(token).unwrap_or_default();
                        if takes(network, self.exact, bytes)? {
                            mask.allow(token);
                        }
                    }
                }
                Err(StepError::Limit(limit)) => return Err(limit),
            }
        }
        Ok(depends_on_texts)
    }

    fn open(&self, node: u32, cursor: Cursor, covered: Option<u32>, network: &mut Network) -> Open {
        let places = self.trie.child_places(node);
        let first = if places.len() >= MANY_CHILDREN {
            cursor.first(network)
        } else {
            ByteSet::ALL
        };
        Open {
            places,
            cursor,
            first,
            is_free: false,
            covered,
        }
    }

    /// How many characters of the covered stretch there are behind one more byte.
    #[inline]
    fn covered_behind(&self, before: Option<u32>, byte: u8) -> Option<u32> {
        let span = self.covered.as_ref()?;
        let before = before?;
        match byte {
            // Within a character. Where UTF-8 has none there, the sign above was irregular, and no span covers that.
            0x80..=0xBF => Some(before),
            byte if span.closed.contains(byte) && before < span.code_points => Some(before + 1),
            _ => None,
        }
    }

    /// Adds the tokens that are not left out.
    pub(crate) fn allow(&self, tokens: &[TokenId], mask: &mut TokenMask) {
        if self.without.is_empty() {
            mask.allow_all(tokens);
            return;
        }
        for &token in tokens {
            let bytes = self.vocabulary.token_bytes(token).unwrap_or_default();
            if bytes
                .first()
                .is_some_and(|&byte| !self.without.contains(byte))
            {
                mask.allow(token);
            }
        }
    }
}

/// Whether the exact state takes all of the bytes.
pub(crate) fn takes(
    network: &mut Network,
    exact: SetId,
    bytes: &[u8],
) -> Result<bool, LimitExceeded> {
    Ok(run(network, exact, bytes)?.is_ok())
}

/// The state behind the bytes, or the offset of the first one that does not fit.
pub(crate) fn run(
    network: &mut Network,
    exact: SetId,
    bytes: &[u8],
) -> Result<Result<SetId, usize>, LimitExceeded> {
    let mut state = exact;
    for (offset, &byte) in bytes.iter().enumerate() {
        state = match network.step(state, byte, Memory::Exact) {
            Ok(SetId::DEAD) => return Ok(Err(offset)),
            Ok(next) => next,
            Err(StepError::Limit(limit)) => return Err(limit),
            // An exact state keeps every text, so that nothing depends on what it does not know.
            Err(StepError::NeedsExact) => return Ok(Err(offset)),
        };
    }
    Ok(Ok(state))
}
