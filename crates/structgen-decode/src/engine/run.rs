//! A request under way, as its submitter sees it.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use structgen_vocab::TokenId;

use crate::{GenerateError, GeneratedToken, Outputs};

/// A piece of an output, as it comes: [`Delta`](crate::Delta) for another thread.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// Which output of the request.
    pub output: usize,
    /// Text that is certain to stay, at character borders; it may be empty.
    pub text: String,
    /// The tokens since the last event of this output, with what is known of them by now.
    pub tokens: Vec<GeneratedToken>,
    /// The ids of the output since the last event, those of the prefill included.
    pub ids: Vec<TokenId>,
}

/// A request that was submitted.
///
/// Its outputs come by [`wait`](Run::wait), or by awaiting it: a run is a future. Where the request asked for
/// [events](crate::Request::events), the run is an iterator over them too, which ends with the request. Dropping a run
/// cancels its request.
pub struct Run {
    channel: Arc<Channel>,
}

/// What a worker and the submitter of a request share.
pub(super) struct Channel {
    /// Whether anybody wants to see events.
    pub(super) has_events: bool,
    is_cancelled: AtomicBool,
    /// Whether all requests of the engine are.
    is_stopped: Arc<AtomicBool>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    outcome: Option<Result<Outputs, GenerateError>>,
    /// Whether there was an outcome, taken or not.
    has_ended: bool,
    waker: Option<Waker>,
}

impl Channel {
    pub(super) fn new(has_events: bool, is_stopped: Arc<AtomicBool>) -> Self {
        Self {
            has_events,
            is_cancelled: AtomicBool::new(false),
            is_stopped,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes whoever waits for it.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn send(&self, event: Event) {
        self.change(|state| state.events.push_back(event));
    }

    pub(super) fn end(&self, outcome: Result<Outputs, GenerateError>) {
        self.change(|state| {
            if !state.has_ended {
                state.has_ended = true;
                state.outcome = Some(outcome);
            }
        });
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed) || self.is_stopped.load(Ordering::Relaxed)
    }
}

impl Run {
    pub(super) fn new(channel: Arc<Channel>) -> Self {
        Self { channel }
    }

    /// Waits for the outputs. Events that were not looked at are dropped.
    ///
    /// # Errors
    /// Why the request failed as a whole; an output that failed alone is an error in [`Outputs::outputs`].
    pub fn wait(self) -> Result<Outputs, GenerateError> {
        let channel = &self.channel;
        let state = channel.state();
        let mut state = channel
            .changed
            .wait_while(state, |state| !state.has_ended)
            .unwrap_or_else(PoisonError::into_inner);
        state.outcome.take().unwrap_or(Err(GenerateError::Stopped))
    }

    /// Asks for the request to end at its next step. Its outputs are then what there was by that time.
    pub fn cancel(&self) {
        self.channel.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the outputs are there.
    pub fn has_ended(&self) -> bool {
        self.channel.state().has_ended
    }

    /// The next event: `Ready(None)` once the request has ended and all were seen.
    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut state = self.channel.state();
        if let Some(event) = state.events.pop_front() {
            return Poll::Ready(Some(event));
        }
        if state.has_ended {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// Events, as they come; each call waits for the next one.
impl Iterator for Run {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let channel = &self.channel;
        let state = channel.state();
        let is_quiet = |state: &mut State| state.events.is_empty() && !state.has_ended;
        let mut state = channel
            .changed
            .wait_while(state, is_quiet)
            .unwrap_or_else(PoisonError::into_inner);
        state.events.pop_front()
    }
}

#[cfg(feature = "async")]
impl futures_core::Stream for Run {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.poll_event(cx)
    }
}

impl Future for Run {
    type Output = Result<Outputs, GenerateError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.channel.state();
        if state.has_ended {
            return Poll::Ready(state.outcome.take().unwrap_or(Err(GenerateError::Stopped)));
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("has_ended", &self.has_ended())
            .finish_non_exhaustive()
    }
}
