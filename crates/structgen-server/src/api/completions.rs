//! `POST /v1/completions`: text after raw prompts.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use structgen::vocab::{TokenId, Tokenizer};

use super::fields::{FINGERPRINT, Stream, add_extras, take_labels, usage_json};
use crate::body::{Received, receive};
use crate::clients::Client;
use crate::config::ServerLimits;
use crate::error::{ApiError, Result};
use crate::fields::Fields;
use crate::generation::{
    Ask, Done, Job, Piece, Prompt, Settings, Target, Update, Usage, check_outputs,
    completion_logprobs, finish_reason, steps,
};
use crate::ids::new_id;
use crate::models::unix_time;
use crate::sse::{self, Events, Gone};
use crate::state::App;

/// One prompt or several, as texts or tokens.
#[derive(Deserialize)]
#[serde(untagged)]
enum Prompts {
    Text(String),
    Texts(Vec<String>),
    Tokens(Vec<u32>),
    TokenLists(Vec<Vec<u32>>),
}

struct CompletionRequest {
    model: Option<String>,
    prompts: Vec<Prompt>,
    target: Target,
    settings: Settings,
    echoes: bool,
    stream: Stream,
}

fn read(fields: &mut Fields<'_>, limits: &ServerLimits) -> Result<CompletionRequest> {
    let model = fields.take("model")?;
    let Some(prompt) = fields.raw("prompt") else {
        return Err(fields.missing("prompt"));
    };
    let prompts = serde_json::from_str(prompt.get()).map_err(|_| {
        let message =
            "prompt must be a text, a list of texts, a list of token ids, or a list of such lists";
        ApiError::invalid("prompt", message)
    })?;
    let tokens = |ids: Vec<u32>| Prompt::Tokens(ids.into_iter().map(TokenId).collect());
    let prompts: Vec<Prompt> = match prompts {
        Prompts::Text(text) => vec![Prompt::Text(text)],
        Prompts::Texts(texts) => texts.into_iter().map(Prompt::Text).collect(),
        Prompts::Tokens(ids) => vec![tokens(ids)],
        Prompts::TokenLists(lists) => lists.into_iter().map(tokens).collect(),
    };
    if prompts.is_empty() || prompts.len() > limits.texts {
        let message = format!("there must be from 1 to {} prompts", limits.texts);
        return Err(ApiError::invalid("prompt", message));
    }
    // Each prompt counts as a request of the client.
    if prompts.len() > limits.requests_per_client {
        let message = format!(
            "there may be at most {} prompts: each counts as a request, and a client may have as many at a time",
            limits.requests_per_client
        );
        return Err(ApiError::invalid("prompt", message));
    }
    let mut settings = Settings::read(fields, limits)?;
    settings.refuse_reasoning()?;
    settings.read_max_tokens(fields, &["max_tokens", "n_predict"])?;
    let count: Option<usize> = fields.take("n")?;
    settings.set_outputs(count, limits)?;
    if let Some(best_of) = fields.take::<usize>("best_of")?
        && best_of != settings.options.sequences
    {
        let message = "best_of is supported only where it equals n";
        return Err(ApiError::invalid("best_of", message));
    }
    if let Some(others) = fields.take("logprobs")? {
        settings.set_logprobs(others, "logprobs", limits)?;
    }
    let echoes = fields.take("echo")?.unwrap_or(false);
    if echoes && settings.logprobs.is_some() {
        let message = "echo cannot be combined with logprobs: those of prompts are not computed";
        return Err(ApiError::invalid("echo", message));
    }
    let target = Target::read(fields)?;
    let stream = Stream::read(fields)?;
    take_labels(fields)?;
    Ok(CompletionRequest {
        model,
        prompts,
        target,
        settings,
        echoes,
        stream,
    })
}

pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let Received {
        fields: request,
        ignored,
        share,
    } = receive(&app, &client, &headers, body, read).await?;
    let served = app.models.get(request.model.as_deref()).await?;
    let outputs = { request.prompts.len() }.saturating_mul(request.settings.options.sequences);
    check_outputs(&served.model, outputs, "prompt")?;
    let (prompts, echoed) = match request.echoes {
        false => (request.prompts, Vec::new()),
        true => {
            let served = Arc::clone(&served);
            app.prepare(move || with_texts(request.prompts, served.model.tokenizer()))
                .await?
        }
    };
    let completions = Completions {
        id: new_id("cmpl-"),
        created: unix_time(),
        model: served.name.clone(),
        settings: request.settings.clone(),
        has_usage: request.stream.has_usage,
        echoed,
    };
    let mut jobs = VecDeque::new();
    // Each prompt counts as a request of the client.
    let mut share = Some(share);
    for prompt in prompts {
        let share = match share.take() {
            Some(share) => share,
            None => app.clients.enter(&client)?,
        };
        let ask = Ask {
            prompt,
            target: request.target.clone(),
            tools: None,
            settings: request.settings.clone(),
        };
        let job = app.start(Arc::clone(&served), ask, share).await;
        jobs.push_back(job.map_err(about_prompt)?);
    }
    let response = match request.stream.is_wanted {
        true => {
            // Errors before the first token become ordinary error replies.
            let first = match jobs.pop_front() {
                Some(job) => Some(Begun::of(job).await.map_err(about_prompt)?),
                None => None,
            };
            let begun = first.into_iter().chain(jobs.into_iter().map(Begun::later));
            let begun: Vec<Begun> = begun.collect();
            sse::reply(&app, |events| async move {
                completions.write(&events, begun).await
            })
        }
        false => completions.whole(jobs).await?.into_response(),
    };
    Ok(ignored.mark(response))
}

/// Renames the parameter of an error from `messages` to `prompt`.
fn about_prompt(mut error: ApiError) -> ApiError {
    if error.param.as_deref() == Some("messages") {
        error.param = Some("prompt".to_owned());
    }
    error
}

/// Returns prompts, and the text of each.
fn with_texts(prompts: Vec<Prompt>, tokenizer: &Tokenizer) -> Result<(Vec<Prompt>, Vec<String>)> {
    let text = |prompt: &Prompt| match prompt {
        Prompt::Text(text) => Ok(text.clone()),
        Prompt::Tokens(tokens) => tokenizer
            .decode(tokens, false)
            .map_err(|error| ApiError::invalid("prompt", error.to_string())),
        Prompt::Chat(_) => Ok(String::new()),
    };
    let texts = prompts.iter().map(text).collect::<Result<_>>()?;
    Ok((prompts, texts))
}

/// A job, or all of it if it had no text.
enum Begun {
    Runs(Box<Job>, Option<Update>),
    Ended(Vec<Done>, Usage),
}

impl Begun {
    /// Waits for the first part of a job's outputs.
    async fn of(mut job: Job) -> Result<Self> {
        if let Some(first) = job.next().await? {
            return Ok(Self::Runs(Box::new(job), Some(first)));
        }
        let (done, usage) = job.finish().await?;
        Ok(Self::Ended(done, usage))
    }

    fn later(job: Job) -> Self {
        Self::Runs(Box::new(job), None)
    }
}

/// Writes completions, whole or in chunks.
struct Completions {
    id: String,
    created: u64,
    model: String,
    settings: Settings,
    has_usage: bool,
    /// The text of each prompt, if it is echoed.
    echoed: Vec<String>,
}

impl Completions {
    fn object(&self, choices: Vec<Value>) -> Value {
        json!({
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": self.model,
            "system_fingerprint": FINGERPRINT,
            "choices": choices,
        })
    }

    fn chunk(&self, choices: Vec<Value>) -> Value {
        let mut chunk = self.object(choices);
        if self.has_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    /// Returns the text before a prompt's completions.
    fn prefix(&self, prompt: usize) -> &str {
        self.echoed.get(prompt).map_or("", String::as_str)
    }

    /// Returns the index of a prompt's output among all choices.
    fn index(&self, prompt: usize, output: usize) -> usize {
        prompt * self.settings.options.sequences + output
    }

    async fn whole(&self, jobs: VecDeque<Job>) -> Result<Json<Value>> {
        let mut choices = Vec::new();
        let mut usage = Usage::default();
        for (prompt, job) in jobs.into_iter().enumerate() {
            let vocabulary = Arc::clone(job.served.model.tokenizer().vocabulary());
            let (done, used) = job.finish().await.map_err(about_prompt)?;
            usage.add(used);
            for (output, done) in done.iter().enumerate() {
                let tokens = &done.generation.tokens;
                let logprobs = self.settings.logprobs;
                let mut choice = json!({
                    "index": self.index(prompt, output),
                    "text": format!("{}{}", self.prefix(prompt), done.generation.text),
                    "logprobs": logprobs.map(|others| completion_logprobs(tokens, others, &vocabulary, &mut 0)),
                    "finish_reason": finish_reason(&done.generation, false),
                });
                let steps = self.settings.steps.then(|| steps(tokens, &vocabulary));
                add_extras(&mut choice, steps, done.report.clone());
                choices.push(choice);
            }
        }
        let mut reply = self.object(choices);
        reply["usage"] = usage_json(usage);
        Ok(Json(reply))
    }

    /// Streams the outputs of each prompt in turn; all are generated concurrently.
    async fn write(&self, events: &Events, jobs: Vec<Begun>) -> std::result::Result<(), Gone> {
        let mut usage = Usage::default();
        for (prompt, job) in jobs.into_iter().enumerate() {
            match self.write_one(events, prompt, job).await? {
                Ok(used) => usage.add(used),
                Err(error) => return events.data(&about_prompt(error).body()).await,
            }
        }
        if self.has_usage {
            let mut chunk = self.chunk(Vec::new());
            chunk["usage"] = usage_json(usage);
            events.data(&chunk).await?;
        }
        events.done().await
    }

    async fn write_one(
        &self,
        events: &Events,
        prompt: usize,
        job: Begun,
    ) -> std::result::Result<Result<Usage>, Gone> {
        if !self.prefix(prompt).is_empty() {
            for output in 0..self.settings.options.sequences {
                let choice = self.choice(prompt, output, self.prefix(prompt));
                events.data(&self.chunk(vec![choice])).await?;
            }
        }
        let finished = match job {
            Begun::Runs(job, first) => self.write_texts(events, prompt, *job, first).await?,
            Begun::Ended(done, usage) => Ok((done, usage)),
        };
        let (done, usage) = match finished {
            Ok(finished) => finished,
            Err(error) => return Ok(Err(error)),
        };
        for (output, done) in done.iter().enumerate() {
            let mut choice = self.choice(prompt, output, "");
            choice["finish_reason"] = finish_reason(&done.generation, false).into();
            add_extras(&mut choice, None, done.report.clone());
            events.data(&self.chunk(vec![choice])).await?;
        }
        Ok(Ok(usage))
    }

    /// Writes the texts of a prompt's outputs as they are generated.
    async fn write_texts(
        &self,
        events: &Events,
        prompt: usize,
        mut job: Job,
        mut first: Option<Update>,
    ) -> std::result::Result<Result<(Vec<Done>, Usage)>, Gone> {
        let vocabulary = Arc::clone(job.served.model.tokenizer().vocabulary());
        let lists = self.settings.logprobs.is_some() || self.settings.steps;
        let mut offsets = vec![0; self.settings.options.sequences];
        loop {
            let next = match first.take() {
                Some(update) => Ok(Some(update)),
                None => job.next().await,
            };
            let update = match next {
                Ok(Some(update)) => update,
                Ok(None) => return Ok(job.finish().await),
                Err(error) => return Ok(Err(error)),
            };
            let text: String = { update.pieces.iter() }
                .map(|piece| match piece {
                    Piece::Content(text) => text.as_str(),
                    _ => "",
                })
                .collect();
            if text.is_empty() && !lists {
                continue;
            }
            let mut choice = self.choice(prompt, update.output, &text);
            let tokens = &update.tokens;
            if let Some(others) = self.settings.logprobs
                && let Some(offset) = offsets.get_mut(update.output)
            {
                choice["logprobs"] = completion_logprobs(tokens, others, &vocabulary, offset);
            }
            let steps = self.settings.steps.then(|| steps(tokens, &vocabulary));
            add_extras(&mut choice, steps, None);
            events.data(&self.chunk(vec![choice])).await?;
        }
    }

    fn choice(&self, prompt: usize, output: usize, text: &str) -> Value {
        let index = self.index(prompt, output);
        json!({"index": index, "text": text, "logprobs": null, "finish_reason": null})
    }
}
