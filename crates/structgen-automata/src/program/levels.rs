//! How many arrays of distinct items are around another one.

use super::{ArrayProgram, Node, NodeId, Program, Slot};
use crate::LimitExceeded;

/// The maximum number of arrays of distinct items around an array that needs several distinct items: values for it are
/// searched for in the automaton of an item of each.
pub(crate) const MAX_NEEDED_LEVELS: u32 = 4;

impl ArrayProgram {
    /// Returns whether it needs more than one distinct item.
    pub(crate) fn needs_distinct(&self) -> bool {
        self.unique && self.bounds().missing(&self.no_counts()) > 1
    }
}

impl Program {
    /// Fails, with the array, if one that needs several distinct items may be inside too many others.
    pub(crate) fn check_levels(&self) -> Result<(), (u32, LimitExceeded)> {
        let mut levels: Vec<Option<u32>> = vec![None; self.nodes.len()];
        let mut open = vec![(self.proc(self.root).entry, 0)];
        while let Some((id, level)) = open.pop() {
            if levels[id.index()].is_some_and(|known| known >= level) {
                continue;
            }
            levels[id.index()] = Some(level);
            let mut add = |node: NodeId, more: u32| {
                open.push((node, level.saturating_add(more).min(MAX_NEEDED_LEVELS)));
            };
            let of_slot = |slot: &Slot| slot.iter().map(|it| it.node).collect::<Vec<_>>();
            match self.node(id) {
                Node::End => {}
                Node::Terminal { next, .. }
                | Node::Related { next, .. }
                | Node::Token { next, .. } => add(*next, 0),
                Node::Split(arms) => arms.iter().for_each(|&arm| add(arm, 0)),
                Node::Call { proc, next } | Node::Repeat { proc, next, .. } => {
                    add(self.proc(*proc).entry, 0);
                    add(*next, 0);
                }
                Node::Object { object, next } => {
                    let slots = self.objects[*object as usize].slots();
                    slots.flat_map(of_slot).for_each(|node| add(node, 0));
                    add(*next, 0);
                }
                Node::Array { array, next } => {
                    let id = *array;
                    let array = &self.arrays[id as usize];
                    if level >= MAX_NEEDED_LEVELS && self.searches_items(array) {
                        let limit = LimitExceeded {
                            what: "arrays inside one another that need several distinct items",
                            limit: u64::from(MAX_NEEDED_LEVELS),
                        };
                        return Err((id, limit));
                    }
                    let slots = array.prefix.iter().chain(&array.rest);
                    let more = u32::from(array.unique);
                    slots.flat_map(of_slot).for_each(|node| add(node, more));
                    add(*next, 0);
                }
            }
        }
        Ok(())
    }

    /// Returns whether an array needs several distinct items, some of which are not listed.
    fn searches_items(&self, array: &ArrayProgram) -> bool {
        let mut items = array.prefix.iter().chain(&array.rest).flatten();
        array.needs_distinct() && items.any(|item| self.listed(item.node).is_none())
    }
}
