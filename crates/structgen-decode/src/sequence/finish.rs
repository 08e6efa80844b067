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
            FinishReason::StopString(_) => self.is_complete_before_stop(codec),
            _ => self.constraint.is_accepting(),
        }
    }

    /// Returns whether the text that a stop string left is a complete output. It may end inside a token.
    fn is_complete_before_stop(&mut self, codec: &Codec) -> bool {
        let Some(mut rest) = self.text.len().checked_sub(self.prefill_bytes) else {
            return false;
        };
        let mut whole = 0;
        for token in &self.tokens {
            let bytes = codec.vocabulary.token_bytes(token.id);
            let len = bytes.map_or(0, <[u8]>::len);
            if rest == 0 || len > rest {
                break;
            }
            rest -= len;
            whole += 1;
        }
        let text = self.text.bytes();
        let part = text[text.len() - rest..].to_vec();
        let after = self.tokens.len() - whole;
        self.constraint.rollback(after).is_ok()
            && self.constraint.may_end_after(&part).unwrap_or(false)
    }
}
