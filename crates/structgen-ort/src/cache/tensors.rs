//! Copies within and between the tensors of a cache, of either type of number.

use std::fmt::Debug;

use ort::memory::{AllocationDevice, Allocator};
use ort::session::SessionInputValue;
use ort::value::{
    DynTensor, DynTensorRef, DynTensorValueType, DynValue, PrimitiveTensorElementType,
    TensorElementType, TensorRef,
};
use structgen_decode::ModelError;

use crate::signature::CacheTensor;

/// Calls a generic function for the type of number that a cache tensor has.
macro_rules! by_float {
    ($layout:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $layout.float {
            $crate::signature::Float::F32 => $function::<f32>($($argument),*),
            $crate::signature::Float::F16 => $function::<half::f16>($($argument),*),
        }
    };
}
pub(super) use by_float;

/// A number that a cache may consist of.
pub(super) trait Number:
    PrimitiveTensorElementType + Copy + Default + Debug + 'static
{
}

impl Number for f32 {}
impl Number for half::f16 {}

/// Positions of one row of a tensor whose rows have room for `room` positions each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) rows: usize,
    pub(super) room: usize,
    pub(super) row: usize,
    pub(super) start: usize,
}

impl Place {
    /// The first number of the place in each head, part by part.
    fn heads(self, layout: &CacheTensor) -> impl Iterator<Item = usize> + use<> {
        let (heads, dim) = (layout.heads, layout.head_dim);
        let of_part = move |part| (0..heads).map(move |head| (part, head));
        (0..layout.parts())
            .flat_map(of_part)
            .map(move |(part, head)| {
                (((part * self.rows + self.row) * heads + head) * self.room + self.start) * dim
            })
    }
}

/// A tensor in ONNX Runtime's own memory, the only kind that it writes outputs to.
pub(super) fn zeros<T: Number>(
    layout: &CacheTensor,
    rows: usize,
    room: usize,
) -> Result<DynValue, ModelError> {
    let mut tensor = uninitialised::<T>(&Allocator::default(), layout, rows, room)?;
    numbers_mut::<T>(&mut tensor)?.fill(T::default());
    Ok(tensor)
}

/// A tensor whose numbers are yet to be written.
fn uninitialised<T: Number>(
    memory: &Allocator,
    layout: &CacheTensor,
    rows: usize,
    room: usize,
) -> Result<DynValue, ModelError> {
    let element: TensorElementType = T::into_tensor_element_type();
    let tensor = DynTensor::new(memory, element, layout.shape(rows, room)).map_err(backend)?;
    Ok(tensor.into_dyn())
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
    let len = positions * layout.head_dim;
    for (source, target) in source.heads(layout).zip(target.heads(layout)) {
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
///
/// In the session's own memory, which is used again: new memory costs several times the copy in page faults.
pub(super) fn gathered<T: Number>(
    memory: &Allocator,
    layout: &CacheTensor,
    rows: &[Option<(&DynValue, Place, usize)>],
    len: usize,
) -> Result<DynValue, ModelError> {
    let mut gathered = uninitialised::<T>(memory, layout, rows.len(), len)?;
    let places = rows.iter().map(|place| match *place {
        Some((tensor, place, positions)) => Ok(Some((numbers::<T>(tensor)?, place, positions))),
        None => Ok(None),
    });
    let places: Vec<_> = places.collect::<Result<_, ModelError>>()?;
    let head = len * layout.head_dim;
    if head == 0 {
        return Ok(gathered);
    }
    let mut heads = numbers_mut::<T>(&mut gathered)?.chunks_exact_mut(head);
    for part in 0..layout.parts() {
        for place in &places {
            let heads = heads.by_ref().take(layout.heads);
            let Some((numbers, place, positions)) = *place else {
                heads.for_each(|head| head.fill(T::default()));
                continue;
            };
            let taken = positions.min(len) * layout.head_dim;
            let starts = place.heads(layout).skip(part * layout.heads);
            for (to, start) in heads.zip(starts) {
                let (padding, text) = to.split_at_mut(head - taken);
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
        _ => 4,
    };
    count * size
}

/// Moves the first `new` of each head's `old` positions together at the beginning of the tensor's memory.
///
/// Fresh memory for a copy costs more in page faults than the copy, and for a small model more than the run that a
/// draft saves.
pub(super) fn compact<T: Number>(
    tensor: &mut DynValue,
    layout: &CacheTensor,
    rows: usize,
    (old, new): (usize, usize),
) -> Result<(), ModelError> {
    let numbers = numbers_mut::<T>(tensor)?;
    let heads = layout.parts() * rows * layout.heads;
    let (old, new) = (old * layout.head_dim, new * layout.head_dim);
    if numbers.len() < heads * old {
        return Err(too_short(numbers.len(), heads * old));
    }
    for head in 1..heads {
        numbers.copy_within(head * old..head * old + new, head * new);
    }
    Ok(())
}

/// The beginning of a tensor's memory as a tensor of `rows` rows of `len` positions.
pub(super) fn beginning<'t, T: Number>(
    tensor: &'t DynValue,
    layout: &CacheTensor,
    rows: usize,
    len: usize,
) -> Result<SessionInputValue<'t>, ModelError> {
    let shape = layout.shape(rows, len);
    let n = shape.iter().product();
    let numbers = numbers::<T>(tensor)?;
    let numbers = numbers
        .get(..n)
        .ok_or_else(|| too_short(numbers.len(), n))?;
    let view = TensorRef::from_array_view((shape, numbers)).map_err(backend)?;
    Ok(view.into())
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

/// Whether the processor can write to the tensor's numbers.
pub(super) fn is_writable<T: Number>(tensor: &mut DynValue, _: &CacheTensor) -> bool {
    numbers_mut::<T>(tensor).is_ok()
}

fn numbers<T: Number>(tensor: &DynValue) -> Result<&[T], ModelError> {
    Ok(tensor.try_extract_tensor::<T>().map_err(backend)?.1)
}

fn numbers_mut<T: Number>(tensor: &mut DynValue) -> Result<&mut [T], ModelError> {
    Ok(tensor.try_extract_tensor_mut::<T>().map_err(backend)?.1)
}

fn too_short(got: usize, expected: usize) -> ModelError {
    ModelError::Shape {
        what: "tensors of the cache",
        got,
        expected,
    }
}

pub(crate) fn backend(error: ort::Error) -> ModelError {
    ModelError::Backend(Box::new(error))
}
