//! A request in progress: from its fields to a run of the engine, and from the run's events to the parts of answers.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use axum::http::StatusCode;
use serde_json::{Map, Value};
use structgen::decode::{
    FinishReason, GeneratedToken, Generation, Run,
    request::{GenerateError, GenerationStats, Output},
};
use structgen::tools::Reasoning;
use structgen::vocab::TokenId;
use tracing::Span;

use super::cache::PlanKey;
use super::messages::Conversation;
use super::pieces::{Piece, Pieces};
use super::plan::{Goal, Plan, SharedPlan};
use super::prompt::{Rendered, render, submit};
use super::report::report;
use super::settings::Settings;
use super::target::Target;
use super::tools::Tools;
use crate::clients::Share;
use crate::error::{ApiError, Result};
use crate::models::ServedModel;
use crate::spans;
use crate::state::App;

/// What is requested from a model.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) prompt: Prompt,
    pub(crate) target: Target,
    pub(crate) tools: Option<Tools>,
    pub(crate) settings: Settings,
}

#[derive(Clone, Debug)]
pub(crate) enum Prompt {
    Chat(Chat),
    /// Text that is not trusted: names of special tokens in it are encoded as text.
    Text(String),
    Tokens(Vec<TokenId>),
}

/// A conversation, and the other inputs of its template.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chat {
    pub(crate) conversation: Conversation,
    pub(crate) reasoning_effort: Option<String>,
    pub(crate) variables: Map<String, Value>,
    pub(crate) continues_final_message: bool,
    pub(crate) omits_generation_prompt: bool,
}

/// A request that the engine runs. Dropping it cancels the request.
pub(crate) struct Job {
    app: Arc<App>,
    plan: SharedPlan,
    /// Dropped before the model, which is then not freed here.
    run: Run,
    pub(crate) served: Arc<ServedModel>,
    pieces: Vec<Pieces>,
    /// The text that the answer is about, if known.
    input: Option<String>,
    pub(crate) settings: Settings,
    started: Instant,
    span: Span,
    has_begun: bool,
    /// The number of generated tokens that the metrics do not have yet.
    uncounted_tokens: usize,
    _share: Share,
}

/// More of an output.
pub(crate) struct Update {
    pub(crate) output: usize,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) tokens: Vec<GeneratedToken>,
}

/// A complete output.
pub(crate) struct Done {
    /// The pieces that are known only at the end.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) generation: Generation,
    pub(crate) report: Option<Value>,
}

/// The numbers of tokens that a request used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) prompt: usize,
    pub(crate) cached: usize,
    pub(crate) new: usize,
    /// How many of the new tokens are reasoning.
    pub(crate) reasoning: usize,
}

impl Usage {
    pub(crate) fn add(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.new += other.new;
        self.reasoning += other.reasoning;
    }
}

impl App {
    /// Compiles the constraint of a request, builds its prompt, and submits it.
    pub(crate) async fn start(
        self: &Arc<Self>,
        served: Arc<ServedModel>,
        ask: Ask,
        share: Share,
    ) -> Result<Job> {
        let started = Instant::now();
        let ask = Arc::new(ask);
        let Prepared {
            rendered,
            reasoning,
            key,
        } = self.blocking(&served, &ask, prepared).await?;
        let plan = {
            let (served_by, ask) = (Arc::clone(&served), Arc::clone(&ask));
            let make = move |cancel: &_| Plan::new(&served_by, ask.goal(reasoning), cancel);
            self.plan_for(&served, key, make).await?
        };
        let submitted = {
            let plan = Arc::clone(&plan);
            let most = self.config.limits.new_tokens;
            let client = share.client().number();
            self.blocking(&served, &ask, move |served, ask| {
                submit(served, ask, &plan, rendered, most, client)
                    .map_err(|error| ask.settings.about_max_tokens(error))
            })
            .await?
        };
        self.metrics.running.up();
        Ok(Job {
            app: Arc::clone(self),
            span: spans::of_run(&served.name),
            pieces: (0..ask.settings.options.sequences)
                .map(|_| Pieces::new(&plan))
                .collect(),
            served,
            plan,
            run: submitted.run,
            input: submitted.input,
            settings: ask.settings.clone(),
            started,
            has_begun: false,
            uncounted_tokens: 0,
            _share: share,
        })
    }

    /// Runs work on a prompt on a blocking thread.
    async fn blocking<T: Send + 'static>(
        &self,
        served: &Arc<ServedModel>,
        ask: &Arc<Ask>,
        work: impl FnOnce(&ServedModel, &Ask) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (served, ask) = (Arc::clone(served), Arc::clone(ask));
        self.prepare(move || work(&served, &ask)).await
    }
}

/// What is known of a request before its constraint is compiled.
struct Prepared {
    rendered: Option<Rendered>,
    /// Whether the answer starts with reasoning.
    reasoning: Reasoning,
    key: PlanKey,
}

fn prepared(served: &ServedModel, ask: &Ask) -> Result<Prepared> {
    let is_chat = matches!(ask.prompt, Prompt::Chat(_));
    // The end of the prompt determines whether the answer starts with reasoning.
    let rendered = match is_chat && !served.model.is_embedded() {
        true => Some(render(served, ask)?),
        false => None,
    };
    let reasoning = rendered
        .as_ref()
        .map_or(Reasoning::Off, |rendered| rendered.reasoning);
    Ok(Prepared {
        rendered,
        reasoning,
        key: PlanKey::of(&ask.goal(reasoning).key()),
    })
}

impl Ask {
    fn goal(&self, reasoning: Reasoning) -> Goal<'_> {
        Goal {
            target: &self.target,
            tools: self.tools.as_ref(),
            reasoning,
            reasoning_tokens: self.settings.reasoning_tokens,
        }
    }
}

impl Job {
    /// Returns more of an output, or `None` once all outputs are complete.
    pub(crate) async fn next(&mut self) -> Result<Option<Update>> {
        let event = tokio::select! {
            event = poll_fn(|cx| self.run.poll_event(cx)) => event,
            () = self.app.cut() => return Err(ApiError::stopping()),
        };
        let Some(event) = event else {
            return Ok(None);
        };
        if !self.has_begun {
            self.has_begun = true;
            let waited = self.started.elapsed();
            self.app.metrics.first_token_time.observe(waited);
            self.span
                .record("structgen.first_token_seconds", waited.as_secs_f64());
        }
        self.uncounted_tokens += event.tokens.len();
        let vocabulary = self.served.model.tokenizer().vocabulary();
        let pieces = match self.pieces.get_mut(event.output) {
            Some(pieces) => pieces.push(&event.text, &event.tokens, vocabulary)?,
            None => Vec::new(),
        };
        Ok(Some(Update {
            output: event.output,
            pieces,
            tokens: event.tokens,
        }))
    }

    /// Waits for the end, and returns the outputs in order. Updates that were not read are dropped.
    pub(crate) async fn finish(mut self) -> Result<(Vec<Done>, Usage)> {
        while self.next().await?.is_some() {}
        let outputs = (&mut self.run).await?.outputs;
        let mut usage = Usage::default();
        let mut done = Vec::new();
        let vocabulary = Arc::clone(self.served.model.tokenizer().vocabulary());
        for (at, output) in outputs.into_iter().enumerate() {
            let generation = whole(output)?;
            self.count(&generation, &mut usage, at == 0);
            let pieces = match self.pieces.get_mut(at) {
                Some(pieces) => {
                    let last = pieces.finish(&vocabulary)?;
                    usage.reasoning += pieces.reasoning_tokens(&generation.tokens, &vocabulary);
                    last
                }
                None => Vec::new(),
            };
            let report = self.settings.report.then(|| {
                report(
                    &self.served.model,
                    &self.plan,
                    &generation,
                    self.input.as_deref(),
                    self.settings.options.sampling.seed,
                )
            });
            done.push(Done {
                pieces,
                generation,
                report,
            });
        }
        self.span.record("gen_ai.usage.input_tokens", usage.prompt);
        self.span.record("gen_ai.usage.output_tokens", usage.new);
        self.span.record("structgen.cached_tokens", usage.cached);
        Ok((done, usage))
    }

    fn count(&mut self, generation: &Generation, usage: &mut Usage, is_first: bool) {
        let metrics = &self.app.metrics;
        let GenerationStats {
            prompt_tokens,
            reused_tokens,
            forced_tokens,
            total_time,
            first_token_time,
            mask_time,
            ..
        } = generation.stats;
        let new = generation.tokens.len();
        if is_first {
            usage.prompt = prompt_tokens;
            usage.cached = reused_tokens;
            metrics.prompt_tokens.add(prompt_tokens);
            metrics.cached_tokens.add(reused_tokens);
        }
        usage.new += new;
        self.uncounted_tokens = self.uncounted_tokens.saturating_sub(new);
        metrics.new_tokens.add(new);
        metrics.forced_tokens.add(forced_tokens);
        metrics.mask_time.observe(mask_time);
        if let Ok(rest @ 1..) = u32::try_from(new.saturating_sub(1)) {
            let between = total_time.saturating_sub(first_token_time) / rest;
            metrics.token_time.observe(between);
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(event)) = self.run.poll_event(&mut cx) {
            self.uncounted_tokens += event.tokens.len();
        }
        let metrics = &self.app.metrics;
        metrics.running.down();
        metrics.new_tokens.add(self.uncounted_tokens);
    }
}

/// Returns an output, unless it was cut by the time limit or the server's shutdown.
fn whole(output: std::result::Result<Output, GenerateError>) -> Result<Generation> {
    let generation = output?.generation;
    match generation.finish {
        FinishReason::TimeLimit => {
            let message = "the answer took longer than the server allows";
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message).with_code("time_limit"))
        }
        FinishReason::Cancelled => Err(ApiError::stopping()),
        _ => Ok(generation),
    }
}

/// Returns why an output ended, in the terms of OpenAI's API.
pub(crate) fn finish_reason(generation: &Generation, has_calls: bool) -> &'static str {
    match generation.finish {
        FinishReason::MaxTokens => "length",
        _ if has_calls => "tool_calls",
        _ => "stop",
    }
}
