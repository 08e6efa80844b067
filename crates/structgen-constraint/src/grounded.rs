//! Which tokens go on in a span of an input.

use rustc_hash::FxHashMap;
use structgen_automata::{
    AfterEnd, ByteSet, Call, Continuations, Element, LimitExceeded, Memory, SetId, StepError,
};
use structgen_vocab::{TokenId, TokenMask, TokenTrie};

use crate::VocabularyTables;
use crate::statistics::WalkCounts;
use crate::walk::{Walk, run, takes};

/// Adds to `mask` the tokens that an element takes whose terminal is in or before a span of an input. Returns whether that
/// depends on what the sketch left out; `None` where it takes another walk.
pub(crate) fn walk(
    network: &Call<'_>,
    (element, exact, memory): (Element, SetId, Memory),
    tables: &VocabularyTables,
    counts: &WalkCounts,
    mask: &mut TokenMask,
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
        tried: false,
    };
    for &node in nodes {
        match compared.binary_search(&node) {
            Ok(_) => _ = tries.allow(trie.tokens(node), mask)?,
            Err(_) => mask.allow_all(trie.tokens(node)),
        }
    }
    if *after_end != AfterEnd::Same {
        let mut known = FxHashMap::default();
        for &(node, depth) in ends {
            let tokens = trie.subtree_tokens(node);
            if compared.binary_search(&node).is_ok() {
                tries.allow(tokens, mask)?;
                continue;
            }
            let (at_end, rest) = tokens.split_at(trie.tokens(node).len());
            mask.allow_all(at_end);
            for token in rest {
                let bytes = vocabulary.token_bytes(*token).unwrap_or_default();
                let rest = bytes.get(depth..).unwrap_or_default();
                let is_alike = *after_end == AfterEnd::Distinct && begins_nothing(rest);
                match known.get(rest) {
                    Some(true) if is_alike => mask.allow(*token),
                    Some(false) if is_alike => {}
                    _ => {
                        let is_taken = tries.allow(&[*token], mask)?;
                        if is_alike {
                            known.insert(rest, is_taken);
                        }
                    }
                }
            }
        }
        for &(node, _) in escapes {
            tries.allow(trie.subtree_tokens(node), mask)?;
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
        without: ByteSet::default(),
        spaced: None,
        within: None,
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

/// Whether a text has nothing in it that a value begins with but a quote.
fn begins_nothing(text: &[u8]) -> bool {
    { text.iter() }.all(|byte| b"\",:[]{} \t\r\n".contains(byte))
}

/// Tokens that are tried one by one, on the state that a sketch is of.
struct Tries<'t> {
    network: &'t Call<'t>,
    exact: SetId,
    tables: &'t VocabularyTables,
    counts: &'t WalkCounts,
    /// Whether any was.
    tried: bool,
}

impl Tries<'_> {
    /// Adds those of the tokens that the state takes. Returns whether it takes all.
    fn allow(&mut self, tokens: &[TokenId], mask: &mut TokenMask) -> Result<bool, LimitExceeded> {
        let mut takes_all = true;
        self.tried |= !tokens.is_empty();
        self.counts.tried(tokens.len());
        for &token in tokens {
            let bytes = self.tables.vocabulary().token_bytes(token);
            match takes(self.network, self.exact, bytes.unwrap_or_default())? {
                true => mask.allow(token),
                false => takes_all = false,
            }
        }
        Ok(takes_all)
    }
}
