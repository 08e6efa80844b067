//! The walk: which tokens of a trie a state takes.

use std::ops::Range;

use structgen_automata::{
    ByteClasses, ByteSet, Element, Ends, LimitExceeded, Memory, Network, SetId, Span, StepError,
    Utf8,
};
use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};

use crate::signs::Signs;
use crate::statistics::WalkCounts;
use crate::tables::Strings;

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
    /// Where only a stretch that is known to go on is left to follow.
    Nowhere,
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
    fn step(
        self,
        network: &mut Network,
        byte: u8,
        memory: Memory,
    ) -> Result<Option<Self>, StepError> {
        let (element, known) = match self {
            Self::Inside(element) => (element, None),
            Self::Ending {
                element,
                label,
                after,
            } => (element, Some((label, after))),
            Self::Nowhere => return Ok(None),
            Self::Set(set) => {
                let next = network.step(set, byte, memory)?;
                return match next {
                    SetId::DEAD => Ok(None),
                    next => Self::new(network, next).map(Some),
                };
            }
        };
        let frame = element.frame;
        let state = network.step_terminal(frame, frame.state(), byte, memory)?;
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
        let next = network.step(after, byte, memory)?;
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
            Self::Nowhere => ByteSet::ALL,
        }
    }

    /// A stretch of text that goes on from here, with all that may leave it.
    fn stretch(self, network: &mut Network) -> Result<Option<Span>, LimitExceeded> {
        match self {
            Self::Inside(element) | Self::Ending { element, .. } => stretch(network, element, true),
            Self::Set(_) | Self::Nowhere => Ok(None),
        }
    }

    /// A stretch of text that goes on from here whatever it is made of.
    fn span(self, network: &mut Network, search: bool) -> Option<Span> {
        let set = match self {
            Self::Inside(Element { frame, .. })
            | Self::Ending {
                element: Element { frame, .. },
                ..
            } => return network.span(frame, search),
            Self::Set(set) => set,
            Self::Nowhere => return None,
        };
        let count = network.elements(set).len().min(MOST_ELEMENTS);
        let spans = (0..count).filter_map(|i| {
            let frame = network.elements(set)[i].frame;
            network.span(frame, search)
        });
        // One that takes as much as possible: no other does more.
        spans.max_by_key(|span| (span.closed.len(), span.code_points))
    }
}

/// How many alternatives of a state are asked for a span.
const MOST_ELEMENTS: usize = 4;

/// Below a node with fewer nodes nobody asks for a span.
const FEWEST_NODES: u32 = 3;

/// Below a node with at least so many nodes a span is searched for.
const MANY_NODES: u32 = 64;

/// Where a node has at least so many children, it is found out at once which of them may go on.
const MANY_CHILDREN: usize = 12;

/// To search for one child costs as much as to look at so many.
const SEARCHED: usize = 8;

/// The children of a node that are left.
enum Children {
    /// The children at these places whose bytes are in the set.
    All(Range<u32>, ByteSet),
    /// The children of the node for these bytes, few beside all of its children.
    Few(u32, ByteSet),
}

impl Children {
    /// The place of the next one.
    #[inline]
    fn next(&mut self, trie: &TokenTrie) -> Option<u32> {
        match self {
            Self::All(places, first) => {
                places.find(|&place| first.contains(trie.child_bytes()[place as usize]))
            }
            Self::Few(node, bytes) => {
                while let Some(byte) = bytes.pop() {
                    if let Some(place) = trie.child_place(*node, byte) {
                        return Some(place);
                    }
                }
                None
            }
        }
    }
}

/// A stretch of text that goes on from the element, with all that may leave it, what follows the terminal's end included.
pub(crate) fn stretch(
    network: &mut Network,
    element: Element,
    search: bool,
) -> Result<Option<Span>, LimitExceeded> {
    let Element { frame, below } = element;
    let Some(span) = network.span(frame, search) else {
        return Ok(None);
    };
    let label = match span.ends {
        Ends::Never => return Ok(Some(span)),
        Ends::Differently => return Ok(None),
        Ends::Under(label) => label,
    };
    let after = match network.follow_under(frame, label, below) {
        Ok(after) => network.first(after).classes(),
        Err(StepError::NeedsExact) => return Ok(None),
        Err(StepError::Limit(limit)) => return Err(limit),
    };
    // Where what follows may begin with the same characters, both go on side by side: that is for a walk to find out.
    let exits = span.exits | after;
    Ok(after
        .is_disjoint(span.closed)
        .then_some(Span { exits, ..span }))
}

/// A part of the trie where all that is known to be of a stretch goes on: there what tokens are made of is enough to tell.
#[derive(Clone, Copy)]
struct Region {
    span: Span,
    /// How many of its characters are behind.
    characters: u32,
    utf8: Utf8,
    /// Whether the tokens of the stretch are in the mask already.
    is_ready: bool,
}

impl Region {
    fn new(span: Span, is_ready: bool) -> Self {
        Self {
            span,
            characters: 0,
            utf8: Utf8::Boundary,
            is_ready,
        }
    }

    /// The region behind one more byte; `None` where that leaves it.
    #[inline]
    fn behind(self, byte: u8) -> Option<Self> {
        let utf8 = self.utf8.step(byte)?;
        let begins = self.utf8 == Utf8::Boundary;
        if begins && (!self.span.closed.contains(byte) || self.characters == self.span.code_points)
        {
            return None;
        }
        Some(Self {
            utf8,
            characters: self.characters + u32::from(begins),
            ..self
        })
    }
}

/// A node of the trie whose children come next.
struct Open {
    children: Children,
    cursor: Cursor,
    /// Whether plain text of any length goes on.
    is_free: bool,
    region: Option<Region>,
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
    /// Whether it keeps its counters.
    pub(crate) memory: Memory,
    /// Whether it is worth to search for spans: what a search finds out about a state is for many tokens.
    pub(crate) searches: bool,
    /// The state before the whole token, that `sketch` is a sketch of: where a step depends on what the sketch left out, the tokens in
    /// question are tried one by one on it.
    pub(crate) exact: SetId,
    /// The vocabulary of the trie's tokens, which may be only their ends.
    pub(crate) vocabulary: &'w Vocabulary,
    /// The first byte of every token.
    pub(crate) first_bytes: &'w [u8],
    /// What is counted.
    pub(crate) counts: &'w WalkCounts,
    /// First bytes of the trie that are walked.
    pub(crate) from: ByteSet,
    /// First bytes of tokens that are left out.
    pub(crate) without: ByteSet,
    /// Where the trie has the ends of tokens that close a string: what they may have before the quote.
    pub(crate) within: Option<(&'w Strings, ByteClasses)>,
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
        self.run_below(TokenTrie::ROOT, network, mask)
    }

    /// The same for the tokens below a node of the trie, where the state is the one behind what leads to the node.
    pub(crate) fn run_below(
        &self,
        node: u32,
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
        let region = self.covered.map(|span| Region::new(span, true));
        open.push(self.open(node, root, region, network));
        while let Some(parent) = open.last_mut() {
            let Some(place) = parent.children.next(trie) else {
                open.pop();
                continue;
            };
            let byte = trie.child_bytes()[place as usize];
            if parent.is_free && self.signs.is_plain(place) {
                self.allow(trie.subtree_tokens(trie.child_node(place)), mask);
                continue;
            }
            let (cursor, region) = (parent.cursor, parent.region);
            if open.len() == 1 && !self.from.contains(byte) {
                continue;
            }
            let i = trie.child_node(place);
            let below = trie.node(i).end() - i - 1;
            let region = region.and_then(|region| region.behind(byte));
            if let Some(region) = region {
                let sign = self.signs.below(i);
                if !region.is_ready && sign.is_within(&region.span, region.characters) {
                    self.allow(trie.subtree_tokens(i), mask);
                    continue;
                }
                if sign.is_covered(&region.span, region.characters) {
                    if !region.is_ready {
                        self.allow(trie.tokens(i), mask);
                        open.push(self.open(i, Cursor::Nowhere, Some(region), network));
                    }
                    continue;
                }
            }
            self.counts.step();
            match cursor.step(network, byte, self.memory) {
                Ok(None) => {}
                Ok(Some(next)) => {
                    let span = if below >= FEWEST_NODES && region.is_none() {
                        next.span(network, self.searches && below >= MANY_NODES)
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
                        let region = match region {
                            None if self.searches && below >= MANY_NODES && !is_free => {
                                next.stretch(network)?.map(|span| Region::new(span, false))
                            }
                            region => region,
                        };
                        let node = self.open(i, next, region, network);
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

    fn open(
        &self,
        node: u32,
        cursor: Cursor,
        region: Option<Region>,
        network: &mut Network,
    ) -> Open {
        let places = self.trie.child_places(node);
        let children = if places.len() < MANY_CHILDREN {
            Children::All(places, ByteSet::ALL)
        } else {
            let first = cursor.first(network);
            if (first.len() as usize) < places.len() / SEARCHED {
                Children::Few(node, first)
            } else {
                Children::All(places, first)
            }
        };
        Open {
            children,
            cursor,
            is_free: false,
            region,
        }
    }

    /// Adds the tokens that are not left out.
    pub(crate) fn allow(&self, tokens: &[TokenId], mask: &mut TokenMask) {
        if let Some((strings, classes)) = self.within {
            let fits = |token: &&TokenId| strings.before_quote(**token).is_subset(classes);
            for &token in tokens.iter().filter(fits) {
                mask.allow(token);
            }
            return;
        }
        if self.without.is_empty() {
            mask.allow_all(tokens);
            return;
        }
        for &token in tokens {
            if !self.without.contains(self.first_bytes[token.index()]) {
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
