//! Sampling, token by token.

use std::sync::Arc;

use structgen_vocab::TokenId;

use super::start::Resources;
use super::writing::Writing;
use crate::demand::{Demand, Given};
use crate::request::Outputs;
use crate::task::{Context, Task, TaskSize};
use crate::{Constraint, FinishReason, GenerateError, GenerateOptions};

/// A sequence that is sampled token by token.
pub(crate) struct Sample<C: Constraint>(Writing<C>);

impl<C: Constraint> Sample<C> {
    pub(crate) fn start(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        number: usize,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        Writing::start(prompt, constraint, options, number, resources).map(Self)
    }
}

impl<C: Constraint> Task for Sample<C> {
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        self.0.begin(cx)?;
        let has_ended = self.0.has_ended();
        let context_length = cx.target.context_length;
        demands.extend(self.0.sequence.demand(has_ended, context_length));
        Ok(())
    }

    fn give(&mut self, cx: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        let output = &given.rows[0];
        self.0.sequence.take_run(given, output);
        match given.is_done && !self.0.has_ended() {
            true => self.0.choose(output.last(), cx),
            false => Ok(()),
        }
    }

    fn size(&self) -> TaskSize {
        self.0.size()
    }

    fn can_prepare(&self) -> bool {
        self.0.needs_mask()
    }

    fn prepare(&mut self) {
        self.0.compute_mask();
    }

    fn stop(&mut self, reason: FinishReason) {
        self.0.stop(reason);
    }

    fn finish(self: Box<Self>, cx: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        Ok(self.0.finish(cx))
    }
}
