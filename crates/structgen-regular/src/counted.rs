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

/// A factor of alternatives of one skeleton.
#[derive(Clone, Copy)]
enum Factor {
    /// It is the same in all of them.
    Common(NodeId),
    /// They differ in the rounds left of this body.
    Counted(NodeId),
}

/// An alternative: the rounds left of each counter in which the alternatives of one skeleton differ.
struct Counts {
    rounds: Vec<Rounds>,
    /// `None` if it joins several alternatives.
    arm: Option<NodeId>,
}

impl Counts {
    /// Returns whether it contains the other one; `compared` counts the comparisons.
    fn covers(&self, other: &Self, compared: &mut u64) -> bool {
        let pairs = self.rounds.iter().zip(&other.rounds);
        let mut pairs = pairs.inspect(|_| *compared += 1);
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
            let (factors, mut counts, rest) = self.counts_of(&group);
            self.merge(&mut counts);
            for counts in counts {
                let arm = match counts.arm {
                    Some(arm) => arm,
                    None => {
                        is_new = true;
                        self.counted(&factors, &counts.rounds, rest)
                    }
                };
                arms.push(arm);
            }
        }
        arms.sort_unstable();
        arms.dedup();
        is_new
    }

    /// Returns what alternatives of one skeleton have counted, up to where they have the same rest: the factors, the
    /// rounds left of those that differ, and the rest.
    fn counts_of(&mut self, group: &[NodeId]) -> (Vec<Factor>, Vec<Counts>, NodeId) {
        let mut factors = Vec::new();
        let start = |&arm: &NodeId| Counts {
            rounds: Vec::new(),
            arm: Some(arm),
        };
        let mut counts: Vec<Counts> = group.iter().map(start).collect();
        let mut rests = group.to_vec();
        while rests.iter().any(|&rest| rest != rests[0]) {
            self.work += rests.len() as u64;
            let first = self.split(rests[0]).0;
            if rests.iter().all(|&rest| self.split(rest).0 == first) {
                factors.push(Factor::Common(first));
            } else {
                factors.push(Factor::Counted(self.rounds(first).0));
                for (counts, &rest) in counts.iter_mut().zip(&rests) {
                    counts.rounds.push(self.rounds(self.split(rest).0).1);
                }
            }
            for rest in &mut rests {
                *rest = self.split(*rest).1;
            }
        }
        (factors, counts, rests[0])
    }

    /// Joins alternatives until none covers another and no two can be joined, or until the operation has done too much
    /// work.
    fn merge(&mut self, counts: &mut Vec<Counts>) {
        let counters = counts.first().map_or(0, |counts| counts.rounds.len());
        let mut compared = 0;
        loop {
            let before = counts.len();
            for counter in 0..counters {
                if self.is_tired() {
                    return;
                }
                join(counts, counter, &mut compared);
                self.work += compared / COMPARISONS_PER_STEP;
                compared %= COMPARISONS_PER_STEP;
            }
            // Ranges of a single counter that cover one another touch.
            if counters > 1 && counts.len() <= MOST_COMPARED {
                drop_covered(counts, &mut compared);
            }
            if counts.len() == before {
                return;
            }
        }
    }

    /// Returns what a factor of a concatenation repeats, and how often.
    pub(super) fn rounds(&self, factor: NodeId) -> (NodeId, Rounds) {
        match *self.node(factor) {
            Node::Repeat { body, min, max } => (body, (min, max.unwrap_or(u32::MAX))),
            _ => (factor, (1, 1)),
        }
    }

    fn counted(&mut self, factors: &[Factor], rounds: &[Rounds], rest: NodeId) -> NodeId {
        let mut chain = rest;
        let mut rounds = rounds.iter().rev();
        for factor in factors.iter().rev() {
            let factor = match *factor {
                Factor::Common(factor) => factor,
                Factor::Counted(body) => {
                    let &(min, max) = rounds.next().unwrap_or(&(1, 1));
                    self.repeat(body, min, (max != u32::MAX).then_some(max))
                }
            };
            chain = self.concat(factor, chain);
        }
        chain
    }
}

/// More alternatives than this are only joined, not compared with one another.
const MOST_COMPARED: usize = 512;

/// The number of comparisons of counters that take about the time of a step.
const COMPARISONS_PER_STEP: u64 = 4;

/// Drops the alternatives that others cover; `compared` counts the comparisons.
fn drop_covered(counts: &mut Vec<Counts>, compared: &mut u64) {
    counts.sort_by_cached_key(|counts| Reverse(counts.extent()));
    let mut kept: Vec<Counts> = Vec::with_capacity(counts.len());
    for counts in counts.drain(..) {
        if !kept.iter().any(|wider| wider.covers(&counts, compared)) {
            kept.push(counts);
        }
    }
    *counts = kept;
}

/// Joins alternatives that differ in one counter only, if their ranges touch; `compared` counts the comparisons.
fn join(counts: &mut Vec<Counts>, counter: usize, compared: &mut u64) {
    counts.sort_by(|left, right| {
        let others = left.others(counter).inspect(|_| *compared += 1);
        let others = others.cmp(right.others(counter));
        others.then_with(|| left.rounds[counter].cmp(&right.rounds[counter]))
    });
    counts.dedup_by(|next, counts| {
        let (least, most) = next.rounds[counter];
        let touches = least <= counts.rounds[counter].1.saturating_add(1);
        let others = next.others(counter).inspect(|_| *compared += 1);
        if !touches || others.ne(counts.others(counter)) {
            return false;
        }
        let own = &mut counts.rounds[counter];
        own.1 = own.1.max(most);
        counts.arm = None;
        true
    });
}
