//! Reachability: the states of an automaton that the texts of an expression lead to.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};
use structgen_grammar::{CharSet, Expr, ExprId, Grammar, Regular};

use crate::dfa::Dfa;
use crate::error::over;
use crate::work::WorkCount;
use crate::{AlgebraError, AlgebraLimits};

/// An expression, and the state before it.
type Key = (ExprId, u32);

/// The maximum nesting of expressions that are looked at as soon as they are demanded.
const MAX_NESTING: u32 = 100;

/// For expressions and states before them, the states after them: the least solution, computed on demand. What is
/// demanded is looked at at once, and again from a work list if more states are found for its parts.
pub(super) struct Reach<'g> {
    grammar: &'g Grammar,
    dfa: &'g Dfa,
    found: FxHashMap<Key, Found>,
    /// What must be looked at again, and the same as a set.
    queue: VecDeque<Key>,
    queued: FxHashSet<Key>,
    /// The transitions of a state by characters.
    characters: FxHashMap<u32, Vec<(u32, CharSet)>>,
    limits: &'g AlgebraLimits,
    work: WorkCount,
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
            queue: VecDeque::new(),
            queued: FxHashSet::default(),
            characters: FxHashMap::default(),
            limits,
            work: WorkCount::of_parts(limits),
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
        self.push((id, from));
        while let Some(key) = self.queue.pop_front() {
            self.queued.remove(&key);
            self.update(key, 0)?;
        }
        Ok(())
    }

    fn push(&mut self, key: Key) {
        if self.queued.insert(key) {
            self.queue.push_back(key);
        }
    }

    /// Looks at an expression, and requests another look at what uses it if there are more states after it.
    fn update(&mut self, key: Key, depth: u32) -> Result<(), AlgebraError> {
        let mut ends = self.look(key, depth)?;
        let found = self.found.entry(key).or_default();
        ends.extend_from_slice(&found.ends);
        ends.sort_unstable();
        ends.dedup();
        if found.ends != ends {
            found.ends = ends;
            let users: Vec<Key> = found.users.iter().copied().collect();
            users.into_iter().for_each(|user| self.push(user));
        }
        if self.found.len() > self.limits.states.saturating_mul(8) {
            return Err(over(
                "pairs of expressions and states",
                self.limits.states.saturating_mul(8),
            ));
        }
        Ok(())
    }

    /// The known states after a part of `user`. Recursive: the depth is bounded.
    fn of(
        &mut self,
        user: Key,
        part: ExprId,
        state: u32,
        depth: u32,
    ) -> Result<Vec<u32>, AlgebraError> {
        let key = (part, state);
        if let Entry::Vacant(entry) = self.found.entry(key) {
            entry.insert(Found::default());
            match depth < MAX_NESTING {
                true => self.update(key, depth + 1)?,
                false => self.push(key),
            }
        }
        let found = self.found.entry(key).or_default();
        found.users.insert(user);
        let ends = found.ends.clone();
        self.work.spend(1 + ends.len() as u64)?;
        Ok(ends)
    }

    /// The same from any of some states, sorted.
    fn of_all(
        &mut self,
        user: Key,
        part: ExprId,
        states: &[u32],
        depth: u32,
    ) -> Result<Vec<u32>, AlgebraError> {
        let mut next = Vec::new();
        for &state in states {
            next.extend(self.of(user, part, state, depth)?);
        }
        next.sort_unstable();
        next.dedup();
        Ok(next)
    }

    /// The states after an expression, from what is known of its parts.
    fn look(&mut self, key: Key, depth: u32) -> Result<Vec<u32>, AlgebraError> {
        let (id, from) = key;
        let grammar = self.grammar;
        Ok(match grammar.expr(id) {
            Expr::Empty => vec![from],
            Expr::Bytes(bytes) => self.dfa.run(from, bytes).into_iter().collect(),
            Expr::Regular(Regular::Chars(set)) => {
                let steps = self.steps(from)?;
                let leads = steps.iter().filter(|(_, step)| overlap(set, step));
                leads.map(|&(next, _)| next).collect()
            }
            Expr::Rule(rule) => self.of(key, grammar.rule(*rule).body, from, depth)?,
            Expr::Choice(arms) => {
                let mut ends = Vec::new();
                for &arm in arms {
                    ends.extend(self.of(key, arm, from, depth)?);
                }
                ends
            }
            Expr::Sequence(parts) => {
                let mut states = vec![from];
                for &part in parts {
                    states = self.of_all(key, part, &states, depth)?;
                }
                states
            }
            Expr::Repeat { body, min, max } => {
                let mut states = self.after_rounds(key, *body, *min, depth)?;
                let mut all: FxHashSet<u32> = states.iter().copied().collect();
                let mut left = max.map(|max| max - min);
                while left != Some(0) && !states.is_empty() {
                    states = self.of_all(key, *body, &states, depth)?;
                    states.retain(|&state| all.insert(state));
                    left = left.map(|left| left - 1);
                }
                all.into_iter().collect()
            }
            Expr::Token(token) => {
                return Err(AlgebraError::Token(crate::automaton::token_name(token)));
            }
            _ => Vec::new(),
        })
    }

    /// The states after exactly this number of rounds of the body of a repetition.
    fn after_rounds(
        &mut self,
        (repeat, from): Key,
        body: ExprId,
        rounds: u32,
        depth: u32,
    ) -> Result<Vec<u32>, AlgebraError> {
        let mut states = vec![from];
        // The sets of states recur, and whole periods are skipped.
        let mut seen: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let mut left = rounds;
        while left > 0 {
            if let Some(earlier) = seen.insert(states.clone(), left) {
                left %= earlier - left;
                if left == 0 {
                    break;
                }
            }
            states = self.of_all((repeat, from), body, &states, depth)?;
            left -= 1;
        }
        Ok(states)
    }

    fn steps(&mut self, from: u32) -> Result<&[(u32, CharSet)], AlgebraError> {
        if !self.characters.contains_key(&from) {
            let steps = self.dfa.characters(from)?;
            self.characters.insert(from, steps);
        }
        Ok(&self.characters[&from])
    }
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
