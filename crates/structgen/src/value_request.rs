//! A request for one value of a document.

use structgen_constraint::CompiledConstraint;
use structgen_decode::Request;
use structgen_vocab::TokenId;

use crate::Result;
use crate::value_matcher::{ValueMatcher, first_value};

/// A request for one value of a document, after what was written before it.
pub(crate) struct ValueRequest {
    pub(crate) request: Request<ValueMatcher>,
    /// In how many tokens the document can be completed from there.
    pub(crate) completion_cost: usize,
}

impl ValueRequest {
    /// `written` is what the document has before the value, and `before` the rest of that as text: the output begins with
    /// it.
    ///
    /// # Errors
    /// [`Error::Matcher`](crate::Error::Matcher) when the constraint does not allow what was written.
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
        let completion_cost = matcher.completion_cost();
        let matcher = ValueMatcher::new(matcher, before.len());
        Ok(Self {
            request: Request::new([prompt, written].concat(), matcher),
            completion_cost: usize::try_from(completion_cost).unwrap_or(usize::MAX),
        })
    }
}

/// The value, as it is written, that an output of such a request begins with after `before`. None where the output goes
/// another way, such as to another key.
pub(crate) fn value_after<'t>(before: &str, text: &'t str) -> Option<&'t str> {
    let is_continued = text.starts_with(before);
    first_value(text, before.len()).filter(|_| is_continued)
}
