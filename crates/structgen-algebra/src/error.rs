//! Limits and errors.

use structgen_automata::{CancelToken, LimitExceeded, ProgramError, StepError};

/// Limits on the work and memory of an operation. A comparison gives each of its two automata half of the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlgebraLimits {
    /// The maximum number of states, or pairs of states, that are visited.
    pub states: usize,
    /// The maximum number of expressions of a resulting grammar.
    pub expressions: usize,
    /// The maximum number of steps: transitions from a state, and alternatives examined for them. Sixteen smaller ones
    /// count as one: transitions of an automaton that is minimised, states that a part of an intersection leads to.
    pub work: u64,
    /// The maximum memory of states and of numbers of texts, in bytes.
    pub bytes: usize,
    /// Cancels the operation.
    pub cancel: Option<CancelToken>,
}

impl AlgebraLimits {
    /// The limits for this number of states, with the same work and memory per state as in the default limits.
    #[must_use]
    pub fn for_states(states: usize) -> Self {
        let default = Self::default();
        let scaled = |limit: u128| limit * states as u128 / default.states as u128;
        Self {
            states,
            work: scaled(default.work.into()).try_into().unwrap_or(u64::MAX),
            bytes: scaled(default.bytes as u128)
                .try_into()
                .unwrap_or(usize::MAX),
            ..default
        }
    }
}

impl Default for AlgebraLimits {
    fn default() -> Self {
        Self {
            states: 100_000,
            expressions: 1_000_000,
            work: 2_000_000,
            bytes: 256 << 20,
            cancel: None,
        }
    }
}

/// Why an operation on a grammar failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AlgebraError {
    /// No text matches.
    #[error("no text matches the grammar")]
    Empty,
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// A terminal is a token of a vocabulary, which has no text of its own.
    #[error("the terminal {0} is a token of a vocabulary and has no text of its own")]
    Token(String),
    /// Something requires a memory, which rules do not have.
    #[error("{0} takes a memory that the rules of a grammar do not have")]
    Memory(&'static str),
    /// Some strings are not UTF-8.
    #[error("some of the texts are no UTF-8, and GBNF has characters only")]
    NoCharacters,
    /// The grammar cannot be compiled, although it is not known to be empty.
    #[error(transparent)]
    Program(ProgramError),
}

impl From<StepError> for AlgebraError {
    fn from(error: StepError) -> Self {
        Self::Limit(match error {
            StepError::Limit(limit) => limit,
            StepError::NeedsExact => LimitExceeded {
                what: "texts that a state keeps",
                limit: 0,
            },
        })
    }
}

impl From<ProgramError> for AlgebraError {
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Limit(limit) | ProgramError::RuleLimit { limit, .. } => {
                Self::Limit(limit)
            }
            ProgramError::Unsatisfiable { .. } => Self::Empty,
            other => Self::Program(other),
        }
    }
}

/// The error for exceeding a limit of [`AlgebraLimits`].
pub(crate) fn over(what: &'static str, limit: usize) -> AlgebraError {
    AlgebraError::Limit(LimitExceeded {
        what,
        limit: limit as u64,
    })
}
