//! Computes a mask that is not cached: each element of a state in the cheapest way.

use structgen_automata::{
    ByteClasses, ByteSet, Call, Element, LimitExceeded, Memory, SetId, Span, StepError,
};
use structgen_vocab::{TokenId, TokenMask, TokenTrie};

use crate::VocabularyTables;
use crate::draft::Draft;
use crate::grounded;
use crate::in_string::{InStrings, Search};
use crate::literals;
use crate::statistics::WalkCounts;
use crate::tables::SignedTrie;
use crate::walk::{AnyText, CoveredSpans, Only, Top, Walk, covered_spans, parts};

/// What all walks for one mask share.
#[derive(Clone, Copy)]
pub(crate) struct Compute<'c> {
    pub(crate) tables: &'c VocabularyTables,
    pub(crate) in_strings: &'c InStrings,
    /// The exact state that the walked state is a sketch (an abstraction) of.
    pub(crate) exact: SetId,
    pub(crate) memory: Memory,
    pub(crate) counts: &'c WalkCounts,
}

impl<'c> Compute<'c> {
    /// Adds to `mask` the tokens whose bytes the state accepts; token terminals and end-of-sequence ids are left to the
    /// caller. Returns whether the result depends on texts that the sketch omits.
    pub(crate) fn tokens(
        self,
        sketch: SetId,
        network: &Call<'_>,
        mask: &mut Draft,
    ) -> Result<bool, LimitExceeded> {
        let mut depends_on_texts = false;
        // A set accepts what its elements accept. Elements inside a text need no full walk.
        let mut others = Vec::new();
        let elements = network.elements(sketch);
        let set_of = |element| match elements {
            [only] if *only == element => Ok(sketch),
            _ => network.set_of(vec![element]),
        };
        for (element, from) in parts(network, elements)? {
            let Self {
                tables,
                exact,
                memory,
                counts,
                ..
            } = self;
            if let Some(place) = network.literals(element.frame) {
                let state = (element, &place, exact, memory);
                match literals::walk(network, state, tables, counts, mask)? {
                    Some(depends) => depends_on_texts |= depends,
                    None => others.push(element),
                }
                continue;
            }
            if network.is_grounded(element.frame) {
                let state = (element, exact, memory);
                match grounded::walk(network, state, tables, counts, mask)? {
                    Some(depends) => depends_on_texts |= depends,
                    None => others.push(element),
                }
                continue;
            }
            if from == ByteSet::ALL
                && let Some(at) = AnyText::new(network, element)
                && let Some(depends) =
                    self.any_text((element, set_of(element)?), &at, network, mask)?
            {
                depends_on_texts |= depends;
                continue;
            }
            match covered_spans(network, element, memory, u32::MAX)? {
                Some(spans) => {
                    spans.allow(tables.texts(), mask);
                    let state = (element, set_of(element)?);
                    depends_on_texts |= self.after_text(state, from, spans, network, mask)?;
                }
                None if from == ByteSet::ALL => others.push(element),
                None => {
                    let walk = Walk {
                        from,
                        ..self.whole(set_of(element)?)
                    };
                    depends_on_texts |= walk.run(network, mask)?;
                }
            }
        }
        if !others.is_empty() {
            let state = match others[..] {
                [element] => set_of(element)?,
                _ => network.set_of(others)?,
            };
            depends_on_texts |= self.whole(state).run(network, mask)?;
        }
        Ok(depends_on_texts)
    }

    /// Adds the long tokens that the state accepts; returns whether they depend on what the sketch omits.
    pub(crate) fn long_tokens(
        self,
        sketch: SetId,
        network: &Call<'_>,
        mask: &mut Draft,
    ) -> Result<bool, LimitExceeded> {
        let SignedTrie { trie, signs } = self.tables.long();
        let covered = match *network.elements(sketch) {
            // There are too few long tokens to search for a span.
            [element] => covered_spans(network, element, self.memory, 0)?,
            _ => None,
        };
        let covered = covered.map(|spans| CoveredSpans {
            endless: None,
            ..spans
        });
        if let Some(CoveredSpans { span, .. }) = covered {
            let texts = self.tables.texts().of(span.closed, span.code_points);
            let tokens = trie.subtree_tokens(TokenTrie::ROOT).iter();
            let texts = tokens.filter(|token| texts.contains(**token));
            texts.for_each(|&token| mask.allow(token));
        }
        let walk = Walk {
            trie,
            signs,
            covered,
            searches: false,
            spaced: None,
            strings: None,
            ..self.whole(sketch)
        };
        walk.run(network, mask)
    }

    /// Returns the walk of a state over the whole vocabulary.
    fn whole(self, sketch: SetId) -> Walk<'c> {
        let vocabulary = &**self.tables.vocabulary();
        Walk {
            trie: vocabulary.trie(),
            signs: self.tables.signs(),
            covered: None,
            sketch,
            memory: self.memory,
            searches: true,
            exact: self.exact,
            vocabulary,
            first_bytes: self.tables.first_bytes(),
            counts: self.counts,
            from: ByteSet::ALL,
            only: Only::All,
            stays: false,
            spaced: Some(self.tables.spaced()),
            strings: Some(self.tables.strings()),
        }
    }

    /// Adds the tokens that continue in a string that may hold any text, given its element and the state of this
    /// element alone. Returns whether something depends on what the sketch omits, or `None` if the state does not
    /// determine it.
    fn any_text(
        self,
        (element, state): (Element, SetId),
        at: &AnyText<'_>,
        network: &Call<'_>,
        mask: &mut Draft,
    ) -> Result<Option<bool>, LimitExceeded> {
        let strings = self.tables.strings();
        let whole = self.whole(state);
        let any = strings.any.inside(network.program().form().escapes);
        let taken = whole.take_any(any, at, network, mask)?;
        let Some(mut depends_on_texts) = taken.filter(|_| !at.except.is_empty()) else {
            return Ok(taken);
        };
        let covered = covered_spans(network, element, self.memory, u32::MAX)?;
        for SignedTrie { trie, signs } in [&strings.closing, &strings.escaped_closing] {
            let rest = Walk {
                trie,
                signs,
                covered,
                from: at.except,
                spaced: None,
                strings: None,
                ..whole
            };
            depends_on_texts |= rest.run(network, mask)?;
        }
        Ok(Some(depends_on_texts))
    }

    /// Adds the tokens that leave the span of an element, given the state of this element alone; those within the span
    /// are already in the mask.
    fn after_text(
        self,
        (element, state): (Element, SetId),
        from: ByteSet,
        spans: CoveredSpans,
        network: &Call<'_>,
        mask: &mut Draft,
    ) -> Result<bool, LimitExceeded> {
        let CoveredSpans { span, .. } = spans;
        let whole = Walk {
            covered: Some(spans),
            from,
            ..self.whole(state)
        };
        let leaves_by_quote = span
            .exits
            .is_subset(Span::STRING_EXITS | ByteClasses::IRREGULAR);
        // Longer texts may continue in other ways.
        let is_text = !span.goes_on && leaves_by_quote && from == ByteSet::ALL;
        if !is_text || !span.closed.is_subset(ByteClasses::PLAIN) {
            if from == ByteSet::ALL
                && let Some(depends) = self.in_string(element, &whole, network, mask)?
            {
                return Ok(depends);
            }
            return whole.run(network, mask);
        }
        let over = |SignedTrie { trie, signs }: &'c SignedTrie| Walk {
            trie,
            signs,
            spaced: None,
            strings: None,
            ..whole
        };
        // Text within a JSON string is left by an escape or by the closing quote.
        let strings = self.tables.strings();
        // If the string may hold anything, as far as these tokens reach, escapes are allowed, and only those with a
        // quote after them depend on the state.
        let escaped = if span == Span::free(u32::MAX) {
            let any = strings.any.inside(network.program().form().escapes);
            mask.union_with(&any.inside);
            &strings.escaped_closing
        } else {
            &strings.escaped
        };
        // If all text leads to one state, the continuation after the quote is the same for all of it.
        let any_text = AnyText::new(network, element);
        let uniform = match any_text.and_then(|at| at.one_state()) {
            Some((text, except)) => Some((text, Only::Without(except), except)),
            None if network.accept_label(element.frame).is_some() => None,
            None if network.is_loop(element.frame, &span) => {
                let within = Only::Within(strings, span.closed);
                Some((Top::new(network, element), within, ByteSet::default()))
            }
            None => None,
        };
        let closing = over(&strings.closing);
        let Some((text, only, except)) = uniform else {
            if let Some(depends) = self.in_string(element, &over(escaped), network, mask)? {
                return Ok(depends);
            }
            let depends_on_texts = over(escaped).run(network, mask)?;
            return Ok(closing.run(network, mask)? | depends_on_texts);
        };
        let mut depends_on_texts = over(escaped).run(network, mask)?;
        let closed = match text.run(b"\"", network, self.memory) {
            Ok(None) => return Ok(depends_on_texts),
            Ok(Some(closed)) => closed,
            Err(StepError::NeedsExact) => return Ok(closing.run(network, mask)? | depends_on_texts),
            Err(StepError::Limit(limit)) => return Err(limit),
        };
        // What follows the quote does not depend on the text before it.
        let ends = Walk {
            covered: None,
            only,
            ..over(&strings.remainders)
        };
        ends.allow(&strings.at_quote, mask);
        depends_on_texts |= ends.run_from(TokenTrie::ROOT, closed, network, mask)?;
        if !except.is_empty() {
            let rest = Walk {
                from: except,
                ..closing
            };
            depends_on_texts |= rest.run(network, mask)?;
        }
        Ok(depends_on_texts)
    }

    /// Adds the tokens that continue in the string that an element is in, given the walk that finds those that stay
    /// there. Returns whether they depend on what the sketch omits, or `None` if all of them are to be walked.
    fn in_string(
        self,
        element: Element,
        walk: &Walk<'c>,
        network: &Call<'_>,
        mask: &mut Draft,
    ) -> Result<Option<bool>, LimitExceeded> {
        let strings = self.tables.strings();
        let tables = &strings.before_quote;
        let top = Top::new(network, element);
        if !top.at.is_string() {
            return Ok(None);
        }
        let width = mask.width();
        let find_inside = || {
            let mut inside = Draft::new(width);
            let stays = Walk {
                stays: true,
                ..*walk
            };
            let depends_on_texts = stays.run(network, &mut inside)?;
            debug_assert!(!depends_on_texts, "steps of strings do not depend on texts");
            Ok(inside.drafted().to_mask(width))
        };
        let search = Search {
            tables,
            memory: self.memory,
            counts: self.counts,
            cancel: network.cancel_token(),
        };
        let place = (element.frame.terminal(), top.at);
        let Some(found) = self.in_strings.of(place, search, find_inside)? else {
            return Ok(None);
        };
        let mut closed = Vec::with_capacity(found.closed.len());
        for (state, tokens) in &found.closed {
            match top.at_state(*state, network) {
                Ok(cursor) => closed.push((cursor, tokens)),
                Err(StepError::NeedsExact) => return Ok(None),
                Err(StepError::Limit(limit)) => return Err(limit),
            }
        }
        mask.union_with(&found.inside);
        let any = strings.any.inside(network.program().form().escapes);
        let SignedTrie { trie, signs } = &any.remainders;
        let mut depends_on_texts = false;
        for (cursor, tokens) in closed {
            let ends = Walk {
                trie,
                signs,
                covered: None,
                only: Only::Among(tables, tokens),
                spaced: None,
                strings: None,
                ..*walk
            };
            ends.allow(&any.at_quote, mask);
            depends_on_texts |= ends.run_from(TokenTrie::ROOT, cursor, network, mask)?;
        }
        Ok(Some(depends_on_texts))
    }
}

/// Returns the allowed tokens that do not depend on bytes: the token terminals that may come next, and whether the
/// output may end. Also returns whether this depends on texts that the sketch omits.
pub(crate) fn ends(
    network: &Call<'_>,
    sketch: SetId,
    exact: SetId,
) -> Result<((Vec<u32>, bool), bool), StepError> {
    let of = |set| Ok((network.next_tokens(set)?, network.is_accepting(set)?));
    // What follows a completed terminal may depend on the very texts that a sketch omits.
    match of(sketch) {
        Err(StepError::NeedsExact) => Ok((of(exact)?, true)),
        ends => Ok((ends?, false)),
    }
}

/// Returns the tokens of a trie that are in a mask.
pub(crate) fn tokens_of(trie: &SignedTrie, mask: &TokenMask) -> Vec<TokenId> {
    let tokens = trie.trie.subtree_tokens(TokenTrie::ROOT).iter();
    tokens
        .filter(|&&token| mask.contains(token))
        .copied()
        .collect()
}

/// Replaces all tokens of the trie in the mask by these.
pub(crate) fn replace(mask: &mut TokenMask, trie: &SignedTrie, by: &[TokenId]) {
    let tokens = trie.trie.subtree_tokens(TokenTrie::ROOT);
    tokens.iter().for_each(|&token| mask.deny(token));
    mask.allow_all(by);
}
