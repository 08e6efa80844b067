//! A request on its way: from what was asked to a run of the engine, and from its events to the parts of answers.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Instant;

use axum::http::StatusCode;
use serde_json::{Map, Value};
use structgen::chat::{ChatOptions, ChatPrompt};
use structgen::decode::{
    FinishReason, GeneratedToken, Generation, Run,
    request::{GenerateError, GenerationStats, Output},
};
use structgen::tools::{Reasoning, ToolChoice, ToolFormat};
use structgen::vocab::TokenId;
use structgen::{CancelToken, Request};

use super::cache::PlanKey;
use super::messages::Conversation;
use super::pieces::{Piece, Pieces};
use super::plan::{Goal, How, Plan, SharedPlan};
use super::report::report;
use super::settings::Settings;
use super::target::Target;
use super::tools::Tools;
use crate::clients::{Client, Share};
use crate::error::{ApiError, Result};
use crate::models::ServedModel;
use crate::state::App;

/// What is asked of a model.
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
    /// Text that is not trusted: names of special tokens in it stay text.
    Text(String),
    Tokens(Vec<TokenId>),
}

/// A conversation, and what its template is given beside it.
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
    pub(crate) served: Arc<ServedModel>,
    plan: SharedPlan,
    run: Run,
    pieces: Vec<Pieces>,
    /// The text that the answer is about, where it is known.
    input: Option<String>,
    pub(crate) settings: Settings,
    started: Instant,
    has_begun: bool,
    has_ended: bool,
    _share: Share,
}

/// More of an output.
pub(crate) struct Update {
    pub(crate) output: usize,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) tokens: Vec<GeneratedToken>,
}

/// An output that is complete.
pub(crate) struct Done {
    /// What was only known at the end.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) generation: Generation,
    pub(crate) report: Option<Value>,
}

/// The tokens that a request took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) prompt: usize,
    pub(crate) cached: usize,
    pub(crate) new: usize,
}

impl Usage {
    pub(crate) fn add(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.new += other.new;
    }
}

impl App {
    /// Compiles what a request wants, writes its prompt, and submits it.
    pub(crate) async fn start(
        self: &Arc<Self>,
        served: Arc<ServedModel>,
        ask: Ask,
        client: &Client,
    ) -> Result<Job> {
        let started = Instant::now();
        let share = self.clients.enter(client)?;
        let is_chat = matches!(ask.prompt, Prompt::Chat(_));
        let ask = Arc::new(ask);
        // What the prompt ends with decides whether the answer begins with reasoning.
        let rendered = match is_chat && !served.model.is_embedded() {
            true => Some(self.blocking(&served, &ask, render).await?),
            false => None,
        };
        let reasoning = rendered
            .as_ref()
            .map_or(Reasoning::Off, |rendered| rendered.reasoning);
        let plan = self.plan(&served, &ask, reasoning).await?;
        let submitted = {
            let plan = Arc::clone(&plan);
            let most = self.config.limits.new_tokens;
            self.blocking(&served, &ask, move |served, ask| {
                submit(served, ask, &plan, rendered, most)
            })
            .await?
        };
        self.metrics.running.up();
        Ok(Job {
            app: Arc::clone(self),
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
            has_ended: false,
            _share: share,
        })
    }

    /// Work on what a model is asked.
    async fn blocking<T: Send + 'static>(
        &self,
        served: &Arc<ServedModel>,
        ask: &Arc<Ask>,
        work: impl FnOnce(&ServedModel, &Ask) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (served, ask) = (Arc::clone(served), Arc::clone(ask));
        self.prepare(move || work(&served, &ask)).await
    }

    /// Work on a prompt, of which only so much is done at the same time.
    pub(crate) async fn prepare<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = Arc::clone(&self.preparing).acquire_owned().await;
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        task.await
            .unwrap_or_else(|_| Err(ApiError::internal("the request could not be prepared")))
    }

    /// Work on a constraint, of which only so much is done at the same time.
    pub(crate) async fn compile<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = Arc::clone(&self.compiling).acquire_owned().await;
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        let made = { task.await }
            .unwrap_or_else(|_| Err(ApiError::internal("the constraint could not be compiled")));
        made.inspect_err(|error| {
            if let Some(keyword) = &error.keyword {
                self.metrics.refused_keyword(keyword);
            }
        })
    }

    /// The plan that meets what is asked, made now or kept from before.
    async fn plan(
        &self,
        served: &Arc<ServedModel>,
        ask: &Arc<Ask>,
        reasoning: Reasoning,
    ) -> Result<SharedPlan> {
        let goal = Goal {
            target: &ask.target,
            tools: ask.tools.as_ref(),
            reasoning,
            reasoning_tokens: ask.settings.reasoning_tokens,
        };
        let (served_by, asked) = (Arc::clone(served), Arc::clone(ask));
        self.plan_for(served, &goal.key(), move |cancel| {
            let goal = Goal {
                target: &asked.target,
                tools: asked.tools.as_ref(),
                reasoning,
                reasoning_tokens: asked.settings.reasoning_tokens,
            };
            Plan::new(&served_by, goal, cancel)
        })
        .await
    }

    /// The plan of a key, made now or kept from before.
    pub(crate) async fn plan_for(
        &self,
        served: &Arc<ServedModel>,
        key: &str,
        make: impl FnOnce(&CancelToken) -> Result<Plan> + Send + 'static,
    ) -> Result<SharedPlan> {
        let key = PlanKey::of(key);
        if let Some(plan) = served.plans.get(key) {
            self.metrics.constraint_hits.add(1);
            return Ok(plan);
        }
        self.metrics.constraint_misses.add(1);
        let cancel = CancelToken::with_timeout(self.config.limits.compile_time);
        // A client that leaves ends the work for it.
        let guard = CancelOnDrop(cancel.clone());
        let started = Instant::now();
        let served = Arc::clone(served);
        let made = self.compile(move || {
            // Somebody else may have waited for the same.
            if let Some(plan) = served.plans.get(key) {
                return Ok(plan);
            }
            let plan = SharedPlan::new(make(&cancel)?);
            served.plans.put(key, &plan);
            Ok(plan)
        });
        let made = made.await;
        drop(guard);
        self.metrics.compile_time.observe(started.elapsed());
        made
    }
}

struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A conversation as a prompt.
struct Rendered {
    tokens: Vec<TokenId>,
    reasoning: Reasoning,
}

/// Writes the prompt of a conversation through the model's chat template.
fn render(served: &ServedModel, ask: &Ask) -> Result<Rendered> {
    let Prompt::Chat(chat) = &ask.prompt else {
        return Err(ApiError::internal("only conversations are rendered"));
    };
    let refused = |error: structgen::Error| ApiError::of(&error, "messages");
    let model = &served.model;
    let mut options = ChatOptions {
        tools: ask.tools.as_ref().map(|tools| tools.for_template.clone()),
        variables: chat.variables.clone(),
        continue_final_message: chat.continues_final_message,
        add_generation_prompt: !chat.continues_final_message && !chat.omits_generation_prompt,
        ..ChatOptions::default()
    };
    let is_off = chat.reasoning_effort.as_deref() == Some("none");
    match &chat.reasoning_effort {
        None => {}
        Some(_) if is_off => {
            { options.variables.entry("enable_thinking") }.or_insert(false.into());
        }
        Some(effort) if served.reasons => {
            let effort = effort.as_str().into();
            options
                .variables
                .insert("reasoning_effort".to_owned(), effort);
        }
        Some(_) => {
            let message =
                "reasoning_effort: the model does not reason, by the format of its answers";
            return Err(ApiError::invalid("reasoning_effort", message));
        }
    }
    if ask.settings.reasoning_tokens.is_some() && !served.reasons {
        let message =
            "structgen.reasoning_tokens: the model does not reason, by the format of its answers";
        return Err(ApiError::invalid("structgen.reasoning_tokens", message));
    }
    let template = model.chat_template().map_err(refused)?;
    let prompt = template
        .render(&chat.conversation.messages, &options)
        .map_err(|error| refused(error.into()))?;
    check_nothing_is_left_out(&prompt, chat, ask.tools.as_ref())?;
    let tokens = { model.tokenizer() }
        .encode_mixed(prompt.text(), prompt.trusted())
        .map_err(|error| refused(error.into()))?;
    let reasoning = match (is_off, opens_reasoning(&prompt, &served.format)) {
        (_, true) => Reasoning::Open,
        (true, false) => Reasoning::Off,
        (false, false) => Reasoning::Allowed,
    };
    Ok(Rendered { tokens, reasoning })
}

/// A template that leaves out what it was given would drop it in silence.
fn check_nothing_is_left_out(
    prompt: &ChatPrompt,
    chat: &Chat,
    tools: Option<&Tools>,
) -> Result<()> {
    let text = { chat.conversation.last_user_text.as_deref() }.unwrap_or_default();
    if !prompt.text().contains(text.trim()) {
        return Err(ApiError::of(
            &structgen::Error::TemplateDropsText,
            "messages",
        ));
    }
    // What may not be called need not be known.
    let tools = { tools.filter(|tools| tools.choice != ToolChoice::None) }
        .map_or(&[][..], |tools| &tools.list);
    if let Some(tool) = { tools.iter() }.find(|tool| !prompt.text().contains(&tool.name)) {
        let message = format!(
            "the model's chat template leaves out the tool {:?}, so that the model would not know of it",
            tool.name
        );
        return Err(ApiError::invalid("tools", message).with_code("chat_template"));
    }
    Ok(())
}

/// Whether a prompt ends where reasoning begins, as some templates write it.
fn opens_reasoning(prompt: &ChatPrompt, format: &ToolFormat) -> bool {
    let end = prompt.text().trim_end();
    format.reasoning.as_ref().is_some_and(|reasoning| {
        let mut begins = reasoning.begin.texts();
        begins.any(|begin| !begin.trim().is_empty() && end.ends_with(begin.trim()))
    })
}

struct Submitted {
    run: Run,
    input: Option<String>,
}

fn submit(
    served: &ServedModel,
    ask: &Ask,
    plan: &Plan,
    rendered: Option<Rendered>,
    most: usize,
) -> Result<Submitted> {
    let model = &served.model;
    let refused = |error: structgen::Error| ApiError::of(&error, "messages");
    let mut settings = ask.settings.clone();
    let text = match &ask.prompt {
        Prompt::Chat(chat) => chat.conversation.last_user_text.clone(),
        Prompt::Text(text) => Some(text.clone()),
        Prompt::Tokens(_) => None,
    };
    let mut request = if let (How::Extraction { extractor, .. }, Some(text)) = (&plan.how, &text) {
        extractor.request(text).map_err(refused)?
    } else {
        // The embedded model reads texts; other models are drawn from as OpenAI's are.
        if !settings.has_temperature && !model.is_embedded() {
            settings.options.sampling.temperature = 1.0;
        }
        let tokens = match (&ask.prompt, rendered) {
            (_, Some(rendered)) => rendered.tokens,
            (Prompt::Chat(_), None) => render(served, ask)?.tokens,
            (Prompt::Text(text), None) => {
                let mut tokens = model.encode_prompt("").map_err(refused)?;
                let text = model.tokenizer().encode(text);
                tokens.extend(text.map_err(|error| refused(error.into()))?);
                tokens
            }
            (Prompt::Tokens(tokens), None) => {
                let width = model.tokenizer().vocabulary().len();
                if let Some(token) = tokens.iter().find(|token| token.index() >= width) {
                    let message = format!("the model has no token {}", token.0);
                    return Err(ApiError::invalid("prompt", message));
                }
                tokens.clone()
            }
        };
        let constraint = match &plan.how {
            How::Free => None,
            How::Constrained(compiled) | How::Calls { compiled, .. } => Some(compiled.clone()),
            How::Extraction { .. } => {
                let message = "there is no message of a user to extract from";
                return Err(ApiError::invalid("messages", message));
            }
        };
        Request::new(tokens, constraint)
    };
    let room = model.room_after(&request.prompt, most);
    request.options = settings.options_for(model.tokenizer(), room)?;
    let run = model.submit(request.with_events()).map_err(refused)?;
    Ok(Submitted { run, input: text })
}

impl Job {
    /// More of an output; none once all outputs are there.
    pub(crate) async fn next(&mut self) -> Result<Option<Update>> {
        let Some(event) = poll_fn(|cx| self.run.poll_event(cx)).await else {
            return Ok(None);
        };
        if !self.has_begun {
            self.has_begun = true;
            let waited = self.started.elapsed();
            self.app.metrics.first_token_time.observe(waited);
        }
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

    /// Waits for the end, and returns the outputs in their order. Updates that were not looked at are dropped.
    pub(crate) async fn finish(mut self) -> Result<(Vec<Done>, Usage)> {
        while self.next().await?.is_some() {}
        let outputs = (&mut self.run).await;
        self.has_ended = true;
        let outputs = outputs?.outputs;
        let mut usage = Usage::default();
        let mut done = Vec::new();
        let vocabulary = Arc::clone(self.served.model.tokenizer().vocabulary());
        for (at, output) in outputs.into_iter().enumerate() {
            let generation = whole(output)?;
            self.count(&generation, &mut usage, at == 0);
            let pieces = match self.pieces.get_mut(at) {
                Some(pieces) => pieces.finish(&vocabulary)?,
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
        Ok((done, usage))
    }

    fn count(&self, generation: &Generation, usage: &mut Usage, is_first: bool) {
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
        self.app.metrics.running.down();
        if !self.has_ended {
            self.app.metrics.cancelled.add(1);
        }
    }
}

/// An output that was not cut by the clock or the server's end.
fn whole(output: std::result::Result<Output, GenerateError>) -> Result<Generation> {
    let generation = output?.generation;
    match generation.finish {
        FinishReason::TimeLimit => {
            let message = "the answer took longer than the server allows";
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message).with_code("time_limit"))
        }
        FinishReason::Cancelled => {
            let message = "the server is stopping";
            Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message).with_code("stopping"))
        }
        _ => Ok(generation),
    }
}

/// Why an output ended, as OpenAI's API names it.
pub(crate) fn finish_reason(generation: &Generation, has_calls: bool) -> &'static str {
    match generation.finish {
        FinishReason::MaxTokens => "length",
        _ if has_calls => "tool_calls",
        _ => "stop",
    }
}
