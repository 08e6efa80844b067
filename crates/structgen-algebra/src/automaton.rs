//! A grammar as a deterministic automaton over bytes, whose states are created on demand and are all live.

use std::sync::Arc;

use structgen_automata::{Call, Limits, MachineMeter, Memory, Network, Program, SetId};
use structgen_grammar::{Grammar, TokenTerminal, passes};

use crate::error::over;
use crate::work::WorkCount;
use crate::{AlgebraError, AlgebraLimits};

/// The automaton of a grammar, with the states computed so far.
pub(crate) struct Automaton {
    network: Network,
    limits: AlgebraLimits,
    work: WorkCount,
    /// The work of machines in new steps.
    machine_work: u64,
    /// The work at which memory is measured next.
    measure_at: u64,
}

/// The work of machines that takes about the time of a step.
const MACHINE_WORK_PER_STEP: u64 = 10;

/// The amount of work between two measurements of memory.
const MEASURE_EVERY: u64 = 1 << 13;

/// A transition by the bytes `low..=high` to `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step<S = SetId> {
    pub(crate) low: u8,
    pub(crate) high: u8,
    pub(crate) next: S,
}

impl Automaton {
    /// The automaton of a grammar; [`AlgebraError::Empty`] if no text matches.
    pub(crate) fn new(grammar: &Grammar, limits: &AlgebraLimits) -> Result<Self, AlgebraError> {
        let program_limits = Limits {
            cancel: limits.cancel.clone(),
            ..Limits::default()
        };
        let program = Program::new(passes::guides::run(grammar.clone()), program_limits)?;
        if let Some(token) = program.token_terminals().first() {
            return Err(AlgebraError::Token(token_name(token)));
        }
        Ok(Self {
            network: Network::new(Arc::new(program))?,
            limits: limits.clone(),
            work: WorkCount::of_steps(limits),
            machine_work: 0,
            measure_at: MEASURE_EVERY,
        })
    }

    /// The grammar as the passes left it.
    pub(crate) fn grammar(&self) -> &Grammar {
        self.network.program().grammar()
    }

    pub(crate) fn start(&self) -> SetId {
        self.network.start()
    }

    /// Resets the counted work.
    pub(crate) fn begin(&mut self) {
        self.work.begin();
        self.machine_work = 0;
        self.measure_at = MEASURE_EVERY;
    }

    /// Counts work.
    pub(crate) fn spend(&mut self, work: u64) -> Result<(), AlgebraError> {
        self.work.spend(work)?;
        if self.work.done() >= self.measure_at {
            self.measure_at = self.work.done() + MEASURE_EVERY;
            if self.network.memory() > self.limits.bytes {
                return Err(over("bytes of states", self.limits.bytes));
            }
        }
        Ok(())
    }

    /// Queries the network, and counts the work of the query.
    fn ask<T>(&mut self, ask: impl FnOnce(&Call<'_>) -> T) -> Result<T, AlgebraError> {
        let call = self
            .network
            .call()
            .with_cancel_token(self.limits.cancel.as_ref());
        let most = self.limits.work.saturating_mul(MACHINE_WORK_PER_STEP);
        let meter = MachineMeter::begin(most.saturating_sub(self.machine_work));
        let before = meter.done();
        let answer = ask(&call);
        self.machine_work += meter.done() - before;
        let work = call.work();
        self.spend(1 + work)?;
        Ok(answer)
    }

    pub(crate) fn accepts(&mut self, state: SetId) -> Result<bool, AlgebraError> {
        Ok(self.ask(|network| network.is_accepting(state))??)
    }

    /// The length in bytes of a known completion.
    pub(crate) fn cost(&mut self, state: SetId) -> Result<u64, AlgebraError> {
        self.ask(|network| network.cost(state))
    }

    /// The transitions from a state, ordered by byte; adjacent ranges that lead to one state are joined.
    pub(crate) fn steps(&mut self, state: SetId) -> Result<Vec<Step>, AlgebraError> {
        let first = self.ask(|network| network.first(state))?;
        let mut steps: Vec<Step> = Vec::new();
        for byte in (0..=u8::MAX).filter(|&byte| first.contains(byte)) {
            let next = self.ask(|network| network.step(state, byte, Memory::Exact))??;
            if next != SetId::DEAD {
                push(&mut steps, byte, byte, next);
            }
        }
        Ok(steps)
    }

    /// Some completion of a state: follows bytes that lower its cost, preferring printable ones.
    pub(crate) fn complete(&mut self, mut state: SetId) -> Result<Vec<u8>, AlgebraError> {
        let mut text = Vec::new();
        while !self.accepts(state)? {
            let steps = self.steps(state)?;
            let mut cheapest: Option<(u64, Step)> = None;
            for step in steps {
                let cost = self.cost(step.next)?;
                if cheapest.is_none_or(|(least, _)| cost < least) {
                    cheapest = Some((cost, step));
                }
            }
            // Every live state that is not final has a transition.
            let Some((_, step)) = cheapest else {
                return Err(AlgebraError::Empty);
            };
            text.push(readable(step.low, step.high));
            state = step.next;
        }
        Ok(text)
    }
}

/// Appends a transition, joining it with the last one if they are adjacent and lead to one state.
pub(crate) fn push<S: Copy + PartialEq>(steps: &mut Vec<Step<S>>, low: u8, high: u8, next: S) {
    match steps.last_mut() {
        Some(last) if last.next == next && last.high.checked_add(1) == Some(low) => {
            last.high = high;
        }
        _ => steps.push(Step { low, high, next }),
    }
}

/// The most readable byte of a range.
pub(crate) fn readable(low: u8, high: u8) -> u8 {
    (low..=high).min_by_key(|&byte| rank(byte)).unwrap_or(low)
}

/// The order of bytes by how readable they are, the most readable first.
pub(crate) fn rank(byte: u8) -> (u8, u8) {
    let kind = match byte {
        b'a'..=b'z' => 0,
        b'0'..=b'9' => 1,
        b'A'..=b'Z' => 2,
        b' '..=b'~' => 3,
        _ => 4,
    };
    (kind, byte)
}

/// The token that a terminal names or excludes.
pub(crate) fn token_name(token: &TokenTerminal) -> String {
    match token {
        TokenTerminal::Name(name) | TokenTerminal::NotName(name) => name.clone(),
        TokenTerminal::Id(id) | TokenTerminal::NotId(id) => format!("<[{id}]>"),
    }
}
