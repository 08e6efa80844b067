//! What can be submitted to a scheduler.

use std::time::Instant;

use structgen_vocab::TokenId;

use super::Tasks;
use crate::request::Strategy;
use crate::strategies::start::{Resources, tasks};
use crate::{
    Constraint, GenerateError, Request,
    strategies::{ChoiceRequest, LogitsRequest},
};

/// A request that can be submitted: a [`Request`] for outputs, a [`ChoiceRequest`] for the probabilities of choices, or
/// a [`LogitsRequest`] for the logits after the tokens of a text.
pub trait Submit: sealed::Submit {}

impl<R: sealed::Submit> Submit for R {}

pub(super) mod sealed {
    use super::{GenerateError, Resources, Tasks};

    pub trait Submit {
        /// Returns whether its text is requested as it is generated.
        fn has_events(&self) -> bool;

        /// Returns the number of its tasks.
        fn count(&self) -> usize;

        /// Creates the tasks of a request, which does not need the model.
        fn tasks(self, resources: &Resources<'_>) -> Result<Tasks, GenerateError>;
    }
}

impl<C: Constraint + Clone + 'static> sealed::Submit for Request<C> {
    fn has_events(&self) -> bool {
        self.events
    }

    fn count(&self) -> usize {
        self.strategy.count(&self.options)
    }

    fn tasks(mut self, resources: &Resources<'_>) -> Result<Tasks, GenerateError> {
        let (priority, client) = (self.priority, self.client);
        let limit = self.options.time_limit;
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        start_output(&mut self.prompt, resources)?;
        if let Strategy::Guidance(guidance) = &mut self.strategy
            && resources.target.output_start.is_some()
        {
            // Without a prompt, guidance steers away from an empty input.
            start_output(&mut guidance.prompt, resources)?;
        }
        tasks(self, resources).map(|tasks| Tasks {
            tasks,
            priority,
            client,
            deadline,
        })
    }
}

impl sealed::Submit for ChoiceRequest {
    fn has_events(&self) -> bool {
        false
    }

    fn count(&self) -> usize {
        1
    }

    fn tasks(mut self, resources: &Resources<'_>) -> Result<Tasks, GenerateError> {
        let priority = self.priority;
        start_output(&mut self.prompt, resources)?;
        let tasks = vec![self.task(resources)?];
        Ok(Tasks {
            tasks,
            priority,
            client: 0,
            deadline: None,
        })
    }
}

impl sealed::Submit for LogitsRequest {
    fn has_events(&self) -> bool {
        false
    }

    fn count(&self) -> usize {
        1
    }

    fn tasks(self, resources: &Resources<'_>) -> Result<Tasks, GenerateError> {
        let tasks = vec![self.task(resources)?];
        Ok(Tasks {
            tasks,
            priority: 0,
            client: 0,
            deadline: None,
        })
    }
}

/// Appends the tokens that start an encoder-decoder's output to its prompt.
fn start_output(prompt: &mut Vec<TokenId>, resources: &Resources<'_>) -> Result<(), GenerateError> {
    let Some(start) = &resources.target.output_start else {
        return Ok(());
    };
    // The prompt may already be a complete input.
    let is_ended = start.end.is_some() && prompt.last().copied() == start.end;
    let len = prompt.len() - usize::from(is_ended);
    prompt.extend(start.tokens().skip(usize::from(is_ended)));
    match start.place(prompt) {
        Some(place) if place >= len => Ok(()),
        _ => Err(GenerateError::OutputStartInPrompt { start: start.start }),
    }
}
