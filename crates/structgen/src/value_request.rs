//! A request for a single value of a document.

use structgen_constraint::CompiledConstraint;
use structgen_decode::Request;
use structgen_vocab::TokenId;

use crate::Result;
use crate::value_matcher::{ValueMatcher, first_value};

/// A request for a single value of a document, given what was generated before it.
pub(crate) struct ValueRequest {
    pub(crate) request: Request<ValueMatcher>,
    /// A number of tokens that suffices to complete the document from there.
    pub(crate) completion_cost: usize,
}

impl ValueRequest {
    /// Creates a request. `written` is the part of the document before the value, and `before` the rest of that as
    /// text, with which the output starts.
    ///
    /// # Errors
    /// [`Error::Matcher`](crate::Error::Matcher) if the constraint does not allow what was written.
    pub(crate) fn new(
        prompt: &[TokenId],
        constraint: &CompiledConstraint,
        written: &[TokenId],
        before: &str,
    ) -> Result<Self> {
        let mut matcher = constraint.matcher();
        for &token in written {
            matcher.accept_token(token)?;
        }
        let completion_cost = matcher.completion_cost()?;
        let matcher = ValueMatcher::new(matcher, before.len());
        Ok(Self {
            request: Request::new([prompt, written].concat(), matcher),
            completion_cost: usize::try_from(completion_cost).unwrap_or(usize::MAX),
        })
    }
}

/// Returns the text of the value with which the output of such a request starts, after `before`, or `None` if the
/// output does something else, such as to write another key.
pub(crate) fn value_after<'t>(before: &str, text: &'t str) -> Option<&'t str> {
    let is_continued = text.starts_with(before);
    first_value(text, before.len()).filter(|_| is_continued)
}
