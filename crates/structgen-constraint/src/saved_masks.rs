//! Masks in a file: short ones as concatenated lists, long ones as rows of words.

use rustc_hash::FxHashMap;
use structgen_artifact::{ArtifactError, Column, Reader, Writer};
use structgen_automata::SetId;
use structgen_vocab::{TokenId, TokenMask};

use crate::Mask;

/// Masks to be written to a file, equal ones once.
#[derive(Default)]
pub(crate) struct MaskWriter {
    lists: FxHashMap<Box<[TokenId]>, u32>,
    listed: Vec<TokenId>,
    /// Where each list ends.
    ends: Vec<u32>,
    rows: FxHashMap<TokenMask, u32>,
    words: Vec<u64>,
}

impl MaskWriter {
    /// Adds a mask and returns its number.
    pub(crate) fn add(&mut self, mask: &Mask) -> u32 {
        if let Some(list) = mask.list() {
            let next = self.lists.len() as u32;
            let place = *self.lists.entry(list.into()).or_insert(next);
            if place == next {
                self.listed.extend(list);
                self.ends.push(self.listed.len() as u32);
            }
            return place << 1;
        }
        let next = self.rows.len() as u32;
        let place = *self.rows.entry(mask.bits().clone()).or_insert(next);
        if place == next {
            self.words.extend(mask.bits().words());
        }
        place << 1 | 1
    }

    pub(crate) fn put(&self, writer: &mut Writer) {
        writer.put(&self.listed);
        writer.put(&self.ends);
        writer.put(&self.words);
    }
}

/// Masks in a file's bytes, all of them validated.
#[derive(Debug)]
pub(crate) struct SavedMasks {
    /// The width of all masks.
    ids: usize,
    listed: Column<TokenId>,
    ends: Column<u32>,
    words: Column<u64>,
}

impl SavedMasks {
    pub(crate) fn take(reader: &mut Reader, ids: usize) -> Result<Self, ArtifactError> {
        let masks = Self {
            ids,
            listed: reader.take()?,
            ends: reader.take()?,
            words: reader.take()?,
        };
        let is_list = |list: Option<&[TokenId]>| {
            list.is_some_and(|list| {
                let is_sorted = list.is_sorted_by(|a, b| a < b);
                let fits = list.last().is_none_or(|last| last.index() < ids);
                is_sorted && fits && list.len() <= Mask::LISTED
            })
        };
        let lists = masks.ends.len();
        let end = masks.ends.last().copied().unwrap_or(0);
        if end as usize != masks.listed.len() || !(0..lists).all(|at| is_list(masks.list(at))) {
            return Err(ArtifactError::Contents("a list of tokens that is none"));
        }
        let width = ids.div_ceil(u64::BITS as usize).max(1);
        let is_row = |row: &[u64]| {
            let mask = TokenMask::from_words(row, ids);
            mask.is_some_and(|mask| mask.count() > Mask::LISTED)
        };
        if !masks.words.chunks(width).all(is_row) {
            return Err(ArtifactError::Contents("a mask that is none"));
        }
        Ok(masks)
    }

    /// Returns the mask with this number.
    pub(crate) fn get(&self, number: u32) -> Option<Mask> {
        let place = number as usize >> 1;
        if number & 1 == 0 {
            return Some(Mask::from_list(self.list(place)?, self.ids));
        }
        let bits = TokenMask::from_words(self.row(place)?, self.ids)?;
        Some(Mask::from_bits(bits))
    }

    /// Returns whether there is a mask with this number.
    pub(crate) fn has(&self, number: u32) -> bool {
        let place = number as usize >> 1;
        match number & 1 {
            0 => place < self.ends.len(),
            _ => self.row(place).is_some(),
        }
    }

    fn list(&self, at: usize) -> Option<&[TokenId]> {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        let end = *self.ends.get(at)?;
        self.listed.get(start as usize..end as usize)
    }

    fn row(&self, at: usize) -> Option<&[u64]> {
        let width = self.ids.div_ceil(u64::BITS as usize);
        let start = at.checked_mul(width)?;
        self.words.get(start..start.checked_add(width)?)
    }
}

/// The masks of states that are in a file.
#[derive(Debug)]
pub(crate) struct MasksInFile {
    pub(crate) by_state: FxHashMap<SetId, u32>,
    pub(crate) masks: SavedMasks,
}

impl MasksInFile {
    /// Returns the mask of a state or sketch, if it is in the file.
    #[inline]
    pub(crate) fn mask(&self, state: SetId) -> Option<Mask> {
        let &mask = self.by_state.get(&state)?;
        self.masks.get(mask)
    }
}
