//! Explicit finite automata: the minimal automaton of a regular grammar.

mod partition;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use structgen_automata::SetId;
use structgen_grammar::{CharSet, Expr, Grammar, GrammarBuilder, JsonForm};

use crate::automaton::{Automaton, Step, push};
use crate::error::over;
use crate::work::WorkCount;
use crate::{AlgebraError, AlgebraLimits};

/// A deterministic automaton over bytes without dead states. The start state is 0, and states are numbered breadth
/// first.
#[derive(Clone, Debug)]
pub(crate) struct Dfa {
    pub(crate) states: Vec<State>,
}

/// A state: whether a text may end here, and its transitions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) accepts: bool,
    pub(crate) steps: Vec<Step<u32>>,
}

impl Dfa {
    /// The automaton of a single leaf, with JSON written in the given form.
    pub(crate) fn of_leaf(
        leaf: Expr,
        form: &JsonForm,
        limits: &AlgebraLimits,
    ) -> Result<Self, AlgebraError> {
        let mut builder = GrammarBuilder::new();
        let root = builder.declare("root");
        let body = builder.expr(leaf);
        builder.define(root, body);
        Self::of(&builder.finish(root, form.clone()), limits)
    }

    /// The minimal automaton of a grammar. The error is [`AlgebraError::Empty`] if no text matches, and a limit if
    /// there are too many or infinitely many states.
    pub(crate) fn of(grammar: &Grammar, limits: &AlgebraLimits) -> Result<Self, AlgebraError> {
        let mut automaton = Automaton::new(grammar, limits)?;
        let start = automaton.start();
        let mut ids: FxHashMap<SetId, u32> = FxHashMap::from_iter([(start, 0)]);
        let mut found = vec![start];
        let mut states = Vec::new();
        while states.len() < found.len() {
            let set = found[states.len()];
            let mut steps = Vec::new();
            for Step { low, high, next } in automaton.steps(set)? {
                let id = *ids.entry(next).or_insert_with(|| {
                    found.push(next);
                    found.len() as u32 - 1
                });
                push(&mut steps, low, high, id);
            }
            if found.len() > limits.states {
                return Err(over("states of a finite automaton", limits.states));
            }
            let accepts = automaton.accepts(set)?;
            states.push(State { accepts, steps });
        }
        Self { states }.minimal(&mut WorkCount::of_parts(limits))
    }

    /// Minimises the automaton.
    fn minimal(self, work: &mut WorkCount) -> Result<Self, AlgebraError> {
        let (classes, count) = partition::classes(&self.states, work)?;
        // One state of each class, numbered in breadth-first order.
        let mut numbers = vec![u32::MAX; count];
        let mut order: Vec<usize> = vec![0];
        numbers[classes[0] as usize] = 0;
        let mut states = Vec::with_capacity(count);
        while states.len() < order.len() {
            let state = &self.states[order[states.len()]];
            for step in &state.steps {
                let number = &mut numbers[classes[step.next as usize] as usize];
                if *number == u32::MAX {
                    *number = order.len() as u32;
                    order.push(step.next as usize);
                }
            }
            let steps = renumbered(&state.steps, |next| {
                numbers[classes[next as usize] as usize]
            });
            let accepts = state.accepts;
            states.push(State { accepts, steps });
        }
        Ok(Self { states })
    }

    /// The state after some bytes.
    pub(crate) fn run(&self, from: u32, bytes: &[u8]) -> Option<u32> {
        bytes.iter().try_fold(from, |state, byte| {
            let steps = &self.states[state as usize].steps;
            let step = steps
                .iter()
                .find(|step| (step.low..=step.high).contains(byte))?;
            Some(step.next)
        })
    }

    /// Transitions by whole characters; [`AlgebraError::NoCharacters`] if bytes that are not UTF-8 are possible.
    pub(crate) fn characters(&self, from: u32) -> Result<Vec<(u32, CharSet)>, AlgebraError> {
        let mut found: BTreeMap<u32, Vec<(char, char)>> = BTreeMap::new();
        for step in &self.states[from as usize].steps {
            for lead in step.low..=step.high {
                let (value, more) = match lead {
                    0..=0x7F => (u32::from(lead), 0),
                    0xC2..=0xDF => (u32::from(lead) & 0x1F, 1),
                    0xE0..=0xEF => (u32::from(lead) & 0x0F, 2),
                    0xF0..=0xF4 => (u32::from(lead) & 0x07, 3),
                    _ => return Err(AlgebraError::NoCharacters),
                };
                self.continued(step.next, value, more, &mut found)?;
            }
        }
        let sets = found.into_iter();
        Ok(sets
            .map(|(next, ranges)| (next, CharSet::new(ranges)))
            .collect())
    }

    /// Collects the characters that begin with the bits of `value` and have `more` bytes left. Recursive, at most three
    /// deep.
    fn continued(
        &self,
        state: u32,
        value: u32,
        more: u32,
        found: &mut BTreeMap<u32, Vec<(char, char)>>,
    ) -> Result<(), AlgebraError> {
        let character = |value| char::from_u32(value).ok_or(AlgebraError::NoCharacters);
        if more == 0 {
            let one = character(value)?;
            found.entry(state).or_default().push((one, one));
            return Ok(());
        }
        let state = &self.states[state as usize];
        if state.accepts {
            return Err(AlgebraError::NoCharacters);
        }
        for step in &state.steps {
            if step.low < 0x80 || step.high > 0xBF {
                return Err(AlgebraError::NoCharacters);
            }
            let longer = |byte: u8| value << 6 | u32::from(byte & 0x3F);
            if more == 1 {
                let range = (character(longer(step.low))?, character(longer(step.high))?);
                found.entry(step.next).or_default().push(range);
                continue;
            }
            for byte in step.low..=step.high {
                self.continued(step.next, longer(byte), more - 1, found)?;
            }
        }
        Ok(())
    }
}

/// The transitions with states renumbered, and adjacent ones joined if they now lead to one state.
fn renumbered(steps: &[Step<u32>], number: impl Fn(u32) -> u32) -> Vec<Step<u32>> {
    let mut joined = Vec::with_capacity(steps.len());
    for step in steps {
        push(&mut joined, step.low, step.high, number(step.next));
    }
    joined
}
