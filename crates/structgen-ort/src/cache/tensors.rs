//! Copies within and between the tensors of a cache, of any type of number.

use ort::memory::{AllocationDevice, Allocator};
use ort::value::{DynTensor, DynTensorRef, DynTensorValueType, DynValue, TensorElementType};
use structgen_decode::ModelError;

use crate::error::backend;
use crate::memory;
use crate::number::Number;
use crate::signature::CacheTensor;

/// Calls a generic function for the type of number that a cache tensor has.
macro_rules! by_element {
    ($layout:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $layout.element {
            $crate::signature::Element::Float($crate::signature::Float::F32) => {
                $function::<f32>($($argument),*)
            }
            $crate::signature::Element::Float($crate::signature::Float::F16) => {
                $function::<half::f16>($($argument),*)
            }
            $crate::signature::Element::I8 => $function::<i8>($($argument),*),
            $crate::signature::Element::U8 => $function::<u8>($($argument),*),
        }
    };
}
pub(super) use by_element;

/// Calls a generic function for the type of number that a state has.
macro_rules! by_float {
    ($layout:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $layout.float {
            $crate::signature::Float::F32 => $function::<f32>($($argument),*),
            $crate::signature::Float::F16 => $function::<half::f16>($($argument),*),
        }
    };
}
pub(super) use by_float;

/// Positions of one row of a tensor whose rows have room for `room` positions each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) rows: usize,
    pub(super) room: usize,
    pub(super) row: usize,
    pub(super) start: usize,
}

impl Place {
    /// The first number of the place in each piece, part by part.
    fn starts(self, layout: &CacheTensor) -> impl Iterator<Item = usize> + use<> {
        let (pieces, width) = (layout.pieces(), layout.width());
        let of_part = move |part| (0..pieces).map(move |piece| (part, piece));
        (0..layout.parts())
            .flat_map(of_part)
            .map(move |(part, piece)| {
                let before = ((part * self.rows + self.row) * pieces + piece) * self.room;
                (before + self.start) * width
            })
    }
}

/// A tensor in ONNX Runtime's own memory, with room for this many positions of each row.
pub(super) fn zeros<T: Number>(
    layout: &CacheTensor,
    rows: usize,
    room: usize,
) -> Result<DynValue, ModelError> {
    let element: TensorElementType = T::into_tensor_element_type();
    let tensor = DynTensor::new(&Allocator::default(), element, layout.shape(rows, room));
    let mut tensor = tensor.map_err(backend)?.into_dyn();
    numbers_mut::<T>(&mut tensor)?.fill(T::default());
    Ok(tensor)
}

/// A tensor that a run writes all numbers of.
pub(super) fn pooled<T: Number>(
    layout: &CacheTensor,
    rows: usize,
    len: usize,
) -> Result<DynValue, ModelError> {
    memory::tensor::<T>(&layout.shape(rows, len))
}

/// Copies the first `positions` of a place to another.
pub(super) fn copy<T: Number>(
    layout: &CacheTensor,
    (from, source): (&DynValue, Place),
    (to, target): (&mut DynValue, Place),
    positions: usize,
) -> Result<(), ModelError> {
    let from = numbers::<T>(from)?;
    let to = numbers_mut::<T>(to)?;
    let len = positions * layout.width();
    for (source, target) in source.starts(layout).zip(target.starts(layout)) {
        let (got, expected) = (from.len().min(to.len()), source.max(target) + len);
        match (
            from.get(source..source + len),
            to.get_mut(target..target + len),
        ) {
            (Some(from), Some(to)) => to.copy_from_slice(from),
            _ => return Err(too_short(got, expected)),
        }
    }
    Ok(())
}

/// A tensor of rows of `len` positions, each the first positions of a place at the end of its row, zeros before them.
pub(super) fn gathered<T: Number>(
    layout: &CacheTensor,
    rows: &[Option<(&DynValue, Place, usize)>],
    len: usize,
) -> Result<DynValue, ModelError> {
    let mut gathered = pooled::<T>(layout, rows.len(), len)?;
    let places = rows.iter().map(|place| match *place {
        Some((tensor, place, positions)) => Ok(Some((numbers::<T>(tensor)?, place, positions))),
        None => Ok(None),
    });
    let places: Vec<_> = places.collect::<Result<_, ModelError>>()?;
    let piece = len * layout.width();
    if piece == 0 {
        return Ok(gathered);
    }
    let mut pieces = numbers_mut::<T>(&mut gathered)?.chunks_exact_mut(piece);
    for part in 0..layout.parts() {
        for place in &places {
            let pieces = pieces.by_ref().take(layout.pieces());
            let Some((numbers, place, positions)) = *place else {
                pieces.for_each(|piece| piece.fill(T::default()));
                continue;
            };
            let taken = positions.min(len) * layout.width();
            let starts = place.starts(layout).skip(part * layout.pieces());
            for (to, start) in pieces.zip(starts) {
                let (padding, text) = to.split_at_mut(piece - taken);
                padding.fill(T::default());
                let from = numbers.get(start..start + taken);
                text.copy_from_slice(from.ok_or_else(|| too_short(numbers.len(), start + taken))?);
            }
        }
    }
    Ok(gathered)
}

/// Tensors of one row each, all of one shape and type, as the rows of one tensor.
pub(super) fn stacked(tensors: &[&DynValue]) -> Result<DynValue, ModelError> {
    match element_type(tensors) {
        Some(TensorElementType::Float16) => stacked_numbers::<half::f16>(tensors),
        Some(TensorElementType::Int8) => stacked_numbers::<i8>(tensors),
        Some(TensorElementType::Uint8) => stacked_numbers::<u8>(tensors),
        _ => stacked_numbers::<f32>(tensors),
    }
}

fn element_type(tensors: &[&DynValue]) -> Option<TensorElementType> {
    tensors.first()?.dtype().tensor_type()
}

fn stacked_numbers<T: Number>(tensors: &[&DynValue]) -> Result<DynValue, ModelError> {
    let shape = { tensors.first() }.and_then(|tensor| tensor.dtype().tensor_shape());
    let sizes = shape.into_iter().flat_map(|shape| shape.iter().skip(1));
    let mut shape = vec![tensors.len()];
    shape.extend(sizes.map(|&size| usize::try_from(size).unwrap_or(0)));
    let row: usize = shape.iter().skip(1).product();
    let element: TensorElementType = T::into_tensor_element_type();
    let mut stacked = DynTensor::new(&Allocator::default(), element, shape)
        .map_err(backend)?
        .into_dyn();
    let rows = numbers_mut::<T>(&mut stacked)?.chunks_exact_mut(row.max(1));
    for (to, tensor) in rows.zip(tensors) {
        let from = numbers::<T>(tensor)?;
        to.copy_from_slice(from.get(..row).ok_or_else(|| too_short(from.len(), row))?);
    }
    Ok(stacked)
}

/// The bytes of a tensor's numbers.
pub(super) fn bytes(tensor: &DynValue) -> usize {
    let count = { tensor.dtype().tensor_shape() }.map_or(0, |shape| shape.num_elements());
    let size = match tensor.dtype().tensor_type() {
        Some(TensorElementType::Float16) => 2,
        Some(TensorElementType::Int8 | TensorElementType::Uint8) => 1,
        _ => 4,
    };
    count * size
}

/// A copy of a tensor that the processor cannot read; `None` for one that it can.
pub(super) fn fetched(tensor: &DynValue) -> Result<Option<DynValue>, ModelError> {
    let on_device: DynTensorRef<'_> = tensor
        .view()
        .downcast::<DynTensorValueType>()
        .map_err(backend)?;
    if on_device.memory_info().is_cpu_accessible() {
        return Ok(None);
    }
    let fetched = on_device.to(AllocationDevice::CPU, 0).map_err(backend)?;
    Ok(Some(fetched.into_dyn()))
}

pub(super) fn numbers<T: Number>(tensor: &DynValue) -> Result<&[T], ModelError> {
    Ok(tensor.try_extract_tensor::<T>().map_err(backend)?.1)
}

pub(super) fn numbers_mut<T: Number>(tensor: &mut DynValue) -> Result<&mut [T], ModelError> {
    Ok(tensor.try_extract_tensor_mut::<T>().map_err(backend)?.1)
}

pub(super) fn too_short(got: usize, expected: usize) -> ModelError {
    ModelError::Shape {
        what: "tensors of the cache",
        got,
        expected,
    }
}
