//! A scheduler on a thread.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use super::queue::{Ended, Queue, Submission};
use super::run::{Channel, Event};
use super::{Shared, Usage, lock};
use crate::{Delta, GenerateError, Scheduler, engine::Ticket};

/// Opens a scheduler.
pub(super) type Open = Box<dyn FnOnce() -> Option<Scheduler> + Send>;

pub(super) struct Worker {
    /// The worker's index in the engine.
    number: usize,
    scheduler: Scheduler,
    shared: Arc<Shared>,
    runs: BTreeMap<Ticket, Active>,
    /// Whether it is counted as idle.
    is_idle: bool,
}

/// A request of this worker.
struct Active {
    channel: Arc<Channel>,
    /// The numbers of generated tokens and of ids reported in events, for each output.
    told: BTreeMap<usize, (usize, usize)>,
    was_cancelled: bool,
}

impl Worker {
    /// Creates a worker, which is idle.
    pub(super) fn new(number: usize, scheduler: Scheduler, shared: Arc<Shared>) -> Self {
        shared.queue().idle += 1;
        Self {
            number,
            scheduler,
            shared,
            runs: BTreeMap::new(),
            is_idle: true,
        }
    }

    /// Opens a scheduler once a request waits and all workers are busy. Returns `None` if the engine is dropped before
    /// that, or if there is no scheduler: the other workers then do the work.
    pub(super) fn on_demand(number: usize, open: Open, shared: Arc<Shared>) -> Option<Self> {
        let needs_none = |queue: &mut Queue| !queue.needs_worker() && !queue.is_closed;
        let mut queue = { shared.needed.wait_while(shared.queue(), needs_none) }
            .unwrap_or_else(PoisonError::into_inner);
        let is_closed = queue.is_closed;
        queue.opening += 1;
        drop(queue);
        let scheduler = match is_closed {
            true => None,
            // The counts must be right after a panic, too.
            false => catch_unwind(AssertUnwindSafe(open)).ok().flatten(),
        };
        // Idle before it stops opening, so that nobody opens another one for the same request.
        let worker = scheduler.map(|scheduler| Self::new(number, scheduler, Arc::clone(&shared)));
        let mut queue = shared.queue();
        queue.opening -= 1;
        queue.unopened -= 1;
        drop(queue);
        if worker.is_none() {
            leave(&shared);
        }
        worker
    }

    /// Runs requests until the engine and its runs are dropped.
    pub(super) fn run(mut self) {
        while self.take_in() {
            self.cancel();
            let runs = &mut self.runs;
            let ended = self.scheduler.step_with(&mut |ticket, output, delta| {
                if let Some(active) = runs.get_mut(&ticket) {
                    active.tell(output, &delta);
                }
                ControlFlow::Continue(())
            });
            if !ended.is_empty() {
                self.report();
            }
            // Before anyone who waits for an output can submit more.
            if self.scheduler.is_idle() {
                self.become_idle();
            }
            for (ticket, outcome) in ended {
                if let Some(active) = self.runs.remove(&ticket) {
                    active.channel.end(outcome);
                }
            }
        }
    }

    /// Reports the scheduler's usage, before anyone who waits for an output can ask.
    fn report(&self) {
        if let Some(usage) = self.shared.usage.get(self.number) {
            *lock(usage) = Usage {
                prefixes: self.scheduler.prefix_stats(),
                cache_bytes: self.scheduler.cache_bytes(),
            };
        }
    }

    fn become_idle(&mut self) {
        if !self.is_idle {
            self.shared.queue().idle += 1;
            self.is_idle = true;
        }
    }

    /// Takes requests from the queue, and waits for one if there is nothing else to do. Returns whether there is
    /// anything to do.
    fn take_in(&mut self) -> bool {
        let shared = Arc::clone(&self.shared);
        if self.scheduler.is_idle() {
            self.become_idle();
        }
        let mut queue = shared.queue();
        if self.is_idle {
            let has_nothing = |queue: &mut Queue| queue.is_empty() && !queue.is_closed;
            queue = shared
                .changed
                .wait_while(queue, has_nothing)
                .unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
            self.is_idle = false;
        }
        queue.remove_ended();
        let ended = queue.take_ended();
        let mut refused = Vec::new();
        while self.takes_next(&queue)
            && let Some(Submission { tasks, channel }) = queue.pop()
        {
            match self.scheduler.submit_tasks(tasks) {
                Ok(ticket) => {
                    self.runs.insert(ticket, Active::new(channel));
                }
                Err(error) => refused.push((channel, error)),
            }
        }
        let is_over = self.scheduler.is_idle() && queue.is_empty() && queue.is_closed;
        if queue.needs_worker() {
            shared.needed.notify_one();
        }
        // Whoever is woken may drop the engine, which locks the queue.
        drop(queue);
        for (channel, error) in refused {
            channel.end(Err(error));
        }
        for ended in ended {
            self.end_unstarted(ended);
        }
        !is_over
    }

    /// Returns whether this worker should take the next request: an idle one takes any, and it leaves one to each
    /// worker that could start it at once, or after opening a scheduler.
    fn takes_next(&self, queue: &Queue) -> bool {
        let has_room = || {
            let next = queue.next_size();
            next.is_some_and(|next| self.scheduler.has_room_for(next))
        };
        self.scheduler.is_idle() || (queue.is_crowded() && has_room())
    }

    /// Ends a request that was cancelled, or whose time was over, while it waited.
    fn end_unstarted(&mut self, ended: Ended) {
        let Ended {
            tasks,
            submitter,
            reason,
        } = ended;
        let mut active = Active::new(Arc::clone(&submitter.0));
        let outcome = self
            .scheduler
            .end_unstarted(tasks, &reason, &mut |_, output, delta| {
                active.tell(output, &delta);
                ControlFlow::Continue(())
            });
        submitter.0.end(outcome);
    }

    /// Cancels the requests that were cancelled since the last step.
    fn cancel(&mut self) {
        for (&ticket, active) in &mut self.runs {
            if active.channel.is_cancelled() && !active.was_cancelled {
                active.was_cancelled = true;
                self.scheduler.cancel(ticket);
            }
        }
    }
}

impl Active {
    fn new(channel: Arc<Channel>) -> Self {
        Self {
            channel,
            told: BTreeMap::new(),
            was_cancelled: false,
        }
    }

    fn tell(&mut self, output: usize, delta: &Delta<'_>) {
        if !self.channel.has_events {
            return;
        }
        let told = self.told.entry(output).or_default();
        let first = std::mem::replace(told, (delta.generated.len(), delta.output.len()));
        self.channel.send(Event {
            output,
            text: delta.text.to_owned(),
            tokens: delta.generated.get(first.0..).unwrap_or_default().to_vec(),
            ids: delta.output.get(first.1..).unwrap_or_default().to_vec(),
        });
    }
}

/// If a worker ends early, by a panic, nobody must wait for it forever.
impl Drop for Worker {
    fn drop(&mut self) {
        for active in self.runs.values() {
            active.channel.end(Err(GenerateError::Stopped));
        }
        if self.is_idle {
            self.shared.queue().idle -= 1;
        }
        leave(&self.shared);
    }
}

/// Ends a worker. Nobody must wait for the last one.
fn leave(shared: &Shared) {
    let mut queue = shared.queue();
    queue.workers -= 1;
    if queue.workers == 0 {
        let (waiting, ended) = queue.take_all();
        // Whoever is woken may drop the engine, which locks the queue.
        drop(queue);
        drop(ended);
        for submission in waiting {
            submission.channel.end(Err(GenerateError::Stopped));
        }
    } else if queue.needs_worker() {
        shared.needed.notify_one();
    }
}
