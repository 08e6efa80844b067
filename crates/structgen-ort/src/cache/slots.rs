//! Caches that a graph writes in place: past and present are one buffer with room for more.
//!
//! The graph takes one token of each row of a buffer, whatever the rows' lengths, or several tokens of a buffer of one
//! row. So a row has a buffer of its own, a slot in the buffer that all rows share, or both, and each side knows how
//! many of its positions are right: a row that goes back and forth between them copies only what the other side has not
//! seen. Rows begin at the beginning of their buffer; numbers after a row's end are never read.

use std::collections::BTreeMap;

use ort::value::DynValue;
use structgen_decode::{ModelError, model::RowId};

use super::tensors::{Place, by_element, copy, zeros};
use crate::signature::CacheTensor;

/// The least room that a buffer is made with, in positions.
const SMALLEST_ROOM: usize = 16;

/// After how many runs without a row its slot may be given to another.
const PATIENCE: u32 = 4;

/// Buffers of `[rows, heads, room, dim]`, one for each tensor of the cache.
#[derive(Debug)]
pub(crate) struct Buffers {
    pub(crate) tensors: Vec<DynValue>,
    rows: usize,
    /// The number of positions that each row has room for.
    room: usize,
}

/// The rows of a model whose cache is written in place.
#[derive(Debug)]
pub(crate) struct SlotRows {
    layout: Vec<CacheTensor>,
    context_length: usize,
    rows: BTreeMap<RowId, Row>,
    shared: Option<Shared>,
}

/// A row. Whatever is not empty has all its positions in one of the two buffers at least.
#[derive(Debug, Default)]
struct Row {
    len: usize,
    own: Option<Own>,
    slot: Option<Slot>,
}

/// A buffer of one row, and the number of its first positions that are the row's.
#[derive(Debug)]
struct Own {
    buffers: Buffers,
    valid: usize,
}

/// A row of the shared buffer, and the number of its first positions that are the row's.
#[derive(Debug, Clone, Copy)]
struct Slot {
    index: usize,
    valid: usize,
}

/// The buffer that rows share.
#[derive(Debug)]
struct Shared {
    buffers: Buffers,
    slots: Vec<Seat>,
}

/// Who has a slot of the shared buffer.
#[derive(Debug, Clone, Copy, Default)]
struct Seat {
    row: Option<RowId>,
    /// The number of runs since the one that named the row.
    idle: u32,
}

/// What a run of the shared buffer is fed with for one slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotUse {
    /// The row, where the run names it.
    pub(crate) row: Option<RowId>,
    /// The positions of the slot that must stay as they are.
    pub(crate) len: usize,
}

impl Buffers {
    /// Buffers with room for `needed` positions of each row, an eighth more at least, so that a prompt is not copied
    /// for the tokens after it, and at most five eighths; but for no more than the context.
    fn new(
        layout: &[CacheTensor],
        rows: usize,
        needed: usize,
        context_length: usize,
    ) -> Result<Self, ModelError> {
        let wanted = needed.saturating_add(needed / 8);
        let power = wanted.next_power_of_two();
        let three_quarters = power / 4 * 3;
        let room = if wanted <= three_quarters {
            three_quarters
        } else {
            power
        };
        let room = room.max(SMALLEST_ROOM);
        // What is longer than the context is refused before it is run.
        let room = room.min(context_length);
        let tensors = layout
            .iter()
            .map(|layout| by_element!(layout, zeros(layout, rows, room)));
        Ok(Self {
            tensors: tensors.collect::<Result<_, _>>()?,
            rows,
            room,
        })
    }

    /// Copies positions of a row of other buffers to the same positions of a row.
    fn copy(
        &mut self,
        layout: &[CacheTensor],
        row: usize,
        (from, from_row): (&Buffers, usize),
        positions: std::ops::Range<usize>,
    ) -> Result<(), ModelError> {
        if positions.is_empty() {
            return Ok(());
        }
        let start = positions.start;
        let source = Place {
            rows: from.rows,
            room: from.room,
            row: from_row,
            start,
        };
        let target = Place {
            rows: self.rows,
            room: self.room,
            row,
            start,
        };
        for ((to, from), layout) in self.tensors.iter_mut().zip(&from.tensors).zip(layout) {
            by_element!(
                layout,
                copy(layout, (from, source), (to, target), positions.len())
            )?;
        }
        Ok(())
    }
}

impl SlotRows {
    pub(crate) fn new(layout: Vec<CacheTensor>, context_length: usize) -> Self {
        Self {
            layout,
            context_length,
            rows: BTreeMap::new(),
            shared: None,
        }
    }

    pub(crate) fn open(&mut self, row: RowId) {
        self.rows.insert(row, Row::default());
    }

    /// Opens `fork` with a copy of the first `len` tokens of a row.
    pub(crate) fn fork(&mut self, row: RowId, len: usize, fork: RowId) -> Result<(), ModelError> {
        let mut copy = Row {
            len,
            ..Row::default()
        };
        if len > 0 {
            // With room for what comes next, so that going on is no second copy.
            let mut buffers = Buffers::new(&self.layout, 1, len + 1, self.context_length)?;
            self.copy_to(&mut buffers, 0, row, 0..len)?;
            copy.own = Some(Own {
                buffers,
                valid: len,
            });
        }
        self.rows.insert(fork, copy);
        Ok(())
    }

    pub(crate) fn cut(&mut self, row: RowId, len: usize) {
        if let Some(row) = self.rows.get_mut(&row) {
            row.len = len;
            if let Some(own) = &mut row.own {
                own.valid = own.valid.min(len);
            }
            if let Some(slot) = &mut row.slot {
                slot.valid = slot.valid.min(len);
            }
        }
    }

    pub(crate) fn close(&mut self, row: RowId) {
        if let Some(slot) = self.rows.remove(&row).and_then(|row| row.slot) {
            self.leave(slot.index);
            let is_empty = |shared: &mut Shared| shared.slots.iter().all(|seat| seat.row.is_none());
            self.shared.take_if(is_empty);
        }
    }

    pub(crate) fn len(&self, row: RowId) -> Option<usize> {
        self.rows.get(&row).map(|row| row.len)
    }

    /// The bytes of the row's buffers.
    pub(crate) fn bytes(&self, row: RowId) -> usize {
        let position: usize = self.layout.iter().map(CacheTensor::bytes).sum();
        let Some(row) = self.rows.get(&row) else {
            return 0;
        };
        let own = row.own.as_ref().map_or(0, |own| own.buffers.room);
        let slot = { self.shared.as_ref() }
            .filter(|_| row.slot.is_some())
            .map_or(0, |shared| shared.buffers.room);
        (own + slot) * position
    }

    /// Whether a run of one token of this row alone is best made in the shared buffer: where it is seated, and where
    /// its own buffer would have to be brought up to date first.
    pub(crate) fn is_seated(&self, row: RowId) -> bool {
        let row = self.rows.get(&row);
        row.is_some_and(|row| {
            row.slot.is_some() && row.own.as_ref().is_none_or(|own| own.valid < row.len)
        })
    }

    /// The row's own buffer, up to date, with room for `needed` positions.
    pub(crate) fn own(&mut self, row: RowId, needed: usize) -> Result<&mut Buffers, ModelError> {
        let unknown = ModelError::UnknownRow { row };
        let Some(state) = self.rows.get(&row) else {
            return Err(unknown);
        };
        let len = state.len;
        let own = { state.own.as_ref() }.map(|own| (own.buffers.room, own.valid));
        let updated = match own {
            Some((room, valid)) if room >= needed => {
                if valid < len {
                    self.update_own(row, valid..len)?;
                }
                None
            }
            _ => {
                let mut buffers = Buffers::new(&self.layout, 1, needed, self.context_length)?;
                self.copy_to(&mut buffers, 0, row, 0..len)?;
                Some(Own {
                    buffers,
                    valid: len,
                })
            }
        };
        let Some(state) = self.rows.get_mut(&row) else {
            return Err(unknown);
        };
        if let Some(updated) = updated {
            state.own = Some(updated);
        }
        state
            .own
            .as_mut()
            .map(|own| &mut own.buffers)
            .ok_or(unknown)
    }

    /// Seats these rows in the shared buffer, with room for one token more of each.
    fn seat(&mut self, named: &[RowId]) -> Result<(), ModelError> {
        let is_seated = |row: &RowId| self.rows.get(row).is_some_and(|row| row.slot.is_some());
        let joining: Vec<RowId> = named
            .iter()
            .copied()
            .filter(|row| !is_seated(row))
            .collect();
        let len_of = |row: &RowId| self.rows.get(row).map_or(0, |row| row.len);
        let (mut staying, mut vacant, mut room) = (named.to_vec(), Vec::new(), 0);
        if let Some(shared) = &self.shared {
            room = shared.buffers.room;
            for (index, seat) in shared.slots.iter().enumerate() {
                match seat.row {
                    Some(row) if named.contains(&row) => {}
                    // Other rows are fed one token as well, after their end; a full row has no room for it.
                    Some(row) if seat.idle < PATIENCE && len_of(&row) < self.context_length => {
                        staying.push(row);
                    }
                    _ => vacant.push(index),
                }
            }
        }
        let needed = 1 + staying.iter().map(len_of).max().unwrap_or(0);
        let slots = self.shared.as_ref().map_or(0, |shared| shared.slots.len());
        let is_spacious = |vacant: usize| vacant * 4 > slots;
        if needed > room
            || joining.len() > vacant.len()
            || is_spacious(vacant.len() - joining.len())
        {
            return self.reseat(&staying, needed);
        }
        let mut joining = joining.into_iter();
        for index in vacant {
            let is_full = |row| self.rows.get(&row).is_some_and(|row| row.len >= room);
            match joining.next() {
                Some(row) => {
                    self.evict(index)?;
                    self.take_slot(row, index)?;
                }
                None if self.seat_of(index).is_some_and(is_full) => self.evict(index)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Makes the shared buffer anew, with these rows.
    fn reseat(&mut self, rows: &[RowId], needed: usize) -> Result<(), ModelError> {
        let mut buffers = Buffers::new(&self.layout, rows.len(), needed, self.context_length)?;
        for (index, &row) in rows.iter().enumerate() {
            let len = self.rows.get(&row).map_or(0, |row| row.len);
            self.copy_to(&mut buffers, index, row, 0..len)?;
        }
        let seated = self.shared.as_ref().map_or(0, |shared| shared.slots.len());
        for index in 0..seated {
            let leaving = self.seat_of(index).filter(|row| !rows.contains(row));
            if leaving.is_some() {
                self.evict(index)?;
            }
        }
        for (index, row) in rows.iter().enumerate() {
            if let Some(row) = self.rows.get_mut(row) {
                let joins = row.slot.is_none();
                row.slot = Some(Slot {
                    index,
                    valid: row.len,
                });
                if joins {
                    row.own = None;
                }
            }
        }
        let idle = |row: &RowId| {
            { self.shared.iter() }
                .flat_map(|shared| &shared.slots)
                .find(|seat| seat.row == Some(*row))
                .map_or(0, |seat| seat.idle)
        };
        let slots = rows.iter().map(|row| Seat {
            row: Some(*row),
            idle: idle(row),
        });
        let slots = slots.collect();
        self.shared = Some(Shared { buffers, slots });
        Ok(())
    }

    /// Copies a row to a free slot and frees its own buffer: most rows never need that again.
    fn take_slot(&mut self, row: RowId, index: usize) -> Result<(), ModelError> {
        let len = self.rows.get(&row).map_or(0, |row| row.len);
        if let (Some(shared), Some(Row { own: Some(own), .. })) =
            (&mut self.shared, self.rows.get(&row))
        {
            shared
                .buffers
                .copy(&self.layout, index, (&own.buffers, 0), 0..len)?;
        }
        if let (Some(shared), Some(state)) = (&mut self.shared, self.rows.get_mut(&row)) {
            shared.slots[index] = Seat {
                row: Some(row),
                idle: 0,
            };
            state.slot = Some(Slot { index, valid: len });
            state.own = None;
        }
        Ok(())
    }

    /// Takes a slot from its row, which keeps a buffer of its own.
    fn evict(&mut self, index: usize) -> Result<(), ModelError> {
        if let Some(row) = self.seat_of(index) {
            let len = self.rows.get(&row).map_or(0, |row| row.len);
            if len > 0 {
                self.own(row, len)?;
            }
            if let Some(row) = self.rows.get_mut(&row) {
                row.slot = None;
            }
            self.leave(index);
        }
        Ok(())
    }

    fn seat_of(&self, index: usize) -> Option<RowId> {
        self.shared.as_ref()?.slots.get(index)?.row
    }

    fn leave(&mut self, index: usize) {
        if let Some(shared) = &mut self.shared {
            shared.slots[index] = Seat::default();
        }
    }

    /// Seats these rows, brings their slots up to date, and returns the shared buffer with what each of its slots is
    /// used for by a run of one token of these rows.
    pub(crate) fn shared(
        &mut self,
        named: &[RowId],
    ) -> Result<(&mut Buffers, Vec<SlotUse>), ModelError> {
        self.seat(named)?;
        let shared = self.shared.as_mut().ok_or(ModelError::Shape {
            what: "slots of the cache",
            got: 0,
            expected: named.len(),
        })?;
        let mut uses = Vec::with_capacity(shared.slots.len());
        for (index, seat) in shared.slots.iter_mut().enumerate() {
            let row = seat.row.and_then(|id| Some((id, self.rows.get_mut(&id)?)));
            let Some((id, row)) = row else {
                uses.push(SlotUse { row: None, len: 0 });
                continue;
            };
            if !named.contains(&id) {
                uses.push(SlotUse {
                    row: None,
                    len: row.len,
                });
                continue;
            }
            if let (Some(slot), Some(own)) = (&mut row.slot, &row.own)
                && slot.valid < row.len
            {
                let missing = slot.valid..row.len;
                shared
                    .buffers
                    .copy(&self.layout, index, (&own.buffers, 0), missing)?;
                slot.valid = row.len;
            }
            uses.push(SlotUse {
                row: Some(id),
                len: row.len,
            });
        }
        Ok((&mut shared.buffers, uses))
    }

    /// Appends what a run wrote after the end of a row in its own buffer.
    pub(crate) fn commit_own(&mut self, row: RowId, n: usize) {
        if let Some(row) = self.rows.get_mut(&row) {
            row.len += n;
            if let Some(own) = &mut row.own {
                own.valid = row.len;
            }
        }
    }

    /// Appends what a run wrote after the ends of these rows in the shared buffer.
    pub(crate) fn commit_shared(&mut self, named: &[RowId]) {
        for seat in self.shared.iter_mut().flat_map(|shared| &mut shared.slots) {
            seat.idle = seat.idle.saturating_add(1);
            let row = seat.row.filter(|row| named.contains(row));
            if let Some(row) = row.and_then(|row| self.rows.get_mut(&row)) {
                seat.idle = 0;
                row.len += 1;
                if let Some(slot) = &mut row.slot {
                    slot.valid = row.len;
                }
            }
        }
    }

    /// Copies positions of a row, from whichever of its buffers has them all, to a row of buffers.
    fn copy_to(
        &self,
        to: &mut Buffers,
        at: usize,
        row: RowId,
        positions: std::ops::Range<usize>,
    ) -> Result<(), ModelError> {
        let Some(row) = self.rows.get(&row) else {
            return Err(ModelError::UnknownRow { row });
        };
        let slot = row.slot.filter(|slot| slot.valid >= positions.end);
        if let (Some(slot), Some(shared)) = (slot, &self.shared) {
            return to.copy(&self.layout, at, (&shared.buffers, slot.index), positions);
        }
        match &row.own {
            Some(own) => to.copy(&self.layout, at, (&own.buffers, 0), positions),
            None => Ok(()),
        }
    }

    /// Copies positions of a row from its slot to its own buffer.
    fn update_own(
        &mut self,
        row: RowId,
        missing: std::ops::Range<usize>,
    ) -> Result<(), ModelError> {
        if let (Some(shared), Some(row)) = (&self.shared, self.rows.get_mut(&row))
            && let (Some(slot), Some(own)) = (row.slot, &mut row.own)
        {
            let end = missing.end;
            own.buffers
                .copy(&self.layout, 0, (&shared.buffers, slot.index), missing)?;
            own.valid = end;
        }
        Ok(())
    }
}
