//! What the matchers of one constraint find out together.

use std::sync::Arc;

use structgen_automata::{
    ByteClasses, ByteSet, DEAD, Element, LimitExceeded, Memory, Network, Program, SetId, Span,
    StepError, TokenLengths,
};
use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};

use crate::literals;
use crate::masks::{Key, Masks};
use crate::named_tokens::NamedTokens;
use crate::saved::Ready;
use crate::statistics::WalkCounts;
use crate::tables::SignedTrie;
use crate::walk::{Walk, stretch};
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
            self.epoch += 1;
        }
        Ok(())
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
            .find_map(|state| self.at_hand((state, false)))?;
        self.counted.masks_found += 1;
        Some(found)
    }

    fn at_hand(&mut self, key: Key) -> Option<Arc<Mask>> {
        if let Some((mask, gone)) = self.masks.find(key) {
            self.counted.masks_evicted += gone;
            return Some(mask);
        }
        let (state, is_short) = key;
        if is_short {
            return None;
        }
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
            let mask = self.masks.peek((state, false));
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
        let relaxed = match self.network.relax(sketch, Memory::Short)? {
            // A token that the grammar names is allowed whatever its text: those are not told apart below.
            Some(relaxed) if shared.tokens.is_empty() => relaxed,
            _ => {
                bits.clear();
                let depends =
                    self.compute((sketch, Memory::Sketch), exact, shared, counts, bits)?;
                return Ok(self.add((if depends { exact } else { sketch }, false), bits));
            }
        };
        let (tables, mut depends) = (&*shared.tables, false);
        let base = match self.at_hand((relaxed, true)) {
            Some(known) => known,
            None => {
                bits.clear();
                depends = self.compute((relaxed, Memory::Short), exact, shared, counts, bits)?;
                let mut long = TokenMask::new(bits.len());
                depends |=
                    self.walk_long((relaxed, Memory::Sketch), exact, shared, counts, &mut long)?;
                replace(bits, tables.long(), &tokens_of(tables.long(), &long));
                if depends {
                    self.masks.share(bits).1
                } else {
                    self.add((relaxed, true), bits)
                }
            }
        };
        // The other tokens may reach what was forgotten.
        let long = tables.long();
        bits.clear();
        let far = self.network.relax(sketch, Memory::Tokens)?;
        let (state, memory) = match far {
            Some(far) => (far, Memory::Tokens),
            None => (sketch, Memory::Sketch),
        };
        depends |= self.walk_long((state, memory), exact, shared, counts, bits)?;
        let mut tokens = long.trie.subtree_tokens(TokenTrie::ROOT).iter();
        let key = (if depends { exact } else { sketch }, false);
        if tokens.all(|&token| base.contains(token) == bits.contains(token)) {
            self.counted.masks_evicted += self.masks.keep(key, base.clone());
            return Ok(base);
        }
        let tokens = tokens_of(long, bits);
        base.fill(bits);
        replace(bits, long, &tokens);
        Ok(self.add(key, bits))
    }

    /// The mask of these tokens, for a state.
    fn add(&mut self, key: Key, bits: &TokenMask) -> Arc<Mask> {
        let (mask, gone) = self.masks.add(key, bits);
        self.counted.masks_evicted += gone;
        mask
    }

    /// Adds to `mask` the long tokens that the state takes; returns whether that depends on what the sketch left out.
    fn walk_long(
        &mut self,
        (sketch, memory): (SetId, Memory),
        exact: SetId,
        shared: &Shared,
        counts: &WalkCounts,
        mask: &mut TokenMask,
    ) -> Result<bool, LimitExceeded> {
        let (network, tables) = (&mut self.network, &*shared.tables);
        let SignedTrie { trie, signs } = tables.long();
        let covered = match *network.elements(sketch) {
            // They are too few to search for a span.
            [element] => stretch(network, element, false)?,
            _ => None,
        };
        if let Some(span) = covered {
            let texts = tables.texts().of(span.closed, span.code_points);
            let tokens = trie.subtree_tokens(TokenTrie::ROOT).iter();
            let texts = tokens.filter(|token| texts.contains(**token));
            texts.for_each(|&token| mask.allow(token));
        }
        let walk = Walk {
            trie,
            signs,
            covered,
            sketch,
            memory,
            searches: false,
            exact,
            vocabulary: tables.vocabulary(),
            first_bytes: tables.first_bytes(),
            counts,
            from: ByteSet::ALL,
            without: ByteSet::default(),
            spaced: None,
            within: None,
        };
        walk.run(network, mask)
    }

    /// Computes a mask; returns whether it depends on texts that the sketch leaves out.
    fn compute(
        &mut self,
        (sketch, memory): (SetId, Memory),
        exact: SetId,
        shared: &Shared,
        counts: &WalkCounts,
        mask: &mut TokenMask,
    ) -> Result<bool, LimitExceeded> {
        let network = &mut self.network;
        let tables = &*shared.tables;
        let vocabulary: &Vocabulary = tables.vocabulary();
        let mut depends_on_texts = false;
        // A set takes what its elements take: those in the middle of a text need no walk over what it is made of.
        let mut others = Vec::new();
        for i in 0..network.elements(sketch).len() {
            let element = network.elements(sketch)[i];
            if let Some(place) = network.literals(element.frame) {
                let state = (element, &place, exact, memory);
                match literals::walk(network, state, tables, counts, mask)? {
                    Some(depends) => depends_on_texts |= depends,
                    None => others.push(element),
                }
                continue;
            }
            match stretch(network, element, true)? {
                Some(span) => {
                    mask.union_with(&tables.texts().of(span.closed, span.code_points));
                    depends_on_texts |= behind_text(
                        network,
                        element,
                        span,
                        (exact, memory),
                        tables,
                        counts,
                        mask,
                    )?;
                }
                None => others.push(element),
            }
        }
        if !others.is_empty() {
            let walk = Walk {
                trie: vocabulary.trie(),
                signs: tables.signs(),
                covered: None,
                sketch: network.set_of(others)?,
                memory,
                searches: true,
                exact,
                vocabulary,
                first_bytes: tables.first_bytes(),
                counts,
                from: ByteSet::ALL,
                without: ByteSet::default(),
                spaced: Some(tables.spaced()),
                within: None,
            };
            depends_on_texts |= walk.run(network, mask)?;
        }
        // What ends here goes on with what comes behind it: that may depend on the very texts that a sketch leaves out.
        let ends = match ends(network, sketch) {
            Err(StepError::NeedsExact) => {
                depends_on_texts = true;
                ends(network, exact)
            }
            ends => ends,
        };
        let (tokens, is_accepting) = ends.map_err(limit)?;
        for token in tokens {
            shared.tokens[token as usize].allow(mask);
        }
        if is_accepting {
            mask.allow_all(&shared.eos);
        }
        Ok(depends_on_texts)
    }
}

/// The tokens of a trie that are in a mask.
fn tokens_of(trie: &SignedTrie, mask: &TokenMask) -> Vec<TokenId> {
    let tokens = trie.trie.subtree_tokens(TokenTrie::ROOT).iter();
    tokens
        .filter(|&&token| mask.contains(token))
        .copied()
        .collect()
}

/// Puts these tokens in place of all those of the trie.
fn replace(mask: &mut TokenMask, trie: &SignedTrie, by: &[TokenId]) {
    let tokens = trie.trie.subtree_tokens(TokenTrie::ROOT);
    tokens.iter().for_each(|&token| mask.deny(token));
    mask.allow_all(by);
}

/// The token terminals that may come next, and whether the text may end.
fn ends(network: &mut Network, set: SetId) -> Result<(Vec<u32>, bool), StepError> {
    Ok((network.next_tokens(set)?, network.is_accepting(set)?))
}

/// Adds the tokens that leave the span of an element; those within it are in the mask already.
fn behind_text(
    network: &mut Network,
    element: Element,
    span: Span,
    (exact, memory): (SetId, Memory),
    tables: &VocabularyTables,
    counts: &WalkCounts,
    mask: &mut TokenMask,
) -> Result<bool, LimitExceeded> {
    let vocabulary: &Vocabulary = tables.vocabulary();
    let whole = Walk {
        trie: vocabulary.trie(),
        signs: tables.signs(),
        covered: Some(span),
        sketch: network.set_of(vec![element])?,
        memory,
        searches: true,
        exact,
        vocabulary,
        first_bytes: tables.first_bytes(),
        counts,
        from: ByteSet::ALL,
        without: ByteSet::default(),
        spaced: Some(tables.spaced()),
        within: None,
    };
    let leaves_by_quote = span
        .exits
        .is_subset(Span::STRING_EXITS | ByteClasses::IRREGULAR);
    // Longer texts may go on in ways of their own.
    if span.goes_on || !leaves_by_quote || !span.closed.is_subset(ByteClasses::PLAIN) {
        return whole.run(network, mask);
    }
    // Text within a JSON string: what leaves it is an escape or the closing quote.
    // Where anything may be said, escapes may say it: only those with a quote behind them depend on the place.
    let strings = tables.strings();
    let is_free = span == Span::free(u32::MAX);
    let SignedTrie { trie, signs } = if is_free {
        let form = network.program().form().escapes;
        mask.allow_all(strings.escaped_inside(form));
        &strings.escaped_closing
    } else {
        &strings.escaped
    };
    let escaped = Walk {
        trie,
        signs,
        spaced: None,
        ..whole
    };
    let mut depends_on_texts = escaped.run(network, mask)?;
    // Where all text leads to one state, what follows the quote is the same behind all of it.
    let uniform = match network.uniform(element.frame) {
        Some((behind, except)) => Some((behind, except, None)),
        None if network.is_loop(element.frame, &span) => {
            Some((element.frame, Vec::new(), Some((strings, span.closed))))
        }
        None => None,
    };
    let closed = match uniform {
        Some((behind, except, within)) => {
            let closed = match network.step_terminal(behind, behind.state(), b'"', memory) {
                Ok(DEAD) => return Ok(depends_on_texts),
                Ok(state) => network.single(behind.with_state(state), element.below),
                Err(error) => Err(error),
            };
            match closed {
                Ok(closed) => Some((closed, except, within)),
                Err(StepError::NeedsExact) => None,
                Err(StepError::Limit(limit)) => return Err(limit),
            }
        }
        None => None,
    };
    let SignedTrie { trie, signs } = &strings.closing;
    let closing = Walk {
        trie,
        signs,
        spaced: None,
        ..whole
    };
    let Some((closed, except, within)) = closed else {
        return Ok(closing.run(network, mask)? | depends_on_texts);
    };
    // Whatever text comes before the quote, what follows it is the same.
    let SignedTrie { trie, signs } = &strings.remainders;
    let ends = Walk {
        trie,
        signs,
        covered: None,
        sketch: closed,
        without: ByteSet::of(&except),
        spaced: None,
        within,
        ..whole
    };
    ends.allow(&strings.at_quote, mask);
    depends_on_texts |= ends.run(network, mask)?;
    if !except.is_empty() {
        let rest = Walk {
            from: ByteSet::of(&except),
            ..closing
        };
        depends_on_texts |= rest.run(network, mask)?;
    }
    Ok(depends_on_texts)
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
