//! A grammar as a deterministic automaton over bytes, whose states are made on demand and are all live.

use std::sync::Arc;

use structgen_automata::{Limits, Memory, Network, Program, SetId};
use structgen_grammar::{Grammar, TokenTerminal};

use crate::AlgebraError;

/// The automaton of a grammar.
pub(crate) struct Automaton {
    network: Network,
}

/// The bytes `low..=high` lead to `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step<S = SetId> {
    pub(crate) low: u8,
    pub(crate) high: u8,
    pub(crate) next: S,
}

impl Automaton {
    /// The automaton; [`AlgebraError::Empty`] where no text fits.
    pub(crate) fn new(grammar: &Grammar) -> Result<Self, AlgebraError> {
        let program = Program::new(grammar.clone(), Limits::default())?;
        if let Some(token) = program.token_terminals().first() {
            return Err(AlgebraError::Token(token_name(token)));
        }
        Ok(Self {
            network: Network::new(Arc::new(program))?,
        })
    }

    pub(crate) fn start(&self) -> SetId {
        self.network.start()
    }

    pub(crate) fn accepts(&mut self, state: SetId) -> Result<bool, AlgebraError> {
        Ok(self.network.call().is_accepting(state)?)
    }

    /// How many bytes a known completion takes.
    pub(crate) fn cost(&mut self, state: SetId) -> u64 {
        self.network.call().cost(state)
    }

    /// Where the bytes lead that may come next, in their order; neighbours that lead to one state are one step.
    pub(crate) fn steps(&mut self, state: SetId) -> Result<Vec<Step>, AlgebraError> {
        let first = self.network.call().first(state);
        let mut steps: Vec<Step> = Vec::new();
        for byte in (0..=u8::MAX).filter(|&byte| first.contains(byte)) {
            let next = self.network.call().step(state, byte, Memory::Exact)?;
            if next != SetId::DEAD {
                push(&mut steps, byte, byte, next);
            }
        }
        Ok(steps)
    }

    /// Some completion of a state: the bytes by which its cost falls, preferring those that can be read.
    pub(crate) fn complete(&mut self, mut state: SetId) -> Result<Vec<u8>, AlgebraError> {
        let mut text = Vec::new();
        while !self.accepts(state)? {
            let steps = self.steps(state)?;
            let cheapest = steps
                .iter()
                .min_by_key(|step| self.network.call().cost(step.next));
            // A live state that is not final has a step.
            let Some(step) = cheapest.copied() else {
                return Err(AlgebraError::Empty);
            };
            text.push(readable(step.low, step.high));
            state = step.next;
        }
        Ok(text)
    }
}

/// Adds a step after the others, joined with the last one where they touch and lead to one state.
pub(crate) fn push<S: Copy + PartialEq>(steps: &mut Vec<Step<S>>, low: u8, high: u8, next: S) {
    match steps.last_mut() {
        Some(last) if last.next == next && last.high.checked_add(1) == Some(low) => {
            last.high = high;
        }
        _ => steps.push(Step { low, high, next }),
    }
}

/// The byte of a range that is read most easily.
pub(crate) fn readable(low: u8, high: u8) -> u8 {
    let within = |&byte: &u8| (low..=high).contains(&byte);
    let (letters, digits) = (b'a'..=b'z', b'0'..=b'9');
    let mut nice = letters.chain(digits).chain(b'A'..=b'Z').chain(b' '..=b'~');
    nice.find(within).unwrap_or(low)
}

/// The token that a terminal names, be it the only one or the one that must not come.
pub(crate) fn token_name(token: &TokenTerminal) -> String {
    match token {
        TokenTerminal::Name(name) | TokenTerminal::NotName(name) => name.clone(),
        TokenTerminal::Id(id) | TokenTerminal::NotId(id) => format!("<[{id}]>"),
    }
}
