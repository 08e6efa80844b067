//! What the texts of a program's terminals cost, found on terminals that the first network takes over.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use structgen_grammar::JsonForm;

use super::TerminalSpec;
use crate::network::Terminals;
use crate::terminal::{START, Terminal};
use crate::{LimitExceeded, Limits};

/// The terminals that were built to see what their texts cost. Building one is much of what compiling costs, so that who needs one
/// first takes it.
pub(crate) struct ReadyTerminals(Mutex<Vec<Option<Terminal>>>);

impl ReadyTerminals {
    /// The terminal, if nobody took it yet.
    pub(crate) fn take(&self, terminal: u32) -> Option<Terminal> {
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ready.get_mut(terminal as usize)?.take()
    }
}

impl fmt::Debug for ReadyTerminals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadyTerminals").finish_non_exhaustive()
    }
}

/// So many terminals are kept; of grammars with more, a text mostly needs few.
const KEPT: usize = 10_000;

/// Builds the terminals. With each comes the bytes of its shortest known text; `None` where it takes no text at all.
pub(super) fn build(
    terminals: &[TerminalSpec],
    form: &JsonForm,
    limits: &Limits,
) -> Result<(ReadyTerminals, Vec<Option<u32>>), LimitExceeded> {
    let mut ready = Vec::with_capacity(terminals.len());
    let mut costs = Vec::with_capacity(terminals.len());
    for spec in terminals {
        let mut terminal = Terminals::build(spec, form, limits)?;
        costs.push((!terminal.is_never()).then(|| terminal.cost(START)));
        ready.push((ready.len() < KEPT).then_some(terminal));
    }
    Ok((ReadyTerminals(Mutex::new(ready)), costs))
}
