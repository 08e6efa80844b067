//! Listed texts, the keys of an object or the strings of an enumeration: read beside the trie, without the automaton.

use structgen_automata::{Call, LimitExceeded, Listing, StepError};

use super::Walk;
use super::cursor::{Cursor, Top};
use super::open::Stack;
use crate::draft::Draft;

impl Walk<'_> {
    /// Adds the tokens below a node with which a listed text goes on. Where a text has ended, or an escape begins, the
    /// node is opened like others. Returns whether something depends on what the sketch omits.
    pub(super) fn run_listed<'n>(
        &self,
        node: u32,
        (top, listing): (Top<'n>, &Listing),
        network: &'n Call<'_>,
        stack: &mut Stack<'n>,
        mask: &mut Draft,
    ) -> Result<bool, LimitExceeded> {
        let trie = self.trie;
        let mut depends_on_texts = false;
        let mut listed = std::mem::take(&mut stack.listed);
        listed.push((node, listing.start()));
        while let Some((node, at)) = listed.pop() {
            let places = trie.child_places(node);
            if places.is_empty() {
                continue;
            }
            let quote = trie.child(node, b'"').zip(listing.end(at));
            let quote = quote.map(|(quote, label)| {
                // Nothing is stepped to from a leaf.
                let after = match trie.node(quote).end() == quote + 1 {
                    true => Ok(Cursor::Nowhere),
                    false => top.after(label, network),
                };
                (quote, after.map(Some))
            });
            let escape = trie.child(node, b'\\').map(|escape| {
                let text = listing.read(at).iter().chain(b"\\");
                (escape, top.run(text, network, self.memory))
            });
            for (node, cursor) in [quote, escape].into_iter().flatten() {
                self.counts.step();
                match cursor {
                    Ok(None) => {}
                    Ok(Some(cursor)) => {
                        self.allow(trie.tokens(node), mask);
                        stack.push(self.open(node, cursor, network), None);
                    }
                    Err(StepError::NeedsExact) => {
                        depends_on_texts = true;
                        self.try_exactly(node, network, mask)?;
                    }
                    Err(StepError::Limit(limit)) => return Err(limit),
                }
            }
            let mut enter = |place: u32, at| {
                let node = trie.child_node(place);
                self.counts.step();
                self.allow(trie.tokens(node), mask);
                listed.push((node, at));
            };
            // The bytes of the side that has fewer are looked up on the other.
            if places.len() <= listing.count(at) {
                for place in places {
                    if let Some(at) = listing.step(at, trie.child_bytes()[place as usize]) {
                        enter(place, at);
                    }
                }
            } else {
                for (byte, at) in listing.next(at) {
                    if let Some(place) = trie.child_place(node, byte) {
                        enter(place, at);
                    }
                }
            }
        }
        stack.listed = listed;
        Ok(depends_on_texts)
    }
}
