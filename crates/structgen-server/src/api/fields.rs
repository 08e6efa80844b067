//! Fields and parts of replies that several endpoints share.

use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde_json::{Map, Value, json};

use crate::error::{ApiError, Result};
use crate::fields::Fields;
use crate::generation::Usage;

/// The version of the server that answered.
pub(crate) const FINGERPRINT: &str = concat!("structgen-", env!("CARGO_PKG_VERSION"));

/// The id in a path.
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(_) => Err(ApiError::new(
                StatusCode::BAD_REQUEST,
                "the id in the path is not UTF-8",
            )),
        }
    }
}

/// Whether and how a reply is streamed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stream {
    pub(crate) is_wanted: bool,
    pub(crate) has_usage: bool,
}

impl Stream {
    /// Reads `stream` and `stream_options`.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Self> {
        let is_wanted = fields.take("stream")?.unwrap_or(false);
        let mut has_usage = false;
        let path = fields.path_of("stream_options");
        if let Some(mut options) = fields.object("stream_options")? {
            if !is_wanted {
                let message = "stream_options is for streams, and stream is not true";
                return Err(ApiError::invalid(path, message));
            }
            has_usage = options.take("include_usage")?.unwrap_or(false);
            // An option of vLLM: usage in every chunk.
            if options.take("continuous_usage_stats")? == Some(true) {
                let path = options.path_of("continuous_usage_stats");
                let message = "continuous_usage_stats: usage comes once, at the end";
                return Err(ApiError::invalid(path, message));
            }
            options.finish()?;
        }
        Ok(Self {
            is_wanted,
            has_usage,
        })
    }
}

/// Reads fields that concern the client or the service, and do not affect the answer.
pub(crate) fn take_labels(fields: &mut Fields<'_>) -> Result<()> {
    for name in ["user", "safety_identifier", "prompt_cache_key"] {
        let _: Option<String> = fields.take(name)?;
    }
    match fields.take::<String>("service_tier")?.as_deref() {
        None | Some("auto" | "default") => Ok(()),
        Some(_) => {
            let path = fields.path_of("service_tier");
            Err(ApiError::invalid(
                path,
                "service_tier must be auto or default",
            ))
        }
    }
}

/// Adds what the field `structgen` requested.
pub(crate) fn add_extras(choice: &mut Value, tokens: Option<Value>, report: Option<Value>) {
    let mut extras = Map::new();
    for (name, value) in [("tokens", tokens), ("report", report)] {
        if let Some(value) = value {
            extras.insert(name.to_owned(), value);
        }
    }
    if !extras.is_empty() {
        choice["structgen"] = extras.into();
    }
}

pub(crate) fn usage_json(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.new,
        "total_tokens": usage.prompt + usage.new,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}
