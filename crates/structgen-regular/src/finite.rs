//! Finite sets of byte strings as one shared, minimal, acyclic automaton: characters and unions of literals.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// A state of the shared automaton: the finite set of byte strings that it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FiniteState(pub(super) u32);

/// One transition: the bytes `low..=high` lead to `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Transition {
    pub(super) low: u8,
    pub(super) high: u8,
    pub(super) next: FiniteState,
}

/// All states; equal sets built in the same way are one state. Every state accepts something.
#[derive(Clone, Debug)]
pub(super) struct FiniteStates {
    transitions: Vec<Transition>,
    states: Vec<State>,
    ids: HashTable<FiniteState>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// The end of its transitions, which start at the end of the previous state's.
    end: u32,
    accepts: bool,
    /// Whether all strings are known to be whole UTF-8 texts.
    utf8: bool,
    /// The length of the shortest string.
    shortest: u32,
    /// The length of the longest string.
    longest: u32,
}

impl FiniteStates {
    /// The state that accepts only the empty string.
    pub(super) const EMPTY: FiniteState = FiniteState(0);

    pub(super) fn new() -> Self {
        let mut states = Self {
            transitions: Vec::new(),
            states: Vec::new(),
            ids: HashTable::new(),
        };
        states.intern(true, &[]);
        states
    }

    pub(super) fn len(&self) -> usize {
        self.states.len() + self.transitions.len()
    }

    pub(super) fn transitions(&self, state: FiniteState) -> &[Transition] {
        let index = state.0 as usize;
        let start = match index {
            0 => 0,
            _ => self.states[index - 1].end as usize,
        };
        &self.transitions[start..self.states[index].end as usize]
    }

    pub(super) fn accepts(&self, state: FiniteState) -> bool {
        self.states[state.0 as usize].accepts
    }

    pub(super) fn is_utf8(&self, state: FiniteState) -> bool {
        self.states[state.0 as usize].utf8
    }

    /// Marks all strings of the state as whole UTF-8 texts.
    pub(super) fn set_utf8(&mut self, state: FiniteState) {
        self.states[state.0 as usize].utf8 = true;
    }

    pub(super) fn shortest(&self, state: FiniteState) -> u32 {
        self.states[state.0 as usize].shortest
    }

    pub(super) fn longest(&self, state: FiniteState) -> u32 {
        self.states[state.0 as usize].longest
    }

    pub(super) fn step(&self, state: FiniteState, byte: u8) -> Option<FiniteState> {
        let transitions = self.transitions(state);
        let after = transitions.partition_point(|transition| transition.high < byte);
        transitions
            .get(after)
            .filter(|transition| transition.low <= byte)
            .map(|transition| transition.next)
    }

    /// Returns the state with these transitions: sorted, disjoint, with existing targets, and not empty unless
    /// `accepts`.
    pub(super) fn intern(&mut self, accepts: bool, transitions: &[Transition]) -> FiniteState {
        let hash = hash_of(accepts, transitions);
        let found = self.ids.find(hash, |&id| {
            self.accepts(id) == accepts && self.transitions(id) == transitions
        });
        if let Some(&id) = found {
            return id;
        }
        let id = FiniteState(u32::try_from(self.states.len()).unwrap_or(u32::MAX));
        let shortest = transitions
            .iter()
            .map(|transition| self.shortest(transition.next).saturating_add(1))
            .min();
        let longest = transitions
            .iter()
            .map(|transition| self.longest(transition.next).saturating_add(1))
            .max();
        let utf8 = transitions
            .iter()
            .all(|transition| transition.high < 0x80 && self.is_utf8(transition.next));
        self.transitions.extend_from_slice(transitions);
        self.states.push(State {
            end: u32::try_from(self.transitions.len()).unwrap_or(u32::MAX),
            accepts,
            utf8,
            shortest: if accepts { 0 } else { shortest.unwrap_or(0) },
            longest: longest.unwrap_or(0),
        });
        let (states, all) = (&self.states, &self.transitions);
        self.ids.insert_unique(hash, id, |&id| {
            let index = id.0 as usize;
            let start = if index == 0 { 0 } else { states[index - 1].end };
            hash_of(
                states[index].accepts,
                &all[start as usize..states[index].end as usize],
            )
        });
        id
    }

    /// Returns the state that accepts the same strings except the empty one; there are others.
    pub(super) fn without_empty(&mut self, state: FiniteState) -> FiniteState {
        let transitions = self.transitions(state).to_vec();
        let rest = self.intern(false, &transitions);
        if self.is_utf8(state) {
            self.set_utf8(rest);
        }
        rest
    }

    /// Returns the state that accepts exactly these strings: sorted and without duplicates, at least one.
    ///
    /// Daciuk, Mihov, Watson, Watson: "Incremental Construction of Minimal Acyclic Finite-State Automata" (2000), for
    /// sorted input.
    pub(super) fn literals(&mut self, sorted: &[&[u8]]) -> FiniteState {
        // The states along the last string that may still grow: whether they accept, and their transitions so far.
        let mut path: Vec<(bool, Vec<Transition>)> = vec![(false, Vec::new())];
        let mut last: &[u8] = &[];
        for &literal in sorted {
            let common = last
                .iter()
                .zip(literal)
                .take_while(|(left, right)| left == right)
                .count();
            self.freeze(&mut path, last, common);
            path.resize_with(literal.len() + 1, Default::default);
            path[literal.len()].0 = true;
            last = literal;
        }
        self.freeze(&mut path, last, 0);
        let (accepts, transitions) = path.swap_remove(0);
        let start = self.intern(accepts, &transitions);
        if sorted
            .iter()
            .all(|literal| std::str::from_utf8(literal).is_ok())
        {
            self.set_utf8(start);
        }
        start
    }

    /// Interns the states of `path` below `depth`, along the bytes of `last`.
    fn freeze(&mut self, path: &mut Vec<(bool, Vec<Transition>)>, last: &[u8], depth: usize) {
        while path.len() > depth + 1 {
            let Some((accepts, transitions)) = path.pop() else {
                return;
            };
            let next = self.intern(accepts, &transitions);
            let byte = last[path.len() - 1];
            let above = &mut path.last_mut().map(|(_, transitions)| transitions);
            if let Some(above) = above {
                push_transition(above, byte, byte, next);
            }
        }
    }
}

/// Adds a transition after the others, joined with the last one if they touch and lead to the same state.
pub(super) fn push_transition(
    transitions: &mut Vec<Transition>,
    low: u8,
    high: u8,
    next: FiniteState,
) {
    match transitions.last_mut() {
        Some(last) if last.next == next && last.high.checked_add(1) == Some(low) => {
            last.high = high;
        }
        _ => transitions.push(Transition { low, high, next }),
    }
}

fn hash_of(accepts: bool, transitions: &[Transition]) -> u64 {
    let mut hasher = FxHasher::default();
    accepts.hash(&mut hasher);
    transitions.hash(&mut hasher);
    hasher.finish()
}
