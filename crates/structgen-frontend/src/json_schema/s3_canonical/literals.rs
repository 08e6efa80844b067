//! Conjunctions of literals.

use rustc_hash::FxHashSet;

use crate::json_schema::s2_parse::atoms::Literal;

/// The length up to which searching the list is faster than an index.
const MAX_SEARCHED: usize = 16;

/// Distinct literals, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Literals {
    list: Vec<Literal>,
    /// The same literals, if there are more than [`MAX_SEARCHED`].
    index: FxHashSet<Literal>,
}

impl Literals {
    pub(super) fn contains(&self, literal: Literal) -> bool {
        match self.index.is_empty() {
            true => self.list.contains(&literal),
            false => self.index.contains(&literal),
        }
    }

    /// Adds a literal; returns whether it is new.
    pub(super) fn insert(&mut self, literal: Literal) -> bool {
        if self.contains(literal) {
            return false;
        }
        self.list.push(literal);
        if !self.index.is_empty() {
            self.index.insert(literal);
        } else if self.list.len() > MAX_SEARCHED {
            self.index.extend(self.list.iter().copied());
        }
        true
    }

    /// The cost of a copy: a quarter of a step for a literal that is only listed.
    pub(super) fn size(&self) -> usize {
        match self.index.is_empty() {
            true => self.list.len() / 4,
            false => self.list.len(),
        }
    }

    pub(super) fn as_slice(&self) -> &[Literal] {
        &self.list
    }
}
