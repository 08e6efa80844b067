//! Derivatives, cached by byte class.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::arena::{Arena, NodeId};
use super::byte_classes::ByteClasses;
use super::derivative::Scratch;
use crate::LimitExceeded;
use crate::limit::{MOST_WORK, too_many_expressions};

/// The arena with the steps that were requested so far.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    pub(super) arena: Arena,
    rows: FxHashMap<NodeId, Row>,
    /// The number of entries of all rows.
    entries: usize,
    scratch: Scratch,
    /// The maximum number of expressions.
    limit: usize,
}

/// The steps from one expression.
#[derive(Clone, Debug)]
struct Row {
    classes: ByteClasses,
    /// The target of each byte class; [`UNKNOWN`] if it was not requested.
    next: Box<[NodeId]>,
}

const UNKNOWN: NodeId = NodeId(u32::MAX);
/// The number of entries of rows that count as one expression.
const ENTRIES_PER_EXPRESSION: usize = 16;

impl Steps {
    pub(super) fn new(arena: Arena, limit: usize) -> Self {
        Self {
            arena,
            rows: FxHashMap::default(),
            entries: 0,
            scratch: Scratch::default(),
            limit,
        }
    }

    /// Returns the derivative by the byte; it may be dead.
    pub(super) fn step(&mut self, from: NodeId, byte: u8) -> Result<NodeId, LimitExceeded> {
        let row = self.row(from)?;
        let class = row.classes.class_of(byte);
        let known = row.next[class];
        if known != UNKNOWN {
            return Ok(known);
        }
        let limit = self
            .limit
            .saturating_sub(self.entries / ENTRIES_PER_EXPRESSION);
        let next = self
            .arena
            .derivative(from, byte, limit, &mut self.scratch)
            .map_err(|error| match error.is_of_kept() {
                true => too_many_expressions(self.limit),
                false => error,
            })?;
        self.row(from)?.next[class] = next;
        Ok(next)
    }

    /// Returns the classes of bytes by which the steps from here differ.
    pub(super) fn classes(&mut self, from: NodeId) -> Result<&ByteClasses, LimitExceeded> {
        Ok(&self.row(from)?.classes)
    }

    /// Begins an operation, whose work is limited by itself.
    pub(super) fn begin(&mut self) {
        self.arena.most_work = self.arena.work + MOST_WORK;
    }

    fn row(&mut self, from: NodeId) -> Result<&mut Row, LimitExceeded> {
        let vacant = match self.rows.entry(from) {
            Entry::Occupied(row) => return Ok(row.into_mut()),
            Entry::Vacant(vacant) => vacant,
        };
        let classes = self.arena.byte_classes(from, &mut self.scratch);
        if self.arena.is_broken {
            return Err(too_many_expressions(self.limit));
        }
        self.entries += classes.count() + classes.runs() / 2;
        Ok(vacant.insert(Row {
            next: vec![UNKNOWN; classes.count()].into(),
            classes,
        }))
    }
}
