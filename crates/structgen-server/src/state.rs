//! The state shared by all requests of a server.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use tokio::sync::{Semaphore, watch};

use crate::api::responses::Responses;
use crate::auth::Keys;
use crate::clients::Clients;
use crate::config::ServerConfig;
use crate::metrics::Metrics;
use crate::models::Models;

/// The state shared by all requests of a server.
pub(crate) struct App {
    pub(crate) config: ServerConfig,
    pub(crate) models: Arc<Models>,
    pub(crate) keys: Keys,
    pub(crate) clients: Clients,
    pub(crate) metrics: Metrics,
    pub(crate) responses: Responses,
    /// Limits how many prompts are prepared at the same time.
    pub(crate) preparing: Arc<Semaphore>,
    /// Limits how many constraints are compiled at the same time.
    pub(crate) compiling: Arc<Semaphore>,
    /// Whether the server was asked to stop, and accepts no more requests.
    pub(crate) is_stopping: AtomicBool,
    /// Whether the requests in progress have used up the time to finish after that.
    is_cut: watch::Sender<bool>,
}

impl App {
    pub(crate) fn new(config: ServerConfig) -> Self {
        let limits = &config.limits;
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            models: Arc::new(Models::new(
                config.models.clone(),
                limits.model_bytes,
                limits.kept_constraints,
            )),
            keys: Keys::new(&config.api_keys),
            clients: Clients::new(limits.requests_per_client),
            metrics: Metrics::default(),
            responses: Responses::new(limits.kept_responses),
            preparing: Arc::new(Semaphore::new(cores)),
            compiling: Arc::new(Semaphore::new(limits.compilations.max(1))),
            is_stopping: AtomicBool::new(false),
            is_cut: watch::Sender::new(false),
            config,
        }
    }

    /// Ends all requests in progress, each with an error.
    pub(crate) fn cut_all(&self) {
        self.is_cut.send_replace(true);
    }

    /// Waits until all requests are ended.
    pub(crate) async fn cut(&self) {
        let mut is_cut = self.is_cut.subscribe();
        // The sender lives as long as `self`.
        let _ = is_cut.wait_for(|is_cut| *is_cut).await;
    }
}
