//! Finds the tokens that continue in a long list of literals, by walking its graph and the token trie side by side.
//!
//! Near its beginning, a list of a million literals continues with thousands of tokens, and most of its states are
//! visited once. So no state is created for what is only passed through: a step compares the next bytes of two nodes.

use memchr::memchr;
use structgen_automata::{
    ByteSet, Call, Element, LimitExceeded, LiteralsPlace, Memory, SetId, StepError,
};
use structgen_grammar::LiteralSet;
use structgen_vocab::TokenTrie;

use crate::VocabularyTables;
use crate::draft::Draft;
use crate::statistics::WalkCounts;
use crate::walk::{Only, Walk};

/// A node of the trie, and the position in the list after its bytes: a node, or an edge and the number of bytes of its
/// label that were read.
pub(crate) type Open = (u32, u32, u32);

/// Adds to `mask` the tokens that an element accepts whose terminal is in a list. Returns whether this depends on what
/// the sketch omits, or `None` if a sketch does not determine what follows the list.
pub(crate) fn walk(
    network: &Call<'_>,
    (element, place, exact, memory): (Element, &LiteralsPlace, SetId, Memory),
    tables: &VocabularyTables,
    counts: &WalkCounts,
    mask: &mut Draft,
) -> Result<Option<bool>, LimitExceeded> {
    let Element { frame, below } = element;
    // Every literal ends under the same label, so the same follows all of them.
    let after = match network.follow_under(frame, 0, below) {
        Ok(after) => after,
        Err(StepError::NeedsExact) => return Ok(None),
        Err(StepError::Limit(limit)) => return Err(limit),
    };
    let trie = tables.vocabulary().trie();
    let goes_on = !network.first(after).is_empty();
    let mut ends: Vec<u32> = Vec::new();
    if goes_on && network.accept_label(frame).is_some() {
        ends.push(TokenTrie::ROOT);
    }
    let LiteralsPlace { set, at, read } = place;
    let mut open: Vec<Open> = vec![(TokenTrie::ROOT, *at, *read)];
    while let Some((node, at, read)) = open.pop() {
        in_common(trie, node, (set, at, read), &mut |node, (at, read)| {
            counts.step();
            mask.allow_all(trie.tokens(node));
            if trie.node(node).end() == node + 1 {
                return;
            }
            if goes_on && read == 0 && set.is_final(at) {
                ends.push(node);
            }
            open.push((node, at, read));
        });
    }
    let rest = Walk {
        trie,
        signs: tables.signs(),
        covered: None,
        sketch: after,
        memory,
        searches: true,
        exact,
        vocabulary: tables.vocabulary(),
        first_bytes: tables.first_bytes(),
        counts,
        from: ByteSet::ALL,
        only: Only::All,
        stays: false,
        spaced: None,
        strings: Some(tables.strings()),
    };
    let mut depends = false;
    for node in ends {
        depends |= rest.run_below(node, network, mask)?;
    }
    Ok(Some(depends))
}

/// The number of nodes up to which a part of the trie is small.
const NEAR: u32 = 24;

/// Visits the bytes that may come next both in the trie and in the list, each with the child in the trie and the
/// position in the list after it.
#[inline]
pub(crate) fn in_common(
    trie: &TokenTrie,
    node: u32,
    (set, at, read): (&LiteralSet, u32, u32),
    both: &mut impl FnMut(u32, (u32, u32)),
) {
    let after = |edge: u32, read: u32| match set.label(edge).len() == read as usize {
        true => (set.child(edge), 0),
        false => (edge, read),
    };
    // A small part of the trie is contiguous.
    if trie.node(node).end() - node <= NEAR {
        let next = (read > 0).then(|| set.label(at)[read as usize]);
        for child in trie.children(node) {
            let byte = trie.node(child).byte();
            match next {
                Some(next) if next == byte => both(child, after(at, read + 1)),
                Some(_) => {}
                None => {
                    if let Some(edge) = set.edge(at, byte) {
                        both(child, after(edge, 1));
                    }
                }
            }
        }
        return;
    }
    if read > 0 {
        let byte = set.label(at)[read as usize];
        if let Some(child) = trie.child(node, byte) {
            both(child, after(at, read + 1));
        }
        return;
    }
    let places = trie.child_places(node);
    let children = &trie.child_bytes()[places.start as usize..places.end as usize];
    let firsts = set.first_bytes(at);
    // The bytes of the side that has fewer are looked up on the other.
    if firsts.len() < children.len() {
        for (edge, &byte) in set.edges(at).zip(firsts) {
            if let Some(child) = memchr(byte, children) {
                both(trie.child_node(places.start + child as u32), after(edge, 1));
            }
        }
    } else {
        for (place, &byte) in places.zip(children) {
            if let Some(edge) = set.edge(at, byte) {
                both(trie.child_node(place), after(edge, 1));
            }
        }
    }
}
