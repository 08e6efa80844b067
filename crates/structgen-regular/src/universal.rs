//! Finds sets that contain every text, or continue with any, as far as the structure of an expression shows it.

use super::arena::{Arena, Node, NodeId};

/// The maximum depth of these structural checks.
const DEEPEST: u32 = 16;

impl Arena {
    /// Returns whether every UTF-8 text continues from the expression, as far as its structure shows: it begins with
    /// texts of any kind, and what follows can certainly be completed.
    pub(super) fn is_universal(&mut self, id: NodeId) -> bool {
        let every = self.every_char();
        self.is_universal_at(id, every, DEEPEST)
    }

    fn is_universal_at(&self, id: NodeId, every: NodeId, depth: u32) -> bool {
        let is_any_text = |id: NodeId| matches!(*self.node(id), Node::Repeat { body, min: 0, max: None } if body == every);
        match self.node(id) {
            _ if id == Self::ALL_BYTES => true,
            Node::Concat(first, rest) => {
                is_any_text(*first)
                    && self.witness(*rest).is_some()
                    && self.asks(*rest) == 0
                    && !self.loops(*rest)
            }
            Node::Repeat {
                body, max: None, ..
            } => *body == every,
            Node::Union(arms) if depth > 0 => {
                let mut arms = arms.iter();
                arms.any(|&arm| self.is_universal_at(arm, every, depth - 1))
            }
            // A text that completes one arm after another completes all, if none restricts what comes after it.
            Node::Intersection(arms) if depth > 0 => arms
                .iter()
                .all(|&arm| self.is_universal_at(arm, every, depth - 1) && self.is_open_ended(arm)),
            _ => false,
        }
    }

    /// Returns whether every string stays in the set when any text is appended, as far as its structure shows.
    pub(super) fn is_open_ended(&self, id: NodeId) -> bool {
        self.is_open_ended_at(id, DEEPEST)
    }

    fn is_open_ended_at(&self, mut id: NodeId, depth: u32) -> bool {
        while let Node::Concat(_, rest) = *self.node(id) {
            id = rest;
        }
        match self.node(id) {
            _ if self.is_everything(id) => true,
            Node::Never => true,
            Node::Repeat {
                body, max: None, ..
            } => self.known_every_char() == Some(*body),
            Node::Union(arms) | Node::Intersection(arms) if depth > 0 => {
                let mut arms = arms.iter();
                arms.all(|&arm| self.is_open_ended_at(arm, depth - 1))
            }
            _ => false,
        }
    }

    /// Returns whether every UTF-8 text is in the set, as far as its structure shows.
    pub(super) fn is_everything(&self, id: NodeId) -> bool {
        id == Self::ALL_BYTES || self.any_text() == Some(id)
    }
}
