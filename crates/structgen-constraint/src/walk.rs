//! The walk: which tokens of a trie a state takes.

use structgen_automata::{Element, LimitExceeded, Memory, Network, SetId, StepError};
use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};

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

/// What to walk.
pub(crate) struct Walk<'w> {
    /// The tokens.
    pub(crate) trie: &'w TokenTrie,
    /// The state that is walked.
    pub(crate) sketch: SetId,
    /// The state before the whole token, that `sketch` is a sketch of: where a step depends on what the sketch left out, the tokens in
    /// question are tried one by one on it.
    pub(crate) exact: SetId,
    /// The vocabulary of the trie's tokens, which may be only their ends.
    pub(crate) vocabulary: &'w Vocabulary,
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
    /// The trie is depth first with subtree skips: a byte that does not fit skips all tokens that go on with it.
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
        // The open nodes above the current one: where each one's subtree ends, and the cursor behind its byte.
        let mut open: Vec<(u32, Cursor)> = Vec::with_capacity(32);
        let mut i = 1;
        let end = self.trie.len() as u32;
        while i < end {
            while open.last().is_some_and(|&(end, _)| end <= i) {
                open.pop();
            }
            let node = self.trie.node(i);
            let cursor = match open.last() {
                Some(&(_, cursor)) => cursor,
                None if self.from.contains(node.byte()) => root,
                None => {
                    i = node.end();
                    continue;
                }
            };
            match cursor.step(network, node.byte()) {
                Ok(None) => i = node.end(),
                Ok(Some(next)) => {
                    self.allow(self.trie.tokens(i), mask);
                    if node.end() > i + 1 {
                        open.push((node.end(), next));
                    }
                    i += 1;
                }
                Err(StepError::NeedsExact) => {
                    depends_on_texts = true;
                    for &token in self.trie.subtree_tokens(i) {
                        let bytes = self.vocabulary.token_bytes(token).unwrap_or_default();
                        if takes(network, self.exact, bytes)? {
                            mask.allow(token);
                        }
                    }
                    i = node.end();
                }
                Err(StepError::Limit(limit)) => return Err(limit),
            }
        }
        Ok(depends_on_texts)
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
