//! How a command fails: a paragraph on standard error, and an exit code.

use std::fmt;
use std::io;
use std::process::ExitCode;

use structgen::Error;
use structgen::frontend::json_schema::SchemaError;

use crate::remote::RemoteError;

/// Done.
pub(crate) const DONE: ExitCode = ExitCode::SUCCESS;

/// The text does not match, or the output was cut before it was complete.
pub(crate) fn does_not_fit() -> ExitCode {
    ExitCode::from(1)
}

/// Bad input or usage.
pub(crate) fn bad_input() -> ExitCode {
    ExitCode::from(2)
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error to report to the user.
    Told { error: anyhow::Error, code: u8 },
    /// The reader of standard output has gone, as `head` does: there is nobody left to report to.
    ReaderGone,
}

impl Failure {
    /// The error of an output that was cut before it was complete.
    pub(crate) fn incomplete(error: impl Into<anyhow::Error>) -> Self {
        Self::Told {
            error: error.into(),
            code: 1,
        }
    }

    /// Returns whether the reason is a schema under which no value is valid.
    pub(crate) fn is_unsatisfiable(&self) -> bool {
        let Self::Told { error, .. } = self else {
            return false;
        };
        let mut causes = error.chain();
        causes.any(|cause| {
            matches!(
                cause.downcast_ref(),
                Some(Error::Schema(SchemaError::Unsatisfiable { .. }))
            )
        })
    }

    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::ReaderGone => DONE,
            Self::Told { error, code } => {
                crate::output::error(&in_one_paragraph(error));
                ExitCode::from(*code)
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReaderGone => f.write_str("nobody reads the output"),
            Self::Told { error, .. } => f.write_str(&in_one_paragraph(error)),
        }
    }
}

/// Formats an error with its sources, each mentioned once.
fn in_one_paragraph(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(cause.trim_end());
        }
    }
    text
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let remote = error.downcast_ref::<RemoteError>();
        if remote.is_some_and(RemoteError::is_incomplete) {
            return Self::incomplete(error);
        }
        let cause = error
            .chain()
            .find_map(|cause| cause.downcast_ref::<io::Error>());
        if cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe) {
            return Self::ReaderGone;
        }
        Self::Told { error, code: 2 }
    }
}
