//! Routes, and the layers around every request: an id, a key, metrics and a log line.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use tracing::Instrument;

use crate::api;
use crate::body::IGNORED;
use crate::clients::Client;
use crate::config::{ANY_ORIGIN, ConfigError};
use crate::error::ApiError;
use crate::hosts::check_host;
use crate::ids::new_id;
use crate::spans;
use crate::sse::Streamed;
use crate::state::App;

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Returns all routes.
pub(crate) fn router(app: Arc<App>) -> Result<Router, ConfigError> {
    let cors = cors(&app)?;
    let guarded = Router::new()
        .route("/v1/models", get(api::models::list))
        .route("/v1/models/{*id}", get(api::models::get))
        .route("/v1/chat/completions", post(api::chat::create))
        .route("/v1/completions", post(api::completions::create))
        .route("/v1/responses", post(api::responses::create))
        .route(
            "/v1/responses/{id}",
            get(api::responses::get).delete(api::responses::delete),
        )
        .route("/v1/responses/{id}/cancel", post(api::responses::cancel))
        .route("/v1/extract", post(api::extract::create))
        .route("/v1/constraints/check", post(api::constraints::check))
        .route("/v1/masks", post(api::constraints::masks))
        .route("/tokenize", post(api::tokens::tokenize))
        .route("/detokenize", post(api::tokens::detokenize))
        .route("/openapi.json", get(api::openapi::document))
        .route("/metrics", get(api::models::metrics))
        .route("/version", get(api::models::version))
        .route_layer(from_fn_with_state(Arc::clone(&app), check_key));
    let open = api::page::routes()
        .route("/health", get(api::models::health))
        .route("/ready", get(api::models::ready));
    let routes = open
        .merge(guarded)
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(Arc::clone(&app), check_name))
        .layer(from_fn_with_state(Arc::clone(&app), observe));
    let routes = match cors {
        Some(cors) => routes.layer(cors),
        None => routes,
    };
    Ok(routes.with_state(app))
}

/// Returns which pages may use the server: those of the configured origins.
fn cors(app: &App) -> Result<Option<CorsLayer>, ConfigError> {
    let mut origins = Vec::new();
    let is_open = { app.config.cors_origins.iter() }.any(|origin| origin == ANY_ORIGIN);
    for origin in &app.config.cors_origins {
        let value = HeaderValue::from_str(origin);
        origins.push(value.map_err(|_| ConfigError::Origin {
            origin: origin.clone(),
        })?);
    }
    if origins.is_empty() {
        return Ok(None);
    }
    let origins = match is_open {
        true => AllowOrigin::any(),
        false => AllowOrigin::list(origins),
    };
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        // Official clients send many of their own.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([
            REQUEST_ID,
            header::RETRY_AFTER,
            HeaderName::from_static(IGNORED),
        ]);
    Ok(Some(layer))
}

async fn not_found() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "there is nothing at this path")
}

async fn wrong_method() -> ApiError {
    let message = "this path has no such method";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    ApiError::internal("the request failed badly").into_response()
}

/// Assigns an id to a request, counts it, and logs it, without its contents.
async fn observe(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(&request);
    let method = request.method().clone();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    let span = spans::of_request(&method, &route, &id, request.headers());
    let address = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
    // A key identifies the client instead of the address.
    if let Some(address) = address {
        request.extensions_mut().insert(Client::Address(address));
    }
    let mut unanswered = Unanswered(Some(&app));
    let mut response = match app.is_stopping.load(Ordering::Relaxed) && method == Method::POST {
        true => ApiError::stopping().into_response(),
        false => tokio::select! {
            response = next.run(request).instrument(span.clone()) => response,
            () = app.cut() => ApiError::stopping().into_response(),
        },
    };
    unanswered.0 = None;
    let status = response.status().as_u16();
    spans::answered(&span, status);
    let took = started.elapsed();
    app.metrics.answered(&route, status);
    // A streamed reply ends later.
    match response.extensions().get::<Streamed>() {
        None => app.metrics.request_time.observe(took),
        Some(streamed) => streamed.set_start(started),
    }
    let error = response.extensions().get::<ApiError>();
    let code = error.and_then(|error| error.code);
    let milliseconds = took.as_secs_f64() * 1e3;
    tracing::info!(request_id = id, %method, route, status, milliseconds, code, "request");
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    let plain = HeaderValue::from_static("nosniff");
    { response.headers_mut() }.insert(header::X_CONTENT_TYPE_OPTIONS, plain);
    response
}

/// Counts a request as cancelled if it is dropped: its client has left.
struct Unanswered<'a>(Option<&'a App>);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(app) = self.0 {
            app.metrics.cancelled.add(1);
        }
    }
}

/// Returns the client's id for the request if it is short and plain, or a new one.
fn request_id(request: &Request) -> String {
    let given = { request.headers().get(REQUEST_ID) }.and_then(|id| id.to_str().ok());
    let is_plain = |id: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (1..=64).contains(&id.len()) && id.bytes().all(is_plain)
    };
    given
        .filter(is_plain)
        .map_or_else(|| new_id("req_"), str::to_owned)
}

/// Refuses requests to names that are not the server's.
async fn check_name(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match check_host(&app.config, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

async fn check_key(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    match app.keys.check(request.headers()) {
        Err(error) => return error.into_response(),
        Ok(None) => {}
        Ok(Some(number)) => {
            request.extensions_mut().insert(Client::Key(number));
        }
    }
    next.run(request).await
}
