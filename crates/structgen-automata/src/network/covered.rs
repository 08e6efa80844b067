//! Drops counts that others cover.
//!
//! A repetition that has run `c` of `min` to `max` times may continue for `min - c` to `max - c` times. If a text can
//! be split into runs in several ways, as for `(a | aa){100, 200}`, a state has stacks that differ only in `c`, and
//! together they accept the union of these ranges: of `c` = 7, 8, …, 50, the ends suffice. Otherwise an ambiguous body
//! would have as many stacks as counts, and nested ones the product.

use super::sets::{Element, Place};
use crate::program::{Node, NodeId, Program};

/// Drops the elements that accept only what others accept: the same repetition on top of the same stacks, at a count
/// between two others. The elements are sorted.
pub(super) fn drop_covered(program: &Program, elements: &mut Vec<Element>) {
    let from = elements.partition_point(|it| it.frame.node < Place::Repeat(NodeId::END).encode());
    let counted = elements[from..]
        .iter()
        .take_while(|it| matches!(it.frame.place(), Place::Repeat(_)));
    let to = from + counted.count();
    if to - from < 2 {
        return;
    }
    let mut counted = elements[from..to].to_vec();
    counted.sort_unstable_by_key(|it| (it.frame.node, it.below, it.frame.data));
    let mut kept = Vec::with_capacity(counted.len());
    for group in counted.chunk_by(|a, b| (a.frame.node, a.below) == (b.frame.node, b.below)) {
        let Place::Repeat(node) = group[0].frame.place() else {
            unreachable!("only repetitions count")
        };
        let Node::Repeat { min, max, .. } = *program.node(node) else {
            unreachable!("only repetitions count")
        };
        let counts = group.iter().map(|it| it.frame.data).collect::<Vec<_>>();
        kept.extend(ends(min, max, &counts).into_iter().map(|i| group[i]));
    }
    if kept.len() < counted.len() {
        kept.sort_unstable();
        elements.splice(from..to, kept);
    }
}

/// Returns the indices of as few ascending counts as leave the same numbers of runs.
fn ends(min: u32, max: Option<u32>, counts: &[u32]) -> Vec<usize> {
    let Some(max) = max else {
        // Any number of runs beyond the missing ones: the count with the fewest missing covers all.
        return vec![counts.len() - 1];
    };
    let mut kept = vec![0];
    let (mut at, mut low) = (0, min.saturating_sub(counts[0]));
    while low > 0 && at + 1 < counts.len() {
        // The furthest count whose range still meets what is covered; if there is a gap, the next one.
        let meets = |&&count: &&u32| max - count >= low - 1;
        at += counts[at + 1..].iter().take_while(meets).count().max(1);
        low = min.saturating_sub(counts[at]);
        kept.push(at);
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::ends;

    /// Returns the numbers of runs that may follow.
    fn to_go(min: u32, max: Option<u32>, counts: impl Iterator<Item = u32>) -> BTreeSet<u32> {
        // Without a maximum, far enough up.
        counts
            .flat_map(|count| min.saturating_sub(count)..=max.unwrap_or(40) - count)
            .collect()
    }

    #[test]
    fn the_ends_leave_the_same_runs() {
        let mut dropped = 0;
        for bits in 1_u32..1 << 9 {
            let counts: Vec<u32> = (0..9).filter(|i| bits >> i & 1 == 1).collect();
            for min in 0..10 {
                let all = (min.max(8)..12).map(Some).chain((min >= 8).then_some(None));
                for max in all {
                    let kept = ends(min, max, &counts);
                    let left = |counts: &mut dyn Iterator<Item = u32>| to_go(min, max, counts);
                    assert!(kept.is_sorted());
                    let before = left(&mut counts.iter().copied());
                    let after = left(&mut kept.iter().map(|&i| counts[i]));
                    match max {
                        Some(_) => assert_eq!(before, after, "{min} {max:?} {counts:?} {kept:?}"),
                        // All from the minimum on.
                        None => assert_eq!(before.first(), after.first()),
                    }
                    dropped += counts.len() - kept.len();
                }
            }
        }
        assert!(dropped > 10_000, "{dropped}");
        // No two of them overlap.
        assert_eq!(ends(4, Some(4), &[0, 1, 2, 3]), [0, 1, 2, 3]);
        assert_eq!(ends(100, Some(200), &[5, 6, 7, 50]), [0, 3]);
        assert_eq!(ends(0, Some(500), &[3, 9, 400]), [0]);
    }
}
