//! Requests that no scheduler has taken.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::run::Channel;
use crate::scheduler::{SchedulerLimits, Tasks};
use crate::task::TaskSize;
use crate::{FinishReason, GenerateError};

/// The requests that wait for a scheduler, and the workers that take them.
#[derive(Default)]
pub(super) struct Queue {
    /// By priority, then by age.
    waiting: VecDeque<Submission>,
    /// The number of their tasks.
    tasks: usize,
    /// Requests that ended while they waited; the next worker tells their submitters.
    ended: Vec<Ended>,
    /// The number of workers that have not stopped.
    pub(super) workers: usize,
    /// The number of those that are idle.
    pub(super) idle: usize,
    pub(super) is_closed: bool,
}

pub(super) struct Submission {
    pub(super) tasks: Tasks,
    pub(super) channel: Arc<Channel>,
}

/// A request that ended before a scheduler took it.
pub(super) struct Ended {
    pub(super) tasks: Tasks,
    pub(super) submitter: Unended,
    pub(super) reason: FinishReason,
}

/// A channel whose submitter must not wait forever: dropping this ends it.
pub(super) struct Unended(pub(super) Arc<Channel>);

impl Drop for Unended {
    fn drop(&mut self) {
        // Does nothing if it has ended already.
        self.0.end(Err(GenerateError::Stopped));
    }
}

impl Submission {
    /// Returns why it need not start any more, if it was cancelled or its time is over.
    fn end(&self, now: Instant) -> Option<FinishReason> {
        if self.channel.is_cancelled() {
            return Some(FinishReason::Cancelled);
        }
        let is_late = self.tasks.deadline.is_some_and(|deadline| deadline <= now);
        is_late.then_some(FinishReason::TimeLimit)
    }
}

impl Queue {
    /// Returns the number of waiting tasks.
    pub(super) fn tasks(&self) -> usize {
        self.tasks
    }

    /// Removes the requests that ended, and returns an error if there is no room for this many more tasks.
    pub(super) fn check_room(
        &mut self,
        more: usize,
        limits: &SchedulerLimits,
    ) -> Result<(), GenerateError> {
        self.remove_ended();
        limits.check_queue(self.tasks.saturating_add(more))
    }

    /// Returns whether there is nothing to do for a worker.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.ended.is_empty()
    }

    pub(super) fn insert(&mut self, submission: Submission) {
        let priority = submission.tasks.priority;
        let before = |other: &Submission| other.tasks.priority >= priority;
        let at = self.waiting.partition_point(before);
        self.tasks += submission.tasks.tasks.len();
        self.waiting.insert(at, submission);
    }

    /// Returns the size of the first task of the request that is next.
    pub(super) fn next_size(&self) -> Option<TaskSize> {
        let next = self.waiting.front()?;
        next.tasks.tasks.first().map(|task| task.size())
    }

    pub(super) fn pop(&mut self) -> Option<Submission> {
        let submission = self.waiting.pop_front()?;
        self.tasks -= submission.tasks.tasks.len();
        Some(submission)
    }

    /// Moves requests that were cancelled, or whose time is over, out of the queue; returns whether there are any for
    /// a worker to end.
    pub(super) fn remove_ended(&mut self) -> bool {
        let now = Instant::now();
        if self
            .waiting
            .iter()
            .any(|waiting| waiting.end(now).is_some())
        {
            for submission in std::mem::take(&mut self.waiting) {
                let Some(reason) = submission.end(now) else {
                    self.waiting.push_back(submission);
                    continue;
                };
                let Submission { tasks, channel } = submission;
                self.tasks -= tasks.tasks.len();
                self.ended.push(Ended {
                    tasks,
                    submitter: Unended(channel),
                    reason,
                });
            }
        }
        !self.ended.is_empty()
    }

    /// Takes the requests that ended while they waited. They must not be dropped while the queue is locked.
    pub(super) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// Takes all requests, for which there is no worker any more.
    pub(super) fn take_all(&mut self) -> (VecDeque<Submission>, Vec<Ended>) {
        self.tasks = 0;
        (std::mem::take(&mut self.waiting), self.take_ended())
    }
}
