//! The tokens after which an output can be completed in time.
//!
//! Near the end of a budget, most tokens of a vocabulary take the output too far. Asking each is a step for every byte
//! of the vocabulary. Here, tokens with a common beginning share its steps, and where plain text leads to one state, as
//! within a string, all text tokens share one answer.

use rustc_hash::FxHashMap;
use structgen_automata::{ByteSet, Element, LimitExceeded, Memory, SetId, StepError, Uniform};
use structgen_vocab::{TokenMask, TokenTrie};

use crate::error::limit;
use crate::visit::Visit;

/// A walk over all tokens from one state.
pub(crate) struct Within<'v> {
    visit: &'v Visit<'v>,
    /// The maximum number of tokens for the completion.
    most: u64,
    known: FxHashMap<SetId, Known>,
    /// Where bytes lead. Most tokens beyond ASCII go through the same few states.
    steps: FxHashMap<(SetId, u8), SetId>,
    /// The nodes to visit, each with the state before its byte.
    open: Vec<(u32, SetId)>,
}

/// What is known of a state.
#[derive(Clone, Copy)]
struct Known {
    /// Whether the output can be completed from it in time.
    is_within: bool,
    text: Option<Text>,
}

/// Where plain text leads.
#[derive(Clone, Copy)]
struct Text {
    /// The state.
    to: SetId,
    /// The first bytes of texts that lead elsewhere.
    except: ByteSet,
}

impl<'v> Within<'v> {
    pub(crate) fn new(visit: &'v Visit<'v>, most: u64) -> Self {
        Self {
            visit,
            most,
            known: FxHashMap::default(),
            steps: FxHashMap::default(),
            open: Vec::new(),
        }
    }

    /// Returns the tokens after which the output can be completed in time. Some of them may not be allowed.
    pub(crate) fn tokens(mut self, state: SetId) -> Result<TokenMask, LimitExceeded> {
        let vocabulary = self.visit.shared.tables.vocabulary();
        let (trie, cancel) = (vocabulary.trie(), self.visit.network.cancel_token());
        let mut mask = TokenMask::new(vocabulary.len());
        self.open_children(TokenTrie::ROOT, state, &mut mask)?;
        let mut walked = 0;
        while let Some((node, before)) = self.open.pop() {
            walked += 1;
            if let Some(token) = cancel {
                token.check_between(walked - 1, walked)?;
            }
            let after = self.step(before, trie.node(node).byte())?;
            if after == SetId::DEAD {
                continue;
            }
            if self.known(after)?.is_within {
                mask.allow_all(trie.tokens(node));
            }
            if trie.node(node).end() > node + 1 {
                self.open_children(node, after, &mut mask)?;
            }
        }
        Ok(mask)
    }

    /// Opens the children of a node, except where plain text decides.
    fn open_children(
        &mut self,
        node: u32,
        state: SetId,
        mask: &mut TokenMask,
    ) -> Result<(), LimitExceeded> {
        let tables = &self.visit.shared.tables;
        let (trie, signs) = (tables.vocabulary().trie(), tables.signs());
        let text = self.known(state)?.text;
        let is_within = match text {
            Some(text) => self.known(text.to)?.is_within,
            None => false,
        };
        for place in trie.child_places(node) {
            let (child, byte) = (trie.child_node(place), trie.child_bytes()[place as usize]);
            let Some(text) = text.filter(|text| !text.except.contains(byte)) else {
                self.open.push((child, state));
                continue;
            };
            // Tokens of consecutive nodes are consecutive, up to what is not plain text.
            let (mut at, end) = (child, trie.node(child).end());
            while let Some(exit) = signs.next_break(at, end) {
                if is_within {
                    mask.allow_all(trie.tokens_between(at, exit));
                }
                self.open.push((exit, text.to));
                at = trie.node(exit).end();
            }
            if is_within {
                mask.allow_all(trie.tokens_between(at, end));
            }
        }
        Ok(())
    }

    fn step(&mut self, state: SetId, byte: u8) -> Result<SetId, LimitExceeded> {
        if let Some(&after) = self.steps.get(&(state, byte)) {
            return Ok(after);
        }
        let after = self.visit.network.step(state, byte, Memory::Exact);
        let after = after.map_err(limit)?;
        self.steps.insert((state, byte), after);
        Ok(after)
    }

    fn known(&mut self, state: SetId) -> Result<Known, LimitExceeded> {
        if let Some(known) = self.known.get(&state) {
            return Ok(*known);
        }
        let known = Known {
            is_within: self.visit.network.cost(state) <= self.most,
            text: self.text(state)?,
        };
        self.known.insert(state, known);
        Ok(known)
    }

    fn text(&self, state: SetId) -> Result<Option<Text>, LimitExceeded> {
        let network = &self.visit.network;
        let &[Element { frame, below }] = network.elements(state) else {
            return Ok(None);
        };
        if frame.keeps_text() || network.accept_label(frame).is_some() {
            return Ok(None);
        }
        let uniform = network.uniform(frame).filter(Uniform::is_one_state);
        let Some(Uniform { state, except, .. }) = uniform else {
            return Ok(None);
        };
        let to = match network.single(state, below) {
            Ok(to) => to,
            Err(StepError::NeedsExact) => return Ok(None),
            Err(StepError::Limit(limit)) => return Err(limit),
        };
        // What is not plain text in a JSON string leads elsewhere as well.
        let plain = |byte: &u8| (b' '..=0x7F).contains(byte) && !matches!(byte, b'"' | b'\\');
        let others: Vec<u8> = (0..=u8::MAX).filter(|byte| !plain(byte)).collect();
        let mut except = ByteSet::of(&except);
        except.union_with(ByteSet::of(&others));
        Ok(Some(Text { to, except }))
    }
}
