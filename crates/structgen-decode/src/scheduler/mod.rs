//! A loop that owns models, caches and clocks: admit, plan, run, commit.
//!
//! Requests become [tasks](crate::task), which demand tokens to be run. Each step admits requests as far as there is
//! room, collects the demands of all tasks, runs together those that the model can, passes each task its logits, and
//! lets it continue. So requests join and leave while others run (continuous batching), a long prompt is run in chunks
//! between the steps of others, and a request that fails, ends or is cancelled leaves at once.

mod draft;
mod job;
mod limits;
mod prefixes;
mod rows;
mod run;
mod submit;
mod unstarted;

pub use limits::SchedulerLimits;
pub use prefixes::PrefixStats;
pub use submit::Submit;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use structgen_vocab::Vocabulary;

use crate::sequence::{Codec, Step};
use crate::strategies::start::Resources;
use crate::task::{Context, Task, TaskSize};
use crate::{
    Delta, GenerateError, LanguageModel, ModelInfo, Outputs,
    model::{DraftHeads, TextEncoder},
    strategies::{ChoiceProbability, ChoiceRequest},
};
use job::{Job, Open};
use rows::Rows;

/// Runs any number of requests concurrently on a model, whatever their strategies.
///
/// This is the loop itself, without threads: [submit](Scheduler::submit) requests and call [`step`](Scheduler::step)
/// until nothing is left; [`run`](Scheduler::run) does both for one request. [`Engine`](crate::Engine) runs schedulers
/// on threads and returns handles.
///
/// ```
/// use structgen_decode::{GenerateOptions, MockModel, Request, Scheduler, Unconstrained};
/// use structgen_vocab::{TokenId, Vocabulary};
///
/// let vocabulary = Vocabulary::from_tokens(
///     ["a", "b", "c"].map(|token| token.as_bytes().to_vec()),
///     &[(TokenId(3), "<eos>")],
/// )?;
/// let free = Unconstrained::new(vocabulary.text_tokens().clone(), &[TokenId(3)]);
/// let options = GenerateOptions { max_new_tokens: Some(5), ..GenerateOptions::default() };
/// let mut scheduler = Scheduler::new(MockModel::new(4, 64, [TokenId(3)]), vocabulary);
/// let prompts = [vec![TokenId(0)], vec![TokenId(1), TokenId(2)]];
/// for prompt in &prompts {
///     scheduler.submit(Request::new(&prompt[..], free.clone()).with_options(options.clone()))?;
/// }
/// while !scheduler.is_idle() {
///     for (ticket, outputs) in scheduler.step() {
///         println!("{ticket:?}: {}", outputs?.single()?.text);
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Scheduler {
    target: Rows,
    draft: Option<Rows>,
    tools: Tools,
    limits: SchedulerLimits,
    waiting: VecDeque<Job>,
    running: Vec<Job>,
    requests: BTreeMap<u64, Submitted>,
    submitted: u64,
    /// The number of turns that long prompts have had.
    turns: u64,
    /// Whether other threads compute masks while the model runs.
    has_helpers: bool,
}

/// What tasks share besides their own state, except models and rows.
struct Tools {
    codec: Codec,
    target: ModelInfo,
    draft: Option<ModelInfo>,
    step: Step,
    heads: Option<Box<dyn DraftHeads>>,
}

impl Tools {
    fn context<'a>(
        &'a mut self,
        on_delta: &'a mut dyn FnMut(usize, Delta<'_>) -> ControlFlow<()>,
    ) -> Context<'a> {
        Context {
            codec: &self.codec,
            target: &self.target,
            draft: self.draft.as_ref(),
            step: &mut self.step,
            heads: self.heads.as_deref_mut(),
            on_delta,
        }
    }
}

/// Identifies a request of a [`Scheduler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// Receives the text of a request as it is generated, with the index of the output; may end that output.
pub type OnDelta<'d> = &'d mut dyn FnMut(Ticket, usize, Delta<'_>) -> ControlFlow<()>;

/// A request with tasks that have not ended.
struct Submitted {
    outputs: Vec<Option<Result<Outputs, GenerateError>>>,
    left: usize,
}

/// The tasks of a request, before a scheduler admits them.
pub struct Tasks {
    pub(crate) tasks: Vec<Box<dyn Task>>,
    pub(crate) priority: i32,
    pub(crate) client: u64,
    /// When its time limit is reached.
    pub(crate) deadline: Option<Instant>,
}

impl Submitted {
    /// Returns the outcome of the only task, or the outputs of all.
    fn outputs(self) -> Result<Outputs, GenerateError> {
        let mut outcomes: Vec<Result<Outputs, GenerateError>> =
            self.outputs.into_iter().flatten().collect();
        if outcomes.len() == 1
            && let Some(only) = outcomes.pop()
        {
            return only;
        }
        let mut all = Outputs::default();
        for outcome in outcomes {
            match outcome {
                Ok(found) => {
                    all.outputs.extend(found.outputs);
                    all.report.add(found.report);
                }
                Err(error) => all.outputs.push(Err(error)),
            }
        }
        Ok(all)
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler")
            .field("model", &self.tools.target)
            .field("limits", &self.limits)
            .field("waiting", &self.waiting.len())
            .field("running", &self.running.len())
            .finish_non_exhaustive()
    }
}

impl Scheduler {
    /// Creates a scheduler for a model whose logits are indexed by the ids of `vocabulary`.
    pub fn new(
        model: impl LanguageModel + 'static,
        vocabulary: impl Into<Arc<Vocabulary>>,
    ) -> Self {
        let vocabulary = vocabulary.into();
        Self {
            tools: Tools {
                codec: Codec {
                    vocabulary,
                    encoder: None,
                },
                target: model.info().clone(),
                draft: None,
                step: Step::default(),
                heads: None,
            },
            target: Rows::new(Box::new(model)),
            draft: None,
            limits: SchedulerLimits::default(),
            waiting: VecDeque::new(),
            running: Vec::new(),
            requests: BTreeMap::new(),
            submitted: 0,
            turns: 0,
            has_helpers: true,
        }
    }

    /// Computes masks on the scheduler's own thread, for parallel schedulers that already use all cores.
    pub(crate) fn without_helpers(mut self) -> Self {
        self.has_helpers = false;
        self
    }

    /// Sets a tokenizer, which encodes forced text: for drafts of it, and for
    /// [`JumpForward::Canonical`](crate::request::JumpForward::Canonical).
    #[must_use]
    pub fn with_encoder(mut self, encoder: Arc<dyn TextEncoder>) -> Self {
        self.tools.codec.encoder = Some(encoder);
        self
    }

    /// Sets a smaller model with the same tokens, the draft model of speculation and the amateur of contrastive
    /// decoding.
    ///
    /// # Errors
    /// [`GenerateError::DraftVocabulary`] if the ids of the two models have different meanings.
    pub fn with_draft(
        mut self,
        model: impl LanguageModel + 'static,
        vocabulary: &Vocabulary,
    ) -> Result<Self, GenerateError> {
        draft::check_vocabularies(&self.tools.codec.vocabulary, vocabulary)?;
        self.tools.draft = Some(model.info().clone());
        self.draft = Some(Rows::new(Box::new(model)));
        Ok(self)
    }

    /// Sets how much it does at once, and how much memory it may use.
    #[must_use]
    pub fn with_limits(mut self, limits: SchedulerLimits) -> Self {
        self.target.keep_prefixes(limits.prefix_bytes);
        self.limits = limits;
        self
    }

    /// Sets the heads that draft for the model, for requests that use them.
    #[must_use]
    pub fn with_heads(mut self, heads: impl DraftHeads + 'static) -> Self {
        self.tools.heads = Some(Box::new(heads));
        self
    }

    /// Returns the properties of the model.
    pub fn info(&self) -> &ModelInfo {
        &self.tools.target
    }

    /// Returns the prefix cache's statistics.
    pub fn prefix_stats(&self) -> PrefixStats {
        self.target.prefix_stats()
    }

    /// Returns the bytes of cache in use, including the prefix cache.
    pub fn cache_bytes(&self) -> usize {
        self.target.bytes() + self.draft.as_ref().map_or(0, Rows::bytes)
    }

    /// Returns the limits.
    pub fn limits(&self) -> SchedulerLimits {
        self.limits
    }

    /// Returns whether one more row could run in addition to those of the submitted requests, and would be worthwhile.
    /// It could not if these may use all of the [cache](SchedulerLimits::cache_bytes).
    pub fn has_room(&self) -> bool {
        self.has_room_for(TaskSize::new(1, 1))
    }

    /// Returns whether a task of this size would be admitted at once, after those that were submitted.
    pub(crate) fn has_room_for(&self, next: TaskSize) -> bool {
        let waiting = self.waiting.iter().map(|job| job.size);
        let submitted = self
            .running
            .iter()
            .map(|job| job.size)
            .chain(waiting.clone());
        let load = waiting.map(|size| (size.rows, size.bound()));
        self.fits(submitted, next) && !self.is_crowded(self.running_load().chain(load))
    }

    /// Returns whether the limits allow a task to run in addition to others.
    fn fits(&self, others: impl Iterator<Item = TaskSize> + Clone, next: TaskSize) -> bool {
        let bytes_per_token = self.tools.target.cache_bytes_per_token;
        self.limits.has_room(others, next, bytes_per_token)
    }

    /// Returns the rows of each running task, and the tokens they hold.
    fn running_load(&self) -> impl Iterator<Item = (usize, usize)> + Clone {
        let running = self.running.iter();
        running.map(|job| (job.size.rows, job.tokens(&self.target)))
    }

    /// Returns whether every request has ended.
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// Submits a request, to be run by later [steps](Scheduler::step).
    ///
    /// # Errors
    /// [`GenerateError`] if the request is invalid; [`GenerateError::QueueFull`] and [`GenerateError::CacheLimit`] if
    /// it exceeds the limits.
    pub fn submit(&mut self, request: impl Submit) -> Result<Ticket, GenerateError> {
        // Before its tasks are created, which costs memory.
        let waiting = self.waiting.len().saturating_add(request.count());
        self.limits.check_queue(waiting)?;
        let tasks = request.tasks(&self.resources())?;
        self.submit_tasks(tasks)
    }

    pub(crate) fn resources(&self) -> Resources<'_> {
        Resources {
            codec: &self.tools.codec,
            target: &self.tools.target,
            draft: self.tools.draft.as_ref(),
            heads_width: self.tools.heads.as_ref().map(|heads| heads.hidden_width()),
        }
    }

    /// Submits the tasks of a request, however many are queued: an engine has a queue of its own, with the same limit.
    pub(crate) fn submit_tasks(&mut self, tasks: Tasks) -> Result<Ticket, GenerateError> {
        let Tasks {
            tasks, priority, ..
        } = tasks;
        let bytes_per_token = self.tools.target.cache_bytes_per_token;
        for task in &tasks {
            self.limits.check_size(task.size(), bytes_per_token)?;
        }
        let request = self.submitted;
        self.submitted += 1;
        let outputs = tasks.iter().map(|_| None).collect::<Vec<_>>();
        let left = outputs.len();
        self.requests.insert(request, Submitted { outputs, left });
        for (number, task) in tasks.into_iter().enumerate() {
            let job = Job::new(request, number, task, priority);
            let before = |other: &Job| other.priority >= priority;
            let at = self.waiting.partition_point(before);
            self.waiting.insert(at, job);
        }
        Ok(Ticket(request))
    }

    /// Ends a request at its next step, with what was generated by then.
    pub fn cancel(&mut self, ticket: Ticket) {
        for job in self.running.iter_mut().chain(&mut self.waiting) {
            if job.request == ticket.0 {
                job.cancel();
            }
        }
    }

    /// Performs a step of all requests; returns those that ended with it.
    pub fn step(&mut self) -> Vec<(Ticket, Result<Outputs, GenerateError>)> {
        self.step_with(&mut |_, _, _| ControlFlow::Continue(()))
    }

    /// Performs a step of all requests, and passes on their texts as they are generated.
    pub fn step_with(
        &mut self,
        on_delta: OnDelta<'_>,
    ) -> Vec<(Ticket, Result<Outputs, GenerateError>)> {
        self.end_cancelled(on_delta);
        self.admit(on_delta);
        self.advance_all(on_delta);
        self.run_demands(on_delta);
        self.advance_all(on_delta);
        self.ended()
    }

    /// Runs one request to completion, along with those submitted before, whose outputs are dropped.
    ///
    /// # Errors
    /// [`GenerateError`].
    pub fn run(&mut self, request: impl Submit) -> Result<Outputs, GenerateError> {
        self.run_with(request, |_, _| ControlFlow::Continue(()))
    }

    /// Runs one request to completion, and passes on its texts as they are generated, each with the index of the
    /// output. A callback that breaks ends that output.
    ///
    /// # Errors
    /// [`GenerateError`].
    pub fn run_with(
        &mut self,
        request: impl Submit,
        mut on_delta: impl FnMut(usize, Delta<'_>) -> ControlFlow<()>,
    ) -> Result<Outputs, GenerateError> {
        let ticket = self.submit(request)?;
        loop {
            let ended = self.step_with(&mut |of, number, delta| match of == ticket {
                true => on_delta(number, delta),
                false => ControlFlow::Continue(()),
            });
            if let Some((_, outputs)) = ended.into_iter().find(|(of, _)| *of == ticket) {
                return outputs;
            }
        }
    }

    /// Runs one [request for choices](ChoiceRequest), and returns their probabilities, in order.
    ///
    /// # Errors
    /// [`GenerateError`]; [`GenerateError::Choice`] without a choice, or if the model has no distribution.
    pub fn choose(
        &mut self,
        request: ChoiceRequest,
    ) -> Result<Vec<ChoiceProbability>, GenerateError> {
        self.run(request)?.choices()
    }

    /// Ends the cancelled requests that are still queued, which needs no room.
    fn end_cancelled(&mut self, on_delta: OnDelta<'_>) {
        if !self.waiting.iter().any(|job| job.is_cancelled) {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let cancelled: VecDeque<Job>;
        (cancelled, self.waiting) = waiting.partition(|job| job.is_cancelled);
        for job in cancelled {
            self.start(job, on_delta);
        }
    }

    /// Advances a task for the first time.
    fn start(&mut self, job: Job, on_delta: OnDelta<'_>) {
        self.running.push(job);
        self.advance(self.running.len() - 1, on_delta);
    }

    /// Admits queued requests, as far as there is room.
    fn admit(&mut self, on_delta: OnDelta<'_>) {
        while let Some(next) = self.waiting.front() {
            let sizes = self.running.iter().map(|job| job.size);
            if !self.fits(sizes, next.size) || self.is_crowded(self.running_load()) {
                break;
            }
            if let Some(job) = self.waiting.pop_front() {
                // Its demands show whether there is room for another.
                self.start(job, on_delta);
            }
        }
        if let Some(limit) = self.limits.cache_bytes {
            let bytes_per_token = self.tools.target.cache_bytes_per_token;
            let reserved = self.running.iter().map(|job| job.size);
            let reserved = SchedulerLimits::bytes(reserved, bytes_per_token);
            self.target.evict(limit.saturating_sub(reserved));
        }
    }

    /// Returns whether one more row would gain little from running with the others.
    ///
    /// Rows share the fixed cost of a run. If moving their caches takes four times as long, sharing saves a fifth of a
    /// run at most, and caches that exceed the processor's own memory slow down every run.
    fn is_crowded(&self, load: impl Iterator<Item = (usize, usize)>) -> bool {
        /// This many rows always run together, so that long texts do not keep short ones waiting.
        const FEW: usize = 4;
        let info = &self.tools.target;
        let sum = |(rows, tokens): (usize, usize), more: (usize, usize)| {
            (rows + more.0, tokens.saturating_add(more.1))
        };
        let (rows, tokens) = load.fold((0, 0), sum);
        let bytes = tokens.saturating_mul(info.cache_bytes_per_token);
        rows >= FEW && bytes >= 4 * info.run_cost_bytes()
    }

    /// Advances every task whose demands are met, and retires those that have ended.
    fn advance_all(&mut self, on_delta: OnDelta<'_>) {
        let mut at = 0;
        while at < self.running.len() {
            if self.running[at].demands.is_empty() && !self.advance(at, on_delta) {
                continue;
            }
            at += 1;
        }
    }

    /// Advances a task; returns whether it is still running.
    fn advance(&mut self, at: usize, on_delta: OnDelta<'_>) -> bool {
        let job = &mut self.running[at];
        let ticket = Ticket(job.request);
        let mut on_delta = |number: usize, delta: Delta<'_>| on_delta(ticket, number, delta);
        let mut demands = Vec::new();
        let advanced = job
            .task
            .advance(&mut self.tools.context(&mut on_delta), &mut demands);
        job.demands = demands.into_iter().map(Open::new).collect();
        if advanced.is_ok() && !job.demands.is_empty() {
            return true;
        }
        let job = self.take_out(at, advanced.is_ok());
        let outputs =
            advanced.and_then(|()| job.task.finish(&mut self.tools.context(&mut on_delta)));
        self.deliver(job.request, job.number, outputs);
        false
    }

    /// Removes a task and releases its rows, which may be cached for texts with the same prefix if nothing failed.
    fn take_out(&mut self, at: usize, may_keep: bool) -> Job {
        let mut job = self.running.remove(at);
        for rows in job.take_rows(false) {
            self.target.release(rows, may_keep);
        }
        if let Some(draft) = &mut self.draft {
            for rows in job.take_rows(true) {
                draft.release(rows, may_keep);
            }
        }
        job
    }

    /// Stores the outcome of a task until its request has ended.
    fn deliver(&mut self, request: u64, number: usize, outputs: Result<Outputs, GenerateError>) {
        if let Some(submitted) = self.requests.get_mut(&request)
            && let Some(place) = submitted.outputs.get_mut(number)
            && place.is_none()
        {
            *place = Some(outputs);
            submitted.left -= 1;
        }
    }

    /// Returns the requests whose tasks have all ended.
    fn ended(&mut self) -> Vec<(Ticket, Result<Outputs, GenerateError>)> {
        let ended: Vec<u64> = { self.requests.iter() }
            .filter(|(_, submitted)| submitted.left == 0)
            .map(|(&request, _)| request)
            .collect();
        let outputs = ended.into_iter().filter_map(|request| {
            let submitted = self.requests.remove(&request)?;
            Some((Ticket(request), submitted.outputs()))
        });
        outputs.collect()
    }
}
