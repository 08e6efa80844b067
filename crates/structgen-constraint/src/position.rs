//! Positions in an output.

use structgen_automata::{Call, LimitExceeded, SetId};

use crate::error::limit;

/// A position in the output, as far as the continuation depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    pub(crate) state: SetId,
    pub(crate) accepting: bool,
    /// Whether nothing can follow.
    pub(crate) is_final: bool,
    /// Whether an end-of-sequence id was accepted.
    pub(crate) ended: bool,
}

impl Position {
    /// Returns the position at a state.
    pub(crate) fn new(
        network: &Call<'_>,
        state: SetId,
        ended: bool,
    ) -> Result<Self, LimitExceeded> {
        let accepting = network.is_accepting(state).map_err(limit)?;
        let is_final = accepting && network.is_final(state).map_err(limit)?;
        Ok(Self {
            state,
            accepting,
            is_final,
            ended,
        })
    }

    /// Packs the position into one number, except whether an end-of-sequence id was accepted.
    pub(crate) fn pack(self) -> u64 {
        let flags = u64::from(self.accepting) << 1 | u64::from(self.is_final);
        flags << 32 | u64::from(self.state.number())
    }

    pub(crate) fn unpack(packed: u64) -> Self {
        Self {
            state: SetId::from_number(packed as u32),
            accepting: packed >> 33 & 1 == 1,
            is_final: packed >> 32 & 1 == 1,
            ended: false,
        }
    }
}
