//! Finds the tokens that continue in a span of an input.

use rustc_hash::FxHashMap;
use structgen_automata::{
    AfterEnd, ByteSet, Call, Continuations, Element, LimitExceeded, Memory, SetId, StepError,
};
use structgen_vocab::{TokenId, TokenTrie};

use crate::VocabularyTables;
use crate::draft::Draft;
use crate::statistics::WalkCounts;
use crate::walk::{Only, Walk, run, takes};

/// Adds to `mask` the tokens that an element accepts whose terminal is in or before a span of an input. Returns whether
/// this depends on what the sketch omits, or `None` if the element needs another walk.
pub(crate) fn walk(
    network: &Call<'_>,
    (element, exact, memory): (Element, SetId, Memory),
    tables: &VocabularyTables,
    counts: &WalkCounts,
    mask: &mut Draft,
) -> Result<Option<bool>, LimitExceeded> {
    let Element { frame, below } = element;
    let vocabulary = tables.vocabulary();
    let trie = vocabulary.trie();
    let child = |node, byte| trie.child(node, byte);
    let found = match network.continuations(frame, TokenTrie::ROOT, &child) {
        Ok(Some(found)) => found,
        Ok(None) | Err(StepError::NeedsExact) => return Ok(None),
        Err(StepError::Limit(limit)) => return Err(limit),
    };
    let Continuations {
        nodes,
        ends,
        escapes,
        compared,
        after_end,
    } = &*found;
    counts.steps(nodes.len());
    let mut tries = Tries {
        network,
        exact,
        tables,
        counts,
        known: FxHashMap::default(),
        tried: false,
    };
    for &node in nodes {
        match compared.binary_search(&node) {
            Ok(_) => tries.allow(trie.tokens(node), mask)?,
            Err(_) => mask.allow_all(trie.tokens(node)),
        }
    }
    if *after_end != AfterEnd::Same {
        for &(node, depth) in ends {
            if compared.binary_search(&node).is_ok() {
                tries.allow(trie.subtree_tokens(node), mask)?;
            } else {
                mask.allow_all(trie.tokens(node));
                tries.allow_below(node, depth, *after_end == AfterEnd::Distinct, mask)?;
            }
        }
        for &(node, depth) in escapes {
            tries.allow(trie.tokens(node), mask)?;
            tries.allow_below(node, depth, false, mask)?;
        }
        return Ok(Some(tries.tried));
    }
    let closed = match network.follow_under(frame, 0, below) {
        Ok(closed) => closed,
        Err(StepError::NeedsExact) => return Ok(None),
        Err(StepError::Limit(limit)) => return Err(limit),
    };
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
        only: Only::All,
        stays: false,
        spaced: None,
        strings: Some(tables.strings()),
    };
    let mut depends = false;
    let is_leaf = |node| trie.node(node).end() == node + 1;
    for &(node, _) in ends {
        mask.allow_all(trie.tokens(node));
        depends |= !is_leaf(node) && rest.run_below(node, network, mask)?;
    }
    if escapes.is_empty() {
        return Ok(Some(depends));
    }
    let state = network.set_of(vec![element])?;
    for &(node, depth) in escapes {
        let token = trie.subtree_tokens(node).first();
        let bytes = token.and_then(|&token| vocabulary.token_bytes(token));
        // Within the string, the sketch has everything that a step depends on.
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

/// Returns whether a text contains nothing but a quote that a value can begin with.
fn begins_nothing(text: &[u8]) -> bool {
    { text.iter() }.all(|byte| b"\",:[]{} \t\r\n".contains(byte))
}

/// Tokens that are tried on the exact state.
struct Tries<'t> {
    network: &'t Call<'t>,
    exact: SetId,
    tables: &'t VocabularyTables,
    counts: &'t WalkCounts,
    /// Texts after an end that were tried, and whether they continue; for ends after which all values are alike.
    known: FxHashMap<&'t [u8], bool>,
    /// Whether any token was tried.
    tried: bool,
}

impl<'t> Tries<'t> {
    /// Adds the tokens that the state accepts.
    fn allow(&mut self, tokens: &[TokenId], mask: &mut Draft) -> Result<(), LimitExceeded> {
        self.tried |= !tokens.is_empty();
        self.counts.tried(tokens.len());
        for &token in tokens {
            let bytes = self.tables.vocabulary().token_bytes(token);
            if takes(self.network, self.exact, bytes.unwrap_or_default())? {
                mask.allow(token);
            }
        }
        Ok(())
    }

    /// Adds the tokens below a node that the state accepts; `depth` is the number of bytes up to the node. With
    /// `are_alike`, the next value begins the same way whatever comes before the node.
    fn allow_below(
        &mut self,
        node: u32,
        depth: usize,
        are_alike: bool,
        mask: &mut Draft,
    ) -> Result<(), LimitExceeded> {
        let tables = self.tables;
        let trie = tables.vocabulary().trie();
        // The state after a node is computed only if it is needed.
        let mut open: Vec<(u32, usize, Option<SetId>)> = vec![(node, depth, None)];
        while let Some((node, length, mut state)) = open.pop() {
            for child in trie.children(node) {
                self.tried = true;
                self.counts.step();
                let token = trie.subtree_tokens(child).first();
                let bytes = token.and_then(|&token| tables.vocabulary().token_bytes(token));
                let Some(bytes) = bytes.and_then(|bytes| bytes.get(..=length)) else {
                    continue;
                };
                let after = &bytes[depth..];
                let is_alike = are_alike && begins_nothing(after);
                let mut next = None;
                let goes_on = match self.known.get(after) {
                    Some(&known) if is_alike => known,
                    _ => {
                        let before = match state {
                            Some(state) => state,
                            None => match run(self.network, self.exact, &bytes[..length])? {
                                Ok(before) => *state.insert(before),
                                Err(_) => break,
                            },
                        };
                        next = run(self.network, before, &bytes[length..])?.ok();
                        next.is_some()
                    }
                };
                if is_alike {
                    self.known.insert(after, goes_on);
                }
                if goes_on {
                    mask.allow_all(trie.tokens(child));
                    open.push((child, length + 1, next));
                }
            }
        }
        Ok(())
    }
}
