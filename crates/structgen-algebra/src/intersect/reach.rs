//! Reachability: the states of an automaton that the texts of an expression lead to.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{CharSet, Expr, ExprId, Grammar, Regular};

use crate::dfa::Dfa;
use crate::error::over;
use crate::{AlgebraError, AlgebraLimits};

/// An expression, and the state before it.
type Key = (ExprId, u32);

/// For expressions and states before them, the states after them: the least solution, computed on demand with a work
/// list.
pub(super) struct Reach<'g> {
    grammar: &'g Grammar,
    dfa: &'g Dfa,
    found: FxHashMap<Key, Found>,
    /// The transitions of a state by characters.
    characters: FxHashMap<u32, Vec<(u32, CharSet)>>,
    limits: &'g AlgebraLimits,
}

#[derive(Default)]
struct Found {
    /// The states after the expression, sorted.
    ends: Vec<u32>,
    /// What must be recomputed if more states are found.
    users: FxHashSet<Key>,
}

impl<'g> Reach<'g> {
    pub(super) fn new(grammar: &'g Grammar, dfa: &'g Dfa, limits: &'g AlgebraLimits) -> Self {
        Self {
            grammar,
            dfa,
            found: FxHashMap::default(),
            characters: FxHashMap::default(),
            limits,
        }
    }

    /// The states after an expression, sorted; empty if it was not demanded.
    pub(super) fn ends(&self, id: ExprId, from: u32) -> Vec<u32> {
        let found = self.found.get(&(id, from));
        found.map(|found| found.ends.clone()).unwrap_or_default()
    }

    /// Whether a text of the expression leads from one state to another.
    pub(super) fn leads(&self, id: ExprId, from: u32, to: u32) -> bool {
        let found = self.found.get(&(id, from));
        found.is_some_and(|found| found.ends.binary_search(&to).is_ok())
    }

    /// The characters that lead from one state to another.
    pub(super) fn characters(
        &mut self,
        from: u32,
        to: u32,
    ) -> Result<Option<CharSet>, AlgebraError> {
        let steps = self.steps(from)?;
        let found = steps.iter().find(|(next, _)| *next == to);
        Ok(found.map(|(_, set)| set.clone()))
    }

    /// The states after an expression, from any of the states in `from`.
    pub(super) fn behind(&self, id: ExprId, from: &[u32]) -> Vec<u32> {
        let mut ends: Vec<u32> = from
            .iter()
            .flat_map(|&state| self.ends(id, state))
            .collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// The states before each of the parts of a sequence.
    pub(super) fn layers(&self, parts: &[ExprId], from: u32) -> Vec<Vec<u32>> {
        let mut layers = vec![vec![from]];
        for &part in parts {
            let last = layers.last().map(Vec::as_slice).unwrap_or_default();
            layers.push(self.behind(part, last));
        }
        layers
    }

    /// Computes the states after an expression, and those of all its parts.
    pub(super) fn demand(&mut self, id: ExprId, from: u32) -> Result<(), AlgebraError> {
        self.found.entry((id, from)).or_default();
        let mut queue = VecDeque::from([(id, from)]);
        let mut queued: FxHashSet<Key> = FxHashSet::from_iter([(id, from)]);
        while let Some(key) = queue.pop_front() {
            queued.remove(&key);
            let mut ends = self.look(key, |new| {
                if queued.insert(new) {
                    queue.push_back(new);
                }
            })?;
            ends.sort_unstable();
            ends.dedup();
            if self.found.len() > self.limits.states.saturating_mul(8) {
                return Err(over(
                    "pairs of expressions and states",
                    self.limits.states.saturating_mul(8),
                ));
            }
            let found = self.found.entry(key).or_default();
            if found.ends != ends {
                found.ends = ends;
                for &user in &found.users {
                    if queued.insert(user) {
                        queue.push_back(user);
                    }
                }
            }
        }
        Ok(())
    }

    /// The states after an expression, from what is known of its parts; calls `demand` for each part it reads.
    fn look(&mut self, key: Key, mut demand: impl FnMut(Key)) -> Result<Vec<u32>, AlgebraError> {
        let (id, from) = key;
        let grammar = self.grammar;
        let mut of = |found: &mut FxHashMap<Key, Found>, part: ExprId, state: u32| -> Vec<u32> {
            let entry = found.entry((part, state)).or_insert_with(|| {
                demand((part, state));
                Found::default()
            });
            entry.users.insert(key);
            entry.ends.clone()
        };
        Ok(match grammar.expr(id) {
            Expr::Empty => vec![from],
            Expr::Bytes(bytes) => self.dfa.run(from, bytes).into_iter().collect(),
            Expr::Regular(Regular::Chars(set)) => {
                let steps = self.steps(from)?;
                let leads = steps.iter().filter(|(_, step)| overlap(set, step));
                leads.map(|&(next, _)| next).collect()
            }
            Expr::Rule(rule) => of(&mut self.found, grammar.rule(*rule).body, from),
            Expr::Choice(arms) => {
                let mut ends = Vec::new();
                for &arm in arms {
                    ends.extend(of(&mut self.found, arm, from));
                }
                ends
            }
            Expr::Sequence(parts) => {
                let mut states = vec![from];
                for &part in parts {
                    states = next_of(&states, |state| of(&mut self.found, part, state));
                }
                states
            }
            Expr::Repeat { body, min, max } => {
                let mut states = vec![from];
                for times in 0..*min {
                    let next = next_of(&states, |state| of(&mut self.found, *body, state));
                    // From here on the states no longer change.
                    if next == states && times > 0 {
                        break;
                    }
                    states = next;
                }
                let mut all: Vec<u32> = states.clone();
                let mut left = max.map(|max| max - min);
                while left != Some(0) {
                    let next = next_of(&states, |state| of(&mut self.found, *body, state));
                    states = next
                        .into_iter()
                        .filter(|state| !all.contains(state))
                        .collect();
                    if states.is_empty() {
                        break;
                    }
                    all.extend_from_slice(&states);
                    left = left.map(|left| left - 1);
                }
                all
            }
            Expr::Token(token) => {
                return Err(AlgebraError::Token(crate::automaton::token_name(token)));
            }
            _ => Vec::new(),
        })
    }

    fn steps(&mut self, from: u32) -> Result<&[(u32, CharSet)], AlgebraError> {
        if !self.characters.contains_key(&from) {
            let steps = self.dfa.characters(from)?;
            self.characters.insert(from, steps);
        }
        Ok(&self.characters[&from])
    }
}

fn next_of(states: &[u32], mut behind: impl FnMut(u32) -> Vec<u32>) -> Vec<u32> {
    let mut next: Vec<u32> = states.iter().flat_map(|&state| behind(state)).collect();
    next.sort_unstable();
    next.dedup();
    next
}

/// Whether the sets have a common character.
fn overlap(one: &CharSet, other: &CharSet) -> bool {
    let (mut one, mut other) = (
        one.ranges().iter().peekable(),
        other.ranges().iter().peekable(),
    );
    while let (Some(&&(low, high)), Some(&&(other_low, other_high))) = (one.peek(), other.peek()) {
        if low <= other_high && other_low <= high {
            return true;
        }
        if high < other_high {
            one.next();
        } else {
            other.next();
        }
    }
    false
}
