//! Finds the continuations in a span of an input, by walking the text and a token trie side by side.
//!
//! At the beginning of a span, thousands of tokens continue at the words of the text, and most of the states after them
//! are never visited. So no state is created for what is only passed through: each position of the text is followed
//! down the trie and, since positions are sorted by their text, only from where it differs from the previous one.

use super::{GroundedContent, GroundedState, SetState};
use crate::input::OpenSpan;
use crate::{Children, Continuations, LimitExceeded};

/// A node of the trie on the path from the root.
struct Step {
    node: u32,
    /// The byte that leads to it.
    byte: u8,
    set: SetState,
    /// Whether its continuations with a closing quote, and with a backslash, were found.
    is_end: bool,
    is_escape: bool,
}

impl Step {
    fn new(node: u32, byte: u8, set: SetState) -> Self {
        Self {
            node,
            byte,
            set,
            is_end: false,
            is_escape: false,
        }
    }
}

/// Returns the nodes below `root` that continue from a state.
pub(super) fn continuations(
    content: &mut GroundedContent,
    state: &GroundedState,
    root: u32,
    child: &Children<'_>,
) -> Result<Continuations, LimitExceeded> {
    let GroundedContent { spans, set, .. } = content;
    let input = spans.input();
    let mut positions: Vec<OpenSpan> = spans.positions(state.at).collect();
    input.sort_by_text(&mut positions);
    let mut found = Continuations::default();
    let mut path = vec![Step::new(root, 0, state.set)];
    for OpenSpan {
        position: from,
        first_end,
    } in positions
    {
        let follows = |depth: usize| input.byte(from + depth as u32);
        let alike = path[1..].iter().zip(0..);
        let alike = alike.take_while(|(step, depth)| follows(*depth) == Some(step.byte));
        let shared = alike.count();
        path.truncate(shared + 1);
        let mut live_to = from + shared as u32;
        for depth in 0.. {
            let position = from + depth as u32;
            let step = &mut path[depth];
            let (node, before) = (step.node, step.set);
            let may_end = position >= first_end;
            if !step.is_end && may_end && input.may_end(position) && set.accepts(before) {
                step.is_end = true;
                let end = child(node, b'"').map(|node| (node, depth + 1));
                found.ends.extend(end);
            }
            if depth < shared {
                continue;
            }
            let Some(byte) = input.byte(position) else {
                break;
            };
            if matches!(byte, b'"' | b'\\' | 0..=0x1F) {
                if !std::mem::replace(&mut step.is_escape, true) {
                    let escape = child(node, b'\\').map(|node| (node, depth + 1));
                    found.escapes.extend(escape);
                }
                break;
            }
            let Some(next) = child(node, byte) else {
                break;
            };
            let Some(after) = set.step(before, byte)? else {
                break;
            };
            if position >= live_to {
                let at = OpenSpan {
                    position: position + 1,
                    first_end,
                };
                match set.live_to(input, at, after)? {
                    Some(end) => live_to = end,
                    None => break,
                }
            }
            found.nodes.push(next);
            path.push(Step::new(next, byte, after));
        }
    }
    Ok(found)
}
