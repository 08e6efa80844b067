//! Keys and values as inputs of a graph: the order of their dimensions.

use ort::value::Outlet;

use super::{Element, cache_element, tensor, told, unsupported};
use crate::LoadError;
use crate::config::{ModelConfig, Setting};

/// The most bytes of a position of a row, or of a row's state: nothing real has more, and sums of some do not overflow.
pub(super) const LARGEST: usize = u32::MAX as usize;

/// One tensor of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CacheTensor {
    pub(crate) element: Element,
    pub(crate) form: Form,
    pub(crate) heads: usize,
    pub(crate) head_dim: usize,
}

/// The order of a tensor's dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `[rows, heads, positions, size]`, as nearly all have.
    Heads,
    /// Keys and values in one tensor, `[2, rows, heads, positions, size]`.
    Joint,
    /// `[rows, heads, size, positions]`: keys that need not be transposed, as MPT's once were.
    Turned,
    /// `[rows * heads, positions, size]`: Bloom's values.
    Fused,
    /// `[rows * heads, size, positions]`: Bloom's keys.
    FusedTurned,
    /// `[rows, positions, size]`: a single head, whose value stands after its key, as in GPT-BigCode.
    OneHead,
}

impl CacheTensor {
    pub(super) fn read(
        past: &Outlet,
        present: &Outlet,
        config: &ModelConfig,
    ) -> Result<Self, LoadError> {
        let (ty, dims) = tensor(past)?;
        let element = cache_element(past, ty)?;
        let is_pair = past.name().ends_with(".key_value");
        let (form, length, heads, head_dim) = match *dims {
            [_, heads, dim, length] if length < 0 && dim > 0 => (Form::Turned, length, heads, dim),
            [_, heads, length, dim] => (Form::Heads, length, heads, dim),
            [2, _, heads, length, dim] => (Form::Joint, length, heads, dim),
            [_, length, dim] if is_pair => (Form::OneHead, length, 1, dim),
            [_, dim, length] if length < 0 && dim > 0 => (Form::FusedTurned, length, -1, dim),
            [_, length, dim] => (Form::Fused, length, -1, dim),
            _ => {
                return Err(unsupported(
                    past,
                    "[batch, heads, past, dim], or one of the other orders of docs/model-folders.md",
                ));
            }
        };
        if length >= 0 {
            return Err(unsupported(past, "of open length"));
        }
        let (present_type, present_dims) = tensor(present)?;
        if present_type != ty || present_dims.len() != dims.len() {
            return Err(unsupported(
                present,
                "of the same type and rank as its past",
            ));
        }
        let both = if is_pair { 2 } else { 1 };
        let tensor = Self {
            element,
            form,
            heads: told(heads, config.kv_heads, config, Setting::KvHeads)?,
            head_dim: told(
                head_dim,
                config.head_dim.map(|dim| both * dim),
                config,
                Setting::HeadDim,
            )?,
        };
        match tensor.bytes() > LARGEST {
            true => Err(unsupported(past, "of a size that memory holds")),
            false => Ok(tensor),
        }
    }

    /// Keys and values of a joint tensor are two parts.
    pub(crate) fn parts(&self) -> usize {
        match self.form {
            Form::Joint => 2,
            _ => 1,
        }
    }

    fn is_turned(&self) -> bool {
        matches!(self.form, Form::Turned | Form::FusedTurned)
    }

    /// The number of pieces of a row in each part, in which a position's numbers follow those of the position before.
    pub(crate) fn pieces(&self) -> usize {
        match self.is_turned() {
            true => self.heads.saturating_mul(self.head_dim),
            false => self.heads,
        }
    }

    /// The numbers of a position in a piece.
    pub(crate) fn width(&self) -> usize {
        match self.is_turned() {
            true => 1,
            false => self.head_dim,
        }
    }

    /// The bytes of a position of a row.
    pub(crate) fn bytes(&self) -> usize {
        let numbers = self.heads.saturating_mul(self.head_dim);
        numbers.saturating_mul(self.parts() * self.element.bytes())
    }

    /// The shape with this many rows and positions.
    pub(crate) fn shape(&self, rows: usize, len: usize) -> Vec<usize> {
        let (heads, dim) = (self.heads, self.head_dim);
        match self.form {
            Form::Heads => vec![rows, heads, len, dim],
            Form::Joint => vec![2, rows, heads, len, dim],
            Form::Turned => vec![rows, heads, dim, len],
            Form::Fused => vec![rows.saturating_mul(heads), len, dim],
            Form::FusedTurned => vec![rows.saturating_mul(heads), dim, len],
            Form::OneHead => vec![rows, len, dim],
        }
    }
}
