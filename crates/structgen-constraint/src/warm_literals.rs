//! Computes the masks near the beginning of a long list of literals when the constraint is compiled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashSet;
use structgen_automata::{LimitExceeded, LiteralsPlace, SetId};
use structgen_grammar::LiteralSet;
use structgen_vocab::TokenTrie;

use crate::literals::{Open, in_common};
use crate::step::state_after;
use crate::visit::Visit;

/// The number of literals that must continue from a state for its mask to be computed ahead. Computing any other mask
/// takes some tens of microseconds at most.
const MANY: u32 = 192;

/// If a grammar begins with a list of literals, computes the masks of the states from which many of them continue, as
/// far as memory allows. There are few such states, however long the list is.
pub(crate) fn warm_literals(visit: Visit<'_>) -> Result<(), LimitExceeded> {
    let visit = visit.keeping_masks();
    let start = visit.start()?;
    let places = { visit.network.elements(start).iter() }
        .filter_map(|element| visit.network.literals(element.frame));
    let [LiteralsPlace { set, at, read }] = &places.collect::<Vec<_>>()[..] else {
        return Ok(());
    };
    let counts = literals_after(set);
    let literals_at = |(at, read): (u32, u32)| match read {
        0 => counts[at as usize],
        _ => counts[set.child(at) as usize],
    };
    let trie = visit.shared.tables.vocabulary().trie();
    // The states with the most literals come first; among equals, the one found first.
    let mut found: Vec<(SetId, (u32, u32))> = vec![(start, (*at, *read))];
    let mut seen: FxHashSet<SetId> = [start].into_iter().collect();
    let mut next: BinaryHeap<(u32, Reverse<usize>)> = BinaryHeap::new();
    next.push((literals_at((*at, *read)), Reverse(0)));
    while let Some((count, Reverse(index))) = next.pop() {
        let (state, place) = found[index];
        if count < MANY {
            break;
        }
        visit.mask(state)?;
        if visit.states.masks.is_ahead_full() {
            break;
        }
        let mut open: Vec<Open> = vec![(TokenTrie::ROOT, place.0, place.1)];
        while let Some((node, at, read)) = open.pop() {
            let mut enter = |node, place| {
                if literals_at(place) >= MANY {
                    open.push((node, place.0, place.1));
                }
            };
            in_common(trie, node, (set, at, read), &mut enter);
            let Some(&token) = trie.tokens(node).first() else {
                continue;
            };
            if let Ok(after) = state_after(&visit.network, state, token, visit.shared)?
                && seen.insert(after)
            {
                next.push((literals_at((at, read)), Reverse(found.len())));
                found.push((after, (at, read)));
            }
        }
    }
    Ok(())
}

/// Returns the number of literals that continue from each node.
fn literals_after(set: &LiteralSet) -> Vec<u32> {
    let mut counts: Vec<u32> = Vec::with_capacity(set.nodes());
    for node in 0..=set.root() {
        let after = set.edges(node).map(|edge| counts[set.child(edge) as usize]);
        counts.push(after.fold(set.is_final(node).into(), u32::saturating_add));
    }
    counts
}
