//! `POST /v1/constraints/check` and `POST /v1/masks`: constraints alone, without running a model.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use structgen::constraint::CompiledConstraint;
use structgen::vocab::TokenId;
use structgen::{CancelToken, Checker, Constraint, Mismatch, Profile, SchemaOptions};

use crate::body::{Received, receive};
use crate::clients::Client;
use crate::error::{ApiError, Result};
use crate::generation::{Target, Wanted, constraint_of, token_text};
use crate::models::ServedModel;
use crate::state::App;

/// Maximum number of tokens of a mask to list.
const LISTED: usize = 1_000;

/// Checks whether a text matches a constraint, and if not, where and why.
pub(crate) async fn check(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let received = receive(&app, &client, &headers, body, |fields, _| {
        let target = needed(Target::read_plain(fields)?)?;
        let text: String = fields.need("text")?;
        let profile = match fields.take::<String>("profile")?.as_deref() {
            None | Some("exact") => Profile::Exact,
            Some("generate") => Profile::Generate,
            Some("rust") => Profile::Rust,
            Some(_) => {
                let message = "profile must be exact, generate or rust";
                return Err(ApiError::invalid("profile", message));
            }
        };
        Ok((target, text, profile))
    });
    let Received {
        fields: (target, text, profile),
        ignored,
        share: _share,
    } = received.await?;
    let work = move |cancel: &CancelToken| {
        let refused = |error: structgen::Error| ApiError::of(&error, &target.param);
        let mut options = SchemaOptions::new().with_profile(profile);
        options.cancel = Some(cancel.clone());
        let constraint: Constraint = constraint_of(&target, &options)?;
        let checker = Checker::cancellable(&constraint, cancel.clone()).map_err(refused)?;
        checker.check(text.as_bytes()).map_err(refused)
    };
    let reply = match app.compile(work).await? {
        None => json!({"accepted": true}),
        Some(mismatch) => described(&mismatch),
    };
    Ok(ignored.mark(Json(reply).into_response()))
}

fn described(mismatch: &Mismatch) -> Value {
    json!({
        "accepted": false,
        "message": mismatch.to_string(),
        "offset": mismatch.offset,
        "line": mismatch.line,
        "column": mismatch.column,
        "found": mismatch.found,
        "expected": mismatch.expected_in_words(),
        "may_end": mismatch.may_end,
    })
}

/// Returns what a model may write after the beginning of an output.
pub(crate) async fn masks(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let received = receive(&app, &client, &headers, body, |fields, _| {
        let model: Option<String> = fields.take("model")?;
        let target = needed(Target::read_plain(fields)?)?;
        let prefix = match fields.take::<Vec<u32>>("tokens")? {
            Some(ids) => Prefix::Tokens(ids.into_iter().map(TokenId).collect()),
            None => Prefix::Text(fields.take("prefix")?.unwrap_or_default()),
        };
        let most: usize = fields.take("limit")?.unwrap_or(100);
        Ok((model, target, prefix, most.min(LISTED)))
    });
    let Received {
        fields: (name, target, prefix, most),
        ignored,
        share: _share,
    } = received.await?;
    let served = app.models.get(name.as_deref()).await?;
    let work = move |cancel: &CancelToken| {
        let refused = |error: structgen::Error| ApiError::of(&error, &target.param);
        let mut options = SchemaOptions::new();
        options.cancel = Some(cancel.clone());
        let constraint = constraint_of(&target, &options)?;
        let compiled = served.compile(&constraint, cancel).map_err(refused)?;
        mask_after(&served, &compiled, &prefix, most, cancel.clone())
    };
    let reply = app.compile(work).await?;
    Ok(ignored.mark(Json(reply).into_response()))
}

/// The beginning of an output.
enum Prefix {
    Text(String),
    Tokens(Vec<TokenId>),
}

fn mask_after(
    served: &ServedModel,
    compiled: &CompiledConstraint,
    prefix: &Prefix,
    most: usize,
    token: CancelToken,
) -> Result<Value> {
    let tokenizer = served.model.tokenizer();
    let vocabulary = tokenizer.vocabulary();
    let (param, tokens) = match prefix {
        Prefix::Tokens(tokens) => ("tokens", tokens.clone()),
        Prefix::Text(text) => {
            let tokens = tokenizer.encode(text);
            let refused = |error: structgen::vocab::TokenizerError| {
                ApiError::invalid("prefix", error.to_string())
            };
            ("prefix", tokens.map_err(refused)?)
        }
    };
    let mut matcher = compiled.matcher().with_cancel_token(token);
    for (index, &token) in tokens.iter().enumerate() {
        matcher.accept_token(token).map_err(|error| {
            let message = format!("token {index} of {param} does not match: {error}");
            ApiError::invalid(param, message)
        })?;
    }
    let failed = |error: structgen::constraint::MatcherError| {
        ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
            .with_code("constraint_limit")
    };
    let is_finished = matcher.is_finished();
    let mut reply = json!({
        "accepted_tokens": tokens.len(),
        "may_end": matcher.is_accepting(),
        "is_finished": is_finished,
        "completion_tokens": matcher.completion_cost().map_err(failed)?,
    });
    if !is_finished {
        let mask = matcher.mask().map_err(failed)?;
        let listed = mask.bits().iter().take(most);
        let listed: Vec<Value> = listed
            .map(|id| json!({"id": id.0, "text": token_text(id, vocabulary)}))
            .collect();
        reply["allowed"] = mask.bits().count().into();
        reply["tokens"] = listed.into();
        let forced = matcher.forced_text(4_096).map_err(failed)?;
        reply["forced_text"] = String::from_utf8_lossy(&forced).into();
    }
    Ok(reply)
}

/// Requires that the target is a constraint.
fn needed(target: Target) -> Result<Target> {
    match target.wanted {
        Wanted::Free => {
            let message = "a constraint is needed: json_schema, regex, grammar or choice";
            Err(ApiError::invalid("json_schema", message).with_code("missing_required_parameter"))
        }
        _ => Ok(target),
    }
}
