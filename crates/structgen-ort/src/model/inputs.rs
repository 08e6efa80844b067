//! What a run is fed with besides the cache.

use std::ops::Range;

use ort::memory::Allocator;
use ort::session::SessionInputValue;
use ort::value::{PrimitiveTensorElementType, Tensor};
use structgen_decode::ModelError;
use structgen_vocab::TokenId;

use crate::error::backend;
use crate::signature::{Features, Float, Input, Integer, Roles};

/// One row of a run.
#[derive(Debug, Clone)]
pub(super) struct Feed<'a> {
    /// Its new tokens, as many as every other row has.
    pub(super) tokens: &'a [TokenId],
    /// The positions of the cache that are the row's after the run: the others are padding.
    pub(super) valid: Range<usize>,
}

/// Input buffers that are used again in every run.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub(super) ids: Integers,
    pub(super) mask: Integers,
    pub(super) positions: Integers,
    pub(super) encoder_mask: Integers,
}

impl Buffers {
    pub(super) fn of(graphs: &[Roles]) -> Self {
        let mut buffers = Self::default();
        for (_, input) in graphs.iter().flat_map(|graph| &graph.inputs) {
            match *input {
                Input::Ids(ty) => buffers.ids.wants_short |= ty == Integer::I32,
                Input::AttentionMask(ty) => buffers.mask.wants_short |= ty == Integer::I32,
                Input::PositionIds(ty) | Input::ThreePositionIds(ty) => {
                    buffers.positions.wants_short |= ty == Integer::I32
                }
                Input::EncoderMask(ty) => buffers.encoder_mask.wants_short |= ty == Integer::I32,
                _ => {}
            }
        }
        buffers
    }

    /// Fills in a mask of an encoder's states, all of which are of the text.
    pub(super) fn fill_encoder_mask(&mut self, len: usize) {
        self.encoder_mask.fill(std::iter::repeat_n(1, len));
    }

    /// Fills in ids, an attention mask of `columns` positions, and position ids, which count from each row's beginning.
    pub(super) fn fill(&mut self, rows: &[Feed<'_>], columns: usize) {
        let ids = rows.iter().flat_map(|row| row.tokens);
        self.ids.fill(ids.map(|token| i64::from(token.0)));
        let mask = |row: &Feed<'_>| {
            let valid = row.valid.clone();
            (0..columns).map(move |position| i64::from(valid.contains(&position)))
        };
        self.mask.fill(rows.iter().flat_map(mask));
        let positions = |row: &Feed<'_>| {
            let len = row.valid.len();
            (len - row.tokens.len()..len).map(|position| position as i64)
        };
        self.positions.fill(rows.iter().flat_map(positions));
    }
}

/// Numbers as the graph wants them.
#[derive(Debug, Default)]
pub(super) struct Integers {
    long: Vec<i64>,
    short: Vec<i32>,
    /// Whether the graph takes the short ones.
    wants_short: bool,
}

impl Integers {
    fn fill(&mut self, numbers: impl Iterator<Item = i64>) {
        self.long.clear();
        self.long.extend(numbers);
        self.short.clear();
        if self.wants_short {
            // Ids, positions and mask bits are below the vocabulary or the context length, both at most 2^31.
            self.short
                .extend(self.long.iter().map(|&number| number as i32));
        }
    }

    /// The numbers as an input, copied: binding copies borrowed tensors by a graph of its own, whose making waits for
    /// itself in this version of `ort`.
    pub(super) fn tensor(
        &self,
        ty: Integer,
        shape: [usize; 2],
    ) -> Result<SessionInputValue<'static>, ModelError> {
        match ty {
            Integer::I64 => input(self.long.clone(), shape),
            Integer::I32 => input(self.short.clone(), shape),
        }
    }

    /// The same numbers three times, as an input of three dimensions.
    pub(super) fn three_times(
        &self,
        ty: Integer,
        [rows, n]: [usize; 2],
    ) -> Result<SessionInputValue<'static>, ModelError> {
        match ty {
            Integer::I64 => input(self.long.repeat(3), [3, rows, n]),
            Integer::I32 => input(self.short.repeat(3), [3, rows, n]),
        }
    }
}

fn input<T, const D: usize>(
    numbers: Vec<T>,
    shape: [usize; D],
) -> Result<SessionInputValue<'static>, ModelError>
where
    T: PrimitiveTensorElementType + Clone + std::fmt::Debug + 'static,
{
    let tensor = Tensor::from_array((shape, numbers));
    Ok(tensor.map_err(backend)?.into())
}

/// The features of nothing.
pub(super) fn no_features(features: Features) -> Result<SessionInputValue<'static>, ModelError> {
    let dims = features.dims.get(..features.rank).unwrap_or_default();
    match features.float {
        Float::F32 => nothing::<f32>(dims),
        Float::F16 => nothing::<half::f16>(dims),
    }
}

fn nothing<T>(dims: &[usize]) -> Result<SessionInputValue<'static>, ModelError>
where
    T: PrimitiveTensorElementType + Clone + std::fmt::Debug + 'static,
{
    // Making one of a vector refuses dimensions of zero.
    let tensor = Tensor::<T>::new(&Allocator::default(), dims.to_vec());
    Ok(tensor.map_err(backend)?.into())
}

/// The switch of merged decoders.
pub(super) fn cache_branch(has_past: bool) -> Result<SessionInputValue<'static>, ModelError> {
    let flag = Tensor::from_array(([1usize], vec![has_past]));
    Ok(flag.map_err(backend)?.into())
}

/// The number of last positions whose logits are wanted.
pub(super) fn logits_to_keep(positions: usize) -> Result<SessionInputValue<'static>, ModelError> {
    let count = Tensor::from_array((Vec::<usize>::new(), vec![positions as i64]));
    Ok(count.map_err(backend)?.into())
}
