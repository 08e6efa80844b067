//! Errors in the format of OpenAI's API: `{"error": {"message", "type", "param", "code"}}`.

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use structgen::Error;
use structgen::decode::{FinishReason, GenerateError};
use structgen::frontend::json_schema::SchemaError;

pub(crate) type Result<T, E = ApiError> = std::result::Result<T, E>;

/// Why a request fails.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The field of the request, with a JSON Pointer if it concerns a part of a schema.
    pub(crate) param: Option<String>,
    pub(crate) code: Option<&'static str>,
    /// The unsupported keyword of the schema, for the metrics.
    pub(crate) keyword: Option<String>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            param: None,
            code: None,
            keyword: None,
        }
    }

    /// Creates an error about a field with an invalid value.
    pub(crate) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message).with_param(param)
    }

    /// Creates an error that is not the client's fault.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// Creates the error for requests that a server no longer answers.
    pub(crate) fn stopping() -> Self {
        let message = "the server is stopping";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message).with_code("stopping")
    }

    pub(crate) fn with_param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    pub(crate) fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// Converts an error of the library about the contents of the field `param`.
    pub(crate) fn of(error: &Error, param: &str) -> Self {
        match error {
            Error::Generate(error) => Self::from(error),
            Error::Schema(error) => Self::schema(error, param),
            Error::Tools(structgen::tools::ToolError::Content(error)) => Self::schema(error, param),
            Error::Load(_) | Error::TokenizerFile { .. } | Error::PromptVersion { .. } => {
                let message = format!("the model cannot be loaded: {}", paragraph(error));
                Self::new(StatusCode::SERVICE_UNAVAILABLE, message).with_code("model_unavailable")
            }
            Error::Chat(_) | Error::TemplateDropsText => {
                Self::invalid("messages", paragraph(error)).with_code("chat_template")
            }
            _ => Self::invalid(param, paragraph(error)),
        }
    }

    fn schema(error: &SchemaError, param: &str) -> Self {
        let (keyword, pointer) = match error {
            SchemaError::InvalidKeyword {
                keyword, pointer, ..
            }
            | SchemaError::Unsupported {
                keyword, pointer, ..
            } => (Some(keyword.clone()), Some(pointer)),
            SchemaError::NotASchema { pointer }
            | SchemaError::UnresolvedReference { pointer, .. }
            | SchemaError::CircularReference { pointer }
            | SchemaError::Unsatisfiable { pointer, .. }
            | SchemaError::Limit { pointer, .. } => (None, Some(pointer)),
            _ => (None, None),
        };
        let place = pointer.map_or_else(|| param.to_owned(), |pointer| format!("{param}{pointer}"));
        let mut refused = Self::invalid(place, error.to_string()).with_code("invalid_schema");
        refused.keyword = keyword;
        refused
    }

    /// Returns OpenAI's error type for the status.
    fn kind(&self) -> &'static str {
        match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::NOT_FOUND => "not_found_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        }
    }

    /// Returns the body of the reply, or of the event in a stream that fails.
    pub(crate) fn body(&self) -> Value {
        json!({"error": {
            "message": shortened(&self.message),
            "type": self.kind(),
            "param": self.param.as_deref().map(shortened),
            "code": self.code,
        }})
    }
}

/// Maximum number of characters of a text in an error: names and values of a request may have megabytes.
const MOST_SHOWN: usize = 4_096;

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MOST_SHOWN) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}

/// Formats an error with its sources, without repetition.
pub(crate) fn paragraph(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    text
}

impl From<&GenerateError> for ApiError {
    fn from(error: &GenerateError) -> Self {
        use GenerateError as E;
        let message = paragraph(error);
        match error {
            E::BudgetTooSmall { .. } => {
                Self::invalid("max_tokens", message).with_code("budget_too_small")
            }
            E::ContextOverflow { .. } | E::PromptTooLong { .. } | E::CropKeepsAll { .. } => {
                Self::invalid("messages", message).with_code("context_length_exceeded")
            }
            E::CacheLimit { .. } => {
                Self::invalid("max_tokens", message).with_code("cache_limit_exceeded")
            }
            E::EmptyPrompt => Self::invalid("messages", message),
            E::EmptyStopString { .. } => Self::invalid("stop", message),
            E::QueueFull { .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, message).with_code("queue_full")
            }
            E::Incomplete(incomplete) => {
                let status = match incomplete.reason() {
                    FinishReason::TimeLimit => StatusCode::REQUEST_TIMEOUT,
                    // The requests of a client that leaves have no reply.
                    FinishReason::Cancelled => return Self::stopping(),
                    _ => StatusCode::UNPROCESSABLE_ENTITY,
                };
                Self::new(status, message).with_code("incomplete")
            }
            E::Constraint { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, message).with_code("constraint_limit")
            }
            E::Stopped | E::NoWorker => Self::new(StatusCode::SERVICE_UNAVAILABLE, message),
            E::Model(_) | E::NoFiniteLogit { .. } | E::DeadEnd { .. } | E::NoOutput => {
                Self::internal(message)
            }
            _ => Self::new(StatusCode::BAD_REQUEST, message),
        }
    }
}

impl From<GenerateError> for ApiError {
    fn from(error: GenerateError) -> Self {
        Self::from(&error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        let headers = response.headers_mut();
        match self.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response.extensions_mut().insert(self);
        response
    }
}
