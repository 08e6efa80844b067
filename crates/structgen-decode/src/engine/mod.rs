//! Schedulers on threads of their own, and a handle that anybody may submit to.

mod run;
mod worker;

pub use crate::scheduler::{OnDelta, PrefixStats, Scheduler, SchedulerLimits, Submit, Ticket};
pub use run::{Event, Run};

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::request::Resources;
use crate::scheduler::Tasks;
use crate::sequence::Codec;
use crate::{
    GenerateError, ModelInfo, Outputs,
    strategies::{ChoiceProbability, ChoiceRequest},
};
use run::Channel;
use worker::Worker;

/// Runs requests from any number of threads on one model.
///
/// An engine is a handle: cloning it is cheap, and all clones submit to the same queue. It stands for one or more
/// [schedulers](Scheduler), each with a session of the model and a thread of its own. One scheduler batches what is
/// submitted at the same time; several use as many cores, which is what small models gain by. When the last handle is
/// dropped, requests that were submitted are still run to their ends.
///
/// ```
/// use structgen_decode::{Engine, GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let scheduler = Scheduler::new(MockModel::new(4, 64, [TokenId(3)]), vocabulary);
/// let engine = Engine::new([scheduler])?;
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let runs: Vec<_> = (0..3)
///     .map(|id| Request::new([TokenId(id)], free.clone()).with_options(options.clone()))
///     .map(|request| engine.submit(request))
///     .collect::<Result<_, _>>()?;
/// for run in runs {
///     println!("{}", run.wait()?.single()?.text);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Engine {
    handle: Arc<Handle>,
}

/// What all clones of an engine share; dropping it lets the workers end.
struct Handle {
    shared: Arc<Shared>,
    target: ModelInfo,
    draft: Option<ModelInfo>,
    heads_width: Option<usize>,
    codec: Codec,
    limits: SchedulerLimits,
}

/// What an engine's handles and workers share.
struct Shared {
    queue: Mutex<Queue>,
    /// Something was submitted, or the engine was dropped.
    changed: Condvar,
    /// What each scheduler takes.
    usage: Vec<Mutex<Usage>>,
    is_stopped: Arc<AtomicBool>,
}

/// Cancels all requests of an [`Engine`]; see [`stop_handle`](Engine::stop_handle).
#[derive(Clone, Debug)]
pub struct StopHandle {
    is_stopped: Arc<AtomicBool>,
}

impl StopHandle {
    /// Asks for every request to end at its next step, those that are submitted later too. Their outputs are then what
    /// there was by that time, as after [`Run::cancel`].
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Usage {
    prefixes: PrefixStats,
    cache_bytes: usize,
}

#[derive(Default)]
struct Queue {
    /// Requests that no scheduler has, the most urgent first; of equal ones, the earliest.
    waiting: VecDeque<Submission>,
    /// The tasks of these.
    tasks: usize,
    /// Workers that have not stopped.
    workers: usize,
    /// Of these, workers that have nothing to do.
    idle: usize,
    is_closed: bool,
}

struct Submission {
    tasks: Tasks,
    channel: Arc<Channel>,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.queue().is_closed = true;
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("model", &self.handle.target)
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine of one or more schedulers, which must all be of the same model and the same settings.
    ///
    /// # Errors
    /// [`GenerateError::NoWorker`] without a scheduler, or where the system starts no thread.
    pub fn new(schedulers: impl IntoIterator<Item = Scheduler>) -> Result<Self, GenerateError> {
        let mut schedulers: Vec<Scheduler> = schedulers.into_iter().collect();
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        if schedulers.len() > 1 && schedulers.len() >= cores {
            let alone = schedulers.into_iter().map(Scheduler::without_helpers);
            schedulers = alone.collect();
        }
        let first = schedulers.first().ok_or(GenerateError::NoWorker)?;
        let resources = first.resources();
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
            usage: schedulers.iter().map(|_| Mutex::default()).collect(),
            is_stopped: Arc::default(),
        });
        let handle = Handle {
            shared: Arc::clone(&shared),
            target: resources.target.clone(),
            draft: resources.draft.cloned(),
            heads_width: resources.heads_width,
            codec: resources.codec.clone(),
            limits: first.limits(),
        };
        for (number, scheduler) in schedulers.into_iter().enumerate() {
            shared.queue().workers += 1;
            let worker = Worker::new(number, scheduler, Arc::clone(&shared));
            let thread = thread::Builder::new().name("structgen".to_owned());
            let spawned = thread.spawn(move || worker.run());
            spawned.map_err(|_| GenerateError::NoWorker)?;
        }
        Ok(Self {
            handle: Arc::new(handle),
        })
    }

    /// Submits a request, which begins as soon as there is room.
    ///
    /// # Errors
    /// What is wrong with the request; [`GenerateError::QueueFull`] and [`GenerateError::CacheLimit`] by the
    /// schedulers' limits.
    pub fn submit(&self, request: impl Submit) -> Result<Run, GenerateError> {
        let handle = &*self.handle;
        let resources = Resources {
            codec: &handle.codec,
            target: &handle.target,
            draft: handle.draft.as_ref(),
            heads_width: handle.heads_width,
        };
        let has_events = request.has_events();
        let tasks = request.tasks(&resources)?;
        let bytes_per_token = handle.target.cache_bytes_per_token;
        for task in &tasks.tasks {
            handle.limits.check_size(task.size(), bytes_per_token)?;
        }
        let channel = Arc::new(Channel::new(has_events, handle.shared.is_stopped.clone()));
        {
            let mut queue = handle.shared.queue();
            if queue.workers == 0 {
                return Err(GenerateError::Stopped);
            }
            let waiting = queue.tasks + tasks.tasks.len();
            handle.limits.check_queue(waiting)?;
            queue.tasks = waiting;
            let before = |other: &Submission| other.tasks.priority >= tasks.priority;
            let at = queue.waiting.partition_point(before);
            let channel = Arc::clone(&channel);
            queue.waiting.insert(at, Submission { tasks, channel });
        }
        handle.shared.changed.notify_one();
        Ok(Run::new(channel))
    }

    /// A handle that cancels all requests from anywhere, such as the handler of a signal. It does not keep the engine.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle {
            is_stopped: self.handle.shared.is_stopped.clone(),
        }
    }

    /// Submits a request and waits for its outputs.
    ///
    /// # Errors
    /// As [`submit`](Engine::submit), and why the request failed.
    pub fn run(&self, request: impl Submit) -> Result<Outputs, GenerateError> {
        self.submit(request)?.wait()
    }

    /// Submits a [request for choices](ChoiceRequest), and returns how probable they are, in their order.
    ///
    /// # Errors
    /// As [`run`](Engine::run); [`GenerateError::Choice`] without a choice, and where the model has no distribution.
    pub fn choose(&self, request: ChoiceRequest) -> Result<Vec<ChoiceProbability>, GenerateError> {
        self.run(request)?.choices()
    }

    /// What decoding knows of the model.
    pub fn info(&self) -> &ModelInfo {
        &self.handle.target
    }

    /// How much each scheduler does at once.
    pub fn limits(&self) -> SchedulerLimits {
        self.handle.limits
    }

    /// The number of outputs under way that keep all schedulers busy: as many as run side by side, and one more for each. What
    /// reads requests from somewhere need not be further ahead than that.
    pub fn capacity(&self) -> usize {
        let handle = &*self.handle;
        let all = handle.shared.usage.len() * (handle.limits.rows + 1);
        all.min(handle.limits.queue).max(1)
    }

    /// What came of keeping texts for prompts that begin alike, over all schedulers, when a request last ended.
    pub fn prefix_stats(&self) -> PrefixStats {
        let mut all = PrefixStats::default();
        for usage in &self.handle.shared.usage {
            all.add(lock(usage).prefixes);
        }
        all
    }

    /// The bytes of cache that are in use, texts kept for later included, when a request last ended.
    pub fn cache_bytes(&self) -> usize {
        let usage = self.handle.shared.usage.iter();
        usage.map(|usage| lock(usage).cache_bytes).sum()
    }

    /// The number of outputs that wait for a scheduler.
    pub fn waiting(&self) -> usize {
        self.handle.shared.queue().tasks
    }
}
