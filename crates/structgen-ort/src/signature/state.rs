//! States of fixed size as inputs of a graph: of a convolution, its last inputs; of a recurrence, what it has become.

use ort::value::Outlet;

use super::cache::LARGEST;
use super::{Float, float, tensor, unsupported};
use crate::LoadError;

/// One state, which every run takes and returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateTensor {
    pub(crate) float: Float,
    /// The sizes of one row.
    sizes: Vec<usize>,
}

impl StateTensor {
    pub(super) fn read(past: &Outlet, present: &Outlet) -> Result<Self, LoadError> {
        const WANTED: &str = "a state of fixed size, [batch, sizes] with an open batch alone";
        let (ty, dims) = tensor(past)?;
        let float = float(past, ty)?;
        let sizes = dims.get(1..).unwrap_or_default();
        let sizes: Option<Vec<usize>> = { sizes.iter() }
            .map(|&size| usize::try_from(size).ok().filter(|&size| size > 0))
            .collect();
        let sizes = sizes.filter(|sizes| !sizes.is_empty());
        let sizes = sizes.ok_or_else(|| unsupported(past, WANTED))?;
        let bytes = { sizes.iter() }.try_fold(float.bytes(), |all, &size| all.checked_mul(size));
        if bytes.is_none_or(|bytes| bytes > LARGEST) {
            return Err(unsupported(past, "of a size that memory holds"));
        }
        let (present_type, present_dims) = tensor(present)?;
        let is_alike =
            present_dims.len() == dims.len() && { present_dims.iter().zip(dims).skip(1) }
                .all(|(&b, &a)| b < 0 || a == b);
        if present_type != ty || !is_alike {
            return Err(unsupported(
                present,
                "of the same type and size as its past",
            ));
        }
        Ok(Self { float, sizes })
    }

    /// The numbers of one row.
    pub(crate) fn numbers(&self) -> usize {
        self.sizes.iter().product()
    }

    /// The bytes of one row.
    pub(crate) fn bytes(&self) -> usize {
        self.numbers() * self.float.bytes()
    }

    /// The shape with this many rows.
    pub(crate) fn shape(&self, rows: usize) -> Vec<usize> {
        { std::iter::once(rows).chain(self.sizes.iter().copied()) }.collect()
    }
}
