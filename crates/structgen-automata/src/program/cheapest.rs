//! The cheapest choice from groups that meets all bounds: dynamic programming over the counts.
//!
//! A count matters only between the first and the last group that counts for its tally. So the groups of one tally are
//! tried one after the other, and a count is forgotten once its tally is decided; the state is the counts of the
//! tallies in between. Tallies without common groups are never counted at the same time, so many alternatives that
//! differ in keys of their own take time proportional to their number. What remains exponential is the number of
//! tallies that are open at once, since this is set cover; it is bounded.

use std::cell::Cell;
use std::hash::Hash;

use rustc_hash::FxHashMap;
use structgen_grammar::Tally;
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
    pub(crate) fn spend(&self, work: usize) -> Result<(), LimitExceeded> {
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

/// Counts: that of the whole first, then those of the tallies.
trait CountsKey: Clone + Eq + Hash {
    fn new(counts: &[u32], packing: &Packing) -> Self;
    fn get(&self, i: usize, packing: &Packing) -> u32;
    fn set(&mut self, i: usize, count: u32, packing: &Packing);
}

/// Where each count is in a packed key: how far it is shifted, and its largest value.
struct Packing(Vec<(u32, u128)>);

impl Packing {
    /// Returns the packing if all counts fit into one number.
    fn of(bounds: &Bounds, start: &[u32]) -> Option<Self> {
        let mut places = Vec::with_capacity(start.len());
        let mut shift = 0;
        for (bound, &count) in bounds.0.iter().zip(start) {
            let most = bound.max.unwrap_or(bound.min).max(bound.min).max(count);
            let bits = u32::BITS - most.leading_zeros();
            places.push((shift, (1 << bits) - 1));
            shift += bits;
        }
        (shift < u128::BITS).then_some(Self(places))
    }
}

impl CountsKey for u128 {
    fn new(counts: &[u32], packing: &Packing) -> Self {
        let places = packing.0.iter().zip(counts);
        places.fold(0, |key, (&(shift, _), &count)| {
            key | Self::from(count) << shift
        })
    }

    #[inline]
    fn get(&self, i: usize, packing: &Packing) -> u32 {
        let (shift, most) = packing.0[i];
        (self >> shift & most) as u32
    }

    #[inline]
    fn set(&mut self, i: usize, count: u32, packing: &Packing) {
        let (shift, most) = packing.0[i];
        *self = *self & !(most << shift) | Self::from(count) << shift;
    }
}

impl CountsKey for Box<[u32]> {
    fn new(counts: &[u32], _: &Packing) -> Self {
        counts.into()
    }

    fn get(&self, i: usize, _: &Packing) -> u32 {
        self[i]
    }

    fn set(&mut self, i: usize, count: u32, _: &Packing) {
        self[i] = count;
    }
}

/// With more entries, they are found by a map.
const FEW: usize = 12;

/// The least known cost by counts.
#[derive(Clone)]
struct Costs<K> {
    entries: Vec<(K, u64)>,
    /// The places of the entries, once there are many.
    places: FxHashMap<K, usize>,
}

impl<K: CountsKey> Costs<K> {
    fn new() -> Self {
        Self {
            entries: Vec::new(),
            places: FxHashMap::default(),
        }
    }

    fn place(&self, counts: &K) -> Option<usize> {
        match self.entries.len() {
            ..=FEW => self.entries.iter().position(|(known, _)| known == counts),
            _ => self.places.get(counts).copied(),
        }
    }

    fn get(&self, counts: &K) -> Option<u64> {
        self.place(counts).map(|place| self.entries[place].1)
    }

    fn lower(&mut self, counts: K, cost: u64) {
        if let Some(place) = self.place(&counts) {
            let known = &mut self.entries[place].1;
            *known = cost.min(*known);
            return;
        }
        self.entries.push((counts, cost));
        match self.entries.len() - 1 {
            ..FEW => {}
            FEW => {
                let places = self.entries.iter().enumerate();
                self.places = places.map(|(i, (counts, _))| (counts.clone(), i)).collect();
            }
            place => {
                self.places.insert(self.entries[place].0.clone(), place);
            }
        }
    }
}

impl Bounds {
    /// Returns the least cost at which the groups meet the bounds; `None` if they cannot.
    pub(crate) fn cheapest(
        &self,
        counts: &Counts,
        groups: &[Group],
        meter: Meter<'_>,
    ) -> Result<Option<u64>, LimitExceeded> {
        let tallies = counts.tallies.iter().copied();
        let start: Vec<u32> = std::iter::once(counts.members).chain(tallies).collect();
        match Packing::of(self, &start) {
            Some(packing) => self.search::<u128>(&start, groups, &packing, meter),
            None => self.search::<Box<[u32]>>(&start, groups, &Packing(Vec::new()), meter),
        }
    }

    fn search<K: CountsKey>(
        &self,
        start: &[u32],
        groups: &[Group],
        packing: &Packing,
        meter: Meter<'_>,
    ) -> Result<Option<u64>, LimitExceeded> {
        let touched: Vec<u32> = groups.iter().map(Group::tallies).collect();
        let untouched = !touched.iter().fold(0, |all, tallies| all | tallies);
        let mut best = Costs::new();
        best.lower(K::new(start, packing), 0);
        best = self.decided(best, untouched, packing);
        for Taken { group, decides } in in_order(&touched, start.len() - 1) {
            best = self.after(best, &groups[group], packing, meter)?;
            if decides != 0 {
                best = self.decided(best, decides, packing);
            }
        }
        // All tallies are decided; only members are left.
        let entries = best.entries.iter();
        let met = entries.filter(|(counts, _)| counts.get(0, packing) >= self.0[0].min);
        Ok(met.map(|&(_, cost)| cost).min())
    }

    /// Returns the costs after one more group.
    fn after<K: CountsKey>(
        &self,
        mut best: Costs<K>,
        group: &Group,
        packing: &Packing,
        meter: Meter<'_>,
    ) -> Result<Costs<K>, LimitExceeded> {
        meter.spend(best.entries.len())?;
        let mut current = best.entries.clone();
        if group.required {
            best = Costs::new();
        } else if group.unused != 0 {
            best = Costs::new();
            for (counts, cost) in &current {
                best.lower(self.unused(counts, group.unused, packing), *cost);
            }
        }
        for ways in &group.uses {
            meter.spend(current.len() * ways.len())?;
            let mut next = Costs::new();
            for (counts, so_far) in &current {
                for way in ways {
                    let Some(counts) = self.used(counts, way.tallies, packing) else {
                        continue;
                    };
                    let cost = so_far.saturating_add(way.cost);
                    // More uses at a higher cost with the same counts are useless.
                    if best.get(&counts).is_none_or(|known| cost < known) {
                        next.lower(counts, cost);
                    }
                }
            }
            if next.entries.is_empty() {
                break;
            }
            for (counts, cost) in &next.entries {
                best.lower(counts.clone(), *cost);
            }
            if best.entries.len() > MAX_STATES {
                return Err(LimitExceeded {
                    what: "combinations of counts",
                    limit: MAX_STATES as u64,
                });
            }
            current = next.entries;
        }
        Ok(best)
    }

    /// Returns the costs once no further group counts for some tallies: these are met, and their counts no longer
    /// matter.
    fn decided<K: CountsKey>(&self, best: Costs<K>, tallies: u32, packing: &Packing) -> Costs<K> {
        let mut left = Costs::new();
        for (mut counts, cost) in best.entries {
            let are_met = self.of(tallies).all(|(i, bound)| {
                let is_met = counts.get(i, packing) >= bound.min;
                counts.set(i, bound.min, packing);
                is_met
            });
            if are_met {
                left.lower(counts, cost);
            }
        }
        left
    }

    /// Returns the bounds of some tallies, each with its index.
    fn of(&self, tallies: u32) -> impl Iterator<Item = (usize, Tally)> {
        let bounds = self.0.iter().copied().enumerate().skip(1);
        bounds.filter(move |(i, _)| tallies >> (i - 1) & 1 == 1)
    }

    /// Returns the counts with one more member; `None` if a count is too high.
    fn used<K: CountsKey>(&self, counts: &K, tallies: u32, packing: &Packing) -> Option<K> {
        let mut counts = counts.clone();
        for (i, bound) in std::iter::once((0, self.0[0])).chain(self.of(tallies)) {
            let count = Self::more(bound, counts.get(i, packing))?;
            counts.set(i, count, packing);
        }
        Some(counts)
    }

    /// Returns the counts where a group is not used; its tallies have no upper bound.
    fn unused<K: CountsKey>(&self, counts: &K, tallies: u32, packing: &Packing) -> K {
        let mut counts = counts.clone();
        for (i, bound) in self.of(tallies) {
            let count = counts.get(i, packing);
            counts.set(i, Self::more(bound, count).unwrap_or(count), packing);
        }
        counts
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
            let unused = bounds.unused(&counts, first.unused, &Packing(Vec::new()));
            best = by_trying(bounds, rest, unused);
        }
        for way in first.uses.iter().flatten() {
            let used = bounds.used(&counts, way.tallies, &Packing(Vec::new()));
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
