//! The part of a sequence that the model sees once it has outgrown the context.

use structgen_vocab::TokenId;

use super::Sequence;
use crate::{Constraint, GenerateError, GenerateOptions, ModelInfo, request::ContextOverflow};

/// The first and the last tokens of a sequence.
#[derive(Debug, Clone)]
pub(super) struct Cropped {
    tokens: Vec<TokenId>,
    /// The number of tokens dropped between them.
    dropped: usize,
}

impl Cropped {
    pub(super) fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }
}

/// Returns how many tokens may be generated after a prompt.
pub(super) fn budget(
    prompt: usize,
    options: &GenerateOptions,
    info: &ModelInfo,
) -> Result<usize, GenerateError> {
    // What an encoder-decoder has for outputs includes the prefill.
    let before_output = prompt - options.prefill.len();
    let context_length = info.longest_text(before_output);
    match options.overflow {
        ContextOverflow::Error => {
            let new = options.max_new_tokens.unwrap_or(1);
            if prompt.saturating_add(new) > context_length {
                return Err(GenerateError::ContextOverflow {
                    prompt,
                    new,
                    context_length,
                });
            }
            Ok(options.max_new_tokens.unwrap_or(context_length - prompt))
        }
        ContextOverflow::Crop { .. } if info.output_start.is_some() => {
            Err(GenerateError::CropWithEncoder {
                longest: context_length.saturating_sub(before_output),
            })
        }
        ContextOverflow::Crop { keep } => {
            // Room for a new token, and one before it.
            if keep.saturating_add(2) > context_length {
                return Err(GenerateError::CropKeepsAll {
                    keep,
                    context_length,
                });
            }
            Ok(options.max_new_tokens.unwrap_or(context_length))
        }
    }
}

impl<C: Constraint> Sequence<C> {
    /// If there are more tokens than the model can attend to, drops some after the first ones, so that half of the room
    /// after these is free. Returns whether it did; everything that is left must then be run again.
    pub(crate) fn crop(&mut self, context_length: usize) -> bool {
        let shown = self.all().len();
        let ContextOverflow::Crop { keep } = self.options.overflow else {
            return false;
        };
        if shown <= context_length {
            return false;
        }
        let keep = keep.min(self.prompt);
        let room = context_length - keep;
        // Tokens that wait for their log probabilities are kept as far as there is room, with the one before them.
        // Those of the prompt have none.
        let pending = (shown - self.seen).min(self.all.len() - self.prompt);
        let tail = (room / 2).max(pending + 1).min(room).max(1);
        let end = self.all.len();
        let dropped = end.saturating_sub(keep + tail);
        self.cropped = Some(Cropped {
            tokens: [&self.all[..keep], &self.all[keep + dropped..]].concat(),
            dropped,
        });
        // Dropped tokens are never scored.
        let least = (keep + dropped + 1).saturating_sub(self.prompt);
        self.scored = self.scored.max(least);
        self.seen = 0;
        self.stats.crops += 1;
        true
    }

    pub(super) fn dropped(&self) -> usize {
        self.cropped.as_ref().map_or(0, |cropped| cropped.dropped)
    }

    /// Returns the position, in what the model sees, of the token before the first without log probabilities.
    pub(super) fn before_unscored(&self) -> usize {
        self.prompt + self.scored - 1 - self.dropped()
    }

    pub(super) fn push(&mut self, token: TokenId) {
        self.all.push(token);
        if let Some(cropped) = &mut self.cropped {
            cropped.tokens.push(token);
        }
    }
}
