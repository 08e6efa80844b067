//! Caches that are one buffer for past and present, written by the graph where they lie.

use std::ops::Range;

use half::f16;
use ort::memory::Allocator;
use ort::value::{DynTensor, DynValue, PrimitiveTensorElementType, TensorElementType};
use structgen_decode::{KeyValueCache, ModelError};

use super::{OrtCache, Storage, backend, shape};
use crate::signature::{CacheTensor, Float};

/// The least room that is made, in positions.
const SMALLEST: usize = 16;

/// Buffers of `[rows, heads, room, dim]`. Each row's tokens lie at its beginning, without padding; what is behind them is nobody's.
#[derive(Debug)]
pub(crate) struct Buffers {
    pub(crate) tensors: Vec<DynValue>,
    /// How many positions each row has room for.
    pub(crate) room: usize,
}

impl Buffers {
    /// Buffers with room for `needed` positions and as many again, but no more than the context has.
    fn new(
        layout: &[CacheTensor],
        rows: usize,
        needed: usize,
        context_length: usize,
    ) -> Result<Self, ModelError> {
        let room = needed.next_power_of_two().max(SMALLEST);
        // What does not fit the context is refused before it is run.
        let room = room.min(context_length);
        let tensors = layout.iter().map(|tensor| zeros(tensor, rows, room));
        Ok(Self {
            tensors: tensors.collect::<Result<_, _>>()?,
            room,
        })
    }

    /// Copies positions of one row of other buffers to the same positions of a row.
    fn copy(
        &mut self,
        layout: &[CacheTensor],
        row: usize,
        from: (&[DynValue], usize),
        from_row: usize,
        positions: Range<usize>,
    ) -> Result<(), ModelError> {
        let (tensors, room) = from;
        for ((to, from), layout) in self.tensors.iter_mut().zip(tensors).zip(layout) {
            let (from, to) = ((from, room, from_row), (to, self.room, row));
            match layout.float {
                Float::F32 => copy::<f32>(layout, from, to, &positions)?,
                Float::F16 => copy::<f16>(layout, from, to, &positions)?,
            }
        }
        Ok(())
    }
}

impl OrtCache {
    /// How many tokens of a row are in its buffer where the cache has `len`: those that are no padding.
    pub(crate) fn used(&self, row: usize, len: usize) -> usize {
        len.saturating_sub(self.left_padding[row])
    }

    /// Makes room for `needed` positions. The buffers stay where they are while that is there.
    pub(crate) fn reserve(&mut self, needed: usize) -> Result<(), ModelError> {
        if needed > self.capacity {
            let rows: Vec<usize> = (0..self.rows()).collect();
            let buffers = self.rebuffered(&rows, self.len, needed)?;
            self.take(buffers);
        }
        Ok(())
    }

    pub(super) fn take(&mut self, buffers: Buffers) {
        self.capacity = buffers.room;
        self.tensors = buffers.tensors;
    }

    /// New buffers for rows, which are old rows, with the first `len` positions of the cache and room for `needed` in each row.
    pub(super) fn rebuffered(
        &self,
        rows: &[usize],
        len: usize,
        needed: usize,
    ) -> Result<Buffers, ModelError> {
        let Storage::Shared { context_length } = self.storage else {
            return Err(shape("tensors of a cache of its own", 0, rows.len()));
        };
        let mut buffers = Buffers::new(&self.layout, rows.len(), needed, context_length)?;
        let old = (&self.tensors[..], self.capacity);
        for (row, &from) in rows.iter().enumerate() {
            buffers.copy(&self.layout, row, old, from, 0..self.used(from, len))?;
        }
        Ok(buffers)
    }

    /// One row on its own, with room for `needed` positions.
    pub(crate) fn row(&self, row: usize, needed: usize) -> Result<Buffers, ModelError> {
        self.rebuffered(&[row], self.len, needed)
    }

    /// Takes over positions of a row that was on its own.
    pub(crate) fn take_row(
        &mut self,
        row: usize,
        alone: &Buffers,
        positions: Range<usize>,
    ) -> Result<(), ModelError> {
        let mut buffers = Buffers {
            tensors: std::mem::take(&mut self.tensors),
            room: self.capacity,
        };
        let alone = (&alone.tensors[..], alone.room);
        let copied = buffers.copy(&self.layout, row, alone, 0, positions);
        self.take(buffers);
        copied
    }
}

/// A tensor in ONNX Runtime's own memory: others it does not write its outputs to.
fn zeros(layout: &CacheTensor, rows: usize, room: usize) -> Result<DynValue, ModelError> {
    let element = match layout.float {
        Float::F32 => TensorElementType::Float32,
        Float::F16 => TensorElementType::Float16,
    };
    let shape = layout.shape(rows, room);
    let tensor = DynTensor::new(&Allocator::default(), element, shape).map_err(backend)?;
    let mut tensor = tensor.into_dyn();
    match layout.float {
        Float::F32 => numbers_mut::<f32>(&mut tensor)?.fill(0.0),
        Float::F16 => numbers_mut::<f16>(&mut tensor)?.fill(f16::ZERO),
    }
    Ok(tensor)
}

fn numbers_mut<T: PrimitiveTensorElementType>(
    tensor: &mut DynValue,
) -> Result<&mut [T], ModelError> {
    let extracted = tensor.try_extract_tensor_mut::<T>();
    Ok(extracted.map_err(backend)?.1)
}

/// Copies positions of a row, head by head; each side is a tensor, its room and a row.
fn copy<T: PrimitiveTensorElementType + Copy>(
    layout: &CacheTensor,
    from: (&DynValue, usize, usize),
    to: (&mut DynValue, usize, usize),
    positions: &Range<usize>,
) -> Result<(), ModelError> {
    let (from, from_room, from_row) = from;
    let (to, to_room, to_row) = to;
    let (_, source) = from.try_extract_tensor::<T>().map_err(backend)?;
    let target = numbers_mut::<T>(to)?;
    let numbers = |room: usize, row: usize, head: usize| {
        let start = (row * layout.heads + head) * room;
        (start + positions.start) * layout.head_dim..(start + positions.end) * layout.head_dim
    };
    for head in 0..layout.heads {
        let (from, to) = (
            numbers(from_room, from_row, head),
            numbers(to_room, to_row, head),
        );
        let (source_len, target_len) = (source.len(), target.len());
        match (source.get(from), target.get_mut(to)) {
            (Some(from), Some(to)) => to.copy_from_slice(from),
            _ => return Err(shape("numbers in the cache", source_len.min(target_len), 1)),
        }
    }
    Ok(())
}
