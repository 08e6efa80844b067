//! The undeclared keys of an object: how many there are of a class, and what the shortest cost.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use structgen_grammar::Regular;

use super::{KeyClass, Slot};
use crate::bytes::{LONGEST_ESCAPE, PLAIN_LETTERS, escaped_byte, escaped_length};
use crate::json::is_plain;
use crate::{LimitExceeded, Machine};
use structgen_regular::{RegularLimits, RegularMachine, RegularState};

/// The costs of the shortest undeclared keys of a class, as far as they were requested.
#[derive(Debug, Default)]
pub(crate) struct KeyCosts(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    costs: Vec<u32>,
    /// Whether the class has no other keys.
    are_all: bool,
}

/// The strings that lead to a state.
#[derive(Clone, Copy, Default)]
struct Paths {
    count: usize,
    /// The maximum, over the states on these paths, of the bytes read and the cost of the state.
    bound: u32,
}

/// A step is made from each state by every byte.
const BYTES: usize = 256;

/// The maximum number of steps of a class's machine to its shortest keys; this bounds the time of a call.
const MAX_STEPS: usize = 4_000_000;

impl KeyClass {
    pub(super) fn new(keys: Option<Regular>, value: Slot) -> Self {
        Self {
            keys,
            value,
            costs: KeyCosts::default(),
        }
    }

    /// Returns the costs of the `n` shortest keys that are not declared, ascending; fewer if there are not as many. All
    /// calls must name the same declared keys.
    ///
    /// The cost of a key is its length in JSON, or more: what the key's terminal promises on the way may be longer than
    /// the key, as the completions that a machine knows are not always the shortest. Until this many keys are present,
    /// the terminal's cost does not exceed this.
    pub(crate) fn shortest(
        &self,
        n: usize,
        declared: &[Box<str>],
        limits: RegularLimits,
    ) -> Result<Vec<u32>, LimitExceeded> {
        let mut known = self.costs.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.costs.len() < n && !known.are_all {
            let n = n.next_power_of_two();
            *known = match &self.keys {
                Some(keys) => shortest(keys, n, declared, limits)?,
                None => shortest_of_all(n, declared),
            };
        }
        let n = known.costs.len().min(n);
        Ok(known.costs[..n].to_vec())
    }
}

/// Counts the texts of which no character needs an escape.
fn shortest_of_all(n: usize, declared: &[Box<str>]) -> Known {
    let is_plain = |key: &str| key.is_ascii() && key.bytes().all(|byte| escaped_byte(byte) == 1);
    let mut declared_of_length: FxHashMap<usize, usize> = FxHashMap::default();
    for key in declared.iter().filter(|key| is_plain(key)) {
        *declared_of_length.entry(key.len()).or_default() += 1;
    }
    let mut costs = Vec::with_capacity(n);
    let mut texts = 1_usize;
    for length in 1.. {
        texts = texts.saturating_mul(PLAIN_LETTERS);
        let declared = declared_of_length.get(&length).copied().unwrap_or(0);
        let missing = n - costs.len();
        let end = costs.len() + (texts - declared).min(missing);
        costs.resize(end, length as u32);
        if costs.len() == n {
            break;
        }
    }
    Known {
        costs,
        are_all: false,
    }
}

/// Counts strings by the bytes that they take in JSON. Since the machine is deterministic, the number of paths to a
/// state is the number of strings that lead to it. With them goes the most that the machine promises on one of these
/// paths.
fn shortest(
    keys: &Regular,
    n: usize,
    declared: &[Box<str>],
    limits: RegularLimits,
) -> Result<Known, LimitExceeded> {
    let bytes_per_byte = if is_plain(keys) { 1 } else { LONGEST_ESCAPE };
    let mut machine = RegularMachine::new(keys, limits)?;
    let start = machine.start()?;
    let mut costs = Vec::new();
    let mut levels: BTreeMap<u32, FxHashMap<RegularState, Paths>> = BTreeMap::new();
    if let Some(start) = start {
        let bound = machine.cost(&start).saturating_mul(bytes_per_byte);
        levels.insert(
            0,
            [(start, Paths { count: 1, bound })].into_iter().collect(),
        );
    }
    let mut by_length: FxHashMap<u32, Vec<&str>> = FxHashMap::default();
    for key in declared {
        by_length
            .entry(escaped_length(key.as_bytes()))
            .or_default()
            .push(key);
    }
    // More than these make no difference, whichever of them are declared.
    let most = n.saturating_add(declared.len());
    let mut steps = 0;
    while let Some((length, level)) = levels.pop_first() {
        // A declared key is never one of a class, even if the class has its text.
        let mut of_declared: FxHashMap<RegularState, usize> = FxHashMap::default();
        for key in by_length.remove(&length).unwrap_or_default() {
            steps += key.len();
            if let Some(start) = &start
                && let Some(state) = machine.run(start, key.as_bytes())?
            {
                *of_declared.entry(state).or_default() += 1;
            }
        }
        let accepted = level
            .iter()
            .filter(|(state, _)| machine.accept(state).is_some());
        let mut of_length: Vec<(u32, usize)> = accepted
            .map(|(state, paths)| {
                let declared = of_declared.get(state).copied().unwrap_or(0);
                (paths.bound, paths.count.saturating_sub(declared))
            })
            .collect();
        of_length.sort_unstable();
        for (bound, count) in of_length {
            // Until all of these keys are present, one of them is left and costs at most as much as the dearest.
            let cost = bound.max(costs.last().copied().unwrap_or(0));
            let missing = n - costs.len();
            costs.resize(costs.len() + count.min(missing), cost);
        }
        if costs.len() >= n {
            return Ok(Known {
                costs,
                are_all: false,
            });
        }
        for (state, Paths { count, bound }) in level {
            steps += BYTES;
            if steps > MAX_STEPS {
                return Err(LimitExceeded {
                    what: "steps on the way to the shortest keys of a pattern",
                    limit: MAX_STEPS as u64,
                });
            }
            // Bytes that lead to the same state and take as much are one step.
            let mut low = Some(0);
            while let Some(byte) = low {
                let (_, high) = machine.equivalent_bytes(&state, byte);
                let own = escaped_byte(byte);
                let alike = (byte..=high).take_while(|&byte| escaped_byte(byte) == own);
                let alike = alike.count();
                if let Some(next_state) = machine.step(&state, byte)? {
                    let length = length.saturating_add(own);
                    let rest = machine.cost(&next_state).saturating_mul(bytes_per_byte);
                    let paths = levels.entry(length).or_default();
                    let paths = paths.entry(next_state).or_default();
                    let count = count.saturating_mul(alike);
                    paths.count = paths.count.saturating_add(count).min(most);
                    paths.bound = paths.bound.max(bound).max(length.saturating_add(rest));
                }
                low = u8::try_from(usize::from(byte) + alike).ok();
            }
        }
    }
    Ok(Known {
        costs,
        are_all: true,
    })
}

#[cfg(test)]
mod tests {
    use structgen_grammar::CharSet;

    use super::*;
    use crate::bytes::plain_letters;

    fn costs_without(declared: &[&str], regular: Regular, n: usize) -> Vec<u32> {
        let declared: Vec<Box<str>> = declared.iter().map(|&key| key.into()).collect();
        KeyClass::new(Some(regular), [].into())
            .shortest(n, &declared, RegularLimits::default())
            .expect("no limit is met")
    }

    fn costs(regular: Regular, n: usize) -> Vec<u32> {
        costs_without(&[], regular, n)
    }

    #[test]
    fn the_shortest_keys_come_first_and_finite_classes_end() {
        let letters = Regular::Chars(CharSet::new([('a', 'c')]));
        let words = Regular::repeat(letters.clone(), 0, None);
        assert_eq!(costs(words, 6), [0, 1, 1, 1, 2, 2]);
        assert_eq!(costs(letters, 6), [1, 1, 1]);
        assert_eq!(costs(Regular::Never, 2), [0_u32; 0]);
    }

    #[test]
    fn declared_keys_are_not_among_them() {
        let letters = Regular::Chars(CharSet::new([('a', 'c')]));
        let words = Regular::repeat(letters.clone(), 1, None);
        assert_eq!(costs_without(&["a", "zz"], letters, 6), [1, 1]);
        let declared = ["a", "b", "c", "ab", "cc", "\"", "é"];
        let expected = [2, 2, 2, 2, 2, 2, 2, 3];
        assert_eq!(costs_without(&declared, words, 8), expected);
    }

    #[test]
    fn after_the_keys_of_one_letter_come_those_of_two() {
        assert_eq!(plain_letters().count(), PLAIN_LETTERS);
        let class = KeyClass::new(None, [].into());
        let declared = ["a", "b", "bb", "\"", "é"].map(Into::into);
        let costs = class.shortest(94, &declared, RegularLimits::default());
        let costs = costs.expect("no limit is met");
        assert_eq!(costs[..92], [1; 92]);
        assert_eq!(costs[92..], [2; 2]);
    }

    #[test]
    fn what_needs_an_escape_counts_as_it_is_written() {
        let letters = CharSet::new([('\u{7}', '\u{a}'), ('a', 'b')]);
        assert_eq!(costs(Regular::Chars(letters), 9), [1, 1, 2, 2, 2, 6]);
    }
}
