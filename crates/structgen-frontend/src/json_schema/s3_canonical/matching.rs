//! Queries on regular sets: whether they contain a string, whether they are empty.

use rustc_hash::FxHashMap;
use structgen_grammar::Regular;
use structgen_grammar::keyed::KeyedMap;
use structgen_regular::{LimitExceeded, RegularLimits, RegularMachine};

/// The maximum number of expressions of one machine, and of all cached machines.
const MOST_EXPRESSIONS: usize = 200_000;
/// Limits of a proof of emptiness: the expressions that it may create and the states that it may visit.
const PROOF: RegularLimits = RegularLimits {
    expressions: 20_000,
    search: 2_000,
};
/// The maximum number of expressions that all proofs for one schema may create; after that, nothing is proven.
const ALL_PROOFS: usize = 400_000;

/// Cached machines of regular sets.
#[derive(Default)]
pub(crate) struct Machines {
    machines: KeyedMap<Regular, RegularMachine>,
    /// The expressions of all machines together.
    size: usize,
    empty: KeyedMap<Regular, bool>,
    /// The cost of all proofs of emptiness so far.
    proofs: usize,
    numbers: KeyedMap<Regular, u32>,
    /// Whether two sets, by their numbers, are proven to be disjoint.
    apart: FxHashMap<(u32, u32), bool>,
}

impl Machines {
    /// Whether the string is in the set. The steps are subtracted from the budget; `None` if it does not suffice.
    pub(crate) fn contains(
        &mut self,
        regular: &Regular,
        text: &str,
        budget: &mut u64,
    ) -> Option<bool> {
        *budget = budget.checked_sub(text.len() as u64 + 1)?;
        if self.size > MOST_EXPRESSIONS {
            self.machines.clear();
            self.size = 0;
        }
        let before = self.machines.get(regular).map_or(0, RegularMachine::size);
        if before == 0 {
            let limits = RegularLimits {
                expressions: MOST_EXPRESSIONS.min(usize::try_from(*budget).unwrap_or(usize::MAX)),
                ..RegularLimits::default()
            };
            let machine = RegularMachine::new(regular, limits).ok()?;
            self.machines.insert(regular.clone(), machine);
        }
        let machine = self.machines.get_mut(regular)?;
        let found = machine.contains(text.as_bytes());
        let grown = machine.size() - before;
        self.size += grown;
        if found.is_err() {
            // The machine is full: the next string starts with a new one.
            self.size -= machine.size();
            self.machines.remove(regular);
        }
        *budget = budget.checked_sub(grown as u64)?;
        found.ok()
    }

    /// Whether the set is proven empty within small limits.
    pub(crate) fn is_empty(&mut self, regular: &Regular) -> bool {
        if regular.takes_empty() {
            return false;
        }
        if let Some(&known) = self.empty.get(regular) {
            return known;
        }
        if self.proofs > ALL_PROOFS {
            return false;
        }
        let (empty, cost) = prove(regular);
        self.proofs += cost;
        self.empty.insert(regular.clone(), empty);
        empty
    }

    /// Whether the set is proven empty within small limits, and the number of expressions that the proof created, which
    /// the caller counts.
    pub(crate) fn prove_empty(&mut self, regular: &Regular) -> (bool, usize) {
        if let Some(&known) = self.empty.get(regular) {
            return (known, 0);
        }
        let (empty, cost) = prove(regular);
        self.empty.insert(regular.clone(), empty);
        (empty, cost)
    }

    /// The number of a set; equal sets have equal numbers.
    pub(crate) fn number(&mut self, regular: &Regular) -> u32 {
        if let Some(&known) = self.numbers.get(regular) {
            return known;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(regular.clone(), number);
        number
    }

    /// Whether two sets, by their numbers, are proven to be disjoint; `None` if this was not determined yet.
    pub(crate) fn are_known_apart(&self, one: u32, other: u32) -> Option<bool> {
        self.apart.get(&(one.min(other), one.max(other))).copied()
    }

    /// Records whether two sets are disjoint.
    pub(crate) fn keep_apart(&mut self, one: u32, other: u32, are_apart: bool) {
        self.apart
            .insert((one.min(other), one.max(other)), are_apart);
    }
}

/// Whether the set is proven empty, and the number of expressions that the proof created.
fn prove(regular: &Regular) -> (bool, usize) {
    let prove = || -> Result<(bool, usize), LimitExceeded> {
        let mut machine = RegularMachine::new(regular, PROOF)?;
        let empty = machine.start()?.is_none();
        Ok((empty, machine.size()))
    };
    prove().unwrap_or((false, PROOF.expressions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regex::{RegexOptions, parse};

    fn matches(pattern: &str, text: &str) -> bool {
        let regular = parse(pattern, RegexOptions::json_schema()).expect("the pattern is read");
        Machines::default()
            .contains(&regular, text, &mut 1_000_000)
            .expect("the budget suffices")
    }

    #[test]
    fn patterns_are_searched_for() {
        assert!(matches("b+", "abbc"));
        assert!(!matches("^b+$", "abbc"));
        assert!(matches("^(a|bc){2,3}$", "abca"));
        assert!(!matches("^(a|bc){2,3}$", "a"));
        assert!(!matches("^(a|bc){2,3}$", "aaaa"));
        assert!(matches("^[^é]*$", "e"));
        assert!(matches("^é$", "é"));
        assert!(matches("^(a*)*$", "aaa"));
        assert!(matches("^(a?){5}$", "aa"));
    }

    #[test]
    fn complements_and_intersections_are_exact() {
        let a = parse("^a*$", RegexOptions::json_schema()).expect("the pattern is read");
        let even = parse("^(..)*$", RegexOptions::json_schema()).expect("the pattern is read");
        let not_a = Regular::Complement(a.clone().into());
        let mut budget = 100_000;
        let mut machines = Machines::default();
        assert_eq!(machines.contains(&not_a, "aa", &mut budget), Some(false));
        assert_eq!(machines.contains(&not_a, "aé", &mut budget), Some(true));
        let both = Regular::Intersection([a, even].into());
        assert_eq!(machines.contains(&both, "aa", &mut budget), Some(true));
        assert_eq!(machines.contains(&both, "aaa", &mut budget), Some(false));
        assert_eq!(machines.contains(&both, "ab", &mut budget), Some(false));
    }

    #[test]
    fn work_is_bounded() {
        let pattern = "^(?:a|b)*a(?:a|b){40}$";
        let heavy = parse(pattern, RegexOptions::json_schema()).expect("the pattern is read");
        let mut machines = Machines::default();
        // Each of the last forty letters may be the decisive one, so nearly every state is new.
        let mut seed = 1_u32;
        let mut letter = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if seed >> 31 == 0 { 'a' } else { 'b' }
        };
        let text: String = (0..4_000).map(|_| letter()).collect();
        assert_eq!(machines.contains(&heavy, &text, &mut 20_000), None);
        assert_eq!(machines.contains(&heavy, "b", &mut 1_000), Some(false));
    }

    #[test]
    fn contradictions_are_proven() {
        let set = |pattern| parse(pattern, RegexOptions::json_schema()).expect("it is read");
        let both = |one, other| Regular::Intersection([set(one), set(other)].into());
        let mut machines = Machines::default();
        for (one, other, empty) in [
            ("^a", "^b", true),
            ("a", "b", false),
            ("^(?!a)", "^a", true),
            ("^(aa)*$", "^a(aa)*$", true),
        ] {
            for _ in 0..2 {
                assert_eq!(machines.is_empty(&both(one, other)), empty, "{one} {other}");
            }
        }
    }
}
