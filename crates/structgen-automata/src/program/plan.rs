//! The cheapest completion of an object or array that meets all its counts at once, if there is one.
//!
//! Every member and item counts for the whole and for some tallies. What was read is counted; what may still come is a
//! supply of groups, each of which can be used a bounded number of times, and `cheapest.rs` chooses among them.

use super::cheapest::Meter;
use super::measure::KEY_PUNCTUATION;
use super::{ArrayProgram, NodeId, ObjectProgram, PropertyProgram, Slot};
use crate::LimitExceeded;
use structgen_grammar::Tally;
use structgen_regular::RegularLimits;

/// The counts of the members or items so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Counts {
    /// The number of members or items.
    pub(crate) members: u32,
    /// By tally.
    pub(crate) tallies: Box<[u32]>,
    /// By class of keys, the number of keys.
    pub(crate) keys: Box<[u32]>,
}

/// The maximum number of combinations of counts kept in one call; this bounds its memory.
pub(crate) const MAX_STATES: usize = 1 << 16;

/// The maximum number of undeclared members that an object may need, since the cost of each is looked up.
const MAX_MISSING: u32 = 1 << 16;

/// The bytes of a member besides its key's text and its value: the punctuation of the key, and a comma.
const MEMBER_PUNCTUATION: u64 = KEY_PUNCTUATION + 1;

/// A supply of members or items: each use counts for some tallies, at some cost.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Whether it must be used.
    pub(crate) required: bool,
    /// The tallies that count if it is not used.
    pub(crate) unused: u32,
    /// The alternatives of the first use, of the second, and so on.
    pub(crate) uses: Vec<Vec<Use>>,
}

/// One alternative of using a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) cost: u64,
    pub(crate) tallies: u32,
}

/// The bounds that counts must meet: that of the whole first, then those of the tallies.
#[derive(Debug)]
pub(crate) struct Bounds(pub(super) Vec<Tally>);

impl Bounds {
    pub(crate) fn new(min: u32, max: Option<u32>, tallies: &[Tally]) -> Self {
        let mut bounds = vec![Tally { min, max }];
        bounds.extend_from_slice(tallies);
        Self(bounds)
    }

    /// Returns the count plus one, capped where more do not matter; `None` if it exceeds the bound.
    pub(super) fn more(bound: Tally, count: u32) -> Option<u32> {
        match bound.max {
            Some(max) => (count < max).then_some(count + 1),
            None => Some((count + 1).min(bound.min)),
        }
    }

    /// Returns the counts with one more member that counts for the tallies; `None` if a count is too high.
    pub(crate) fn add(&self, counts: &Counts, tallies: u32) -> Option<Counts> {
        let mut counts = counts.clone();
        counts.members = Self::more(self.0[0], counts.members)?;
        for (i, count) in counts.tallies.iter_mut().enumerate() {
            if tallies >> i & 1 == 1 {
                *count = Self::more(self.0[i + 1], *count)?;
            }
        }
        Some(counts)
    }

    /// Returns the counts once keys are known to be absent; their tallies have no upper bound.
    pub(crate) fn with_absent(&self, counts: &Counts, tallies: u32) -> Counts {
        let mut counts = counts.clone();
        for (i, (count, bound)) in counts.tallies.iter_mut().zip(&self.0[1..]).enumerate() {
            if tallies >> i & 1 == 1 {
                *count = Self::more(*bound, *count).unwrap_or(*count);
            }
        }
        counts
    }

    /// Returns whether the counts are sufficient.
    pub(crate) fn are_met(&self, counts: &Counts) -> bool {
        let all = std::iter::once(&counts.members).chain(&counts.tallies);
        self.0
            .iter()
            .zip(all)
            .all(|(bound, count)| *count >= bound.min)
    }

    /// Returns the tallies whose counts still matter: those that are not met, and those with a maximum.
    pub(crate) fn open(&self, counts: &Counts) -> u32 {
        let tallies = self.0[1..].iter().zip(&counts.tallies).enumerate();
        tallies.fold(0, |open, (i, (bound, count))| {
            open | u32::from(bound.max.is_some() || *count < bound.min) << i
        })
    }

    /// Returns what the counts lack.
    pub(crate) fn lacking(&self, counts: &Counts) -> Lacking {
        let bounds = self.0[1..].iter().zip(&counts.tallies).enumerate();
        Lacking {
            members: counts.members < self.0[0].min,
            tallies: bounds.fold(0, |mask, (i, (bound, count))| {
                mask | u32::from(*count < bound.min) << i
            }),
        }
    }

    /// Returns the sum of what is missing over all counts; no more members than that are ever needed.
    pub(crate) fn missing(&self, counts: &Counts) -> u32 {
        let all = std::iter::once(&counts.members).chain(&counts.tallies);
        self.0
            .iter()
            .zip(all)
            .map(|(bound, count)| bound.min.saturating_sub(*count))
            .fold(0, u32::saturating_add)
    }
}

/// What an object lacks: members, whatever they count for, and what its tallies count.
pub(crate) struct Lacking {
    members: bool,
    /// A bit for each tally.
    tallies: u32,
}

impl Lacking {
    /// Returns whether a member with one of these values brings about something that is lacking.
    pub(crate) fn is_helped_by(&self, slot: &Slot) -> bool {
        self.members || slot.iter().any(|way| way.tallies & self.tallies != 0)
    }

    /// Returns whether a property must come, or brings about something that is lacking, by its presence or absence.
    pub(crate) fn needs(&self, property: &PropertyProgram) -> bool {
        property.required
            || property.absent & self.tallies != 0
            || self.is_helped_by(&property.value)
    }
}

/// An object in progress.
pub(crate) struct MembersLeft<'p, H, C> {
    pub(crate) object: &'p ObjectProgram,
    pub(crate) limits: RegularLimits,
    /// Returns which properties can no longer come.
    pub(crate) is_past: H,
    /// Returns the cost of a value that begins at the node; `None` if there is none.
    pub(crate) cost: C,
    pub(crate) meter: Meter<'p>,
}

impl<H: Fn(usize) -> bool, C: Fn(NodeId) -> Option<u64>> MembersLeft<'_, H, C> {
    /// Returns the cost of the members that an object still needs, each with its comma; `None` if it cannot be
    /// completed.
    pub(crate) fn cost(&self, counts: &Counts) -> Result<Option<u64>, LimitExceeded> {
        let bounds = self.object.bounds();
        let missing = bounds.missing(counts);
        if !self.object.tallies.is_empty() {
            if let Some(cost) = self.only_required(&bounds, counts) {
                return Ok(Some(cost));
            }
            let groups = self.groups(&bounds, counts, missing)?;
            return open_tallies(&bounds, counts, groups, self.meter);
        }
        let groups = self.groups(&bounds, counts, missing)?;
        self.meter.spend(groups.len())?;
        // If only members are counted, the cheapest ones are the best.
        let least = |ways: &Vec<Use>| ways.iter().map(|way| way.cost).min();
        let mut cost = 0_u64;
        let mut members = counts.members;
        let mut others = Vec::new();
        for group in &groups {
            if group.required {
                let Some(member) = group.uses.first().and_then(least) else {
                    return Ok(None);
                };
                cost = cost.saturating_add(member);
                members = members.saturating_add(1);
            } else {
                others.extend(group.uses.iter().filter_map(least));
            }
        }
        if self.object.max.is_some_and(|max| members > max) {
            return Ok(None);
        }
        let missing = self.object.min.saturating_sub(members) as usize;
        if others.len() < missing {
            return Ok(None);
        }
        others.sort_unstable();
        let others = others.into_iter().take(missing);
        Ok(Some(others.fold(cost, u64::saturating_add)))
    }

    /// Returns the cost of only the required members, each at its cheapest, if these suffice.
    fn only_required(&self, bounds: &Bounds, counts: &Counts) -> Option<u64> {
        let mut counts = counts.clone();
        let mut cost = 0_u64;
        for (i, property) in self.object.properties.iter().enumerate() {
            if (self.is_past)(i) {
                continue;
            }
            if property.required {
                let key = u64::from(property.key_length) + MEMBER_PUNCTUATION;
                let cheapest = self.uses(&property.value, key).min_by_key(|way| way.cost)?;
                counts = bounds.add(&counts, cheapest.tallies)?;
                cost = cost.saturating_add(cheapest.cost);
            } else if property.absent != 0 {
                counts = bounds.with_absent(&counts, property.absent);
            }
        }
        bounds.are_met(&counts).then_some(cost)
    }

    /// Returns the groups of properties that are required, and of what may bring about something that is missing.
    fn groups(
        &self,
        bounds: &Bounds,
        counts: &Counts,
        missing: u32,
    ) -> Result<Vec<Group>, LimitExceeded> {
        let lacking = bounds.lacking(counts);
        let mut groups = Vec::new();
        for (i, property) in self.object.properties.iter().enumerate() {
            if (self.is_past)(i) || !lacking.needs(property) {
                continue;
            }
            let key = u64::from(property.key_length) + MEMBER_PUNCTUATION;
            groups.push(Group {
                required: property.required,
                unused: property.absent,
                uses: vec![self.uses(&property.value, key).collect()],
            });
        }
        if missing > MAX_MISSING {
            return Err(LimitExceeded {
                what: "members that an object still needs",
                limit: MAX_MISSING.into(),
            });
        }
        for (class, &seen) in self.object.classes.iter().zip(&counts.keys) {
            if !lacking.is_helped_by(&class.value) {
                continue;
            }
            let (seen, missing) = (seen as usize, missing as usize);
            // In the worst case, the present keys are the shortest ones.
            let costs = class.shortest(seen + missing, &self.object.keys, self.limits)?;
            let costs = costs.get(seen..).unwrap_or_default();
            let uses = costs.iter().map(|&cost| {
                let key = u64::from(cost) + MEMBER_PUNCTUATION;
                self.uses(&class.value, key).collect()
            });
            groups.push(Group {
                uses: uses.collect(),
                ..Group::default()
            });
        }
        Ok(groups)
    }

    fn uses(&self, slot: &Slot, key: u64) -> impl Iterator<Item = Use> {
        slot.iter().filter_map(move |alternative| {
            let value = (self.cost)(alternative.node).filter(|&cost| cost != u64::MAX)?;
            Some(Use {
                cost: key.saturating_add(value),
                tallies: alternative.tallies,
            })
        })
    }
}

/// Returns the counts from the first state to the last one, each with the cost from there.
fn way_back(states: &[(Counts, u64, usize)], last: usize) -> Vec<(Counts, u64)> {
    let total = states[last].1;
    let before = |&at: &usize| (at != 0).then(|| states[at].2);
    let numbers = std::iter::successors(Some(last), before);
    let with_left = numbers.map(|at| (states[at].0.clone(), total - states[at].1));
    let mut way: Vec<(Counts, u64)> = with_left.collect();
    way.reverse();
    way
}

/// Returns the least cost over only those tallies whose counts still matter.
fn open_tallies(
    bounds: &Bounds,
    counts: &Counts,
    mut groups: Vec<Group>,
    meter: Meter<'_>,
) -> Result<Option<u64>, LimitExceeded> {
    let open = bounds.open(counts);
    let is_open = |&i: &usize| open >> i & 1 == 1;
    let open: Vec<usize> = (0..counts.tallies.len()).filter(is_open).collect();
    let narrowed = |tallies: u32| {
        let bits = open.iter().enumerate();
        bits.fold(0, |mask, (to, from)| mask | (tallies >> from & 1) << to)
    };
    for group in &mut groups {
        group.unused = narrowed(group.unused);
        for way in group.uses.iter_mut().flatten() {
            way.tallies = narrowed(way.tallies);
        }
    }
    let tallies: Vec<Tally> = open.iter().map(|&i| bounds.0[i + 1]).collect();
    let counts = Counts {
        members: counts.members,
        tallies: open.iter().map(|&i| counts.tallies[i]).collect(),
        keys: [].into(),
    };
    Bounds::new(bounds.0[0].min, bounds.0[0].max, &tallies).cheapest(&counts, &groups, meter)
}

impl ObjectProgram {
    /// Returns the bounds that its counts must meet.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.min, self.max, &self.tallies)
    }

    /// Returns the counts of an object without members.
    pub(crate) fn no_counts(&self) -> Counts {
        if !self.is_counted() {
            return Counts::default();
        }
        Counts {
            members: 0,
            tallies: vec![0; self.tallies.len()].into(),
            keys: vec![0; self.classes.len()].into(),
        }
    }
}

impl ArrayProgram {
    /// Returns the bounds that its counts must meet.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::new(self.min, self.max, &self.tallies)
    }

    /// Returns the counts of an array without items.
    pub(crate) fn no_counts(&self) -> Counts {
        Counts {
            tallies: vec![0; self.tallies.len()].into(),
            ..Counts::default()
        }
    }

    /// Returns the cheapest way to complete an array with tallies after the items counted: the counts on the way, first
    /// these, each with the cost of the items that are missing then and their commas. `None` if the counts cannot be
    /// met.
    ///
    /// Dijkstra's algorithm over index and counts, since the alternatives of an item depend on its index.
    pub(crate) fn way_to_end(
        &self,
        counts: &Counts,
        cost: impl Fn(NodeId) -> Option<u64>,
        meter: Meter<'_>,
    ) -> Result<Option<Vec<(Counts, u64)>>, LimitExceeded> {
        use std::cmp::Reverse;
        use std::collections::BinaryHeap;

        let bounds = self.bounds();
        let mut queue = BinaryHeap::from([(Reverse(0_u64), 0_usize)]);
        // By number: the counts, whose members are the index, the cost until there, and the number before.
        let mut states: Vec<(Counts, u64, usize)> = vec![(counts.clone(), 0, 0)];
        let mut ids: rustc_hash::FxHashMap<Counts, usize> = rustc_hash::FxHashMap::default();
        ids.insert(counts.clone(), 0);
        while let Some((Reverse(so_far), state)) = queue.pop() {
            meter.spend(1)?;
            let (counts, least, _) = states[state].clone();
            if least < so_far {
                continue;
            }
            if bounds.are_met(&counts) {
                return Ok(Some(way_back(&states, state)));
            }
            let Some(slot) = self.slot(counts.members) else {
                continue;
            };
            for alternative in slot {
                let item = cost(alternative.node).filter(|&cost| cost != u64::MAX);
                let (Some(item), Some(next)) = (item, self.add(&counts, alternative.tallies))
                else {
                    continue;
                };
                let total = so_far.saturating_add(item).saturating_add(1);
                let number = *ids.entry(next.clone()).or_insert(states.len());
                if number == states.len() {
                    states.push((next, u64::MAX, state));
                }
                if total < states[number].1 {
                    (states[number].1, states[number].2) = (total, state);
                    queue.push((Reverse(total), number));
                }
            }
            if states.len() > MAX_STATES {
                return Err(LimitExceeded {
                    what: "combinations of counts",
                    limit: MAX_STATES as u64,
                });
            }
        }
        Ok(None)
    }

    /// Returns the counts with one more item; `None` if a count is too high.
    pub(crate) fn add(&self, counts: &Counts, tallies: u32) -> Option<Counts> {
        if self.max.is_some_and(|max| counts.members >= max) {
            return None;
        }
        let mut next = self.bounds().add(counts, tallies)?;
        next.members = self.counted(counts.members);
        Some(next)
    }
}
