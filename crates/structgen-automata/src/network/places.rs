//! Distinct items whose values depend on their index: each index needs a value of its own, and together they must meet
//! the counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::fresh::{Left, check_missing};
use super::values::{Excluded, ValueId};
use super::{Call, StepError};
use crate::LimitExceeded;
use crate::program::{ArrayProgram, Bounds, Counts, MAX_STATES, Meter};

/// The values at an index that count towards the same tallies.
struct Domain {
    tallies: u32,
    /// An upper bound on the cost of a value that is left, with a comma.
    cost: u64,
    /// All of them, if they are so few that the other items might leave none.
    scarce: Option<Vec<ValueId>>,
}

impl Call<'_> {
    /// Returns what [`distinct_left`](Self::distinct_left) does if the possible values depend on the index.
    pub(super) fn distinct_in_order(
        &self,
        shape: &ArrayProgram,
        counts: &Counts,
        values: Excluded,
        depth: u32,
    ) -> Result<Option<Left>, StepError> {
        let places = self.places(shape, counts, values, depth)?;
        let search = Search {
            bounds: shape.bounds(),
            places: &places,
            alike: (shape.prefix.len() as u32).saturating_sub(counts.members) as usize,
            meter: self.plan_meter(),
        };
        let Some(cost) = search.cheapest(counts, None)? else {
            return Ok(None);
        };
        let few = places.iter().flatten().filter_map(|it| it.scarce.as_ref());
        let mut scarce: Vec<ValueId> = few.flatten().copied().collect();
        if scarce.is_empty() {
            return Ok(Some((cost, values)));
        }
        scarce.sort();
        scarce.dedup();
        let mut excluded = values;
        for value in scarce {
            if search.cheapest(counts, Some(value))?.is_none() {
                excluded = self.values().with(excluded, value);
            }
        }
        // Which values are left for the others depends on the next one, and so do the cheapest kinds: any may be
        // needed.
        let dearest = |place: &Vec<Domain>| place.iter().map(|it| it.cost).max();
        let cost = places.iter().filter_map(dearest);
        Ok(Some((cost.fold(0, u64::saturating_add), excluded)))
    }

    /// Returns the domains of the items that may still be needed, by place.
    fn places(
        &self,
        shape: &ArrayProgram,
        counts: &Counts,
        values: Excluded,
        depth: u32,
    ) -> Result<Vec<Vec<Domain>>, StepError> {
        let bounds = shape.bounds();
        // After the prefix, every item that is needed raises a count that is too low.
        let mut longest = bounds.missing(counts);
        if !shape.tallies.is_empty() {
            longest += (shape.prefix.len() as u32).saturating_sub(counts.members);
        }
        if let Some(max) = shape.max {
            longest = longest.min(max.saturating_sub(counts.members));
        }
        check_missing(longest)?;
        let open = bounds.open(counts);
        // With as many values as there are items, any choice of the others leaves one.
        let enough = longest as usize + 1;
        let places = (counts.members..counts.members + longest).map(|place| {
            let mut domains: Vec<(u32, Vec<(u64, ValueId)>)> = Vec::new();
            for alternative in shape.slot(place).into_iter().flatten() {
                if !self.fits(alternative.node, depth) {
                    continue;
                }
                let fresh = self.fresh(alternative.node, depth, values, enough)?;
                let tallies = alternative.tallies & open;
                match domains.iter_mut().find(|(known, _)| *known == tallies) {
                    Some((_, domain)) => domain.extend_from_slice(&fresh),
                    None => domains.push((tallies, fresh.to_vec())),
                }
            }
            let domains = domains.into_iter().filter_map(|(tallies, mut domain)| {
                domain.sort_unstable_by_key(|&(cost, value)| (value, cost));
                domain.dedup_by_key(|&mut (_, value)| value);
                // One of the cheapest that are enough is left, also if what was two domains has become one.
                domain.sort_unstable();
                domain.truncate(enough);
                let dearest = domain.last()?.0;
                let scarce = (domain.len() < enough).then(|| domain.iter().map(|it| it.1));
                Some(Domain {
                    tallies,
                    cost: dearest.saturating_add(1),
                    scarce: scarce.map(Iterator::collect),
                })
            });
            Ok(domains.collect())
        });
        places.collect()
    }
}

/// A search for items that are distinct and meet the counts: Dijkstra's algorithm over what matters of those before.
struct Search<'s> {
    bounds: Bounds,
    places: &'s [Vec<Domain>],
    /// The place from which on all items have the same domains.
    alike: usize,
    meter: Meter<'s>,
}

/// What matters of some items.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Chosen {
    items: usize,
    counts: Counts,
    /// The scarce domains that they are from: place and index.
    scarce: Vec<(usize, usize)>,
}

impl Search<'_> {
    /// Returns the least cost of items that meet the counts, none of which is `but`; `None` if there are none.
    fn cheapest(
        &self,
        counts: &Counts,
        but: Option<ValueId>,
    ) -> Result<Option<u64>, LimitExceeded> {
        let mut found = vec![Chosen {
            items: 0,
            counts: counts.clone(),
            scarce: Vec::new(),
        }];
        let mut queue = BinaryHeap::from([(Reverse(0_u64), 0_usize)]);
        let mut settled = FxHashSet::default();
        while let Some((Reverse(cost), number)) = queue.pop() {
            self.meter.spend(1)?;
            let chosen = found[number].clone();
            if self.bounds.are_met(&chosen.counts) {
                return Ok(Some(cost));
            }
            if !settled.insert(chosen.clone()) {
                continue;
            }
            let domains = self.places.get(chosen.items).into_iter().flatten();
            for (i, domain) in domains.enumerate() {
                if let Some(next) = self.with_item(&chosen, i, domain, but)? {
                    queue.push((Reverse(cost.saturating_add(domain.cost)), found.len()));
                    found.push(next);
                }
            }
            if found.len() > MAX_STATES {
                return Err(LimitExceeded {
                    what: "combinations of counts",
                    limit: MAX_STATES as u64,
                });
            }
        }
        Ok(None)
    }

    /// Returns what matters with one more item, which is from the domain with this index at its place; `None` if it
    /// exceeds a count, brings about nothing, or takes a value that another item needs.
    fn with_item(
        &self,
        chosen: &Chosen,
        index: usize,
        domain: &Domain,
        but: Option<ValueId>,
    ) -> Result<Option<Chosen>, LimitExceeded> {
        let Some(counts) = self.bounds.add(&chosen.counts, domain.tallies) else {
            return Ok(None);
        };
        let missing = |counts| self.bounds.missing(counts);
        if chosen.items >= self.alike && missing(&counts) == missing(&chosen.counts) {
            return Ok(None);
        }
        let mut scarce = chosen.scarce.clone();
        if domain.scarce.is_some() {
            scarce.push((chosen.items, index));
            let values = |&(place, i): &(usize, usize)| self.places[place][i].scarce.as_deref();
            let domains: Vec<&[ValueId]> = scarce.iter().filter_map(values).collect();
            self.meter.spend(domains.iter().map(|it| it.len()).sum())?;
            if !is_matching(&domains, but) {
                return Ok(None);
            }
        }
        Ok(Some(Chosen {
            items: chosen.items + 1,
            counts,
            scarce,
        }))
    }
}

/// Returns whether each domain can give a value of its own other than `but` (Hall, 1935): augmenting paths (Berge,
/// 1957).
fn is_matching(domains: &[&[ValueId]], but: Option<ValueId>) -> bool {
    fn finds(
        domain: usize,
        domains: &[&[ValueId]],
        but: Option<ValueId>,
        taken: &mut FxHashMap<ValueId, usize>,
        tried: &mut FxHashSet<ValueId>,
    ) -> bool {
        for &value in domains[domain] {
            if Some(value) == but || !tried.insert(value) {
                continue;
            }
            let free = match taken.get(&value).copied() {
                None => true,
                Some(other) => finds(other, domains, but, taken, tried),
            };
            if free {
                taken.insert(value, domain);
                return true;
            }
        }
        false
    }

    let mut taken = FxHashMap::default();
    (0..domains.len())
        .all(|domain| finds(domain, domains, but, &mut taken, &mut FxHashSet::default()))
}
