//! Counts and lists the strings of a set.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use structgen_grammar::Regular;

use super::arena::NodeId;
use super::{RegularLimits, RegularMachine, RegularState};
use crate::LimitExceeded;

impl RegularMachine {
    /// Returns how many strings complete the state, or `up_to` if there are at least as many. The answer is cached.
    ///
    /// Strings are extended byte by byte, all of one length together. Every prefix of that length is live and differs
    /// from the others, so there are at least as many strings as prefixes. A large set is answered as soon as it has
    /// branched enough, and an infinite one once its strings are longer than it has states.
    ///
    /// ```
    /// use structgen_regular::{RegularLimits, RegularMachine};
    /// use structgen_grammar::Regular;
    ///
    /// let set = Regular::union([Regular::literal("a"), Regular::literal("bc")]);
    /// let mut machine = RegularMachine::new(&set, RegularLimits::default())?;
    /// let start = machine.start()?.expect("not empty");
    /// assert_eq!(machine.count(&start, 10)?, 2);
    /// assert_eq!(machine.count(&start, 1)?, 1);
    /// # Ok::<(), structgen_regular::LimitExceeded>(())
    /// ```
    ///
    /// # Errors
    /// If a limit of the machine does not suffice.
    pub fn count(&mut self, state: &RegularState, up_to: u32) -> Result<u32, LimitExceeded> {
        if let Some(&(found, asked)) = self.counted.get(&state.0)
            && (found < asked || up_to <= asked)
        {
            return Ok(found.min(up_to));
        }
        let count = self.count_anew(state.0, up_to)?;
        self.counted.insert(state.0, (count, up_to));
        Ok(count)
    }

    fn count_anew(&mut self, from: NodeId, up_to: u32) -> Result<u32, LimitExceeded> {
        let goal = u64::from(up_to);
        let mut seen: FxHashSet<NodeId> = FxHashSet::from_iter([from]);
        let mut layer: BTreeMap<NodeId, u64> = BTreeMap::from([(from, 1)]);
        let mut found = 0_u64;
        let mut work = 0_usize;
        for length in 0.. {
            let prefixes = layer.values().fold(0, |sum: u64, &n| sum.saturating_add(n));
            // Each prefix becomes at least one string that is at least as long.
            let at_least = found.saturating_add(prefixes);
            found += layer
                .iter()
                .filter(|&(&state, _)| self.steps.arena.nullable(state))
                .fold(0, |sum: u64, (_, &n)| sum.saturating_add(n));
            if at_least >= goal || (length >= seen.len() && !layer.is_empty()) {
                return Ok(up_to);
            }
            if layer.is_empty() {
                break;
            }
            work += layer.len();
            if work > self.limits.search {
                return Err(LimitExceeded {
                    what: "states visited to count the strings of a regular set",
                    limit: self.limits.search as u64,
                });
            }
            let mut next_layer = BTreeMap::new();
            for (&state, &prefixes) in &layer {
                for (byte, size) in self.steps.classes(state)?.sizes() {
                    if let Some(next) = self.step(&RegularState(state), byte)? {
                        seen.insert(next.0);
                        let count: &mut u64 = next_layer.entry(next.0).or_default();
                        *count = count.saturating_add(prefixes.saturating_mul(u64::from(size)));
                    }
                }
            }
            layer = next_layer;
        }
        Ok(u32::try_from(found).unwrap_or(u32::MAX))
    }

    /// Returns all strings of the set, which are known to be few.
    fn list(&mut self) -> Result<Vec<Vec<u8>>, LimitExceeded> {
        let mut found = Vec::new();
        let mut bytes = 0_usize;
        let mut layer: Vec<(RegularState, Vec<u8>)> = Vec::new();
        layer.extend(self.start()?.map(|start| (start, Vec::new())));
        while let Some((state, prefix)) = layer.pop() {
            if self.is_accepting(&state) {
                found.push(prefix.clone());
            }
            for (first, size) in self.steps.classes(state.0)?.sizes() {
                let Some(next) = self.step(&state, first)? else {
                    continue;
                };
                for byte in (first..=u8::MAX).take(usize::from(size)) {
                    let mut longer = prefix.clone();
                    longer.push(byte);
                    bytes += longer.len();
                    layer.push((next, longer));
                }
                if bytes > self.limits.search.saturating_mul(BYTES_PER_VISIT) {
                    return Err(LimitExceeded {
                        what: "states visited to list the strings of a regular set",
                        limit: self.limits.search as u64,
                    });
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The number of copied bytes that count as one visited state.
const BYTES_PER_VISIT: usize = 256;

/// Returns how many strings are in the set, or `up_to` if there are at least as many. See [`RegularMachine::count`].
///
/// # Errors
/// If a limit does not suffice.
pub fn count(regular: &Regular, limits: RegularLimits, up_to: u32) -> Result<u32, LimitExceeded> {
    let mut machine = RegularMachine::new(regular, limits)?;
    match machine.start()? {
        Some(start) => machine.count(&start, up_to),
        None => Ok(0),
    }
}

/// Returns all texts of the set, sorted by their bytes, or `None` if there are more than `at_most`. Strings that are
/// not UTF-8 count, but are left out.
///
/// ```
/// use structgen_regular::{RegularLimits, strings};
/// use structgen_grammar::Regular;
///
/// let set = Regular::concat([Regular::literal("a"), Regular::repeat(Regular::literal("b"), 0, Some(2))]);
/// let listed = strings(&set, RegularLimits::default(), 3)?;
/// assert_eq!(listed, Some(vec!["a".to_owned(), "ab".to_owned(), "abb".to_owned()]));
/// assert_eq!(strings(&set, RegularLimits::default(), 2)?, None);
/// # Ok::<(), structgen_regular::LimitExceeded>(())
/// ```
///
/// # Errors
/// If a limit does not suffice.
pub fn strings(
    regular: &Regular,
    limits: RegularLimits,
    at_most: usize,
) -> Result<Option<Vec<String>>, LimitExceeded> {
    let mut machine = RegularMachine::new(regular, limits)?;
    let Some(start) = machine.start()? else {
        return Ok(Some(Vec::new()));
    };
    let most = u32::try_from(at_most).unwrap_or(u32::MAX - 1);
    if machine.count(&start, most.saturating_add(1))? > most {
        return Ok(None);
    }
    let listed = machine.list()?;
    Ok(Some(
        listed
            .into_iter()
            .filter_map(|bytes| String::from_utf8(bytes).ok())
            .collect(),
    ))
}
