//! Keys and values between runs.

mod shared;

pub(crate) use shared::Buffers;

use half::f16;
use ort::memory::AllocationDevice;
use ort::session::SessionInputValue;
use ort::value::{
    DynTensorRef, DynTensorValueType, DynValue, PrimitiveTensorElementType, Tensor, TensorRef,
};
use structgen_decode::{KeyValueCache, ModelError};

use crate::signature::{CacheTensor, Float};

/// The key-value cache of an [`OrtModel`](crate::OrtModel).
///
/// From run to run the tensors that the graph gives out are handed back to it as they are, without a copy. Cutting
/// moves what stays together where it lies, and the next run reads the beginning of the same memory; the first head stays where it is. Forking and choosing rows copy
/// what remains. On a device, all three copy by way of the processor's memory.
///
/// Where a model [shares buffers](crate::OrtModel::shares_buffers), the graph writes new keys and values behind the old ones, in place. The buffers have room for more and are
/// copied to twice the size where it is used up; cutting is a number; forking and choosing rows copy what is used, but for padding.
#[derive(Debug)]
pub struct OrtCache {
    /// What a run gave out, or the buffers. None are left where cutting failed half way, and none are made for buffers before the first run.
    pub(crate) tensors: Vec<DynValue>,
    pub(crate) layout: Vec<CacheTensor>,
    pub(crate) left_padding: Vec<usize>,
    pub(crate) len: usize,
    /// How many positions the tensors were made with; those of a cut cache lie at the beginning.
    pub(crate) capacity: usize,
    pub(crate) storage: Storage,
}

/// Whose memory the tensors are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    /// That of the last run's outputs.
    Outputs,
    /// The same on a device, which takes whole tensors only.
    Device,
    /// Buffers that each run writes to.
    Shared {
        /// More room than this they never have.
        context_length: usize,
    },
}

impl OrtCache {
    pub(crate) fn new(
        layout: &[CacheTensor],
        left_padding: &[usize],
        storage: Storage,
    ) -> Result<Self, ModelError> {
        if left_padding.is_empty() {
            return Err(shape("rows", 0, 0));
        }
        let rows = left_padding.len();
        let empty = |tensor: &CacheTensor| {
            let shape = tensor.shape(rows, 0);
            match tensor.float {
                Float::F32 => value(shape, Vec::<f32>::new()),
                Float::F16 => value(shape, Vec::<f16>::new()),
            }
        };
        let tensors = match storage {
            Storage::Shared { .. } => Vec::new(),
            _ => layout.iter().map(empty).collect::<Result<_, _>>()?,
        };
        Ok(Self {
            tensors,
            layout: layout.to_vec(),
            left_padding: left_padding.to_vec(),
            len: 0,
            capacity: 0,
            storage,
        })
    }

    /// A tensor as an input of the next run.
    pub(crate) fn input(&self, at: usize) -> Result<SessionInputValue<'_>, ModelError> {
        let (tensor, layout) = (&self.tensors[at], &self.layout[at]);
        if self.capacity == self.len {
            // A view: if the run fails, the cache is still there. The session keeps no reference.
            return Ok(tensor.into());
        }
        let shape = layout.shape(self.rows(), self.len);
        match layout.float {
            Float::F32 => beginning::<f32>(tensor, shape),
            Float::F16 => beginning::<f16>(tensor, shape),
        }
    }

    /// The cache's tensors, each rearranged: new rows, which are old rows, and how many of the first positions stay.
    fn rearranged(&self, rows: &[usize], len: usize) -> Result<Buffers, ModelError> {
        if matches!(self.storage, Storage::Shared { .. }) {
            // With room for what comes next, so that going on is no second copy.
            return self.rebuffered(rows, len, len + 1);
        }
        let tensors = self.tensors.iter().zip(&self.layout);
        let tensors = tensors
            .map(|(tensor, layout)| {
                let old = (self.rows(), self.len);
                let shape = layout.shape(rows.len(), len);
                match layout.float {
                    Float::F32 => value(shape, copy::<f32>(tensor, layout, old, rows, len)?),
                    Float::F16 => value(shape, copy::<f16>(tensor, layout, old, rows, len)?),
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(Buffers { tensors, room: len })
    }
}

impl KeyValueCache for OrtCache {
    fn rows(&self) -> usize {
        self.left_padding.len()
    }

    fn len(&self) -> usize {
        self.len
    }

    fn truncate(&mut self, len: usize) -> Result<(), ModelError> {
        if len >= self.len {
            return Ok(());
        }
        match self.storage {
            Storage::Shared { .. } => {}
            Storage::Outputs => {
                let rows = self.rows();
                let mut tensors = std::mem::take(&mut self.tensors);
                for (tensor, layout) in tensors.iter_mut().zip(&self.layout) {
                    match layout.float {
                        Float::F32 => cut::<f32>(tensor, layout, rows, (self.len, len))?,
                        Float::F16 => cut::<f16>(tensor, layout, rows, (self.len, len))?,
                    }
                }
                self.tensors = tensors;
            }
            Storage::Device => {
                let rows: Vec<usize> = (0..self.rows()).collect();
                let kept = self.rearranged(&rows, len)?;
                self.take(kept);
            }
        }
        self.len = len;
        Ok(())
    }

    fn select_rows(&mut self, rows: &[usize]) -> Result<(), ModelError> {
        let padding: Option<Vec<usize>> = rows
            .iter()
            .map(|&row| self.left_padding.get(row).copied())
            .collect();
        let padding = padding.filter(|padding| !padding.is_empty());
        let padding = padding.ok_or_else(|| shape("row choices", rows.len(), self.rows()))?;
        let chosen = self.rearranged(rows, self.len)?;
        self.take(chosen);
        self.left_padding = padding;
        Ok(())
    }

    fn fork(&self) -> Result<Self, ModelError> {
        self.fork_prefix(self.len)
    }

    fn fork_prefix(&self, len: usize) -> Result<Self, ModelError> {
        let len = len.min(self.len);
        let rows: Vec<usize> = (0..self.rows()).collect();
        let copied = self.rearranged(&rows, len)?;
        Ok(Self {
            tensors: copied.tensors,
            layout: self.layout.clone(),
            left_padding: self.left_padding.clone(),
            len,
            capacity: copied.room,
            storage: self.storage,
        })
    }

    fn bytes(&self) -> usize {
        let position: usize = self.layout.iter().map(CacheTensor::bytes).sum();
        self.rows() * self.capacity * position
    }
}

fn on_device(tensor: &DynValue) -> Result<DynTensorRef<'_>, ModelError> {
    tensor
        .view()
        .downcast::<DynTensorValueType>()
        .map_err(backend)
}

/// The beginning of a tensor's memory as a tensor of this shape.
fn beginning<T: PrimitiveTensorElementType + Clone + std::fmt::Debug + 'static>(
    tensor: &DynValue,
    dims: Vec<usize>,
) -> Result<SessionInputValue<'_>, ModelError> {
    let (_, data) = tensor.try_extract_tensor::<T>().map_err(backend)?;
    let n = dims.iter().product();
    let data = data
        .get(..n)
        .ok_or_else(|| shape("numbers in the cache", data.len(), dims[0]))?;
    let view = TensorRef::from_array_view((dims, data)).map_err(backend)?;
    Ok(view.into())
}

/// Moves the first `new` of each head's `old` positions together at the beginning of a tensor's memory.
fn cut<T: PrimitiveTensorElementType + Copy>(
    tensor: &mut DynValue,
    layout: &CacheTensor,
    rows: usize,
    (old, new): (usize, usize),
) -> Result<(), ModelError> {
    let (_, data) = tensor.try_extract_tensor_mut::<T>().map_err(backend)?;
    let heads = layout.parts() * rows * layout.heads;
    let (old, new) = (old * layout.head_dim, new * layout.head_dim);
    if data.len() < heads * old {
        return Err(shape("numbers in the cache", data.len(), rows));
    }
    for head in 1..heads {
        data.copy_within(head * old..head * old + new, head * new);
    }
    Ok(())
}

/// Copies rows `rows` and the first `len` positions out of a tensor with `old` rows and positions.
fn copy<T: PrimitiveTensorElementType + Copy>(
    tensor: &DynValue,
    layout: &CacheTensor,
    old: (usize, usize),
    rows: &[usize],
    len: usize,
) -> Result<Vec<T>, ModelError> {
    let (old_rows, old_len) = old;
    let on_device = on_device(tensor)?;
    let fetched;
    let (_, data) = if on_device.memory_info().is_cpu_accessible() {
        tensor.try_extract_tensor::<T>().map_err(backend)?
    } else {
        fetched = on_device.to(AllocationDevice::CPU, 0).map_err(backend)?;
        fetched.try_extract_tensor::<T>().map_err(backend)?
    };
    let parts = layout.parts();
    let head = old_len * layout.head_dim;
    // A cut tensor has more behind.
    if data.len() < parts * old_rows * layout.heads * head {
        return Err(shape("numbers in the cache", data.len(), old_rows));
    }
    let kept = len * layout.head_dim;
    let mut copied = Vec::with_capacity(parts * rows.len() * layout.heads * kept);
    for part in 0..parts {
        for row in rows {
            for h in 0..layout.heads {
                let start = ((part * old_rows + row) * layout.heads + h) * head;
                copied.extend_from_slice(&data[start..start + kept]);
            }
        }
    }
    Ok(copied)
}

fn value<T: PrimitiveTensorElementType + std::fmt::Debug + Clone + 'static>(
    shape: Vec<usize>,
    data: Vec<T>,
) -> Result<DynValue, ModelError> {
    Ok(Tensor::from_array((shape, data))
        .map_err(backend)?
        .into_dyn())
}

fn shape(what: &'static str, got: usize, rows: usize) -> ModelError {
    ModelError::Shape { what, got, rows }
}

pub(crate) fn backend(error: ort::Error) -> ModelError {
    ModelError::Backend(Box::new(error))
}
