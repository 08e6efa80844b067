//! Keys and values between runs: which tensors hold which row, without a session.
//!
//! Two layouts. Most graphs return a cache that has [grown](growing) by what was run; those that write theirs in place
//! keep it in [slots]. Either is the bookkeeping of rows and the copies between tensors; what is run on them is in
//! `model/`. Beside its keys and values, or instead of them, a row may have [states] of fixed size.

pub(crate) mod cross;
mod grouping;
pub(crate) mod growing;
pub(crate) mod slots;
pub(crate) mod states;
mod tensors;

use ort::value::DynValue;
use structgen_decode::ModelError;

use crate::signature::CacheTensor;
use tensors::{by_element, pooled};

/// The cache of one row without tokens.
pub(crate) fn empty(layout: &[CacheTensor]) -> Result<Vec<DynValue>, ModelError> {
    unwritten(layout, 1, 0)
}

/// The cache of rows of `len` positions, which a run writes all numbers of.
pub(crate) fn unwritten(
    layout: &[CacheTensor],
    rows: usize,
    len: usize,
) -> Result<Vec<DynValue>, ModelError> {
    let tensors = layout.iter();
    tensors
        .map(|layout| by_element!(layout, pooled(layout, rows, len)))
        .collect()
}
