//! The cheapest choice from groups that meets all bounds: dynamic programming over the counts.
//!
//! A count matters only between the first and the last group that counts for its tally. So the groups of one tally are
//! tried one after the other, and a count is forgotten once its tally is decided; the state is the counts of the
//! tallies in between. Tallies without common groups are never counted at the same time, so many alternatives that
//! differ in keys of their own take time proportional to their number. What remains exponential is the number of
//! tallies that are open at once, since this is set cover; it is bounded.

use std::cell::Cell;

use rustc_hash::FxHashMap;
use structgen_regular::CancelToken;

use super::plan::{Bounds, Counts, Group, MAX_STATES};
use crate::LimitExceeded;

/// Counts the work of plans, up to a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter<'w> {
    pub(crate) spent: &'w Cell<u64>,
    pub(crate) limit: u64,
    /// Cancels the work.
    pub(crate) cancel: Option<&'w CancelToken>,
}

impl Meter<'_> {
    /// Counts visited groups and combinations.
    pub(super) fn spend(&self, work: usize) -> Result<(), LimitExceeded> {
        let before = self.spent.get();
        let spent = before.saturating_add(work as u64);
        self.spent.set(spent);
        if spent > self.limit {
            return Err(LimitExceeded {
                what: "combinations of members tried at once",
                limit: self.limit,
            });
        }
        match self.cancel {
            Some(token) => token.check_between(before, spent),
            None => Ok(()),
        }
    }
}

/// The least known cost by counts: that of the whole first, then those of the tallies.
type Costs = FxHashMap<Box<[u32]>, u64>;

fn lower(costs: &mut Costs, counts: Box<[u32]>, cost: u64) {
    let known = costs.entry(counts).or_insert(cost);
    *known = cost.min(*known);
}

impl Bounds {
    /// Returns the least cost at which the groups meet the bounds; `None` if they cannot.
    pub(crate) fn cheapest(
        &self,
        counts: &Counts,
        groups: &[Group],
        meter: Meter<'_>,
    ) -> Result<Option<u64>, LimitExceeded> {
        let start: Box<[u32]> = std::iter::once(counts.members)
            .chain(counts.tallies.iter().copied())
            .collect();
        let touched: Vec<u32> = groups.iter().map(Group::tallies).collect();
        let untouched = !touched.iter().fold(0, |all, tallies| all | tallies);
        let mut best: Costs = Costs::default();
        best.insert(start, 0);
        best = self.decided(best, untouched);
        for Taken { group, decides } in in_order(&touched, counts.tallies.len()) {
            best = self.after(best, &groups[group], meter)?;
            if decides != 0 {
                best = self.decided(best, decides);
            }
        }
        // All tallies are decided; only members are left.
        let met = best.iter().filter(|(counts, _)| counts[0] >= self.0[0].min);
        Ok(met.map(|(_, &cost)| cost).min())
    }

    /// Returns the costs after one more group.
    fn after(
        &self,
        mut best: Costs,
        group: &Group,
        meter: Meter<'_>,
    ) -> Result<Costs, LimitExceeded> {
        meter.spend(best.len())?;
        let mut current = best.clone();
        if group.required {
            best.clear();
        } else if group.unused != 0 {
            best.clear();
            for (counts, &cost) in &current {
                let mut counts = counts.clone();
                self.count(&mut counts[1..], group.unused);
                lower(&mut best, counts, cost);
            }
        }
        for ways in &group.uses {
            meter.spend(current.len() * ways.len())?;
            let mut next: Costs = Costs::default();
            for (counts, &so_far) in &current {
                for way in ways {
                    let Some(counts) = self.used(counts, way.tallies) else {
                        continue;
                    };
                    let cost = so_far.saturating_add(way.cost);
                    // More uses at a higher cost with the same counts are useless.
                    if best.get(&counts).is_none_or(|&known| cost < known) {
                        lower(&mut next, counts, cost);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            for (counts, &cost) in &next {
                lower(&mut best, counts.clone(), cost);
            }
            if best.len() > MAX_STATES {
                return Err(LimitExceeded {
                    what: "combinations of counts",
                    limit: MAX_STATES as u64,
                });
            }
            current = next;
        }
        Ok(best)
    }

    /// Returns the costs once no further group counts for some tallies: these are met, and their counts no longer
    /// matter.
    fn decided(&self, best: Costs, tallies: u32) -> Costs {
        let mut left = Costs::default();
        for (mut counts, cost) in best {
            let own = counts[1..].iter_mut().zip(&self.0[1..]).enumerate();
            let mut decided = own.filter(|(i, _)| tallies >> i & 1 == 1);
            let are_met = decided.all(|(_, (count, bound))| {
                let is_met = *count >= bound.min;
                *count = bound.min;
                is_met
            });
            if are_met {
                lower(&mut left, counts, cost);
            }
        }
        left
    }

    /// Returns the counts with one more member; `None` if a count is too high.
    fn used(&self, counts: &[u32], tallies: u32) -> Option<Box<[u32]>> {
        let mut counts: Box<[u32]> = counts.into();
        for (i, (count, bound)) in counts.iter_mut().zip(&self.0).enumerate() {
            if i == 0 || tallies >> (i - 1) & 1 == 1 {
                *count = Self::more(*bound, *count)?;
            }
        }
        Some(counts)
    }
}

impl Group {
    /// Returns the tallies that it may count for.
    fn tallies(&self) -> u32 {
        let ways = self.uses.iter().flatten();
        ways.fold(self.unused, |all, way| all | way.tallies)
    }
}

/// A group in the order, and the tallies of which it is the last.
struct Taken {
    group: usize,
    decides: u32,
}

/// Returns the order in which groups are tried, by the tallies that each may count for. Next come the groups of the
/// open tally with the fewest groups left, so that few tallies are open at once.
fn in_order(touched: &[u32], tallies: usize) -> Vec<Taken> {
    let mut left = vec![0_u32; tallies];
    let each = |mask: u32| (0..tallies).filter(move |i| mask >> i & 1 == 1);
    for tally in touched.iter().flat_map(|&mask| each(mask)) {
        left[tally] += 1;
    }
    let mut is_taken = vec![false; touched.len()];
    let mut order = Vec::with_capacity(touched.len());
    let mut open = 0_u32;
    loop {
        let in_question = (0..tallies).filter(|&i| left[i] > 0);
        // Open ones first.
        let next = in_question.min_by_key(|&i| (open >> i & 1 == 0, left[i]));
        let takes = |mask: u32| next.is_none_or(|tally| mask >> tally & 1 == 1);
        for (group, &mask) in touched.iter().enumerate() {
            if is_taken[group] || !takes(mask) {
                continue;
            }
            is_taken[group] = true;
            open |= mask;
            let mut decides = 0;
            for tally in each(mask) {
                left[tally] -= 1;
                decides |= u32::from(left[tally] == 0) << tally;
            }
            open &= !decides;
            order.push(Taken { group, decides });
        }
        if next.is_none() {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use structgen_grammar::Tally;

    use super::*;
    use crate::program::Use;

    const ONE: Tally = Tally { min: 1, max: None };

    fn group(unused: u32, ways: &[(u64, u32)]) -> Group {
        let uses = ways.iter().map(|&(cost, tallies)| Use { cost, tallies });
        Group {
            required: false,
            unused,
            uses: vec![uses.collect()],
        }
    }

    fn counts(tallies: usize) -> Counts {
        Counts {
            members: 0,
            tallies: vec![0; tallies].into(),
            keys: [].into(),
        }
    }

    /// Returns the cost, and the work of finding it.
    fn plan(bounds: &Bounds, groups: &[Group]) -> (Option<u64>, u64) {
        let spent = Cell::new(0);
        let meter = Meter {
            spent: &spent,
            limit: 1_000_000,
            cancel: None,
        };
        let cost = bounds.cheapest(&counts(bounds.0.len() - 1), groups, meter);
        (cost.expect("the limit is high"), spent.get())
    }

    #[test]
    fn work_grows_with_the_number_of_tallies_that_share_no_groups() {
        let work = |n: usize| {
            let mut groups: Vec<Group> = (0..n).map(|i| group(0, &[(5, 0), (7, 1 << i)])).collect();
            groups.extend((0..n).map(|i| group(0, &[(5, 0), (6, 1 << i)])));
            let (cost, work) = plan(&Bounds::new(0, None, &vec![ONE; n]), &groups);
            assert_eq!(cost, Some(6 * n as u64));
            work
        };
        let (few, many) = (work(8), work(32));
        assert!(many <= few * 6, "8 tallies take {few}, 32 take {many}");
    }

    #[test]
    fn chains_of_shared_groups_are_cheap() {
        // A ring: every group counts for its tally or for the next one.
        let groups: Vec<Group> = { 0..32 }
            .map(|i| group(0, &[(1, 1 << i), (1, 1 << ((i + 1) % 32))]))
            .collect();
        let (cost, work) = plan(&Bounds::new(0, None, &[ONE; 32]), &groups);
        assert_eq!(cost, Some(32));
        assert!(work < 2_000, "{work}");
    }

    #[test]
    fn work_is_limited() {
        let groups: Vec<Group> = { 0..32 }
            .map(|i| group(0, &[(1, 1 << i), (3, 0xFFFF_FFFF >> (i / 2))]))
            .collect();
        let spent = Cell::new(0);
        let meter = Meter {
            spent: &spent,
            limit: 5_000,
            cancel: None,
        };
        let bounds = Bounds::new(0, None, &[ONE; 32]);
        let refused = bounds.cheapest(&counts(32), &groups, meter);
        let refused = refused.expect_err("it takes more than the limit");
        assert_eq!(
            refused.to_string(),
            "combinations of members tried at once exceed the limit of 5000"
        );
    }

    /// Tries all choices of at most one alternative of each group.
    fn by_trying(bounds: &Bounds, groups: &[Group], counts: Box<[u32]>) -> Option<u64> {
        let Some((first, rest)) = groups.split_first() else {
            let mut all = bounds.0.iter().zip(&counts);
            return all.all(|(bound, count)| *count >= bound.min).then_some(0);
        };
        let mut best = None;
        if !first.required {
            let mut counts = counts.clone();
            bounds.count(&mut counts[1..], first.unused);
            best = by_trying(bounds, rest, counts);
        }
        for way in first.uses.iter().flatten() {
            let used = bounds.used(&counts, way.tallies);
            let cost = used.and_then(|counts| by_trying(bounds, rest, counts));
            let cost = cost.map(|cost| cost + way.cost);
            best = [best, cost].into_iter().flatten().min();
        }
        best
    }

    proptest! {
        #[test]
        fn the_cheapest_choice_is_found(
            groups in prop::collection::vec(
                (any::<bool>(), 0_u32..8, prop::collection::vec((1_u64..9, 0_u32..16), 1..3)),
                0..6,
            ),
            min in 0_u32..3,
            max in prop::option::of(2_u32..5),
            most in prop::option::of(1_u32..3),
        ) {
            let groups: Vec<Group> = groups.into_iter().map(|(required, unused, ways)| Group {
                required,
                // Absence counts only for tallies without an upper bound.
                unused: if required { 0 } else { unused & 3 },
                ..group(0, &ways)
            }).collect();
            let tallies = [ONE, ONE, Tally { min: 0, max: most }, Tally { min: 1, max: most }];
            let bounds = Bounds::new(min, max, &tallies);
            let start = vec![0; 5].into();
            prop_assert_eq!(plan(&bounds, &groups).0, by_trying(&bounds, &groups, start));
        }
    }
}
