//! Reads the bodies of requests, within a size and a time.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::body::Body as _;

use crate::clients::{Client, Share};
use crate::config::ServerLimits;
use crate::error::{ApiError, Result};
use crate::fields::{Fields, Unread};
use crate::state::App;

/// The header that lists unknown fields, in lenient mode.
pub(crate) const IGNORED: &str = "x-structgen-ignored-fields";
/// The header by which a client requests lenient mode.
const LENIENT: &str = "x-structgen-lenient";

/// Reads a JSON body.
async fn read_json(app: &App, headers: &HeaderMap, body: Body) -> Result<String> {
    let kind = headers.get(header::CONTENT_TYPE);
    // Pages of other origins can post text and forms without permission, but not JSON.
    let is_json = kind
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/json")
        });
    if !is_json {
        let message = "the body must be JSON: Content-Type: application/json";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let encoding = headers.get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let message = "the body must not be compressed: no Content-Encoding is supported";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let limits = &app.config.limits;
    let bytes = read(body, limits.body_bytes, limits.read_time).await?;
    String::from_utf8(bytes)
        .map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, "the body is not UTF-8"))
}

/// How many bytes beyond the limit to read before refusing a body: clients read the reply only after sending.
const READ_PAST_LIMIT: usize = 64 << 20;

async fn read(body: Body, most: usize, time: Duration) -> Result<Vec<u8>> {
    let Ok(bytes) = tokio::time::timeout(time, collect(body, most)).await else {
        let message = "the body did not come in time";
        return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, message));
    };
    bytes
}

async fn collect(mut body: Body, most: usize) -> Result<Vec<u8>> {
    let (mut bytes, mut length) = (Vec::new(), 0);
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let incomplete = |_| ApiError::new(StatusCode::BAD_REQUEST, "the body is not complete");
        // Frames without data are trailers.
        let Ok(data) = frame.map_err(incomplete)?.into_data() else {
            continue;
        };
        length += data.len();
        if length <= most {
            bytes.extend_from_slice(&data);
        } else if length - most > READ_PAST_LIMIT {
            break;
        }
    }
    match length > most {
        true => {
            let message = format!("the body may have at most {most} bytes");
            Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message))
        }
        false => Ok(bytes),
    }
}

/// A request that was read.
pub(crate) struct Received<T> {
    pub(crate) fields: T,
    pub(crate) ignored: Ignored,
    /// Its client's share of the server.
    pub(crate) share: Share,
}

/// Reads the fields of a body, and lists those that are unknown if that is not an error.
///
/// To read a large body takes a while: it is read on a blocking thread, and counts as a request of its client.
pub(crate) async fn receive<T: Send + 'static>(
    app: &Arc<App>,
    client: &Client,
    headers: &HeaderMap,
    body: Body,
    read: impl FnOnce(&mut Fields<'_>, &ServerLimits) -> Result<T> + Send + 'static,
) -> Result<Received<T>> {
    let body = read_json(app, headers, body).await?;
    let share = app.clients.enter(client)?;
    let is_asked = headers.get(LENIENT).is_some_and(|value| value == "true");
    let is_lenient = app.config.lenient || is_asked;
    let limits = app.config.limits.clone();
    let work = move || {
        let unread = Unread::new(is_lenient);
        let mut fields = Fields::of_body(&body, &unread)?;
        let value = read(&mut fields, &limits)?;
        fields.finish()?;
        Ok((value, Ignored(unread.into_names())))
    };
    let (fields, ignored) = app.prepare(work).await?;
    Ok(Received {
        fields,
        ignored,
        share,
    })
}

/// Unknown fields of a request.
#[derive(Debug)]
pub(crate) struct Ignored(Vec<String>);

impl Ignored {
    /// Lists them in a header of the reply.
    pub(crate) fn mark(&self, mut response: Response) -> Response {
        if !self.0.is_empty() {
            let visible = |c: char| if c.is_ascii_graphic() { c } else { '?' };
            let names: String = self.0.join(",").chars().map(visible).take(4_096).collect();
            if let Ok(names) = HeaderValue::from_str(&names) {
                response.headers_mut().insert(IGNORED, names);
            }
        }
        response
    }
}
