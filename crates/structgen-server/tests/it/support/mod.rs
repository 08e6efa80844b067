//! A server in this process on its own port, and a plain client.

pub(crate) mod client;
pub(crate) mod model;

use std::net::SocketAddr;
use std::thread::JoinHandle;

use structgen_server::{Server, ServerConfig};
use tokio::sync::oneshot;

pub(crate) use client::{Reply, Stream, request};

/// A server that runs until it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a server with the embedded model, and defaults except for the port.
pub(crate) fn serve() -> Running {
    serve_with(|_| {})
}

/// Starts a server with a modified configuration.
pub(crate) fn serve_with(change: impl FnOnce(&mut ServerConfig)) -> Running {
    structgen::runtime::ensure(|_| {}).expect("the library is installed");
    let mut config = ServerConfig::default();
    config.address = "127.0.0.1:0".parse().unwrap();
    change(&mut config);
    let (stop, stopped) = oneshot::channel();
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let server = Server::bind(config).await.unwrap();
            tell.send(server.address()).unwrap();
            let stopped = async {
                let _ = stopped.await;
            };
            server.run(stopped).await;
        });
    });
    Running {
        address: told.recv().unwrap(),
        stop: Some(stop),
        thread: Some(thread),
    }
}

impl Running {
    pub(crate) fn get(&self, path: &str) -> Reply {
        request(self.address, "GET", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &serde_json::Value) -> Reply {
        self.post_text(path, &body.to_string())
    }

    pub(crate) fn post_text(&self, path: &str, body: &str) -> Reply {
        let headers = [("content-type", "application/json")];
        request(self.address, "POST", path, &headers, Some(body))
    }

    /// The events of a streamed reply.
    pub(crate) fn stream(&self, path: &str, body: &serde_json::Value) -> Stream {
        Stream::open(self.address, path, &body.to_string())
    }

    /// Returns a number from the metrics, without labels.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = self.get("/metrics").body;
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")));
        let line = line.unwrap_or_else(|| panic!("{name} in {text}"));
        line[name.len() + 1..].parse().unwrap()
    }

    /// Asks the server to stop, without waiting.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until the server has stopped.
    pub(crate) fn wait(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
