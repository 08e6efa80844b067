//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use structgen::decode::GeneratedToken;
use structgen::vocab::Vocabulary;

use super::fields::{FINGERPRINT, Stream, add_extras, take_labels, usage_json};
use crate::body::{Received, receive};
use crate::clients::Client;
use crate::config::ServerLimits;
use crate::error::{ApiError, Result};
use crate::fields::Fields;
use crate::generation::{
    Answer, AnswerCall, Ask, Chat, Conversation, Done, Job, Nesting, Piece, Prompt, Settings,
    Target, Tools, Update, Usage, chat_logprobs, finish_reason, steps,
};
use crate::ids::new_id;
use crate::models::unix_time;
use crate::sse::{self, Events, Gone};
use crate::state::App;

struct ChatRequest {
    model: Option<String>,
    ask: Ask,
    stream: Stream,
}

fn read(fields: &mut Fields<'_>, limits: &ServerLimits) -> Result<ChatRequest> {
    let model = fields.take("model")?;
    let conversation = Conversation::read(fields)?;
    let mut settings = Settings::read(fields, limits)?;
    let names = ["max_completion_tokens", "max_tokens", "n_predict"];
    settings.read_max_tokens(fields, &names)?;
    settings.set_outputs(fields.take("n")?, limits)?;
    let has_logprobs = fields.take("logprobs")?.unwrap_or(false);
    match fields.take("top_logprobs")? {
        others if has_logprobs => {
            settings.set_logprobs(others.unwrap_or(0), "top_logprobs", limits)?;
        }
        Some(others) if others > 0 => {
            let message = "top_logprobs needs logprobs to be true";
            return Err(ApiError::invalid("top_logprobs", message));
        }
        _ => {}
    }
    let target = Target::read(fields)?;
    let tools = Tools::read(fields, Nesting::Function)?;
    let chat = Chat {
        conversation,
        reasoning_effort: fields.take("reasoning_effort")?,
        variables: fields.take("chat_template_kwargs")?.unwrap_or_default(),
        continues_final_message: fields.take("continue_final_message")?.unwrap_or(false),
        omits_generation_prompt: !fields.take("add_generation_prompt")?.unwrap_or(true),
    };
    let stream = Stream::read(fields)?;
    take_labels(fields)?;
    let _: Option<Map<String, Value>> = fields.take("metadata")?;
    if fields.take("store")? == Some(true) {
        let message = "store: chat completions are not stored; /v1/responses are";
        return Err(ApiError::invalid("store", message));
    }
    if let Some(modalities) = fields.take::<Vec<String>>("modalities")?
        && modalities != ["text"]
    {
        let message = "modalities: only text is supported";
        return Err(ApiError::invalid("modalities", message));
    }
    let prompt = Prompt::Chat(chat);
    Ok(ChatRequest {
        model,
        ask: Ask {
            prompt,
            target,
            tools,
            settings,
        },
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
    let chunks = Chunks {
        id: new_id("chatcmpl-"),
        created: unix_time(),
        model: served.name.clone(),
        settings: request.ask.settings.clone(),
        has_usage: request.stream.has_usage,
    };
    let job = app.start(served, request.ask, share).await?;
    let response = match request.stream.is_wanted {
        true => stream(&app, job, chunks).await?,
        false => chunks.whole(job).await?.into_response(),
    };
    Ok(ignored.mark(response))
}

/// Streams an answer; errors before the first token become ordinary error replies.
async fn stream(app: &Arc<App>, mut job: Job, chunks: Chunks) -> Result<Response> {
    if let Some(first) = job.next().await? {
        let write = |events: Events| async move { chunks.write(&events, job, first).await };
        return Ok(sse::reply(app, write));
    }
    // The output ended without any text, or with an error.
    let (done, usage) = job.finish().await?;
    Ok(sse::reply(app, |events| async move {
        chunks.begin(&events).await?;
        chunks.end(&events, &done, usage, &[]).await
    }))
}

/// Writes an answer, whole or in chunks.
struct Chunks {
    id: String,
    created: u64,
    model: String,
    settings: Settings,
    has_usage: bool,
}

impl Chunks {
    /// Creates the object common to a reply and its chunks.
    fn object(&self, kind: &str, choices: Vec<Value>) -> Value {
        json!({
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": FINGERPRINT,
            "choices": choices,
        })
    }

    async fn whole(&self, mut job: Job) -> Result<Json<Value>> {
        let mut answers = vec![Answer::default(); self.settings.options.sequences];
        while let Some(update) = job.next().await? {
            if let Some(answer) = answers.get_mut(update.output) {
                update.pieces.iter().for_each(|piece| answer.add(piece));
            }
        }
        let vocabulary = Arc::clone(job.served.model.tokenizer().vocabulary());
        let (done, usage) = job.finish().await?;
        let mut choices = Vec::new();
        for (index, (done, answer)) in done.iter().zip(&mut answers).enumerate() {
            done.pieces.iter().for_each(|piece| answer.add(piece));
            let tokens = &done.generation.tokens;
            let reason = finish_reason(&done.generation, !answer.calls.is_empty());
            let mut choice = json!({
                "index": index,
                "message": message(answer),
                "logprobs": self.logprobs(tokens, &vocabulary),
                "finish_reason": reason,
            });
            let steps = self.settings.steps.then(|| steps(tokens, &vocabulary));
            add_extras(&mut choice, steps, done.report.clone());
            choices.push(choice);
        }
        let mut reply = self.object("chat.completion", choices);
        reply["usage"] = usage_json(usage);
        Ok(Json(reply))
    }

    async fn write(
        &self,
        events: &Events,
        mut job: Job,
        first: Update,
    ) -> std::result::Result<(), Gone> {
        let vocabulary = Arc::clone(job.served.model.tokenizer().vocabulary());
        self.begin(events).await?;
        let mut has_calls = vec![false; self.settings.options.sequences];
        let mut next = Some(first);
        while let Some(update) = next {
            let is_call = |piece: &Piece| matches!(piece, Piece::Call { .. });
            if let Some(has_calls) = has_calls.get_mut(update.output) {
                *has_calls |= update.pieces.iter().any(is_call);
            }
            let mut tokens = &update.tokens[..];
            for piece in &update.pieces {
                let choice = self.choice(update.output, delta(piece), tokens, &vocabulary);
                events.data(&self.chunk(vec![choice])).await?;
                tokens = &[];
            }
            // Tokens without text of their own are listed too.
            if !tokens.is_empty() && (self.settings.logprobs.is_some() || self.settings.steps) {
                let choice = self.choice(update.output, json!({}), tokens, &vocabulary);
                events.data(&self.chunk(vec![choice])).await?;
            }
            next = match job.next().await {
                Ok(next) => next,
                Err(error) => return events.data(&error.body()).await,
            };
        }
        match job.finish().await {
            Ok((done, usage)) => self.end(events, &done, usage, &has_calls).await,
            Err(error) => events.data(&error.body()).await,
        }
    }

    /// Writes the chunks with the role.
    async fn begin(&self, events: &Events) -> std::result::Result<(), Gone> {
        for index in 0..self.settings.options.sequences {
            let delta = json!({"role": "assistant", "content": ""});
            events
                .data(&self.chunk(vec![plain_choice(index, delta, None)]))
                .await?;
        }
        Ok(())
    }

    /// Writes what is known only at the end, and why each output ended.
    async fn end(
        &self,
        events: &Events,
        done: &[Done],
        usage: Usage,
        has_calls: &[bool],
    ) -> std::result::Result<(), Gone> {
        for (index, done) in done.iter().enumerate() {
            let mut has_calls = has_calls.get(index).copied().unwrap_or(false);
            for piece in &done.pieces {
                has_calls |= matches!(piece, Piece::Call { .. });
                let choice = plain_choice(index, delta(piece), None);
                events.data(&self.chunk(vec![choice])).await?;
            }
            let reason = finish_reason(&done.generation, has_calls);
            let mut choice = plain_choice(index, json!({}), Some(reason));
            add_extras(&mut choice, None, done.report.clone());
            events.data(&self.chunk(vec![choice])).await?;
        }
        if self.has_usage {
            let mut chunk = self.chunk(Vec::new());
            chunk["usage"] = usage_json(usage);
            events.data(&chunk).await?;
        }
        events.done().await
    }

    fn chunk(&self, choices: Vec<Value>) -> Value {
        let mut chunk = self.object("chat.completion.chunk", choices);
        if self.has_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    fn choice(
        &self,
        index: usize,
        delta: Value,
        tokens: &[GeneratedToken],
        vocabulary: &Vocabulary,
    ) -> Value {
        let mut choice = plain_choice(index, delta, None);
        if !tokens.is_empty() {
            choice["logprobs"] = self.logprobs(tokens, vocabulary);
            let steps = self.settings.steps.then(|| steps(tokens, vocabulary));
            add_extras(&mut choice, steps, None);
        }
        choice
    }

    fn logprobs(&self, tokens: &[GeneratedToken], vocabulary: &Vocabulary) -> Value {
        let others = self.settings.logprobs;
        others.map_or(Value::Null, |others| {
            chat_logprobs(tokens, others, vocabulary)
        })
    }
}

fn plain_choice(index: usize, delta: Value, reason: Option<&str>) -> Value {
    json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": reason})
}

fn message(answer: &Answer) -> Value {
    let has_calls = !answer.calls.is_empty();
    // A message with calls has no content, unless the model generated some.
    let content = match answer.content.clone().unwrap_or_default() {
        text if text.is_empty() && has_calls => None,
        text => Some(text),
    };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if let Some(reasoning) = &answer.reasoning {
        message["reasoning"] = reasoning.as_str().into();
    }
    if has_calls {
        let call = |call: &AnswerCall| {
            json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            })
        };
        message["tool_calls"] = answer.calls.iter().map(call).collect();
    }
    message
}

/// Converts a part of an answer to a delta.
fn delta(piece: &Piece) -> Value {
    match piece {
        Piece::Content(text) => json!({"content": text}),
        Piece::Reasoning(text) => json!({"reasoning": text}),
        Piece::Call { index, id, name } => json!({"tool_calls": [{
            "index": index,
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }]}),
        Piece::Arguments { index, json } => {
            json!({"tool_calls": [{"index": index, "function": {"arguments": json}}]})
        }
    }
}
