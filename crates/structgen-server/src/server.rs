//! Listening, accepting, and stopping.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tower_service::Service;

use crate::config::{ConfigError, ServerConfig};
use crate::error::ApiError;
use crate::router::{Peer, router};
use crate::state::App;
use crate::timed::Timed;

/// A server that is listening, and answers once it [runs](Server::run).
///
/// ```no_run
/// use structgen_server::{Server, ServerConfig};
///
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::bind(ServerConfig::default()).await?;
/// println!("http://{}", server.address());
/// server.run(std::future::pending()).await;
/// # Ok(())
/// # }
/// ```
pub struct Server {
    app: Arc<App>,
    router: Router,
    listener: TcpListener,
    address: SocketAddr,
}

/// How long to pause accepting if the system has no room for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// The system's buffer for a reply that the client does not read. By default, it would buffer megabytes before the
/// server notices.
const SEND_BUFFER: u32 = 128 << 10;

/// Maximum number of connections waiting to be accepted.
const BACKLOG: u32 = 1_024;

/// Maximum time for a refused connection to read the reason.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// Maximum number of connections being refused at the same time; others wait to be accepted.
const REFUSALS: usize = 128;

/// Maximum time for the replies to requests that are cut when the server stops.
const CUT_TIME: Duration = Duration::from_secs(5);

impl Server {
    /// Listens on the configured address. Models are loaded when they are first requested.
    ///
    /// # Errors
    /// [`ConfigError`] if the configuration is unsafe or contradictory, or the system refuses to listen.
    pub async fn bind(config: ServerConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let address = config.address;
        let listen = |source| ConfigError::Listen { address, source };
        let listener = listener(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let app = Arc::new(App::new(config));
        Ok(Self {
            router: router(Arc::clone(&app))?,
            app,
            listener,
            address,
        })
    }

    /// Returns the address that it listens on, with the port chosen by the system if none was given.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop` is ready, then refuses new ones and finishes those in progress, within the time
    /// limit for that.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let connections = Arc::new(Semaphore::new(self.app.config.limits.connections));
        let refusals = Arc::new(Semaphore::new(REFUSALS));
        let graceful = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stop => break,
            };
            let Ok((stream, peer)) = accepted else {
                // Usually out of file handles: other connections end in the meantime.
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            if let Ok(permit) = Arc::clone(&connections).try_acquire_owned() {
                let connection = graceful.watch(self.connection(stream, peer));
                tokio::spawn(async move {
                    let _permit = permit;
                    // A broken connection is the client's concern.
                    let _ = connection.await;
                });
                continue;
            }
            self.app.metrics.refused_connections.add(1);
            let permit = tokio::select! {
                permit = Arc::clone(&refusals).acquire_owned() => permit,
                () = &mut stop => break,
            };
            tokio::spawn(async move {
                let _permit = permit;
                let _ = tokio::time::timeout(REFUSAL_TIME, refuse(stream)).await;
            });
        }
        self.app.is_stopping.store(true, Ordering::Relaxed);
        drop(self.listener);
        let stop_time = self.app.config.limits.stop_time;
        tracing::info!("stopping: requests under way are finished");
        let mut ended = std::pin::pin!(graceful.shutdown());
        if { tokio::time::timeout(stop_time, &mut ended).await }.is_err() {
            tracing::warn!("requests under way are cut: they took too long");
            self.app.cut_all();
            let _ = tokio::time::timeout(CUT_TIME, ended).await;
        }
    }

    fn connection(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
    ) -> http1::Connection<
        TokioIo<Timed>,
        impl hyper::service::HttpService<hyper::body::Incoming, ResBody = Body, Future: Send> + use<>,
    > {
        // Send each token at once.
        let _ = stream.set_nodelay(true);
        let stream = Timed::new(stream, self.app.config.limits.write_time);
        let router = self.router.clone();
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(Peer(peer));
            let mut router = router.clone();
            async move { router.call(request).await }
        });
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.app.config.limits.read_time)
            .max_buf_size(64 << 10)
            .serve_connection(TokioIo::new(stream), service)
    }
}

fn listener(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // A restarted server can reuse the port of the previous one. On other systems, this would let other programs take
    // it over.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Connections inherit it.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Tells a client that there are too many connections, before it has sent a request.
async fn refuse(mut stream: TcpStream) -> std::io::Result<()> {
    let message = "there are too many connections; try again later";
    let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message);
    let body = error.with_code("too_many_connections").body().to_string();
    let reply = format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await?;
    // If the connection were closed with an unread request, the system would drop the reply.
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(())
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
