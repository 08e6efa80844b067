//! Which tokens go on in a span of an input: the text and the trie of the tokens are walked side by side.
//!
//! Where a span begins, thousands of tokens go on at the words of the text, and most of these states are asked for once.
//! So no state of an automaton is made for what is only passed through: at a node of the trie are the positions of the text
//! that go on with its bytes.

use std::sync::Arc;

use structgen_automata::{
    ByteSet, Call, Element, InputPositions, LimitExceeded, Memory, SetId, StepError, TerminalState,
};
use structgen_memo::Memo;
use structgen_vocab::{TokenId, TokenMask, TokenTrie};

use crate::VocabularyTables;
use crate::statistics::WalkCounts;
use crate::walk::{Walk, run};

/// A node of the trie, its depth, the characters read since the walk began, and where its positions stand in the list.
#[derive(Clone, Copy)]
struct Open {
    node: u32,
    depth: usize,
    characters: u32,
    low: usize,
    high: usize,
}

/// What goes on from a state within a span, whatever comes after the span.
#[derive(Debug, Default)]
pub(crate) struct SpanTokens {
    /// The tokens within it.
    tokens: Vec<TokenId>,
    /// The nodes of the trie after a closing quote.
    ends: Vec<u32>,
    /// Those after a backslash, each with its depth.
    escapes: Vec<(u32, usize)>,
}

/// The states from which many tokens go on: those at the beginnings of spans, where fields with equal sets meet.
pub(crate) type KnownSpans = Memo<(u32, TerminalState), Arc<SpanTokens>>;

/// From so many tokens on, what goes on from a state is kept.
const MANY: usize = 32;

/// Adds to `mask` the tokens that an element takes whose terminal, in this state, is of the spans of an input. Returns
/// whether that depends on what the sketch left out; `None` where it takes another walk.
pub(crate) fn walk(
    network: &Call<'_>,
    (element, state, exact, memory): (Element, (u32, TerminalState), SetId, Memory),
    (tables, known): (&VocabularyTables, &KnownSpans),
    counts: &WalkCounts,
    mask: &mut TokenMask,
) -> Result<Option<bool>, LimitExceeded> {
    let Element { frame, below } = element;
    let vocabulary = tables.vocabulary();
    let trie = vocabulary.trie();
    let found = match known.get(&state) {
        Some(known) => known.clone(),
        None => {
            let Some(position) = network.grounded(frame) else {
                return Ok(None);
            };
            let found = Arc::new(SpanTokens::find(&position, trie, counts));
            if found.tokens.len() >= MANY {
                known.insert(state, found.clone());
            }
            found
        }
    };
    let closed = match network.follow_under(frame, 0, below) {
        Ok(closed) => closed,
        Err(StepError::NeedsExact) => return Ok(None),
        Err(StepError::Limit(limit)) => return Err(limit),
    };
    mask.allow_all(&found.tokens);
    let mut rest = Walk {
        trie,
        signs: tables.signs(),
        covered: None,
        sketch: closed,
        memory,
        searches: true,
        exact,
        vocabulary,
        first_bytes: tables.first_bytes(),
        counts,
        from: ByteSet::ALL,
        without: ByteSet::default(),
        spaced: None,
        within: None,
    };
    let mut depends = false;
    for &node in &found.ends {
        mask.allow_all(trie.tokens(node));
        depends |= rest.run_below(node, network, mask)?;
    }
    let state = network.set_of(vec![element])?;
    for &(node, depth) in &found.escapes {
        let token = trie.subtree_tokens(node).first();
        let bytes = token.and_then(|&token| vocabulary.token_bytes(token));
        // Within the string, the sketch knows all that a step depends on.
        if let Some(read) = bytes.and_then(|bytes| bytes.get(..depth))
            && let Ok(escape) = run(network, state, read)?
        {
            mask.allow_all(trie.tokens(node));
            rest.sketch = escape;
            depends |= rest.run_below(node, network, mask)?;
        }
    }
    Ok(Some(depends))
}

impl SpanTokens {
    fn find(position: &InputPositions, trie: &TokenTrie, counts: &WalkCounts) -> Self {
        let mut found = Self::default();
        let mut positions: Vec<u32> = position.positions().to_vec();
        let mut open = vec![Open {
            node: TokenTrie::ROOT,
            depth: 0,
            characters: 0,
            low: 0,
            high: positions.len(),
        }];
        let mut next: Vec<(u8, u32)> = Vec::new();
        while let Some(at) = open.pop() {
            // What stands after these positions was of nodes that are closed by now.
            positions.truncate(at.high);
            counts.step();
            next.clear();
            let mut may_end = false;
            for &before in &positions[at.low..at.high] {
                may_end |= position.may_end(before, at.characters);
                next.extend(position.byte(before).map(|byte| (byte, before)));
            }
            if may_end {
                found.ends.extend(trie.child(at.node, b'"'));
            }
            next.sort_unstable_by_key(|&(byte, _)| byte);
            let mut is_escaped = false;
            for alike in next.chunk_by(|a, b| a.0 == b.0) {
                let byte = alike[0].0;
                if matches!(byte, b'"' | b'\\' | 0..=0x1F) {
                    is_escaped = true;
                    continue;
                }
                let Some(node) = trie.child(at.node, byte) else {
                    continue;
                };
                let characters = at.characters + u32::from(byte & 0xC0 != 0x80);
                let low = positions.len();
                let after = alike.iter().map(|&(_, before)| before + 1);
                positions.extend(after.filter(|&after| position.is_live(after, characters)));
                let high = positions.len();
                if low == high {
                    continue;
                }
                found.tokens.extend_from_slice(trie.tokens(node));
                if trie.node(node).end() > node + 1 {
                    open.push(Open {
                        node,
                        depth: at.depth + 1,
                        characters,
                        low,
                        high,
                    });
                }
            }
            if is_escaped && let Some(node) = trie.child(at.node, b'\\') {
                found.escapes.push((node, at.depth + 1));
            }
        }
        found
    }
}
