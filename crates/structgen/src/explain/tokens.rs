//! The tokens that may come after the beginning of a text.

use structgen_constraint::CompiledConstraint;
use structgen_vocab::TokenId;

use crate::Result;

/// The tokens of a vocabulary that may come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextTokens {
    /// How many may come.
    pub count: usize,
    /// How many there are.
    pub of: usize,
    /// Some of those that may come, in the order of their ids.
    pub listed: Vec<NextToken>,
}

/// A token that may come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextToken {
    /// Its id.
    pub id: TokenId,
    /// Its text, with a replacement character for what is no UTF-8; of a special token the name.
    pub text: String,
    /// Whether it is a special token, which has no text in the output.
    pub is_special: bool,
}

impl NextTokens {
    /// The tokens that may come after a text, of which at most `most` are listed; none where the text does not match so
    /// far.
    ///
    /// # Errors
    /// [`Error::Matcher`](crate::Error::Matcher) when a limit is exceeded.
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
