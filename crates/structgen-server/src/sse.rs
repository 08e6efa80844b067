//! Server-sent events: a task that writes them, and a body that passes them to the connection.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::body::{Bytes, Frame};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::state::App;

/// Number of events buffered for a slow client before the writing task waits.
const EVENTS_AHEAD: usize = 16;

/// The client has disconnected, or reads so slowly that it counts as disconnected.
#[derive(Debug)]
pub(crate) struct Gone;

/// The writing end of an event stream.
pub(crate) struct Events {
    channel: mpsc::Sender<Bytes>,
    write_time: Duration,
}

impl Events {
    /// Sends an event without a name.
    pub(crate) async fn data(&self, data: &Value) -> Result<(), Gone> {
        self.send(format!("data: {data}\n\n")).await
    }

    /// Sends an event with a name.
    pub(crate) async fn named(&self, name: &str, data: &impl Serialize) -> Result<(), Gone> {
        // Only data that is no JSON cannot be written.
        let data = serde_json::to_string(data).map_err(|_| Gone)?;
        self.send(format!("event: {name}\ndata: {data}\n\n")).await
    }

    /// Sends the end marker of OpenAI's streams.
    pub(crate) async fn done(&self) -> Result<(), Gone> {
        self.send("data: [DONE]\n\n".to_owned()).await
    }

    async fn send(&self, text: String) -> Result<(), Gone> {
        let sent = self.channel.send_timeout(text.into(), self.write_time);
        sent.await.map_err(|_| Gone)
    }
}

/// Marks a reply whose events are still to come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streamed(Arc<OnceLock<Instant>>);

impl Streamed {
    /// Sets the time of the request, from which the reply's time counts.
    pub(crate) fn set_start(&self, started: Instant) {
        // A reply belongs to one request.
        let _ = self.0.set(started);
    }
}

/// Returns a reply whose events a task writes. Once the client has disconnected, the task and everything it owns are
/// dropped at its next await.
pub(crate) fn reply<F, T>(app: &Arc<App>, write: F) -> Response
where
    F: FnOnce(Events) -> T,
    T: Future<Output = Result<(), Gone>> + Send + 'static,
{
    let (channel, receiver) = mpsc::channel(EVENTS_AHEAD);
    let left = channel.clone();
    let events = Events {
        channel,
        write_time: app.config.limits.write_time,
    };
    let work = write(events);
    let streamed = Streamed::default();
    let is_complete = Arc::new(AtomicBool::new(false));
    let body = EventBody {
        events: receiver,
        streamed: streamed.clone(),
        is_complete: Arc::clone(&is_complete),
        app: Arc::clone(app),
    };
    let app = Arc::clone(app);
    app.metrics.streams.up();
    let task = async move {
        tokio::select! {
            // A client that has disconnected needs no more events.
            biased;
            () = left.closed() => {}
            // The channel is open until the end of this task.
            written = work => is_complete.store(written.is_ok(), Ordering::Relaxed),
        }
        app.metrics.streams.down();
    };
    tokio::spawn(task.instrument(tracing::info_span!("stream")));
    let mut response = Response::new(Body::new(body));
    response.extensions_mut().insert(streamed);
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Keep proxies from buffering the events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Events as the body of a reply.
struct EventBody {
    events: mpsc::Receiver<Bytes>,
    streamed: Streamed,
    /// Whether everything was written.
    is_complete: Arc<AtomicBool>,
    app: Arc<App>,
}

impl Drop for EventBody {
    fn drop(&mut self) {
        let metrics = &self.app.metrics;
        if let Some(started) = self.streamed.0.get() {
            metrics.request_time.observe(started.elapsed());
        }
        // The client has left, or reads too slowly.
        if !self.is_complete.load(Ordering::Relaxed) {
            metrics.cancelled.add(1);
        }
    }
}

impl hyper::body::Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let event = ready!(self.events.poll_recv(cx));
        Poll::Ready(event.map(|event| Ok(Frame::data(event))))
    }
}
