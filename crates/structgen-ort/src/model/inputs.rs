//! What a run is fed with besides the cache.

use std::ops::Range;

use ort::session::SessionInputValue;
use ort::value::{PrimitiveTensorElementType, Tensor, TensorRef};
use structgen_decode::{Forward, ModelError};
use structgen_vocab::TokenId;

use crate::cache::{OrtCache, backend};
use crate::signature::{Input, Integer};

/// Input buffers that are used again in every run.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub(super) ids: Integers,
    pub(super) mask: Integers,
    pub(super) positions: Integers,
}

impl Buffers {
    pub(super) fn of(inputs: &[Input]) -> Self {
        let mut buffers = Self::default();
        for input in inputs {
            match *input {
                Input::Ids(ty) => buffers.ids.wants_short = ty == Integer::I32,
                Input::AttentionMask(ty) => buffers.mask.wants_short = ty == Integer::I32,
                Input::PositionIds(ty) => buffers.positions.wants_short = ty == Integer::I32,
                _ => {}
            }
        }
        buffers
    }

    /// What a run of rows is fed with that are padded on the right, as graphs expect whose cache is one buffer: each row's tokens, and from where to where it gets longer by them.
    pub(super) fn fill_shared(&mut self, tokens: &[TokenId], spans: &[Range<usize>]) {
        self.ids.fill(tokens.iter().map(|token| i64::from(token.0)));
        let longest = spans.iter().map(|span| span.end).max().unwrap_or(0);
        let mask = |span: &Range<usize>| {
            let end = span.end;
            (0..longest).map(move |position| i64::from(position < end))
        };
        self.mask.fill(spans.iter().flat_map(mask));
        let positions = |span: &Range<usize>| span.clone().map(|position| position as i64);
        self.positions.fill(spans.iter().flat_map(positions));
    }

    pub(super) fn fill(&mut self, input: &Forward<'_>, cache: &OrtCache, n: usize) {
        let total = cache.len + n;
        let rows = cache.left_padding.iter();
        self.ids
            .fill(input.tokens.iter().map(|token| i64::from(token.0)));
        self.mask.fill(
            rows.clone().flat_map(|&padding| {
                (0..total).map(move |position| i64::from(position >= padding))
            }),
        );
        self.positions.fill(rows.flat_map(|&padding| {
            (cache.len..total).map(move |position| position.saturating_sub(padding) as i64)
        }));
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
    pub(super) fn fill(&mut self, numbers: impl Iterator<Item = i64>) {
        self.long.clear();
        self.long.extend(numbers);
        self.short.clear();
        if self.wants_short {
            // Ids, positions and mask bits are below the vocabulary or the context length, both at most 2^31.
            self.short
                .extend(self.long.iter().map(|&number| number as i32));
        }
    }

    /// The numbers as an input, borrowed or, where the run is bound to a device, copied.
    ///
    /// Binding copies borrowed tensors by a graph of its own, whose making waits for itself in this version of `ort`.
    pub(super) fn tensor(
        &self,
        ty: Integer,
        shape: [usize; 2],
        owned: bool,
    ) -> Result<SessionInputValue<'_>, ModelError> {
        match ty {
            Integer::I64 => input(&self.long, shape, owned),
            Integer::I32 => input(&self.short, shape, owned),
        }
    }
}

fn input<T>(
    numbers: &[T],
    shape: [usize; 2],
    owned: bool,
) -> Result<SessionInputValue<'_>, ModelError>
where
    T: PrimitiveTensorElementType + Clone + std::fmt::Debug + 'static,
{
    if owned {
        let tensor = Tensor::from_array((shape, numbers.to_vec()));
        return Ok(tensor.map_err(backend)?.into());
    }
    let view = TensorRef::from_array_view((shape, numbers));
    Ok(view.map_err(backend)?.into())
}

/// The switch of merged decoders.
pub(super) fn cache_branch(has_past: bool) -> Result<SessionInputValue<'static>, ModelError> {
    let flag = Tensor::from_array(([1usize], vec![has_past]));
    Ok(flag.map_err(backend)?.into())
}

/// For how many of the last positions logits are wanted.
pub(super) fn logits_to_keep(positions: usize) -> Result<SessionInputValue<'static>, ModelError> {
    let count = Tensor::from_array((Vec::<usize>::new(), vec![positions as i64]));
    Ok(count.map_err(backend)?.into())
}
