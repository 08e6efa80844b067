//! Caches that grow: a run takes the past and returns new tensors, past and present together.
//!
//! A row is a light handle on tensors that it may share with other rows. A fork is another handle, a cut is a number,
//! and nothing is copied before a run needs it: a run whose rows are those of one block, whole and uncut, is fed the
//! block as it is. Any other choice of rows is gathered into new tensors first, padded on the left to the longest.
//! [`grouping`](super::grouping) decides which rows share a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use ort::value::DynValue;
use structgen_decode::{ModelError, model::RowId};

use super::grouping::{Group, join};
use super::tensors::{Place, by_element, fetched, gathered};
use crate::signature::CacheTensor;

/// The rows of a model whose cache grows.
#[derive(Debug)]
pub(crate) struct GrowingRows {
    layout: Vec<CacheTensor>,
    /// What a run costs besides its rows, in positions of a row that could be moved in that time.
    run_cost: usize,
    rows: BTreeMap<RowId, Row>,
}

#[derive(Debug, Clone, Default)]
struct Row {
    /// The tensors with the row's keys and values, and its place in them; `None` where the row is empty.
    held: Option<(Arc<Block>, usize)>,
    len: usize,
}

/// The tensors that one run returned, or that rows were gathered in.
#[derive(Debug)]
pub(crate) struct Block {
    tensors: Vec<DynValue>,
    /// Positions before the beginning of each row's text.
    padding: Vec<usize>,
    /// Positions of each row, padding included.
    len: usize,
}

impl Block {
    /// A block of tensors that are `len` positions long.
    pub(crate) fn new(tensors: Vec<DynValue>, padding: Vec<usize>, len: usize) -> Self {
        Self {
            tensors,
            padding,
            len,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn padding(&self) -> &[usize] {
        &self.padding
    }

    fn rows(&self) -> usize {
        self.padding.len()
    }

    /// The tensors, as inputs of the next run.
    pub(crate) fn tensors(&self) -> &[DynValue] {
        &self.tensors
    }

    fn place(&self, row: usize) -> Place {
        Place {
            rows: self.rows(),
            room: self.len,
            row,
            start: self.padding[row],
        }
    }
}

impl GrowingRows {
    /// No rows yet, for a graph of which a run costs as much as moving `run_cost_bytes` of cache.
    pub(crate) fn new(layout: Vec<CacheTensor>, run_cost_bytes: usize) -> Self {
        let position: usize = layout.iter().map(CacheTensor::bytes).sum();
        Self {
            layout,
            run_cost: run_cost_bytes / position.max(1),
            rows: BTreeMap::new(),
        }
    }

    pub(crate) fn open(&mut self, row: RowId) {
        self.rows.insert(row, Row::default());
    }

    /// Opens `fork` with the first `len` tokens of a row.
    pub(crate) fn fork(&mut self, row: RowId, len: usize, fork: RowId) {
        if let Some(row) = self.rows.get(&row).cloned() {
            self.rows.insert(fork, row);
            self.cut(fork, len);
        }
    }

    pub(crate) fn cut(&mut self, row: RowId, len: usize) {
        if let Some(row) = self.rows.get_mut(&row) {
            row.len = len;
            if len == 0 {
                row.held = None;
            }
        }
    }

    pub(crate) fn close(&mut self, row: RowId) {
        self.rows.remove(&row);
    }

    pub(crate) fn len(&self, row: RowId) -> Option<usize> {
        self.rows.get(&row).map(|row| row.len)
    }

    /// The row's share of its tensors' memory.
    pub(crate) fn bytes(&self, row: RowId) -> usize {
        let held = self.rows.get(&row).and_then(|row| row.held.as_ref());
        held.map_or(0, |(block, _)| {
            let position: usize = self.layout.iter().map(CacheTensor::bytes).sum();
            block.rows() * block.len * position / Arc::strong_count(block)
        })
    }

    /// The rows in groups that are best run together, each in the order that copies the least; as indices.
    pub(crate) fn grouped(&self, rows: &[RowId]) -> Vec<Vec<usize>> {
        let mut groups: Vec<(Option<&Arc<Block>>, Group)> = Vec::new();
        for (at, id) in rows.iter().enumerate() {
            let row = self.rows.get(id);
            let block = row
                .and_then(|row| row.held.as_ref())
                .map(|(block, _)| block);
            let len = row.map_or(0, |row| row.len);
            let same = { groups.iter_mut() }.find(|(other, _)| match (block, other) {
                (Some(block), Some(other)) => Arc::ptr_eq(block, other),
                // Rows without tokens are all alike.
                (None, None) => true,
                _ => false,
            });
            match same {
                Some((_, group)) => {
                    group.rows.push(at);
                    group.longest = group.longest.max(len);
                }
                None => {
                    let group = Group {
                        rows: vec![at],
                        longest: len,
                        is_block: false,
                    };
                    groups.push((block, group));
                }
            }
        }
        for (block, group) in &mut groups {
            group.is_block = block.is_none_or(|block| block.rows() == group.rows.len());
        }
        let groups = groups.into_iter().map(|(_, group)| group).collect();
        let place = |&at: &usize| {
            let row = self.rows.get(&rows[at]);
            row.and_then(|row| row.held.as_ref())
                .map_or(usize::MAX, |(_, place)| *place)
        };
        let joined = join(groups, self.run_cost).into_iter().map(|mut group| {
            group.rows.sort_by_key(place);
            group.rows
        });
        joined.collect()
    }

    /// A block of these rows, in this order and no others: the one that they have, or a new one, which they have from
    /// then on.
    pub(crate) fn assemble(&mut self, rows: &[RowId]) -> Result<Arc<Block>, ModelError> {
        if let Some((block, len)) = self.common_block(rows)
            && len == block.len
        {
            return Ok(block);
        }
        let block = Arc::new(self.gather(rows)?);
        self.hold(rows, &block);
        Ok(block)
    }

    /// The block that consists of these rows, in this order, and the position where all of them end.
    fn common_block(&self, rows: &[RowId]) -> Option<(Arc<Block>, usize)> {
        let (block, _) = self.rows.get(rows.first()?)?.held.as_ref()?;
        let end_of = |(at, row): (usize, &RowId)| {
            let row = self.rows.get(row)?;
            let (held, place) = row.held.as_ref()?;
            let is_here = Arc::ptr_eq(held, block) && *place == at;
            is_here.then(|| block.padding[at] + row.len)
        };
        let mut ends = rows.iter().enumerate().map(end_of);
        let end = ends.next()??;
        let is_common = rows.len() == block.rows() && ends.all(|other| other == Some(end));
        is_common.then(|| (Arc::clone(block), end))
    }

    /// New tensors with copies of these rows, padded on the left.
    fn gather(&self, rows: &[RowId]) -> Result<Block, ModelError> {
        let empty = Row::default();
        let rows: Vec<&Row> = { rows.iter() }
            .map(|row| self.rows.get(row).unwrap_or(&empty))
            .collect();
        let len = rows.iter().map(|row| row.len).max().unwrap_or(0);
        let copies = self.layout.iter().enumerate().map(|(at, layout)| {
            let on_processor = fetched_blocks(&rows, at)?;
            let places = rows.iter().map(|row| {
                let (block, place) = row.held.as_ref()?;
                let fetched = { on_processor.iter() }.find(|(of, _)| Arc::ptr_eq(of, block));
                let tensor = fetched.map_or(&block.tensors[at], |(_, tensor)| tensor);
                Some((tensor, block.place(*place), row.len))
            });
            let places: Vec<_> = places.collect();
            by_element!(layout, gathered(layout, &places, len))
        });
        let tensors = copies.collect::<Result<_, _>>()?;
        let padding = rows.iter().map(|row| len - row.len).collect();
        Ok(Block::new(tensors, padding, len))
    }

    /// Gives rows the tensors that a run of `n` tokens in each returned.
    pub(crate) fn commit(&mut self, rows: &[RowId], block: Block, n: usize) {
        self.hold(rows, &Arc::new(block));
        for row in rows {
            if let Some(row) = self.rows.get_mut(row) {
                row.len += n;
            }
        }
    }

    fn hold(&mut self, rows: &[RowId], block: &Arc<Block>) {
        for (place, row) in rows.iter().enumerate() {
            if let Some(row) = self.rows.get_mut(row) {
                row.held = Some((Arc::clone(block), place));
            }
        }
    }

    /// Copies rows out of blocks of which at least half belongs to rows that have left, so that these blocks are freed.
    pub(crate) fn release_left_blocks(&mut self) {
        let is_mostly_left =
            |block: &Arc<Block>| block.rows() > 1 && Arc::strong_count(block) * 2 <= block.rows();
        let staying: Vec<RowId> = { self.rows.iter() }
            .filter(|(_, row)| {
                row.held
                    .as_ref()
                    .is_some_and(|(block, _)| is_mostly_left(block))
            })
            .map(|(&id, _)| id)
            .collect();
        for id in staying {
            // Without room for the copy, the row stays where it is.
            if let Ok(alone) = self.gather(&[id]) {
                self.hold(&[id], &Arc::new(alone));
            }
        }
    }
}

/// Copies of one tensor of each block that is not in the processor's memory.
fn fetched_blocks<'r>(
    rows: &[&'r Row],
    at: usize,
) -> Result<Vec<(&'r Arc<Block>, DynValue)>, ModelError> {
    let mut copies: Vec<(&Arc<Block>, DynValue)> = Vec::new();
    for row in rows {
        if let Some((block, _)) = &row.held
            && !copies.iter().any(|(of, _)| Arc::ptr_eq(of, block))
            && let Some(copy) = fetched(&block.tensors[at])?
        {
            copies.push((block, copy));
        }
    }
    Ok(copies)
}
