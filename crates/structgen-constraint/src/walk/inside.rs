//! The innermost loop: a few nodes below one at which a walk is inside a terminal.

use structgen_automata::{Call, LimitExceeded, StepError};
use structgen_vocab::TokenMask;

use super::cursor::{Cursor, Top};
use super::open::Stack;
use super::{FEWEST_NODES, Walk};

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
        mask: &mut TokenMask,
    ) -> Result<bool, LimitExceeded> {
        let trie = self.trie;
        let mut depends_on_texts = false;
        let end = trie.node(node).end();
        // The nodes whose children are being read, from the first down.
        let mut path = std::mem::take(&mut stack.inside);
        path.clear();
        path.push((end, top.at));
        let mut steps = 0;
        let mut i = node + 1;
        while i < end {
            let node = trie.node(i);
            while path.last().is_some_and(|&(end, _)| end <= i) {
                path.pop();
            }
            let Some(&(_, at)) = path.last() else {
                break;
            };
            steps += 1;
            let after = node.end();
            let next = match at.step(node.byte(), self.memory) {
                Ok(Some(next)) if next.accept().is_none() => next,
                Ok(None) => {
                    i = after;
                    continue;
                }
                ended => {
                    let opened =
                        ended.map(|next| next.map(|next| Cursor::of(network, top.moved_to(next))));
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
                    i = after;
                    continue;
                }
            };
            let below = after - i - 1;
            if below >= FEWEST_NODES
                && let Some(span) = next.span(false)
            {
                if self.signs.below(i).is_within(&span, 0) {
                    self.allow(trie.subtree_tokens(i), mask);
                    i = after;
                    continue;
                }
                if span.is_free() {
                    self.allow(trie.tokens(i), mask);
                    let cursor = Cursor::Inside(top.moved_to(next));
                    let open = self.open(i, cursor, network);
                    stack.push(open.free(), None);
                    i = after;
                    continue;
                }
            }
            self.allow(trie.tokens(i), mask);
            if below > 0 {
                path.push((after, next));
            }
            i += 1;
        }
        self.counts.steps(steps);
        stack.inside = path;
        Ok(depends_on_texts)
    }
}
