//! An output that is generated token by token: shared by the strategies that generate one.

use std::sync::Arc;

use structgen_vocab::TokenId;

use super::start::Resources;
use crate::request::{Output, Outputs};
use crate::sequence::{Next, Sequence, SomeMask};
use crate::task::{Context, TaskSize};
use crate::{Constraint, Delta, FinishReason, GenerateError, GenerateOptions};

/// An output with the mask of its next token and, once it has ended, the reason.
pub(super) struct Writing<C: Constraint> {
    /// The index of the output in its request.
    number: usize,
    pub(super) sequence: Sequence<C>,
    /// The mask for choosing the next token, once it is computed.
    pub(super) mask: SomeMask<C>,
    has_begun: bool,
    /// Log probabilities of the last tokens may still be missing after the end.
    end: Option<FinishReason>,
}

impl<C: Constraint> Writing<C> {
    pub(super) fn start(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        number: usize,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        let (info, codec) = (resources.target, resources.codec);
        let options = Arc::clone(options);
        Ok(Self {
            number,
            sequence: Sequence::start(prompt, constraint, options, number as u64, info, codec)?,
            mask: None,
            has_begun: false,
            end: None,
        })
    }

    /// Passes on the text of the prefill, and accepts the tokens forced after it. Does nothing the second time.
    pub(super) fn begin(&mut self, cx: &mut Context<'_>) -> Result<(), GenerateError> {
        if self.has_begun || self.has_ended() {
            return Ok(());
        }
        self.has_begun = true;
        let number = self.number;
        let on_delta = &mut |delta: Delta<'_>| (cx.on_delta)(number, delta);
        let next = self.sequence.begin(cx.codec, on_delta)?;
        self.set(next);
        Ok(())
    }

    /// Chooses a token by the logits after all tokens, and accepts it with the tokens forced after it.
    pub(super) fn choose(
        &mut self,
        logits: &[f32],
        cx: &mut Context<'_>,
    ) -> Result<(), GenerateError> {
        let (number, mask) = (self.number, self.mask.take());
        let on_delta = &mut |delta: Delta<'_>| (cx.on_delta)(number, delta);
        let next = self
            .sequence
            .choose(logits, mask, cx.step, cx.codec, on_delta)?;
        self.set(next);
        Ok(())
    }

    pub(super) fn set(&mut self, next: Next<C::Mask>) {
        match next {
            Next::Ended(reason) => self.end = Some(reason),
            Next::Logits(mask) => self.mask = mask.map(Ok),
        }
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Returns whether the next choice needs a mask that is not computed yet.
    pub(super) fn needs_mask(&self) -> bool {
        self.has_begun && self.end.is_none() && self.mask.is_none()
    }

    pub(super) fn compute_mask(&mut self) {
        self.mask = Some(self.sequence.constraint.mask());
    }

    /// Returns the size of a task of this output, which is one row.
    pub(super) fn size(&self) -> TaskSize {
        TaskSize::new(1, self.sequence.most_tokens())
    }

    /// Ends the output as it is, if it has not ended by itself.
    pub(super) fn stop(&mut self, reason: FinishReason) {
        self.end.get_or_insert(reason);
    }

    pub(super) fn finish(self, cx: &mut Context<'_>) -> Outputs {
        let (number, reason) = (self.number, self.end.unwrap_or(FinishReason::Cancelled));
        let on_delta = &mut |delta: Delta<'_>| (cx.on_delta)(number, delta);
        let output = self.sequence.finish(reason, cx.codec, on_delta);
        Outputs::new(vec![output.map(Output::from)])
    }
}
