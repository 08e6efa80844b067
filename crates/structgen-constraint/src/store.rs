//! What the matchers of one constraint find out together.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use structgen_automata::{LimitExceeded, Memory, Network, Program, SetId, TokenLengths};
use structgen_vocab::{TokenId, TokenMask, TokenTrie};

use crate::compute::{Compute, ends, replace, tokens_of};
use crate::masks::{Key, Masks, Scope};
use crate::named_tokens::NamedTokens;
use crate::saved::Ready;
use crate::statistics::WalkCounts;
use crate::{Mask, Statistics, VocabularyTables};

/// States and masks, kept while they fit.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) network: Network,
    /// Grows by one whenever the states are thrown away: a matcher of another epoch finds its state again by replaying its tokens.
    pub(crate) epoch: u64,
    masks: Masks,
    state_bytes: usize,
    /// The number of states at which memory is measured next.
    measure_at: usize,
    /// What is counted as it happens; the rest of it stays zero.
    counted: Statistics,
    scratch: TokenMask,
    tokens: TokenLengths,
    /// Masks of this epoch that were computed ahead or lie in a file.
    pub(crate) ready: Ready,
    /// How many tokens have to be left so that a mask with limits is that of a state; see `limits.rs`.
    pub(crate) needed: FxHashMap<SetId, u64>,
}

/// How many new states are made between two measurements of memory.
const MEASURE_EVERY: usize = 8_192;

impl Store {
    pub(crate) fn new(
        program: Arc<Program>,
        tables: &VocabularyTables,
        mask_bytes: usize,
        state_bytes: usize,
    ) -> Result<Self, LimitExceeded> {
        Ok(Self {
            network: Network::for_tokens(program, tables.token_lengths())?,
            tokens: tables.token_lengths(),
            epoch: 0,
            masks: Masks::new(mask_bytes),
            state_bytes,
            measure_at: MEASURE_EVERY,
            counted: Statistics::default(),
            scratch: TokenMask::new(tables.vocabulary().len()),
            ready: Ready::default(),
            needed: FxHashMap::default(),
        })
    }

    /// Throws the states away if they take more memory than they may. Called between operations, never within one.
    pub(crate) fn make_room(&mut self) -> Result<(), LimitExceeded> {
        if self.network.len() < self.measure_at {
            return Ok(());
        }
        self.measure_at = self.network.len() + MEASURE_EVERY;
        if self.network.memory() > self.state_bytes {
            self.network = Network::for_tokens(self.network.program().clone(), self.tokens)?;
            self.measure_at = MEASURE_EVERY;
            self.counted.states_dropped += 1;
            self.counted.masks_evicted += self.masks.len() as u64;
            self.masks.clear();
            self.ready = Ready::default();
            self.needed.clear();
            self.epoch += 1;
        }
        Ok(())
    }

    /// The state before the first token.
    pub(crate) fn start(&mut self) -> Result<SetId, LimitExceeded> {
        let start = self.network.start();
        Ok(self.network.begin_token(start).map_err(limit)?.state)
    }

    /// What has been done so far.
    pub(crate) fn statistics(&self) -> Statistics {
        Statistics {
            nodes: self.network.program().len(),
            states: self.network.len(),
            mask_bytes: self.masks.bytes(),
            ..self.counted
        }
    }

    /// The mask of a state, if it is at hand.
    pub(crate) fn find(&mut self, exact: SetId) -> Result<Option<Arc<Mask>>, LimitExceeded> {
        let sketch = self.network.sketch(exact)?;
        Ok(self.look_up(sketch, exact))
    }

    fn look_up(&mut self, sketch: SetId, exact: SetId) -> Option<Arc<Mask>> {
        // Mostly all states of a sketch share its mask; where it depends on their texts, each has its own.
        let found = [sketch, exact]
            .into_iter()
            .find_map(|state| self.at_hand((state, Scope::All)))?;
        self.counted.masks_found += 1;
        Some(found)
    }

    pub(crate) fn at_hand(&mut self, key: Key) -> Option<Arc<Mask>> {
        if let Some((mask, gone)) = self.masks.find(key) {
            self.counted.masks_evicted += gone;
            return Some(mask);
        }
        let (state, Scope::All) = key else {
            return None;
        };
        let mask = Arc::new(self.ready.mask(state)?);
        self.counted.masks_evicted += self.masks.keep(key, mask.clone());
        Some(mask)
    }

    /// The mask of a state as far as it is at hand, and whether it is that of no other state of the sketch. Unlike [`find`](Self::find) it is not
    /// counted.
    pub(crate) fn kept(
        &mut self,
        exact: SetId,
    ) -> Result<Option<(Arc<Mask>, bool)>, LimitExceeded> {
        let sketch = self.network.sketch(exact)?;
        let kept = |state: SetId| {
            let mask = self.masks.peek((state, Scope::All));
            mask.cloned()
                .or_else(|| self.ready.mask(state).map(Arc::new))
        };
        let of_sketch = kept(sketch).map(|mask| (mask, false));
        Ok(of_sketch.or_else(|| kept(exact).map(|mask| (mask, true))))
    }

    /// Computes a mask ahead of time, which then stays; `false` where masks of that kind have taken half of the memory there is.
    pub(crate) fn mask_ahead(
        &mut self,
        state: SetId,
        shared: &Shared,
    ) -> Result<bool, LimitExceeded> {
        let sketch = self.network.sketch(state)?;
        self.mask(state, shared)?;
        Ok(self.masks.stay(sketch))
    }

    /// Whether the next mask may make an older one go.
    pub(crate) fn is_half_full(&self) -> bool {
        self.masks.is_half_full()
    }

    /// The mask of a state: found, or computed and kept.
    pub(crate) fn mask(
        &mut self,
        exact: SetId,
        shared: &Shared,
    ) -> Result<Arc<Mask>, LimitExceeded> {
        match self.network.program().limits_tokens() {
            true => self.limited_mask(exact, shared),
            false => self.mask_of_text(exact, shared),
        }
    }

    /// The mask of a state as if no part had a limit of tokens.
    pub(crate) fn mask_of_text(
        &mut self,
        exact: SetId,
        shared: &Shared,
    ) -> Result<Arc<Mask>, LimitExceeded> {
        let sketch = self.network.sketch(exact)?;
        if let Some(mask) = self.look_up(sketch, exact) {
            return Ok(mask);
        }
        let span = tracing::trace_span!(
            "mask",
            nodes_walked = tracing::field::Empty,
            tokens = tracing::field::Empty
        )
        .entered();
        let counts = WalkCounts::default();
        let mut bits = std::mem::replace(&mut self.scratch, TokenMask::new(0));
        let mask = self.find_or_compute(sketch, exact, shared, &counts, &mut bits);
        self.scratch = bits;
        let mask = mask?;
        self.counted.masks_computed += 1;
        self.counted.nodes_walked += counts.nodes.get();
        self.counted.tokens_tried += counts.tried.get();
        if !span.is_disabled() {
            span.record("nodes_walked", counts.nodes.get());
            span.record("tokens", mask.count());
        }
        Ok(mask)
    }

    /// The mask of a state that is not at hand: where counters are out of reach of short tokens, those of all states that differ only in
    /// them are the same, and mostly all others are too.
    fn find_or_compute(
        &mut self,
        sketch: SetId,
        exact: SetId,
        shared: &Shared,
        counts: &WalkCounts,
        bits: &mut TokenMask,
    ) -> Result<Arc<Mask>, LimitExceeded> {
        let compute = |memory| Compute {
            tables: &shared.tables,
            exact,
            memory,
            counts,
        };
        let relaxed = match self.network.relax(sketch, Memory::Short)? {
            // A token that the grammar names is allowed whatever its text: those are not told apart below.
            Some(relaxed) if shared.tokens.is_empty() => relaxed,
            _ => {
                let depends = self.compute(sketch, compute(Memory::Sketch), shared, bits)?;
                return Ok(self.add((if depends { exact } else { sketch }, Scope::All), bits));
            }
        };
        let long = shared.tables.long();
        let mut depends = false;
        let base = match self.at_hand((relaxed, Scope::Short)) {
            Some(known) => known,
            None => {
                depends = self.compute(relaxed, compute(Memory::Short), shared, bits)?;
                let mut taken = TokenMask::new(bits.len());
                let sketch = compute(Memory::Sketch);
                depends |= sketch.long_tokens(relaxed, &mut self.network, &mut taken)?;
                replace(bits, long, &tokens_of(long, &taken));
                if depends {
                    self.masks.share(bits).1
                } else {
                    self.add((relaxed, Scope::Short), bits)
                }
            }
        };
        // The other tokens may reach what was forgotten.
        bits.clear();
        let (state, memory) = match self.network.relax(sketch, Memory::Tokens)? {
            Some(far) => (far, Memory::Tokens),
            None => (sketch, Memory::Sketch),
        };
        depends |= compute(memory).long_tokens(state, &mut self.network, bits)?;
        let mut tokens = long.trie.subtree_tokens(TokenTrie::ROOT).iter();
        let key = (if depends { exact } else { sketch }, Scope::All);
        if tokens.all(|&token| base.contains(token) == bits.contains(token)) {
            self.counted.masks_evicted += self.masks.keep(key, base.clone());
            return Ok(base);
        }
        let tokens = tokens_of(long, bits);
        base.fill(bits);
        replace(bits, long, &tokens);
        Ok(self.add(key, bits))
    }

    /// Computes a mask; returns whether it depends on texts that the sketch leaves out.
    fn compute(
        &mut self,
        sketch: SetId,
        compute: Compute<'_>,
        shared: &Shared,
        mask: &mut TokenMask,
    ) -> Result<bool, LimitExceeded> {
        mask.clear();
        let network = &mut self.network;
        let tokens_depend = compute.tokens(sketch, network, mask)?;
        let ends = ends(network, sketch, compute.exact).map_err(limit)?;
        let ((named, is_accepting), ends_depend) = ends;
        for token in named {
            shared.tokens[token as usize].allow(mask);
        }
        if is_accepting {
            mask.allow_all(&shared.eos);
        }
        Ok(tokens_depend | ends_depend)
    }

    /// The mask of these tokens, for a state.
    pub(crate) fn add(&mut self, key: Key, bits: &TokenMask) -> Arc<Mask> {
        let (mask, gone) = self.masks.add(key, bits);
        self.counted.masks_evicted += gone;
        mask
    }
}

/// What never changes: the vocabulary's side of a constraint.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) tables: Arc<VocabularyTables>,
    /// What each token terminal is in the vocabulary.
    pub(crate) tokens: Vec<NamedTokens>,
    pub(crate) eos: Vec<TokenId>,
}

/// Questions about a state, unlike steps, never depend on what a sketch leaves out.
pub(crate) fn limit(error: structgen_automata::StepError) -> LimitExceeded {
    match error {
        structgen_automata::StepError::Limit(limit) => limit,
        structgen_automata::StepError::NeedsExact => LimitExceeded {
            what: "keys within one token",
            limit: 1,
        },
    }
}
