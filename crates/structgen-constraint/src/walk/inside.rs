//! The innermost loop: a few nodes below one at which a walk is inside a terminal.

use std::ops::Range;

use structgen_automata::{Call, LimitExceeded, StepError, TerminalCursor};
use structgen_vocab::TokenTrie;

use super::cursor::{Cursor, Top, within_reach};
use super::open::Stack;
use super::{FEWEST_NODES, SOME_CHILDREN, Walk};
use crate::draft::Draft;

impl Walk<'_> {
    /// Adds the tokens below a node, as far as the walk stays inside the terminal: in memory order, remembering only
    /// the end of each node and the state of the terminal. Where the terminal may end or any text continues, the node
    /// is opened like others. Returns whether something depends on what the sketch omits.
    pub(super) fn run_inside<'n>(
        &self,
        node: u32,
        top: Top<'n>,
        network: &'n Call<'_>,
        stack: &mut Stack<'n>,
        mask: &mut Draft,
    ) -> Result<bool, LimitExceeded> {
        let trie = self.trie;
        let mut depends_on_texts = false;
        // The nodes whose children are being visited, from the first down.
        let mut path = std::mem::take(&mut stack.inside);
        path.clear();
        path.push((trie.child_places(node), top.at));
        let mut steps = 0;
        while let Some((places, at)) = path.last_mut() {
            let at = *at;
            let Some(place) = next_place(trie, places, at) else {
                path.pop();
                continue;
            };
            let i = trie.child_node(place);
            steps += 1;
            let byte = trie.child_bytes()[place as usize];
            let below = trie.node(i).end() - i - 1;
            let next = match at.step(byte, self.memory) {
                Ok(Some(next)) if next.accept().is_none() => next,
                Ok(None) => continue,
                Ok(Some(_)) if self.stays => continue,
                ended => {
                    let opened = ended.map(|next| {
                        next.map(|next| match below {
                            // Nothing is stepped to from a leaf.
                            0 => top.check_end(next, network).map(|()| Cursor::Nowhere),
                            _ => Cursor::of(network, top.moved_to(next)),
                        })
                    });
                    match opened {
                        Ok(None) => {}
                        Ok(Some(Ok(cursor))) => {
                            self.allow(trie.tokens(i), mask);
                            stack.push(self.open(i, cursor, network), None);
                        }
                        Ok(Some(Err(error))) | Err(error) => match error {
                            StepError::NeedsExact => {
                                depends_on_texts = true;
                                self.try_exactly(i, network, mask)?;
                            }
                            StepError::Limit(limit) => return Err(limit),
                        },
                    }
                    continue;
                }
            };
            if below >= FEWEST_NODES
                && let Some(span) = next.span(0).map(|span| within_reach(span, self.memory))
            {
                if self.signs.below(i).is_within(&span, 0) {
                    self.allow(trie.subtree_tokens(i), mask);
                    continue;
                }
                if span.is_free() {
                    self.allow(trie.tokens(i), mask);
                    let cursor = Cursor::Inside(top.moved_to(next));
                    let open = self.open(i, cursor, network);
                    stack.push(open.free(), None);
                    continue;
                }
            }
            self.allow(trie.tokens(i), mask);
            if below > 0
                && byte == b'"'
                && let Some(listing) = next.listing()
            {
                let place = (top.moved_to(next), &listing);
                depends_on_texts |= self.run_listed(i, place, network, stack, mask)?;
            } else if below > 0 {
                path.push((trie.child_places(i), next));
            }
        }
        self.counts.steps(steps);
        stack.inside = path;
        Ok(depends_on_texts)
    }
}

/// Returns the next of a node's children that may continue, as far as that is known.
#[inline]
fn next_place(trie: &TokenTrie, places: &mut Range<u32>, at: TerminalCursor<'_>) -> Option<u32> {
    let bytes = trie.child_bytes();
    let first = match places.len() {
        ..SOME_CHILDREN => None,
        _ => at.known_first(),
    };
    match first {
        None => places.next(),
        Some(first) => places.find(|&place| first.contains(bytes[place as usize])),
    }
}
