//! The page at `/`, whose built files are embedded in the executable.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::state::App;

/// Allows only the page's own files, and requests to its own server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn routes() -> Router<Arc<App>> {
    let index = || async {
        let bytes = include_bytes!("../../page/dist/index.html");
        file("text/html; charset=utf-8", bytes)
    };
    let script = || async {
        let bytes = include_bytes!("../../page/dist/app.js");
        file("text/javascript; charset=utf-8", bytes)
    };
    let style = || async {
        let bytes = include_bytes!("../../page/dist/app.css");
        file("text/css; charset=utf-8", bytes)
    };
    Router::new()
        .route("/", get(index))
        .route("/app.js", get(script))
        .route("/app.css", get(style))
}

fn file(kind: &'static str, bytes: &'static [u8]) -> Response {
    let headers: [(HeaderName, HeaderValue); 4] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static(POLICY),
        ),
        (
            header::REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, bytes).into_response()
}
