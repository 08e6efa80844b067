//! The walk: which tokens of a trie a state takes.

use structgen_automata::{Element, LimitExceeded, Memory, Network, SetId, StepError};
use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};

/// Where the walk stands on the automaton's side: mostly inside one terminal, where a step is a table look-up.
#[derive(Clone, Copy)]
enum Cursor {
    /// Inside the terminal on top of one stack, where it cannot end.
    Inside(Element),
    /// Anywhere.
    Set(SetId),
}

impl Cursor {
    fn new(network: &Network, set: SetId) -> Self {
        match *network.elements(set) {
            [element]
                if element.frame.reads()
                    && !network.terminal_accepts(element.frame, element.frame.state()) =>
            {
                Self::Inside(element)
            }
            _ => Self::Set(set),
        }
    }

    /// The cursor behind one more byte; `None` where no text goes on.
    #[inline]
    fn step(self, network: &mut Network, byte: u8) -> Result<Option<Self>, StepError> {
        match self {
            Self::Inside(element) => {
                let frame = element.frame;
                let state = network.step_terminal(frame, frame.state(), byte)?;
                if state == structgen_automata::DEAD {
                    return Ok(None);
                }
                let frame = frame.with_state(state);
                if network.terminal_accepts(frame, state) {
                    let set = network.single(frame, element.below)?;
                    return Ok(Some(Self::new(network, set)));
                }
                Ok(Some(Self::Inside(Element { frame, ..element })))
            }
            Self::Set(set) => {
                let next = network.step(set, byte, Memory::Sketch)?;
                Ok((next != SetId::DEAD).then(|| Self::new(network, next)))
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
        let root = Cursor::new(network, self.sketch);
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
