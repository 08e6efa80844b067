//! Masks of many sequences at once.

use std::sync::Arc;

use rayon::prelude::*;

use crate::{Mask, Matcher, MatcherError};

/// Computes the [`mask`](Matcher::mask) of every matcher in parallel and returns them in order. An error concerns its
/// own matcher only.
///
/// Cached masks are looked up on the calling thread; other threads are used only if several are missing.
pub fn batch_masks(matchers: &mut [Matcher]) -> Vec<Result<Arc<Mask>, MatcherError>> {
    let known: Vec<_> = matchers.iter_mut().map(Matcher::known_mask).collect();
    let missing = known.iter().filter(|mask| mask.is_none()).count();
    let each = |(matcher, known): (&mut Matcher, Option<Result<Arc<Mask>, MatcherError>>)| {
        known.unwrap_or_else(|| matcher.mask())
    };
    match missing {
        0 | 1 => matchers.iter_mut().zip(known).map(each).collect(),
        _ => matchers.par_iter_mut().zip(known).map(each).collect(),
    }
}
