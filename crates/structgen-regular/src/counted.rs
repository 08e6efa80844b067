//! Merges alternatives that differ only in their counters.
//!
//! If a text can be split into rounds in several ways, as for `(\S{1,30}\s*){1,100}`, a union has an alternative for
//! every way. Many of them differ only in the numbers of rounds left, one range for each counter, and some contain
//! others: after fewer rounds, everything may follow that may follow after more. What remains is polynomial in the
//! counters instead of exponential in the text.

use std::cmp::Reverse;

use super::arena::{Arena, Node, NodeId};

/// The number of a skeleton: a concatenation without the ranges of its counters. A factor that is not counted is one
/// round of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Skeleton(pub(super) u32);

/// The range of rounds left of a counter, inclusive; `u32::MAX` if there is no maximum.
type Rounds = (u32, u32);

/// An alternative: the rounds left of each counter in which the alternatives of one skeleton differ.
struct Counts {
    rounds: Vec<Rounds>,
    /// `None` if it joins several alternatives.
    arm: Option<NodeId>,
}

impl Counts {
    fn covers(&self, other: &Self) -> bool {
        let mut pairs = self.rounds.iter().zip(&other.rounds);
        pairs.all(|(own, other)| own.0 <= other.0 && other.1 <= own.1)
    }

    /// Returns the approximate number of choices of rounds, which is greater than that of any alternative it covers.
    fn extent(&self) -> u64 {
        let extents = self.rounds.iter();
        extents.map(|&(least, most)| u64::from(most - least)).sum()
    }

    /// Returns the ranges of all counters except one.
    fn others(&self, counter: usize) -> impl Iterator<Item = Rounds> {
        let (before, after) = (&self.rounds[..counter], &self.rounds[counter + 1..]);
        before.iter().chain(after).copied()
    }
}

impl Arena {
    /// `x{0,3}r | x{2,7}r` = `x{0,7}r`, and `x{0,3}y{0,2}` is dropped beside `x{0,3}y{0,5}`. Returns whether there are
    /// new alternatives.
    pub(super) fn merge_counters(&mut self, arms: &mut Vec<NodeId>) -> bool {
        let skeletons = arms.iter().map(|&arm| (self.skeleton(arm), arm));
        let mut skeletons: Vec<(Skeleton, NodeId)> = skeletons.collect();
        skeletons.sort_unstable();
        let is_alike = |pair: &[(Skeleton, NodeId)]| pair[0].0 == pair[1].0;
        if !skeletons.windows(2).any(is_alike) {
            return false;
        }
        let mut is_new = false;
        arms.clear();
        for group in skeletons.chunk_by(|left, right| left.0 == right.0) {
            if let [(_, arm)] = *group {
                arms.push(arm);
                continue;
            }
            let group: Vec<NodeId> = group.iter().map(|&(_, arm)| arm).collect();
            let (bodies, mut counts, rest) = self.counts_of(&group);
            merge(&mut counts, bodies.len());
            for counts in counts {
                let arm = match counts.arm {
                    Some(arm) => arm,
                    None => {
                        is_new = true;
                        self.counted(&bodies, &counts.rounds, rest)
                    }
                };
                arms.push(arm);
            }
        }
        arms.sort_unstable();
        arms.dedup();
        is_new
    }

    /// Returns what alternatives of one skeleton have counted, up to where they have the same rest: the counted bodies,
    /// the rounds left of each, and the rest.
    fn counts_of(&self, group: &[NodeId]) -> (Vec<NodeId>, Vec<Counts>, NodeId) {
        let mut bodies = Vec::new();
        let start = |&arm: &NodeId| Counts {
            rounds: Vec::new(),
            arm: Some(arm),
        };
        let mut counts: Vec<Counts> = group.iter().map(start).collect();
        let mut rests = group.to_vec();
        while rests.iter().any(|&rest| rest != rests[0]) {
            bodies.push(self.rounds(self.split(rests[0]).0).0);
            for (counts, rest) in counts.iter_mut().zip(&mut rests) {
                let (first, next) = self.split(*rest);
                counts.rounds.push(self.rounds(first).1);
                *rest = next;
            }
        }
        (bodies, counts, rests[0])
    }

    /// Returns what a factor of a concatenation repeats, and how often.
    pub(super) fn rounds(&self, factor: NodeId) -> (NodeId, Rounds) {
        match *self.node(factor) {
            Node::Repeat { body, min, max } => (body, (min, max.unwrap_or(u32::MAX))),
            _ => (factor, (1, 1)),
        }
    }

    fn counted(&mut self, bodies: &[NodeId], rounds: &[Rounds], rest: NodeId) -> NodeId {
        let mut chain = rest;
        for (&body, &(min, max)) in bodies.iter().zip(rounds).rev() {
            let factor = self.repeat(body, min, (max != u32::MAX).then_some(max));
            chain = self.concat(factor, chain);
        }
        chain
    }
}

/// More alternatives than this are only joined, not compared with one another.
const MOST_COMPARED: usize = 512;

/// Joins alternatives until none covers another and no two can be joined.
fn merge(counts: &mut Vec<Counts>, counters: usize) {
    loop {
        let before = counts.len();
        for counter in 0..counters {
            join(counts, counter);
        }
        // Ranges of a single counter that cover one another touch.
        if counters > 1 && counts.len() <= MOST_COMPARED {
            drop_covered(counts);
        }
        if counts.len() == before {
            return;
        }
    }
}

fn drop_covered(counts: &mut Vec<Counts>) {
    counts.sort_by_cached_key(|counts| Reverse(counts.extent()));
    let mut kept: Vec<Counts> = Vec::with_capacity(counts.len());
    for counts in counts.drain(..) {
        if !kept.iter().any(|wider| wider.covers(&counts)) {
            kept.push(counts);
        }
    }
    *counts = kept;
}

/// Joins alternatives that differ in one counter only, if their ranges touch.
fn join(counts: &mut Vec<Counts>, counter: usize) {
    counts.sort_by(|left, right| {
        let others = left.others(counter).cmp(right.others(counter));
        others.then_with(|| left.rounds[counter].cmp(&right.rounds[counter]))
    });
    counts.dedup_by(|next, counts| {
        let (least, most) = next.rounds[counter];
        let touches = least <= counts.rounds[counter].1.saturating_add(1);
        if !touches || next.others(counter).ne(counts.others(counter)) {
            return false;
        }
        let own = &mut counts.rounds[counter];
        own.1 = own.1.max(most);
        counts.arm = None;
        true
    });
}
