//! The whitespace that a form requires.

use structgen_grammar::Whitespace;

use super::{Node, NodeId, Program, Slot};

impl Program {
    /// Returns the maximum number of bytes that one byte of a compact text takes in this form: itself, the whitespace
    /// after it, and one more, so that every step is progress. It exceeds 1 only if the form requires whitespace.
    pub(crate) fn widest_byte(&self) -> u64 {
        *self.widest_byte.get_or_init(|| match self.form.whitespace {
            Whitespace::Compact | Whitespace::Spaced | Whitespace::Bounded { .. } => 1,
            Whitespace::OneSpace => 2,
            Whitespace::Indented { indent } => {
                let deepest = u64::from(indent.width()) * u64::from(self.deepest());
                deepest + 3
            }
        })
    }

    /// Returns an upper bound on the nesting of objects and arrays, which is exact if the grammar does not recur.
    fn deepest(&self) -> u32 {
        let most = self.form.max_depth;
        // Deeper nesting is taken for recursion.
        const WITHOUT_RECURSION: u32 = 64;
        let mut depths = vec![0_u32; self.nodes.len()];
        loop {
            let mut changed = false;
            for id in 0..self.nodes.len() {
                let depth = self
                    .depth_at(NodeId::new(id), &depths)
                    .min(WITHOUT_RECURSION);
                changed |= depth != depths[id];
                depths[id] = depth;
            }
            if !changed {
                break;
            }
        }
        let root = depths[self.proc(self.root).entry.index()];
        if root < WITHOUT_RECURSION {
            root.min(most)
        } else {
            most
        }
    }

    fn depth_at(&self, id: NodeId, depths: &[u32]) -> u32 {
        let at = |node: NodeId| depths[node.index()];
        let of_slot = |slot: &Slot| {
            let alternatives = slot.iter().map(|alternative| at(alternative.node));
            alternatives.max().unwrap_or(0)
        };
        match self.node(id) {
            Node::End => 0,
            Node::Terminal { next, .. } | Node::Related { next, .. } | Node::Token { next, .. } => {
                at(*next)
            }
            Node::Split(arms) => arms.iter().map(|&arm| at(arm)).max().unwrap_or(0),
            Node::Call { proc, next } | Node::Repeat { proc, next, .. } => {
                at(self.proc(*proc).entry).max(at(*next))
            }
            Node::Object { object, next } => {
                let slots = self.objects[*object as usize].slots().map(of_slot);
                (slots.max().unwrap_or(0) + 1).max(at(*next))
            }
            Node::Array { array, next } => {
                let array = &self.arrays[*array as usize];
                let slots = array.prefix.iter().chain(&array.rest).map(of_slot);
                (slots.max().unwrap_or(0) + 1).max(at(*next))
            }
        }
    }
}
