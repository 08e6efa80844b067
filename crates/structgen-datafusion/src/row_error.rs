//! Errors while a row is computed: which of them are the row's result, and which end the call.

use structgen::decode::strategies::ChoiceError;
use structgen::decode::{FinishReason, GenerateError, ModelError};

use crate::{Error, Result};

/// Why a row was not computed.
#[derive(Debug)]
pub(crate) enum RowError {
    /// It depends on the text and the options alone, so it is the row's result.
    Row(String),
    /// It says nothing about the row, so the call fails.
    Call(Error),
}

/// What an error depends on.
enum Scope {
    /// The row's text: computing the row again would fail again.
    Row,
    /// The state of the process or the machine: computing the row again may succeed.
    Process,
    /// The model or the options: every row would fail.
    AllRows,
}

impl RowError {
    /// Returns the reason to record in the row.
    ///
    /// # Errors
    /// The error of the call, if it is not the row's.
    pub(crate) fn reason(self) -> Result<String> {
        match self {
            Self::Row(reason) => Ok(reason),
            Self::Call(error) => Err(error),
        }
    }
}

impl From<String> for RowError {
    fn from(reason: String) -> Self {
        Self::Row(reason)
    }
}

impl From<structgen::Error> for RowError {
    fn from(error: structgen::Error) -> Self {
        match scope(&error) {
            Scope::Row => Self::Row(format!("{error:?}")),
            Scope::Process => Self::Call(Error::Interrupted(error)),
            Scope::AllRows => Self::Call(Error::Structgen(error)),
        }
    }
}

fn scope(error: &structgen::Error) -> Scope {
    use structgen::Error;
    match error {
        Error::Generate(error) => scope_of_generation(error),
        Error::Load(_)
        | Error::TokenizerFile { .. }
        | Error::PromptVersion { .. }
        | Error::Calibration(_) => Scope::AllRows,
        // Of the prompt, the constraint with the values of the text, or the output.
        _ => Scope::Row,
    }
}

fn scope_of_generation(error: &GenerateError) -> Scope {
    use GenerateError as E;
    match error {
        E::EmptyPrompt
        | E::ContextOverflow { .. }
        | E::PromptTooLong { .. }
        | E::OutputStartInPrompt { .. }
        | E::BudgetTooSmall { .. }
        | E::Prefill { .. }
        | E::CacheLimit { .. }
        | E::Constraint { .. }
        | E::NoFiniteLogit { .. }
        | E::DeadEnd { .. }
        | E::Model(ModelError::ContextOverflow { .. } | ModelError::UnknownToken { .. })
        | E::Choice(ChoiceError::NoDistribution { .. }) => Scope::Row,
        E::Incomplete(cut) => scope_of_cut(cut.reason()),
        E::Choice(ChoiceError::Stopped { reason }) => scope_of_cut(reason),
        E::Model(_) | E::NoWorker | E::Stopped | E::QueueFull { .. } => Scope::Process,
        // A new kind of error must not mark rows as done.
        _ => Scope::AllRows,
    }
}

fn scope_of_cut(reason: &FinishReason) -> Scope {
    match reason {
        FinishReason::Cancelled => Scope::Process,
        _ => Scope::Row,
    }
}

#[cfg(test)]
mod tests {
    use structgen::decode::samplers::{SamplerKind, SamplingError};

    use super::*;

    fn recorded(error: GenerateError) -> Result<String> {
        RowError::from(structgen::Error::from(error)).reason()
    }

    #[test]
    fn errors_of_a_text_are_recorded_in_its_row() {
        for error in [
            GenerateError::EmptyPrompt,
            GenerateError::DeadEnd { step: 3 },
            ModelError::ContextOverflow {
                needed: 2,
                context_length: 1,
            }
            .into(),
            ChoiceError::Stopped {
                reason: FinishReason::TimeLimit,
            }
            .into(),
        ] {
            let reason = error.to_string();
            assert_eq!(recorded(error).unwrap(), reason);
        }
    }

    #[test]
    fn errors_that_may_pass_interrupt_the_call() {
        for error in [
            GenerateError::NoWorker,
            GenerateError::Stopped,
            GenerateError::QueueFull { limit: 0 },
            ModelError::Backend("out of memory".into()).into(),
            ChoiceError::Stopped {
                reason: FinishReason::Cancelled,
            }
            .into(),
        ] {
            let error = recorded(error).unwrap_err();
            assert!(matches!(error, Error::Interrupted(_)), "{error:?}");
        }
    }

    #[test]
    fn errors_of_the_options_fail_the_call() {
        for error in [
            GenerateError::NoHeads,
            SamplingError::Twice(SamplerKind::TopK).into(),
        ] {
            let error = recorded(error).unwrap_err();
            assert!(matches!(error, Error::Structgen(_)), "{error:?}");
        }
    }
}
