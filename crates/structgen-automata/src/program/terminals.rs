//! The terminals of a program as automata, and the lengths of their texts.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use structgen_grammar::{EscapeForm, JsonForm};
use structgen_regular::RegularMachine;

use super::{CommonTerminal, TerminalSpec};
use crate::json::{Content, GapMachine, GroundedContent, StringMachine};
use crate::literal::LiteralMachine;
use crate::literals::LiteralsMachine;
use crate::number::{ExcludingMachine, ListedNumbersMachine, NumberMachine, with_room};
use crate::terminal::{START, Terminal};
use crate::{LimitExceeded, Limits};

impl TerminalSpec {
    /// Builds the automaton of the terminal. It may accept no text at all.
    pub(crate) fn terminal(
        &self,
        form: &JsonForm,
        limits: &Limits,
    ) -> Result<Terminal, LimitExceeded> {
        match self {
            Self::Bytes(bytes) => Terminal::new(LiteralMachine(bytes.clone())),
            Self::Literals(set) => Terminal::new(LiteralsMachine::new(set)),
            Self::Regular(regular) => match GapMachine::of(regular) {
                Some(gap) => Terminal::new(gap),
                None => Terminal::new(RegularMachine::new(regular, limits.regular)?),
            },
            Self::Number(set) if set.not_multiples_of.is_empty() => {
                Terminal::new(NumberMachine::new(set, &with_room(set, &form.numbers))?)
            }
            Self::Number(set) => {
                Terminal::new(ExcludingMachine::new(set, &with_room(set, &form.numbers))?)
            }
            Self::ListedNumbers(numbers) => {
                Terminal::new(ListedNumbersMachine::new(numbers, &form.numbers)?)
            }
            Self::String(shape) => Terminal::new(StringMachine::new(
                Content::new(shape, &limits.regular)?,
                form.escapes,
            )),
            Self::Span {
                shape,
                input,
                recognised,
            } => {
                let input = input.0.clone();
                let spans = GroundedContent::new(input, shape, *recognised, &limits.regular)?;
                let content = Content::Grounded(Box::new(spans));
                Terminal::new(StringMachine::new(content, form.escapes))
            }
        }
    }
}

/// Creates a terminal for a JSON string that may hold anything, including its quotes, with the escapes of a form.
///
/// # Errors
/// None in practice: the machine has no limits.
pub fn any_string(escapes: EscapeForm) -> Result<Terminal, LimitExceeded> {
    let content = Content::Any { min: 0, max: None };
    Terminal::new(StringMachine::new(content, escapes))
}

/// The terminals that were built to compute the lengths of their texts. Building them is much of the cost of compiling,
/// so the first network that needs one takes it.
pub(crate) struct ReadyTerminals(Mutex<Vec<Option<Terminal>>>);

impl ReadyTerminals {
    /// Takes the terminal, if it is still there.
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

/// The maximum number of terminals that are kept. A text of a larger grammar usually needs few of them, and each has
/// tables of its own.
const MAX_READY: usize = 10_000;

/// The number of a terminal, and the limit that it exceeds.
type TerminalLimit = (u32, LimitExceeded);

/// Builds the terminals that are not cached. Each comes with the length in bytes of its shortest known text; `None` if
/// it accepts no text at all.
pub(super) fn build(
    terminals: &[TerminalSpec],
    form: &JsonForm,
    limits: &Limits,
) -> Result<(ReadyTerminals, Vec<Option<u32>>), TerminalLimit> {
    let mut ready = Vec::with_capacity(terminals.len());
    let mut costs = Vec::with_capacity(terminals.len());
    for (id, spec) in (0..).zip(terminals) {
        let common = CommonTerminal::of(spec, form, limits.regular);
        if let Some(known) = common.and_then(CommonTerminal::cost) {
            costs.push(known);
            ready.push(None);
            continue;
        }
        let terminal = { spec.terminal(form, limits) }.map_err(|limit| (id, limit))?;
        let cost = (!terminal.is_never()).then(|| terminal.cost(START));
        if let Some(common) = common {
            common.insert(&terminal, cost);
        }
        costs.push(cost);
        ready.push((ready.len() < MAX_READY).then_some(terminal));
    }
    Ok((ReadyTerminals(Mutex::new(ready)), costs))
}
