//! One operation of a matcher on the shared states.

use std::sync::Arc;

use structgen_automata::{Call, CancelToken, LimitExceeded, Memory, SetId};
use structgen_vocab::TokenTrie;

use crate::Mask;
use crate::compute::{Compute, ends, replace, tokens_of};
use crate::draft::{Draft, Drafted};
use crate::error::limit;
use crate::masks::{Kept, Key, Scope};
use crate::shared::Shared;
use crate::statistics::{WalkCounts, add};
use crate::store::{States, Store};

/// One operation on the states of a constraint. What it adds is visible to others at once; its work is counted alone.
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

    /// Returns the operation with a cancellation token.
    #[inline]
    pub(crate) fn with_cancel_token(self, token: Option<&'s CancelToken>) -> Self {
        Self {
            network: self.network.with_cancel_token(token),
            ..self
        }
    }

    /// Returns the operation such that its masks stay as long as the states do.
    pub(crate) fn keeping_masks(self) -> Self {
        Self {
            keeps_masks: true,
            ..self
        }
    }

    /// Returns the next operation on the same states.
    pub(crate) fn again(&self) -> Self {
        Self {
            network: { self.states.network.call() }.with_cancel_token(self.network.cancel_token()),
            ..*self
        }
    }

    /// Returns the limit on the memory that one matcher may take to recompute its states: most of `bytes`, which is
    /// what all of them may take.
    pub(crate) fn room_for_one(&self, bytes: usize) -> RoomForOne<'s> {
        RoomForOne {
            states: self.states,
            before: self.states.network.len(),
            limit: bytes / 10 * 9,
        }
    }

    /// Returns the state before the first token.
    pub(crate) fn start(&self) -> Result<SetId, LimitExceeded> {
        let start = self.network.start();
        Ok(self.network.begin_token(start).map_err(limit)?.state)
    }

    /// Returns the mask of a state if it is cached.
    pub(crate) fn find(&self, exact: SetId) -> Result<Option<Arc<Mask>>, LimitExceeded> {
        let sketch = self.network.sketch(exact)?;
        Ok(self.look_up(sketch, exact))
    }

    fn look_up(&self, sketch: SetId, exact: SetId) -> Option<Arc<Mask>> {
        // Usually all states of a sketch share its mask; if it depends on their texts, each has its own.
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

    /// Returns the mask of a state if it is cached, and whether it belongs to this state alone rather than to all
    /// states of the sketch. Unlike [`find`](Self::find), this is not counted.
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

    /// Returns the mask of a state, from the cache or computed.
    pub(crate) fn mask(&self, exact: SetId) -> Result<Arc<Mask>, LimitExceeded> {
        match self.network.program().limits_tokens() {
            true => self.limited_mask(exact),
            false => self.mask_of_text(exact),
        }
    }

    /// Returns the mask of a state, ignoring limits on tokens.
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
        let mut draft = self.store.take_scratch(width);
        let mask = self.find_or_compute(sketch, exact, &counts, &mut draft);
        self.store.give_scratch(draft);
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

    /// Computes the mask of a state. If counters are out of reach of short tokens, states that differ only in these
    /// counters share the mask of short tokens, and usually that of all others too.
    fn find_or_compute(
        &self,
        sketch: SetId,
        exact: SetId,
        counts: &WalkCounts,
        draft: &mut Draft,
    ) -> Result<Arc<Mask>, LimitExceeded> {
        let compute = |memory| Compute {
            tables: &self.shared.tables,
            in_strings: &self.states.in_strings,
            exact,
            memory,
            counts,
        };
        let key_if = |depends| (if depends { exact } else { sketch }, Scope::All);
        let relaxed = match self.network.relax(sketch, Memory::Short)? {
            // A token that the grammar names is allowed whatever its text is; the code below would not distinguish it.
            Some(relaxed) if self.shared.tokens.is_empty() => relaxed,
            _ => {
                let depends = self.compute(sketch, compute(Memory::Sketch), draft)?;
                return Ok(self.add(key_if(depends), &draft.drafted()));
            }
        };
        // Longer tokens may reach what was forgotten.
        let long = self.shared.tables.long();
        let (state, memory) = match self.network.relax(sketch, Memory::Tokens)? {
            Some(far) => (far, Memory::Tokens),
            None => (sketch, Memory::Sketch),
        };
        let long_tokens =
            |draft: &mut Draft| compute(memory).long_tokens(state, &self.network, draft);
        let short = (relaxed, Scope::Short);
        let Some((base, gone)) = self.states.masks.find_kept(short) else {
            let mut depends = self.compute(relaxed, compute(Memory::Short), draft)?;
            let mut taken = self.store.take_scratch(draft.width());
            let long_depends = long_tokens(&mut taken)?;
            replace(draft.as_bits(), long, &tokens_of(long, taken.as_bits()));
            self.store.give_scratch(taken);
            // It has the long tokens of this state; other states compare theirs first.
            let base = match depends {
                true => self.share(&draft.drafted()),
                false => self.add_kept(short, &draft.drafted()),
            };
            depends |= long_depends;
            self.keep(key_if(depends), base.clone());
            return Ok(base.get());
        };
        self.count_evicted(gone);
        draft.clear();
        let key = key_if(long_tokens(draft)?);
        let mut tokens = long.trie.subtree_tokens(TokenTrie::ROOT).iter();
        let found = draft.as_bits();
        if tokens.all(|&token| base.mask.contains(token) == found.contains(token)) {
            self.keep(key, base.clone());
            return Ok(base.get());
        }
        let tokens = tokens_of(long, found);
        base.mask.fill(found);
        replace(found, long, &tokens);
        Ok(self.add(key, &draft.drafted()))
    }

    /// Computes a mask; returns whether it depends on texts that the sketch omits.
    fn compute(
        &self,
        sketch: SetId,
        compute: Compute<'_>,
        mask: &mut Draft,
    ) -> Result<bool, LimitExceeded> {
        mask.clear();
        let network = &self.network;
        let tokens_depend = compute.tokens(sketch, network, mask)?;
        let ends = ends(network, sketch, compute.exact).map_err(limit)?;
        let ((named, is_accepting), ends_depend) = ends;
        for token in named {
            self.shared.tokens[token as usize].add_to(mask);
        }
        if is_accepting {
            mask.allow_all(&self.shared.eos);
        }
        Ok(tokens_depend | ends_depend)
    }

    /// Caches the mask of these tokens for a state.
    pub(crate) fn add(&self, key: Key, tokens: &Drafted<'_>) -> Arc<Mask> {
        self.add_kept(key, tokens).get()
    }

    fn add_kept(&self, key: Key, tokens: &Drafted<'_>) -> Arc<Kept> {
        let kept = self.share(tokens);
        self.keep(key, kept.clone());
        kept
    }

    fn share(&self, tokens: &Drafted<'_>) -> Arc<Kept> {
        let width = self.shared.tables.vocabulary().len();
        self.states.masks.share(tokens, width)
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

/// The limit on the states that one matcher may add when it recomputes its own. If they alone nearly filled the memory,
/// they would be dropped again soon afterwards, and the matcher would do little else than recompute them.
pub(crate) struct RoomForOne<'s> {
    states: &'s States,
    /// The number of states before.
    before: usize,
    limit: usize,
}

impl RoomForOne<'_> {
    /// # Errors
    /// If the states that were added take more memory.
    pub(crate) fn check(&self) -> Result<(), LimitExceeded> {
        /// This many states are allowed whatever they take, so that matchers work with small limits.
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
