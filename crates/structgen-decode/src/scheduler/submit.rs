//! What a scheduler takes.

use super::Tasks;
use crate::request::{Resources, Strategy};
use crate::{
    Constraint, GenerateError, Request,
    strategies::{ChoiceRequest, LogitsRequest},
};

/// What can be submitted: a [`Request`] for outputs, a [`ChoiceRequest`] for the probabilities of choices, or a
/// [`LogitsRequest`] for what the model gives after the tokens of a text.
pub trait Submit: sealed::Submit {}

impl<R: sealed::Submit> Submit for R {}

pub(super) mod sealed {
    use super::{GenerateError, Resources, Tasks};

    pub trait Submit {
        /// Whether its text is wanted as it comes.
        fn has_events(&self) -> bool;

        /// The tasks of a request, which need no model to be made.
        fn tasks(self, resources: &Resources<'_>) -> Result<Tasks, GenerateError>;
    }
}

impl<C: Constraint + Clone + 'static> sealed::Submit for Request<C> {
    fn has_events(&self) -> bool {
        self.events
    }

    fn tasks(self, resources: &Resources<'_>) -> Result<Tasks, GenerateError> {
        let priority = self.priority;
        Strategy::tasks(self, resources).map(|tasks| Tasks { tasks, priority })
    }
}

impl sealed::Submit for ChoiceRequest {
    fn has_events(&self) -> bool {
        false
    }

    fn tasks(self, resources: &Resources<'_>) -> Result<Tasks, GenerateError> {
        let priority = self.priority;
        let tasks = vec![self.task(resources)?];
        Ok(Tasks { tasks, priority })
    }
}

impl sealed::Submit for LogitsRequest {
    fn has_events(&self) -> bool {
        false
    }

    fn tasks(self, resources: &Resources<'_>) -> Result<Tasks, GenerateError> {
        let tasks = vec![self.task(resources)?];
        Ok(Tasks { tasks, priority: 0 })
    }
}
