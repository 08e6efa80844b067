//! Errors whose `Debug` is a sentence. A program whose `main` returns an error prints its `Debug`, so this is what
//! users read first.
//!
//! ```
//! use structgen_sentence::debug_as_sentence;
//!
//! #[derive(thiserror::Error)]
//! #[error("{path} cannot be read: choose another file")]
//! struct ReadError {
//!     path: &'static str,
//!     source: std::fmt::Error,
//! }
//!
//! debug_as_sentence!(ReadError);
//!
//! let error = ReadError { path: "a.json", source: std::fmt::Error };
//! let source = error.source.to_string();
//! assert_eq!(format!("{error:?}"), format!("a.json cannot be read: choose another file: {source}"));
//! ```

use std::error::Error;
use std::fmt;

/// Implements `Debug` for errors with [`write_sentence`].
#[macro_export]
macro_rules! debug_as_sentence {
    ($($error:ty),+ $(,)?) => {
        $(
            /// Formats the error as a sentence, including its sources.
            impl ::std::fmt::Debug for $error {
                fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    $crate::write_sentence(self, f)
                }
            }
        )+
    };
}

/// Writes the message of an error, and those of its sources that it does not end with already.
///
/// # Errors
/// Those of the formatter.
pub fn write_sentence(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut sentence = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let message = error.to_string();
        if !sentence.ends_with(&message) {
            sentence.push_str(": ");
            sentence.push_str(&message);
        }
        source = error.source();
    }
    f.write_str(&sentence)
}
