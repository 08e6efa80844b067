//! Masks of grammars that limit the number of tokens of their parts.
//!
//! Whether a token keeps within a limit depends on what is still missing after it. Computing this for every number of
//! tokens left would be a walk over the vocabulary at every step. Instead, the mask is computed once, as if no token
//! had begun, together with the maximum number of bytes that are missing after any of its tokens. A state with at least
//! that many tokens left has the same mask. With fewer left, in the last steps before a limit, the tokens of the mask
//! are tried again.

use std::sync::Arc;

use structgen_automata::{LimitExceeded, Memory, SetId, StepError};
use structgen_vocab::{TokenMask, TokenTrie};

use crate::Mask;
use crate::draft::Drafted;
use crate::error::limit;
use crate::masks::Scope;
use crate::visit::Visit;
use crate::walk::covered_spans;

impl Visit<'_> {
    /// Returns the mask of a state, including limits on tokens.
    pub(crate) fn limited_mask(&self, exact: SetId) -> Result<Arc<Mask>, LimitExceeded> {
        let free = self.network.forget_tokens(exact)?;
        let (mask, needed) = self.mask_with_all_tokens(free)?;
        let left = self.network.tokens_left(exact);
        if left.is_none_or(|left| u64::from(left) >= needed.max(1)) {
            return Ok(mask);
        }
        let key = (exact, Scope::Limited);
        if let Some(known) = self.known(key) {
            return Ok(known);
        }
        let (bits, _) = self.within_limits(exact, &mask)?;
        Ok(self.add(key, &Drafted::of(&bits)))
    }

    /// Returns the mask of a state in whose parts no token has begun, and the number of tokens that another state must
    /// have left to share it.
    fn mask_with_all_tokens(&self, free: SetId) -> Result<(Arc<Mask>, u64), LimitExceeded> {
        let key = (free, Scope::Limited);
        if let Some(&needed) = self.states.needed.get(&free)
            && let Some(known) = self.known(key)
        {
            return Ok((known, needed));
        }
        let of_text = self.mask_of_text(free)?;
        let (bits, needed) = self.within_limits(free, &of_text)?;
        self.states.needed.insert(free, needed);
        Ok((self.add(key, &Drafted::of(&bits)), needed))
    }

    /// Returns the tokens of a mask after which the state can be completed, and the maximum number of bytes that any of
    /// its parts then takes.
    fn within_limits(&self, state: SetId, mask: &Mask) -> Result<(TokenMask, u64), LimitExceeded> {
        let mut limited = Limited {
            visit: self,
            bits: TokenMask::new(mask.bits().len()),
            needed: 0,
        };
        limited.add_named(state)?;
        let looping = limited.add_loop(state)?;
        let is_open = |token| {
            mask.contains(token) && !looping.as_ref().is_some_and(|texts| texts.contains(token))
        };
        let trie = self.shared.tables.vocabulary().trie();
        let mut todo = vec![(TokenTrie::ROOT, state)];
        while let Some((node, state)) = todo.pop() {
            let mut tokens = trie.tokens(node).iter().copied().filter(|&it| is_open(it));
            if let Some(first) = tokens.next()
                && limited.goes_on(state)?
            {
                std::iter::once(first)
                    .chain(tokens)
                    .for_each(|token| limited.bits.allow(token));
            }
            for child in trie.children(node) {
                if trie.subtree_tokens(child).iter().any(|&it| is_open(it)) {
                    let byte = trie.node(child).byte();
                    match self.network.step(state, byte, Memory::Exact) {
                        // An exact state has every text, so this error cannot occur.
                        Ok(SetId::DEAD) | Err(StepError::NeedsExact) => {}
                        Ok(after) => todo.push((child, after)),
                        Err(StepError::Limit(limit)) => return Err(limit),
                    }
                }
            }
        }
        Ok((limited.bits, limited.needed))
    }
}

/// A mask under construction.
struct Limited<'s> {
    visit: &'s Visit<'s>,
    bits: TokenMask,
    needed: u64,
}

impl Limited<'_> {
    /// Returns whether a token may end in the state.
    fn goes_on(&mut self, state: SetId) -> Result<bool, LimitExceeded> {
        let begun = self.visit.network.begin_token(state).map_err(limit)?;
        self.needed = self.needed.max(begun.needed);
        Ok(begun.state != SetId::DEAD)
    }

    /// Adds token terminals and end-of-sequence ids.
    fn add_named(&mut self, state: SetId) -> Result<(), LimitExceeded> {
        if self.visit.network.is_accepting(state).map_err(limit)? {
            self.bits.allow_all(&self.visit.shared.eos);
        }
        let terminals = self.visit.network.next_tokens(state).map_err(limit)?;
        for terminal in terminals {
            let after = self.visit.network.step_token(state, terminal);
            if self.goes_on(after.map_err(limit)?)? {
                self.visit.shared.tokens[terminal as usize].allow(&mut self.bits);
            }
        }
        Ok(())
    }

    /// Adds the tokens that lead back to the state. In free text these are nearly all tokens, except those that end
    /// within a character.
    fn add_loop(&mut self, state: SetId) -> Result<Option<TokenMask>, LimitExceeded> {
        let network = &self.visit.network;
        let &[element] = network.elements(state) else {
            return Ok(None);
        };
        let Some(spans) = covered_spans(network, element, Memory::Sketch, u32::MAX)? else {
            return Ok(None);
        };
        if !network.is_loop(element.frame, &spans.span) {
            return Ok(None);
        }
        let texts = self.visit.shared.tables.texts();
        let texts = texts.of(spans.span.closed, spans.span.code_points);
        let mut texts = texts.bits().clone();
        texts.subtract(self.visit.shared.tables.cut_off());
        if self.goes_on(state)? {
            self.bits.union_with(&texts);
        }
        Ok(Some(texts))
    }
}
