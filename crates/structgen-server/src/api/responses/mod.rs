//! `POST /v1/responses`, and access to stored responses.

mod body;
mod items;
mod request;
mod store;

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use structgen::chat::ChatMessage;
use structgen::decode::{FinishReason, GeneratedToken};
use structgen::vocab::Vocabulary;

use self::body::{Repeated, ResponseBody, ResponseEvent, usage_json};
use self::items::{COMPLETED, Event, INCOMPLETE, Items};
use self::request::ResponseRequest;
use self::store::Cancellation;
pub(crate) use self::store::Responses;
use crate::api::fields::Id;
use crate::body::{Received, receive};
use crate::clients::Client;
use crate::error::{ApiError, Result};
use crate::generation::{
    Conversation, Done, Job, Piece, Prompt, Update, Usage, chat_logprobs, steps,
};
use crate::ids::new_id;
use crate::models::unix_time;
use crate::sse::{self, Events, Gone};
use crate::state::App;

pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let Received {
        fields: mut request,
        ignored,
        share,
    } = receive(&app, &client, &headers, body, request::read).await?;
    let served = app.models.get(request.model.as_deref()).await?;
    let work = {
        let app = Arc::clone(&app);
        move || {
            let conversation = conversation(&app, client, &mut request)?;
            Ok((request, conversation))
        }
    };
    let (request, conversation) = app.prepare(work).await?;
    let ask = request.ask;
    let writer = Writer {
        app: Arc::clone(&app),
        client,
        id: new_id("resp_"),
        created: unix_time(),
        model: served.name.clone(),
        repeated: request.repeated,
        is_stored: request.is_stored,
        has_steps: ask.settings.steps,
        logprobs: ask.settings.logprobs,
        conversation,
        items: Items::default(),
        pending: Vec::new(),
        number: 0,
    };
    let mut job = app.start(served, ask, share).await.map_err(about_input)?;
    let response = match request.is_streamed {
        true => {
            // Errors before the first token become ordinary error replies.
            let first = job.next().await.map_err(about_input)?;
            match first {
                Some(first) => sse::reply(&app, |events| async move {
                    writer.write(&events, job, first).await
                }),
                None => {
                    let (done, usage) = job.finish().await.map_err(about_input)?;
                    sse::reply(&app, |events| async move {
                        let mut writer = writer;
                        writer.begin(&events).await?;
                        writer.end(&events, done, usage).await
                    })
                }
            }
        }
        false => Json(writer.whole(job).await.map_err(about_input)?).into_response(),
    };
    Ok(ignored.mark(response))
}

/// Returns the conversation that a request continues, with its input; and adds it to what is asked.
fn conversation(app: &App, client: Client, request: &mut ResponseRequest) -> Result<Conversation> {
    let mut conversation = match &request.previous {
        None => Conversation::default(),
        Some(id) => { app.responses.conversation(id, client) }
            .ok_or_else(|| not_kept(id).with_param("previous_response_id"))?,
    };
    conversation.extend(std::mem::take(&mut request.input));
    if let Prompt::Chat(chat) = &mut request.ask.prompt {
        chat.conversation = conversation.clone();
        // Instructions belong to one response; later ones have their own.
        if let Some(instructions) = request.instructions.take() {
            let message = ChatMessage::system(instructions);
            chat.conversation.messages.insert(0, message);
        }
    }
    Ok(conversation)
}

/// Renames the parameter of an error from `messages` to `input`.
fn about_input(mut error: ApiError) -> ApiError {
    match error.param.as_deref() {
        Some("messages") => error.param = Some("input".to_owned()),
        Some("reasoning_effort") => error.param = Some("reasoning.effort".to_owned()),
        Some("max_tokens") => error.param = Some("max_output_tokens".to_owned()),
        _ => {}
    }
    error
}

fn not_kept(id: &str) -> ApiError {
    let message = format!("there is no response {id:?}: it was not stored, or is gone by now");
    ApiError::new(StatusCode::NOT_FOUND, message).with_code("response_not_found")
}

/// `GET /v1/responses/{id}`.
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Id(id): Id,
) -> Result<Json<ResponseBody>> {
    let response = app.responses.response(&id, client);
    response.map(Json).ok_or_else(|| not_kept(&id))
}

/// `DELETE /v1/responses/{id}`.
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Id(id): Id,
) -> Result<Json<Value>> {
    match app.responses.delete(&id, client) {
        true => Ok(Json(
            json!({"id": id, "object": "response", "deleted": true}),
        )),
        false => Err(not_kept(&id)),
    }
}

/// `POST /v1/responses/{id}/cancel`: cancels a response that is being streamed, and returns it.
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Id(id): Id,
) -> Result<Json<ResponseBody>> {
    if let Some(response) = app.responses.cancel(&id, client).await {
        return Ok(Json(response));
    }
    match app.responses.response(&id, client) {
        Some(_) => Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "the response has ended",
        )),
        None => Err(not_kept(&id)),
    }
}

/// Writes a response, whole or in events.
struct Writer {
    app: Arc<App>,
    client: Client,
    id: String,
    created: u64,
    model: String,
    repeated: Repeated,
    is_stored: bool,
    has_steps: bool,
    logprobs: Option<usize>,
    /// Everything before the answer.
    conversation: Conversation,
    items: Items,
    /// The log probabilities of tokens whose text is not final yet.
    pending: Vec<Value>,
    /// The sequence number of the next event.
    number: usize,
}

impl Writer {
    fn response(&self, status: &str, usage: Option<Usage>) -> ResponseBody {
        let own = json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "model": self.model,
            "output": self.items.to_json(),
            "store": self.is_stored,
            "truncation": "disabled",
            "usage": usage.map_or(Value::Null, usage_json),
        });
        ResponseBody::new(own, &self.repeated)
    }

    async fn whole(mut self, mut job: Job) -> Result<ResponseBody> {
        let vocabulary = Arc::clone(job.served.model.tokenizer().vocabulary());
        while let Some(update) = job.next().await? {
            self.take(&update, &vocabulary);
        }
        let (done, usage) = job.finish().await?;
        Ok(self.complete(done, usage).2)
    }

    /// Adds more of the answer, and returns the events that describe it.
    fn take(&mut self, update: &Update, vocabulary: &Vocabulary) -> Vec<Event> {
        // Special tokens are marks between the parts of an answer, and no part of a message's text.
        let tokens = update.tokens.iter();
        let tokens = tokens.filter(|token| !vocabulary.is_special(token.id));
        let described = self.describe(&tokens.cloned().collect::<Vec<_>>(), vocabulary);
        self.pending.extend(described);
        let mut events = self.push(&update.pieces);
        if self.has_steps && !update.tokens.is_empty() {
            let steps = json!({"tokens": steps(&update.tokens, vocabulary)});
            events.push(("structgen.tokens", steps));
        }
        events
    }

    /// Adds pieces. Log probabilities belong to the text of messages; those of reasoning and calls are not listed.
    fn push(&mut self, pieces: &[Piece]) -> Vec<Event> {
        let mut events = Vec::new();
        for piece in pieces {
            let logprobs = match piece {
                Piece::Content(_) => std::mem::take(&mut self.pending),
                _ => Vec::new(),
            };
            events.extend(self.items.push(piece, logprobs));
        }
        if !pieces.is_empty() {
            self.pending.clear();
        }
        events
    }

    fn describe(&self, tokens: &[GeneratedToken], vocabulary: &Vocabulary) -> Vec<Value> {
        let listed = self
            .logprobs
            .map(|others| chat_logprobs(tokens, others, vocabulary));
        match listed {
            Some(mut listed) => match listed["content"].take() {
                Value::Array(content) => content,
                _ => Vec::new(),
            },
            None => Vec::new(),
        }
    }

    /// Ends the answer, stores it if requested, and returns the last events, the type of the event with the response,
    /// and the response.
    fn complete(
        &mut self,
        done: Vec<Done>,
        usage: Usage,
    ) -> (Vec<Event>, &'static str, ResponseBody) {
        let mut events = Vec::new();
        let Some(done) = done.into_iter().next() else {
            let response = self.response(COMPLETED, Some(usage));
            return (events, "response.completed", response);
        };
        events.extend(self.push(&done.pieces));
        // The last tokens may have no text of their own, such as the end of a stop text.
        if !self.pending.is_empty() && self.items.is_in_message() {
            events.extend(self.push(&[Piece::Content(String::new())]));
        }
        let is_cut = done.generation.finish == FinishReason::MaxTokens;
        let (status, event) = match is_cut {
            true => (INCOMPLETE, "response.incomplete"),
            false => (COMPLETED, "response.completed"),
        };
        events.extend(self.items.close(status));
        let mut response = self.response(status, Some(usage));
        if is_cut {
            let details = json!({"reason": "max_output_tokens"});
            response.set("incomplete_details", details);
        }
        if let Some(report) = done.report {
            response.set("structgen", json!({"report": report}));
        }
        self.keep(&response);
        (events, event, response)
    }

    /// Stores the response if requested.
    fn keep(&self, response: &ResponseBody) {
        let mut conversation = self.conversation.clone();
        if self.is_stored && self.items.add_to(&mut conversation).is_ok() {
            let kept = &self.app.responses;
            kept.keep(&self.id, self.client, response.clone(), conversation);
        }
    }

    /// Ends a response that its client cancels.
    async fn cancel(
        &mut self,
        events: &Events,
        cancellation: Cancellation,
    ) -> std::result::Result<(), Gone> {
        self.app.metrics.cancelled.add(1);
        let last = self.items.close(INCOMPLETE);
        let response = self.response("cancelled", None);
        self.keep(&response);
        // Who cancelled it may have left.
        let _ = cancellation.send(response.clone());
        for event in last {
            self.send(events, event).await?;
        }
        self.send_response(events, "response.incomplete", &response)
            .await
    }

    async fn write(
        mut self,
        events: &Events,
        mut job: Job,
        first: Update,
    ) -> std::result::Result<(), Gone> {
        let app = Arc::clone(&self.app);
        let mut running = app.responses.run(&self.id, self.client);
        let vocabulary = Arc::clone(job.served.model.tokenizer().vocabulary());
        self.begin(events).await?;
        let mut next = Some(first);
        while let Some(update) = next {
            for event in self.take(&update, &vocabulary) {
                self.send(events, event).await?;
            }
            let more = tokio::select! {
                more = job.next() => more,
                cancellation = running.cancelled() => {
                    return self.cancel(events, cancellation).await;
                }
            };
            next = match more {
                Ok(next) => next,
                Err(error) => return self.fail(events, error).await,
            };
        }
        match job.finish().await {
            Ok((done, usage)) => self.end(events, done, usage).await,
            Err(error) => self.fail(events, error).await,
        }
    }

    async fn begin(&mut self, events: &Events) -> std::result::Result<(), Gone> {
        for name in ["response.created", "response.in_progress"] {
            let response = self.response("in_progress", None);
            self.send_response(events, name, &response).await?;
        }
        Ok(())
    }

    async fn end(
        &mut self,
        events: &Events,
        done: Vec<Done>,
        usage: Usage,
    ) -> std::result::Result<(), Gone> {
        let (last, name, response) = self.complete(done, usage);
        for event in last {
            self.send(events, event).await?;
        }
        self.send_response(events, name, &response).await
    }

    async fn fail(&mut self, events: &Events, error: ApiError) -> std::result::Result<(), Gone> {
        self.items.close(INCOMPLETE);
        let mut response = self.response("failed", None);
        let code = error.code.unwrap_or("server_error");
        response.set("error", json!({"code": code, "message": error.message}));
        self.send_response(events, "response.failed", &response)
            .await
    }

    async fn send_response(
        &mut self,
        events: &Events,
        name: &'static str,
        response: &ResponseBody,
    ) -> std::result::Result<(), Gone> {
        let event = ResponseEvent {
            name,
            sequence_number: self.number,
            response,
        };
        self.number += 1;
        events.named(name, &event).await
    }

    async fn send(&mut self, events: &Events, event: Event) -> std::result::Result<(), Gone> {
        let (name, fields) = event;
        let mut data = json!({"type": name, "sequence_number": self.number});
        self.number += 1;
        if let (Value::Object(data), Value::Object(fields)) = (&mut data, fields) {
            data.extend(fields);
        }
        events.named(name, &data).await
    }
}
