//! Lists the models, and reports whether the server works.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::fields::Id;
use crate::error::{ApiError, Result};
use crate::state::App;

/// `GET /v1/models`.
pub(crate) async fn list(State(app): State<Arc<App>>) -> Json<Value> {
    let models: Vec<Value> = { app.models.names() }
        .map(|name| describe(&app, name))
        .collect();
    Json(json!({"object": "list", "data": models}))
}

/// `GET /v1/models/{id}`.
pub(crate) async fn get(State(app): State<Arc<App>>, Id(name): Id) -> Result<Json<Value>> {
    let name = app.models.name_of(Some(&name))?;
    Ok(Json(describe(&app, name)))
}

fn describe(app: &App, name: &str) -> Value {
    json!({
        "id": name,
        "object": "model",
        "created": app.models.created,
        "owned_by": "structgen",
    })
}

/// `GET /health`: whether the server is alive.
pub(crate) async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// `GET /ready`: whether the server accepts requests, and the default model is usable.
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Result<Json<Value>> {
    if app.is_stopping.load(Ordering::Relaxed) {
        let message = "the server is stopping";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message).with_code("stopping"));
    }
    app.models.check_default().await?;
    Ok(Json(json!({"status": "ready"})))
}

/// `GET /version`.
pub(crate) async fn version() -> Json<Value> {
    Json(json!({"version": env!("CARGO_PKG_VERSION")}))
}

/// `GET /metrics`, in Prometheus's format.
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let text = app.metrics.to_text(app.models.gauges());
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
