//! `POST /tokenize` and `POST /detokenize`, as in the servers of vLLM and llama.cpp.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use structgen::vocab::TokenId;

use crate::body::{Received, receive};
use crate::clients::Client;
use crate::error::{ApiError, Result};
use crate::generation::token_text;
use crate::state::App;

/// Tokenizes a text, which is not trusted: names of special tokens in it are encoded as text.
pub(crate) async fn tokenize(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let received = receive(&app, &client, &headers, body, |fields, _| {
        let model: Option<String> = fields.take("model")?;
        // vLLM's name, and llama.cpp's; by default, only one of them prepends the start token.
        let prompt: Option<String> = fields.take("prompt")?;
        let (text, has_start) = match prompt {
            Some(prompt) => (prompt, true),
            None => (fields.need("content")?, false),
        };
        let has_start = match fields.take("add_special_tokens")? {
            Some(has_start) => has_start,
            None => fields.take("add_special")?.unwrap_or(has_start),
        };
        let has_texts = match fields.take("return_token_strs")? {
            Some(has_texts) => has_texts,
            None => fields.take("with_pieces")?.unwrap_or(false),
        };
        Ok((model, text, has_start, has_texts))
    });
    let Received {
        fields: (name, text, has_start, has_texts),
        ignored,
        share: _share,
    } = received.await?;
    let served = app.models.get(name.as_deref()).await?;
    let work = move || {
        let model = &served.model;
        let refused = |error: structgen::Error| ApiError::of(&error, "prompt");
        let mut tokens = match has_start {
            true => model.encode_prompt("").map_err(refused)?,
            false => Vec::new(),
        };
        let encoded = model.tokenizer().encode(&text);
        tokens.extend(encoded.map_err(|error| refused(error.into()))?);
        let ids: Vec<u32> = tokens.iter().map(|token| token.0).collect();
        let mut reply = json!({
            "tokens": ids,
            "count": ids.len(),
            "max_model_len": model.info().context_length,
        });
        if has_texts {
            let vocabulary = model.tokenizer().vocabulary();
            let texts = tokens.iter().map(|&token| token_text(token, vocabulary));
            reply["token_strs"] = texts.collect();
        }
        Ok(reply)
    };
    let reply = app.prepare(work).await?;
    Ok(ignored.mark(Json(reply).into_response()))
}

pub(crate) async fn detokenize(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let received = receive(&app, &client, &headers, body, |fields, _| {
        let model: Option<String> = fields.take("model")?;
        Ok((model, fields.need::<Vec<u32>>("tokens")?))
    });
    let Received {
        fields: (name, ids),
        ignored,
        share: _share,
    } = received.await?;
    let served = app.models.get(name.as_deref()).await?;
    let work = move || {
        let tokens: Vec<TokenId> = ids.into_iter().map(TokenId).collect();
        let tokenizer = served.model.tokenizer();
        let width = tokenizer.vocabulary().len();
        if let Some(token) = tokens.iter().find(|token| token.index() >= width) {
            let message = format!("the model has no token {}", token.0);
            return Err(ApiError::invalid("tokens", message));
        }
        tokenizer
            .decode(&tokens, false)
            .map_err(|error| ApiError::invalid("tokens", error.to_string()))
    };
    let text = app.prepare(work).await?;
    let reply = json!({"prompt": text, "content": text});
    Ok(ignored.mark(Json(reply).into_response()))
}
