//! Numbers that are multiples of some numbers and not of others.
//!
//! Unlike bounds and multiples, "not a multiple of" does not get easier with more digits. The machine of all numbers
//! runs beside one for each excluded divisor, and a state is live if there is a completion that only the first accepts.
//! Usually one of the first completions of the first machine is one, which are tried before all states are searched.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use structgen_grammar::{NumberForm, NumberSet};

use super::divisor::Divisor;
use super::exponent::Exponent;
use super::mantissa::Mantissa;
use super::{NumberMachine, NumberState, Phase};
use crate::{ByteSet, LimitExceeded, Machine};

/// The automaton of a [`NumberSet`] with [`not_multiples_of`](NumberSet::not_multiples_of).
///
/// ```
/// use structgen_automata::Machine;
/// use structgen_automata::number::ExcludingMachine;
/// use structgen_grammar::{JsonForm, NumberSet};
///
/// // What is no integer.
/// let set = NumberSet {
///     not_multiples_of: vec![1.into()],
///     ..NumberSet::default()
/// };
/// let mut machine = ExcludingMachine::new(&set, &JsonForm::generate().numbers)?;
/// let mut state = machine.start()?.expect("not empty");
/// for byte in *b"12.5" {
///     assert_eq!(machine.accept(&state), None);
///     state = machine.step(&state, byte)?.expect("live");
/// }
/// assert_eq!(machine.accept(&state), Some(0));
/// # Ok::<(), structgen_automata::LimitExceeded>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExcludingMachine {
    all: NumberMachine,
    /// For each excluded divisor, its multiples in the set.
    multiples: Box<[NumberMachine]>,
    /// Whether every number is a multiple of one of them.
    is_empty: bool,
    /// The costs of completions, as far as they were searched; `None` if there is none.
    known: FxHashMap<ExcludingState, Option<u32>>,
    /// The number of steps so far, those of searches included.
    work: u64,
}

/// A state of an [`ExcludingMachine`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExcludingState {
    all: NumberState,
    multiples: Box<[Option<NumberState>]>,
}

/// The bytes of numbers.
const BYTES: &[u8] = b"0123456789.-+eE";

/// The maximum number of states that one search for a completion may visit.
const MAX_SEARCH: usize = 100_000;

/// How much longer than the shortest are the numbers that are tried first.
const LONGER: u32 = 4;

/// What a step counts as work, in expressions of a regular set.
const STEP_WORK: u64 = 8;

/// How many numbers of each length are tried, if each takes all its digits.
const TRIED: usize = 64;

impl ExcludingMachine {
    /// Creates the automaton of `set` in `form`.
    ///
    /// # Errors
    /// As for [`NumberMachine::new`], with each of the excluded divisors among the others.
    pub fn new(set: &NumberSet, form: &NumberForm) -> Result<Self, LimitExceeded> {
        let all = NumberSet {
            not_multiples_of: Vec::new(),
            ..set.clone()
        };
        let least = Divisor::least_common_multiple(&all.multiples_of)?;
        let mut is_empty = false;
        let mut multiples = Vec::with_capacity(set.not_multiples_of.len());
        for divisor in &set.not_multiples_of {
            let mut set = all.clone();
            set.multiples_of.push(divisor.clone());
            is_empty |=
                least.is_some() && Divisor::least_common_multiple(&set.multiples_of)? == least;
            multiples.push(NumberMachine::new(&set, form)?);
        }
        Ok(Self {
            all: NumberMachine::new(&all, form)?,
            multiples: multiples.into(),
            is_empty,
            known: FxHashMap::default(),
            work: 0,
        })
    }

    /// Returns the state after a byte, live or not.
    fn next(
        &mut self,
        state: &ExcludingState,
        byte: u8,
    ) -> Result<Option<ExcludingState>, LimitExceeded> {
        self.work += STEP_WORK;
        if let (Phase::Mantissa(mantissa), b'e' | b'E') = (state.all.0, byte) {
            return Ok(self.exponent(mantissa, &state.multiples));
        }
        let Some(all) = self.all.step(&state.all, byte)? else {
            return Ok(None);
        };
        let mut multiples = state.multiples.clone();
        for (machine, state) in self.multiples.iter_mut().zip(&mut multiples) {
            if let Some(from) = state {
                *state = machine.step(from, byte)?;
            }
        }
        Ok(Some(ExcludingState { all, multiples }))
    }

    /// Returns the state after the `e` of an exponent. What is a multiple with one is a multiple with all larger ones,
    /// so the smaller ones are left, and the divisors need not be followed any further.
    fn exponent(
        &self,
        mantissa: Mantissa,
        multiples: &[Option<NumberState>],
    ) -> Option<ExcludingState> {
        let rules = &self.all.rules;
        let (low, mut high) = mantissa.exponents(rules)?;
        for (machine, state) in self.multiples.iter().zip(multiples) {
            if let Some(NumberState(Phase::Mantissa(own))) = state
                && let Some((first, _)) = own.exponents(&machine.rules)
            {
                high = high.min(first - 1);
            }
        }
        let exponent = Exponent::new(low, high, rules.exponent_digits)?;
        Some(ExcludingState {
            all: NumberState(Phase::Exponent(exponent)),
            multiples: multiples.iter().map(|_| None).collect(),
        })
    }

    /// Returns the cost of a completion if it is known without a search; `Some(None)` if there is none.
    fn known(&mut self, state: &ExcludingState) -> Option<Option<u32>> {
        if state.multiples.iter().all(Option::is_none) {
            return Some(Some(self.all.cost(&state.all)));
        }
        if self.accept(state).is_some() {
            return Some(Some(0));
        }
        self.known.get(state).copied()
    }

    /// Returns the length of a completion, which need not be the shortest, or `None` if there is none. The states on
    /// the path to it are live as well, each one byte dearer than the next.
    fn completion(&mut self, state: &ExcludingState) -> Result<Option<u32>, LimitExceeded> {
        if let Some(known) = self.known(state) {
            return Ok(known);
        }
        if let Some(cost) = self.nearby(state)? {
            return Ok(Some(cost));
        }
        let mut parents: FxHashMap<ExcludingState, ExcludingState> = FxHashMap::default();
        parents.insert(state.clone(), state.clone());
        // The states by number. Those with the shortest path to any number of the set come first.
        let mut states = vec![(state.clone(), 0_u32)];
        let mut queue = BinaryHeap::from([Reverse((0_u32, 0_usize))]);
        while let Some(Reverse((_, number))) = queue.pop() {
            let (from, length) = states[number].clone();
            if let Some(known) = self.known(&from) {
                let Some(mut cost) = known else { continue };
                let mut at = from;
                while at != *state {
                    at = parents[&at].clone();
                    cost = cost.saturating_add(1);
                    self.known.insert(at.clone(), Some(cost));
                }
                return Ok(Some(cost));
            }
            for &byte in BYTES {
                let Some(next) = self.next(&from, byte)? else {
                    continue;
                };
                if let Entry::Vacant(entry) = parents.entry(next) {
                    let cost = self.all.cost(&entry.key().all);
                    queue.push(Reverse((cost.saturating_add(length), states.len())));
                    states.push((entry.key().clone(), length + 1));
                    entry.insert(from.clone());
                }
            }
            if parents.len() > MAX_SEARCH {
                return Err(LimitExceeded {
                    what: "states searched for a number that is no multiple",
                    limit: MAX_SEARCH as u64,
                });
            }
        }
        self.known
            .extend(parents.into_keys().map(|dead| (dead, None)));
        Ok(None)
    }

    /// Tries the first numbers of the set that are hardly longer than the shortest, which the costs of the machine of
    /// all numbers lead to: most sets have many multiples of which few are excluded.
    fn nearby(&mut self, state: &ExcludingState) -> Result<Option<u32>, LimitExceeded> {
        let shortest = self.all.cost(&state.all);
        for longest in (0..=LONGER).map(|more| shortest.saturating_add(more)) {
            let mut path = vec![(state.clone(), BYTES.iter())];
            let mut seen = 0;
            while seen < TRIED * longest as usize {
                let left = longest.checked_sub(path.len() as u32);
                let Some((from, bytes)) = path.last_mut() else {
                    break;
                };
                let (Some(left), Some(&byte)) = (left, bytes.next()) else {
                    path.pop();
                    continue;
                };
                let from = from.clone();
                let Some(next) = self.next(&from, byte)? else {
                    continue;
                };
                if self.all.cost(&next.all) > left {
                    continue;
                }
                seen += 1;
                match self.known(&next) {
                    Some(None) => {}
                    Some(Some(mut cost)) => {
                        for (at, _) in path.into_iter().rev() {
                            cost = cost.saturating_add(1);
                            self.known.insert(at, Some(cost));
                        }
                        return Ok(Some(cost));
                    }
                    None => path.push((next, BYTES.iter())),
                }
            }
        }
        Ok(None)
    }

    fn if_live(&mut self, state: ExcludingState) -> Result<Option<ExcludingState>, LimitExceeded> {
        Ok(self.completion(&state)?.map(|_| state))
    }
}

impl Machine for ExcludingMachine {
    type State = ExcludingState;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<ExcludingState>, LimitExceeded> {
        let Some(all) = self.all.start()?.filter(|_| !self.is_empty) else {
            return Ok(None);
        };
        let multiples = self.multiples.iter_mut().map(Machine::start);
        let multiples = multiples.collect::<Result<_, _>>()?;
        self.if_live(ExcludingState { all, multiples })
    }

    fn step(
        &mut self,
        state: &ExcludingState,
        byte: u8,
    ) -> Result<Option<ExcludingState>, LimitExceeded> {
        match self.next(state, byte)? {
            Some(next) => self.if_live(next),
            None => Ok(None),
        }
    }

    fn equivalent_bytes(&mut self, state: &ExcludingState, byte: u8) -> (u8, u8) {
        self.all.equivalent_bytes(&state.all, byte)
    }

    fn first(&mut self, state: &ExcludingState) -> Option<ByteSet> {
        self.all.first(&state.all)
    }

    fn accept(&self, state: &ExcludingState) -> Option<u32> {
        let mut multiples = self.multiples.iter().zip(&state.multiples);
        let is_multiple = multiples
            .any(|(machine, state)| state.is_some_and(|state| machine.accept(&state).is_some()));
        self.all.accept(&state.all).filter(|_| !is_multiple)
    }

    fn work(&self) -> u64 {
        self.work
    }

    fn cost(&mut self, state: &ExcludingState) -> u32 {
        self.known(state).flatten().unwrap_or(u32::MAX)
    }
}
