//! Masks of many sequences at once.

use std::sync::Arc;

use rayon::prelude::*;

use crate::{Mask, Matcher, MatcherError};

/// The [`mask`](Matcher::mask) of every matcher, in their order, computed in parallel.
///
/// Matchers of one constraint find things out together and would wait for each other: they are one thread's work, one after the
/// other, and different constraints run side by side. An error is its own matcher's alone.
pub fn batch_masks(matchers: &mut [Matcher]) -> Vec<Result<Arc<Mask>, MatcherError>> {
    let mut work: Vec<_> = matchers
        .iter_mut()
        .enumerate()
        .map(|(i, matcher)| (matcher.constraint().identity(), i, matcher))
        .collect();
    work.sort_by_key(|&(constraint, i, _)| (constraint, i));
    let mut groups: Vec<_> = work.chunk_by_mut(|a, b| a.0 == b.0).collect();
    let group_masks = |group: &mut &mut [(usize, usize, &mut Matcher)]| -> Vec<_> {
        let group = group.iter_mut();
        group.map(|(_, i, matcher)| (*i, matcher.mask())).collect()
    };
    let mut masks: Vec<_> = if let [group] = &mut groups[..] {
        group_masks(group)
    } else {
        groups.par_iter_mut().flat_map_iter(group_masks).collect()
    };
    masks.sort_by_key(|&(i, _)| i);
    masks.into_iter().map(|(_, mask)| mask).collect()
}
