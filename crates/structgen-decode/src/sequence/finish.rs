//! The end of a sequence: its output, or the part that there is.

use super::Codec;
use super::{OnDelta, Sequence};
use crate::{Constraint, Delta, FinishReason, GenerateError, Generation, request::Incomplete};

impl<C: Constraint> Sequence<C> {
    /// Returns the output, which ended for this reason, or an error if it was cut before it was complete.
    pub(crate) fn finish(
        mut self,
        finish: FinishReason,
        codec: &Codec,
        on_delta: OnDelta<'_>,
    ) -> Result<Generation, GenerateError> {
        let complete = self.is_complete(&finish, codec);
        let rest = self.text.finish();
        if !rest.is_empty() {
            // The output has ended: there is nothing left for the callback to stop.
            let _ = on_delta(Delta {
                text: rest,
                tokens: self.tokens.len(),
                generated: &self.tokens,
                output: &self.all[self.prompt - self.options.prefill.len()..],
            });
        }
        for token in self.tokens.iter_mut().chain(&mut self.end) {
            token.span = self.text.span(token.span.clone());
        }
        self.stats.total_time = self.started.elapsed();
        let generation = Generation {
            text: self.text.into_text(),
            tokens: self.tokens,
            end: self.end,
            finish,
            stats: self.stats,
        };
        if complete {
            Ok(generation)
        } else {
            let partial = generation;
            Err(GenerateError::Incomplete(Box::new(Incomplete { partial })))
        }
    }

    /// Returns whether the text, after trimming, is a complete output.
    fn is_complete(&mut self, finish: &FinishReason, codec: &Codec) -> bool {
        if !self.constraint.has_structure() {
            return true;
        }
        match finish {
            FinishReason::Eos(_) | FinishReason::ConstraintFinished => true,
            FinishReason::StopString(_) => {
                // The constraint can only decide at token borders. Text that ends inside a token counts as cut.
                let mut end = self.prefill_bytes;
                let kept = self.text.len();
                let mut lengths = self.tokens.iter().map(|token| {
                    codec
                        .vocabulary
                        .token_bytes(token.id)
                        .map_or(0, <[u8]>::len)
                });
                let mut stays = 0;
                while end < kept
                    && let Some(len) = lengths.next()
                {
                    end += len;
                    stays += 1;
                }
                let back = self.tokens.len() - stays;
                end == kept
                    && self.constraint.rollback(back).is_ok()
                    && self.constraint.is_accepting()
            }
            _ => self.constraint.is_accepting(),
        }
    }
}
