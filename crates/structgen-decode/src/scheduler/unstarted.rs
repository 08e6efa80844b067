use super::{OnDelta, Scheduler, Submitted, Tasks, Ticket};
use crate::{FinishReason, GenerateError, Outputs};

impl Scheduler {
    /// Ends a request that was not submitted, without running the model; returns its outputs.
    pub(crate) fn end_unstarted(
        &mut self,
        tasks: Tasks,
        reason: &FinishReason,
        on_delta: OnDelta<'_>,
    ) -> Result<Outputs, GenerateError> {
        let ticket = Ticket(self.submitted);
        self.submitted += 1;
        let mut on_delta = |number, delta: crate::Delta<'_>| on_delta(ticket, number, delta);
        let mut cx = self.tools.context(&mut on_delta);
        let ended = tasks.tasks.into_iter().map(|mut task| {
            task.stop(reason.clone());
            // Nothing was generated whose scores would need the model.
            let advanced = task.advance(&mut cx, &mut Vec::new());
            Some(advanced.and_then(|()| task.finish(&mut cx)))
        });
        let outputs = ended.collect();
        Submitted { outputs, left: 0 }.outputs()
    }
}
