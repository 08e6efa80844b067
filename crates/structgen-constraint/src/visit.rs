//! One operation of a matcher: the states that it works on, and what it finds and adds there.

use std::sync::Arc;

use structgen_automata::{Call, CancelToken, LimitExceeded, Memory, SetId};
use structgen_vocab::{TokenMask, TokenTrie};

use crate::Mask;
use crate::compute::{Compute, ends, replace, tokens_of};
use crate::masks::{Kept, Key, Scope};
use crate::statistics::{WalkCounts, add};
use crate::store::{Shared, States, Store, limit};

/// One operation on the states of a constraint. What it adds is there for the others at once; work is counted for it alone.
pub(crate) struct Visit<'s> {
    pub(crate) network: Call<'s>,
    pub(crate) states: &'s States,
    pub(crate) shared: &'s Shared,
    store: &'s Store,
    /// Whether masks that are added stay as long as the states do.
    keeps_masks: bool,
}

impl<'s> Visit<'s> {
    #[inline]
    pub(crate) fn new(states: &'s States, shared: &'s Shared, store: &'s Store) -> Self {
        Self {
            network: states.network.call(),
            states,
            shared,
            store,
            keeps_masks: false,
        }
    }

    /// The same operation, which the token ends.
    #[inline]
    pub(crate) fn with_cancel_token(self, token: Option<&'s CancelToken>) -> Self {
        Self {
            network: self.network.with_cancel_token(token),
            ..self
        }
    }

    /// The same operation, whose masks stay as long as the states do.
    pub(crate) fn keeping_masks(self) -> Self {
        Self {
            keeps_masks: true,
            ..self
        }
    }

    /// The next operation on the same states.
    pub(crate) fn again(&self) -> Self {
        Self {
            network: { self.states.network.call() }.with_cancel_token(self.network.cancel_token()),
            ..*self
        }
    }

    /// The room that one matcher may take when it finds its states again.
    pub(crate) fn room_for_one(&self) -> RoomForOne<'s> {
        RoomForOne {
            states: self.states,
            before: self.states.network.len(),
            limit: self.store.bytes().states / 10 * 9,
        }
    }

    /// The state before the first token.
    pub(crate) fn start(&self) -> Result<SetId, LimitExceeded> {
        let start = self.network.start();
        Ok(self.network.begin_token(start).map_err(limit)?.state)
    }

    /// The mask of a state, if it is known.
    pub(crate) fn find(&self, exact: SetId) -> Result<Option<Arc<Mask>>, LimitExceeded> {
        let sketch = self.network.sketch(exact)?;
        Ok(self.look_up(sketch, exact))
    }

    fn look_up(&self, sketch: SetId, exact: SetId) -> Option<Arc<Mask>> {
        // Mostly all states of a sketch share its mask; where it depends on their texts, each has its own.
        let of_sketch = self.known((sketch, Scope::All));
        let found = match of_sketch {
            None if exact != sketch => self.known((exact, Scope::All))?,
            of_sketch => of_sketch?,
        };
        self.store.counters.masks_found.add(1);
        Some(found)
    }

    pub(crate) fn known(&self, key: Key) -> Option<Arc<Mask>> {
        if let Some((mask, gone)) = self.states.masks.find(key) {
            self.count_evicted(gone);
            return Some(mask);
        }
        let (state, Scope::All) = key else {
            return None;
        };
        let kept = Arc::new(Kept::new(self.states.ready.get()?.mask(state)?));
        self.keep(key, kept.clone());
        Some(kept.get())
    }

    /// The mask of a state as far as it is known, and whether it is that of no other state of the sketch. Unlike [`find`](Self::find) it is not
    /// counted.
    pub(crate) fn kept(&self, exact: SetId) -> Result<Option<(Arc<Mask>, bool)>, LimitExceeded> {
        let sketch = self.network.sketch(exact)?;
        let kept = |state: SetId| {
            let kept = self.states.masks.peek((state, Scope::All));
            let mask = kept.map(|kept| kept.get());
            let ready = || self.states.ready.get()?.mask(state).map(Arc::new);
            mask.or_else(ready)
        };
        let of_sketch = kept(sketch).map(|mask| (mask, false));
        Ok(of_sketch.or_else(|| kept(exact).map(|mask| (mask, true))))
    }

    /// The mask of a state: found, or computed and kept.
    pub(crate) fn mask(&self, exact: SetId) -> Result<Arc<Mask>, LimitExceeded> {
        match self.network.program().limits_tokens() {
            true => self.limited_mask(exact),
            false => self.mask_of_text(exact),
        }
    }

    /// The mask of a state as if no part had a limit of tokens.
    pub(crate) fn mask_of_text(&self, exact: SetId) -> Result<Arc<Mask>, LimitExceeded> {
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
        let width = self.shared.tables.vocabulary().len();
        let mut bits = self.store.take_scratch(width);
        let mask = self.find_or_compute(sketch, exact, &counts, &mut bits);
        self.store.give_scratch(bits);
        let mask = mask?;
        let counters = &self.store.counters;
        add(&counters.masks_computed, 1);
        add(&counters.nodes_walked, counts.nodes.get());
        add(&counters.tokens_tried, counts.tried.get());
        if !span.is_disabled() {
            span.record("nodes_walked", counts.nodes.get());
            span.record("tokens", mask.count());
        }
        Ok(mask)
    }

    /// The mask of a state that is not known: where counters are out of reach of short tokens, those of all states that differ only in
    /// them are the same, and mostly all others are too.
    fn find_or_compute(
        &self,
        sketch: SetId,
        exact: SetId,
        counts: &WalkCounts,
        bits: &mut TokenMask,
    ) -> Result<Arc<Mask>, LimitExceeded> {
        let compute = |memory| Compute {
            tables: &self.shared.tables,
            exact,
            memory,
            counts,
        };
        let relaxed = match self.network.relax(sketch, Memory::Short)? {
            // A token that the grammar names is allowed whatever its text: those are not told apart below.
            Some(relaxed) if self.shared.tokens.is_empty() => relaxed,
            _ => {
                let depends = self.compute(sketch, compute(Memory::Sketch), bits)?;
                return Ok(self.add((if depends { exact } else { sketch }, Scope::All), bits));
            }
        };
        let long = self.shared.tables.long();
        let mut depends = false;
        let short = (relaxed, Scope::Short);
        let base = match self.states.masks.find_kept(short) {
            Some((known, gone)) => {
                self.count_evicted(gone);
                known
            }
            None => {
                depends = self.compute(relaxed, compute(Memory::Short), bits)?;
                let mut taken = TokenMask::new(bits.len());
                let sketch = compute(Memory::Sketch);
                depends |= sketch.long_tokens(relaxed, &self.network, &mut taken)?;
                replace(bits, long, &tokens_of(long, &taken));
                if depends {
                    self.states.masks.share(bits)
                } else {
                    self.add_kept(short, bits)
                }
            }
        };
        // The other tokens may reach what was forgotten.
        bits.clear();
        let (state, memory) = match self.network.relax(sketch, Memory::Tokens)? {
            Some(far) => (far, Memory::Tokens),
            None => (sketch, Memory::Sketch),
        };
        depends |= compute(memory).long_tokens(state, &self.network, bits)?;
        let mut tokens = long.trie.subtree_tokens(TokenTrie::ROOT).iter();
        let key = (if depends { exact } else { sketch }, Scope::All);
        if tokens.all(|&token| base.mask.contains(token) == bits.contains(token)) {
            self.keep(key, base.clone());
            return Ok(base.get());
        }
        let tokens = tokens_of(long, bits);
        base.mask.fill(bits);
        replace(bits, long, &tokens);
        Ok(self.add(key, bits))
    }

    /// Computes a mask; returns whether it depends on texts that the sketch leaves out.
    fn compute(
        &self,
        sketch: SetId,
        compute: Compute<'_>,
        mask: &mut TokenMask,
    ) -> Result<bool, LimitExceeded> {
        mask.clear();
        let network = &self.network;
        let tokens_depend = compute.tokens(sketch, network, mask)?;
        let ends = ends(network, sketch, compute.exact).map_err(limit)?;
        let ((named, is_accepting), ends_depend) = ends;
        for token in named {
            self.shared.tokens[token as usize].allow(mask);
        }
        if is_accepting {
            mask.allow_all(&self.shared.eos);
        }
        Ok(tokens_depend | ends_depend)
    }

    /// The mask of these tokens, for a state.
    pub(crate) fn add(&self, key: Key, bits: &TokenMask) -> Arc<Mask> {
        self.add_kept(key, bits).get()
    }

    fn add_kept(&self, key: Key, bits: &TokenMask) -> Arc<Kept> {
        let kept = self.states.masks.share(bits);
        self.keep(key, kept.clone());
        kept
    }

    fn keep(&self, key: Key, mask: Arc<Kept>) {
        match self.keeps_masks {
            true => self.states.masks.add_ahead(key, mask),
            false => self.count_evicted(self.states.masks.add(key, mask)),
        }
    }

    fn count_evicted(&self, gone: u64) {
        if gone > 0 {
            add(&self.store.counters.masks_evicted, gone);
        }
    }
}

/// The room that one matcher may take among all states. If what it needs by itself nearly fills them, they would be thrown
/// away again soon after it has found its own, and it would do little else than look for them.
pub(crate) struct RoomForOne<'s> {
    states: &'s States,
    /// How many states there were.
    before: usize,
    limit: usize,
}

impl RoomForOne<'_> {
    /// # Errors
    /// When the states that were added take more.
    pub(crate) fn check(&self) -> Result<(), LimitExceeded> {
        /// So many states may be found again whatever they take, which keeps matchers of small stores going.
        const FEW_STATES: usize = 1 << 16;
        self.states.measure_later();
        let added = self.states.network.len() - self.before;
        if added < FEW_STATES || self.states.memory() <= self.limit {
            return Ok(());
        }
        Err(LimitExceeded {
            what: "bytes of the states of one text",
            limit: self.limit as u64,
        })
    }
}
