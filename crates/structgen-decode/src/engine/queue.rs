//! Requests that no scheduler has taken.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use super::run::Channel;
use crate::scheduler::{SchedulerLimits, Tasks};
use crate::task::TaskSize;
use crate::{FinishReason, GenerateError};

/// The requests that wait for a scheduler, and the workers that take them.
#[derive(Default)]
pub(super) struct Queue {
    /// By priority, then by turn, then by age.
    waiting: VecDeque<Waiting>,
    turns: Turns,
    /// The number of their tasks.
    tasks: usize,
    /// Requests that ended while they waited; the next worker tells their submitters.
    ended: Vec<Ended>,
    /// The number of workers that have not stopped.
    pub(super) workers: usize,
    /// The number of those that are idle: each takes a request as soon as there is one.
    pub(super) idle: usize,
    /// The number of those that have no scheduler yet.
    pub(super) unopened: usize,
    /// The number of those that are opening one.
    pub(super) opening: usize,
    pub(super) is_closed: bool,
}

pub(super) struct Submission {
    pub(super) tasks: Tasks,
    pub(super) channel: Arc<Channel>,
}

/// A request with its turn.
struct Waiting {
    turn: u64,
    submission: Submission,
}

/// The turns of requests: each client's come one after the other, as far apart as they have tasks, and those of several
/// clients come in between.
///
/// Start-time fair queueing (Goyal, Vin and Cheng 1996).
#[derive(Default)]
struct Turns {
    /// The turn of the request that was taken last.
    now: u64,
    /// Each client's next turn, if it is later than that.
    next: HashMap<u64, u64>,
}

impl Turns {
    /// Returns the turn of a client's request with this many tasks.
    fn take(&mut self, client: u64, tasks: usize) -> u64 {
        let now = self.now;
        self.next.retain(|_, next| *next > now);
        let next = self.next.entry(client).or_insert(now);
        let turn = *next;
        *next = turn.saturating_add(tasks.max(1) as u64);
        turn
    }
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

    /// Returns whether a request waits that no worker is about to take, or has ended and no worker is left to tell its
    /// submitter.
    pub(super) fn needs_worker(&self) -> bool {
        let is_any_open = self.workers > self.unopened;
        let is_orphaned = !self.ended.is_empty() && !is_any_open && self.opening == 0;
        is_orphaned || self.waiting.len() > self.idle + self.opening
    }

    /// Returns whether more requests wait than there are workers that start one at once, or after opening a scheduler.
    pub(super) fn is_crowded(&self) -> bool {
        self.waiting.len() > self.idle + self.unopened
    }

    /// Returns whether there is nothing to do for a worker.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.ended.is_empty()
    }

    pub(super) fn insert(&mut self, submission: Submission) {
        let Tasks {
            tasks,
            priority,
            client,
            ..
        } = &submission.tasks;
        let (priority, tasks) = (*priority, tasks.len());
        let turn = self.turns.take(*client, tasks);
        let before = |other: &Waiting| match other.submission.tasks.priority {
            same if same == priority => other.turn <= turn,
            other => other > priority,
        };
        let at = self.waiting.partition_point(before);
        self.tasks += tasks;
        self.waiting.insert(at, Waiting { turn, submission });
    }

    /// Returns the size of the first task of the request that is next.
    pub(super) fn next_size(&self) -> Option<TaskSize> {
        let next = self.waiting.front()?;
        let tasks = &next.submission.tasks.tasks;
        tasks.first().map(|task| task.size())
    }

    pub(super) fn pop(&mut self) -> Option<Submission> {
        let Waiting { turn, submission } = self.waiting.pop_front()?;
        // A request of a lower priority may have waited since an earlier turn.
        self.turns.now = self.turns.now.max(turn);
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
            .any(|waiting| waiting.submission.end(now).is_some())
        {
            for waiting in std::mem::take(&mut self.waiting) {
                let Some(reason) = waiting.submission.end(now) else {
                    self.waiting.push_back(waiting);
                    continue;
                };
                let Submission { tasks, channel } = waiting.submission;
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
    pub(super) fn take_all(&mut self) -> (Vec<Submission>, Vec<Ended>) {
        self.tasks = 0;
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let waiting = waiting.map(|waiting| waiting.submission).collect();
        (waiting, self.take_ended())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_take_turns_by_the_number_of_their_tasks() {
        let mut turns = Turns::default();
        assert_eq!([(); 4].map(|()| turns.take(1, 1)), [0, 1, 2, 3]);
        assert_eq!((turns.take(2, 3), turns.take(2, 1)), (0, 3));
        // A new client does not make up for the time before it came.
        turns.now = 2;
        assert_eq!((turns.take(3, 1), turns.take(1, 1)), (2, 4));
        // Nor does one whose requests are all done.
        turns.now = 9;
        assert_eq!((turns.take(2, 1), turns.next.len()), (9, 1));
    }

    fn submission(client: u64, priority: i32) -> Submission {
        let tasks = Tasks {
            tasks: Vec::new(),
            priority,
            client,
            deadline: None,
        };
        let channel = Arc::new(Channel::new(false, Arc::default()));
        Submission { tasks, channel }
    }

    fn cancelled() -> Submission {
        let is_stopped = Arc::new(true.into());
        Submission {
            channel: Arc::new(Channel::new(false, is_stopped)),
            ..submission(1, 0)
        }
    }

    #[test]
    fn a_worker_is_needed_for_what_no_other_takes() {
        let mut queue = Queue {
            workers: 3,
            unopened: 2,
            idle: 1,
            ..Queue::default()
        };
        assert!(!queue.needs_worker());
        queue.insert(submission(1, 0));
        assert!(!queue.needs_worker());
        queue.insert(submission(1, 0));
        assert!(queue.needs_worker() && !queue.is_crowded());
        queue.opening = 1;
        assert!(!queue.needs_worker());
        queue.insert(submission(1, 0));
        queue.insert(submission(1, 0));
        assert!(queue.needs_worker() && queue.is_crowded());
    }

    #[test]
    fn a_worker_is_needed_for_ended_requests_if_none_is_open() {
        let mut queue = Queue {
            workers: 2,
            unopened: 1,
            ..Queue::default()
        };
        queue.insert(cancelled());
        assert!(queue.remove_ended());
        // The open one tells its submitter.
        assert!(!queue.needs_worker());
        queue.workers = 1;
        assert!(queue.needs_worker());
        queue.opening = 1;
        assert!(!queue.needs_worker());
    }

    #[test]
    fn requests_start_by_priority_and_then_each_client_in_turn() {
        let mut queue = Queue::default();
        for (client, priority) in [(1, 0), (1, 0), (1, 0), (2, 0), (3, 1), (2, 0)] {
            queue.insert(submission(client, priority));
        }
        let popped = std::iter::from_fn(|| queue.pop());
        let clients: Vec<u64> = popped.map(|it| it.tasks.client).collect();
        assert_eq!(clients, [3, 1, 2, 1, 2, 1]);
    }
}
