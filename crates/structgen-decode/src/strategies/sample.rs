//! One token after another.

use std::sync::Arc;

use structgen_vocab::TokenId;

use crate::request::{Output, Outputs, Resources};
use crate::sequence::{Next, Sequence, SomeMask};
use crate::task::{Context, Demand, Given, Task, TaskSize};
use crate::{Constraint, FinishReason, GenerateError, GenerateOptions};

/// A sequence that is drawn token by token.
pub(crate) struct Sample<C: Constraint> {
    /// Which output of its request it is.
    number: usize,
    sequence: Sequence<C>,
    state: State,
    /// What the next token is chosen by, once it is there.
    mask: SomeMask<C>,
}

#[derive(Debug, PartialEq)]
enum State {
    /// Nothing was delivered or forced yet.
    New,
    /// The next token is chosen by the logits after all tokens.
    Choosing,
    /// The output has ended; log probabilities of its last tokens may be missing.
    Ended(FinishReason),
}

impl<C: Constraint> Sample<C> {
    pub(crate) fn start(
        prompt: &[TokenId],
        constraint: C,
        options: &Arc<GenerateOptions>,
        number: usize,
        resources: &Resources<'_>,
    ) -> Result<Self, GenerateError> {
        let (info, codec) = (resources.target, resources.codec);
        let options = Arc::clone(options);
        let sequence = Sequence::start(prompt, constraint, options, number as u64, info, codec)?;
        Ok(Self {
            number,
            sequence,
            state: State::New,
            mask: None,
        })
    }

    fn set(&mut self, next: Next<C::Mask>) {
        match next {
            Next::Ended(reason) => self.state = State::Ended(reason),
            Next::Logits(mask) => {
                self.state = State::Choosing;
                self.mask = mask.map(Ok);
            }
        }
    }
}

impl<C: Constraint> Task for Sample<C> {
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        demands: &mut Vec<Demand>,
    ) -> Result<(), GenerateError> {
        let number = self.number;
        if self.state == State::New {
            let next = self
                .sequence
                .begin(cx.codec, &mut |delta| (cx.on_delta)(number, delta))?;
            self.set(next);
        }
        let has_ended = matches!(self.state, State::Ended(_));
        demands.extend(self.sequence.demand(has_ended, cx.target.context_length));
        Ok(())
    }

    fn give(&mut self, cx: &mut Context<'_>, given: &Given<'_>) -> Result<(), GenerateError> {
        let output = &given.rows[0];
        self.sequence.take_run(given, output);
        if !given.is_done || self.state != State::Choosing {
            return Ok(());
        }
        let number = self.number;
        let next = self.sequence.choose(
            output.last(),
            self.mask.take(),
            cx.step,
            cx.codec,
            &mut |delta| (cx.on_delta)(number, delta),
        )?;
        self.set(next);
        Ok(())
    }

    fn size(&self) -> TaskSize {
        let tokens = self.sequence.most_tokens();
        TaskSize { rows: 1, tokens }
    }

    fn can_prepare(&self) -> bool {
        self.state == State::Choosing && self.mask.is_none()
    }

    fn prepare(&mut self) {
        self.mask = Some(self.sequence.constraint.mask());
    }

    fn stop(&mut self, reason: FinishReason) {
        if !matches!(self.state, State::Ended(_)) {
            self.state = State::Ended(reason);
        }
    }

    fn finish(self: Box<Self>, cx: &mut Context<'_>) -> Result<Outputs, GenerateError> {
        let number = self.number;
        let reason = match self.state {
            State::Ended(reason) => reason,
            State::New | State::Choosing => FinishReason::Cancelled,
        };
        let output = self
            .sequence
            .finish(reason, cx.codec, &mut |delta| (cx.on_delta)(number, delta));
        Ok(Outputs::new(vec![output.map(Output::from)]))
    }
}
