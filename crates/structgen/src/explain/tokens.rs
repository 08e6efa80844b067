//! The tokens that may come after the beginning of a text.

use structgen_constraint::CompiledConstraint;
use structgen_vocab::TokenId;

use crate::Result;

/// The tokens of a vocabulary that may come next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextTokens {
    /// The number of tokens that may come.
    pub count: usize,
    /// The size of the vocabulary.
    pub of: usize,
    /// Some of the tokens that may come, by id.
    pub listed: Vec<NextToken>,
}

/// A token that may come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextToken {
    /// Its id.
    pub id: TokenId,
    /// Its text, with replacement characters for invalid UTF-8; for a special token, its name.
    pub text: String,
    /// Whether it is a special token, which has no text in the output.
    pub is_special: bool,
}

impl NextTokens {
    /// Returns the tokens that may come after a text, listing at most `most` of them, or `None` if the text does not
    /// match so far.
    ///
    /// # Errors
    /// [`Error::Matcher`](crate::Error::Matcher) if a limit is exceeded.
    pub fn after(
        constraint: &CompiledConstraint,
        beginning: &[u8],
        most: usize,
    ) -> Result<Option<Self>> {
        let Some(mask) = constraint.matcher().mask_after(beginning)? else {
            return Ok(None);
        };
        let vocabulary = constraint.vocabulary();
        let ids = (0..vocabulary.len() as u32).map(TokenId);
        let listed = ids.filter(|&id| mask.contains(id)).take(most).map(|id| {
            let text = vocabulary.token_bytes(id).map(String::from_utf8_lossy);
            NextToken {
                id,
                is_special: text.is_none(),
                text: match text {
                    Some(text) => text.into_owned(),
                    None => vocabulary.token_name(id).unwrap_or_default().to_owned(),
                },
            }
        });
        Ok(Some(Self {
            count: mask.count(),
            of: vocabulary.len(),
            listed: listed.collect(),
        }))
    }
}
