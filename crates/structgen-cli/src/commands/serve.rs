//! `structgen serve`: an OpenAI-compatible server.

#[cfg(feature = "otel")]
mod otel;

use std::io::IsTerminal;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use structgen::decode::SchedulerLimits;
use structgen::ort::Runtime;
use structgen::tools::ToolFormat;
use structgen::{Device, ModelOptions};
use structgen_server::{ModelSpec, Server, ServerConfig};
use tokio::signal;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};
use tracing_subscriber::util::SubscriberInitExt;

use crate::Outcome;
use crate::args::{at_least_one, tables_folder};
use crate::error::DONE;
use crate::interrupt;
use crate::output::{note, tell};

/// Options of `structgen serve`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Without --model the embedded model is served, under the name structgen. docs/serving.md describes all endpoints and fields.\n\n\
    Requests under way are finished when the server is asked to stop (Ctrl-C, SIGTERM), within --stop-time; a second Ctrl-C ends it at once."
)]
pub(crate) struct Args {
    /// Model folder to serve, under its own name or another: DIR or NAME=DIR; `structgen` is the embedded model. May be
    /// repeated; the first is the default
    #[arg(long, value_name = "DIR")]
    model: Vec<String>,
    /// Address to listen on; one that other machines can reach needs --api-key or --no-auth
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    port: u16,
    /// API key that clients must present; may be repeated [default: STRUCTGEN_API_KEY, if set]
    #[arg(long, value_name = "KEY")]
    api_key: Vec<String>,
    /// Allow other machines to use the server without a key, under any name
    #[arg(long, conflicts_with = "api_key")]
    no_auth: bool,
    /// Name under which clients may address a server without a key, besides localhost and loopback addresses; may be
    /// repeated
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// List a request's unknown fields in a response header, instead of refusing the request
    #[arg(long)]
    lenient: bool,
    /// Origin whose pages may use the server, such as https://example.org, or * for all; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Format of the models' tool calls: qwen, llama3, mistral, … [default: what the model's tokens and chat template
    /// show]
    #[arg(long, value_name = "FORMAT")]
    tool_format: Option<String>,
    /// Device to run the models on: cpu, cuda or cuda:N; there is no fallback to another
    #[arg(long, value_name = "DEVICE")]
    device: Option<Device>,
    /// Number of sessions per model to run in parallel
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    workers: Option<NonZeroUsize>,
    /// Maximum megabytes of keys and values that each session caches for prompts with a common prefix
    #[arg(long, value_name = "MB", default_value_t = 256)]
    prefix_cache: usize,
    /// Maximum number of queued outputs; further ones are refused
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    queue: Option<NonZeroUsize>,
    /// Maximum size of a request's body, in bytes
    #[arg(long, value_name = "BYTES", value_parser = at_least_one::<NonZeroUsize>)]
    max_body: Option<NonZeroUsize>,
    /// Maximum number of concurrent requests per client
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    max_requests: Option<NonZeroUsize>,
    /// Maximum seconds per output
    #[arg(long, value_name = "SECONDS")]
    max_time: Option<u64>,
    /// Maximum megabytes of model files loaded at once; the least recently used model is unloaded
    #[arg(long, value_name = "MB")]
    model_memory: Option<u64>,
    /// Seconds that running requests have to finish when the server is stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    stop_time: u64,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let config = args.config()?;
    // Models are loaded later, but a missing library is better reported now.
    Runtime::load(&args.model_options().search())?;
    #[cfg(feature = "otel")]
    let exporter = otel::Exporter::of_environment()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the server's threads cannot be started")?;
    let subscriber = Registry::default().with(log());
    #[cfg(feature = "otel")]
    let subscriber = subscriber.with(exporter.layer());
    subscriber.with(LevelFilter::INFO).init();
    runtime.block_on(async {
        let server = Server::bind(config).await?;
        let asked = asked_to_stop();
        tell(&format!("listening on http://{}", server.address()));
        server.run(asked).await;
        anyhow::Ok(())
    })?;
    // Do not wait for requests that were cut.
    runtime.shutdown_background();
    #[cfg(feature = "otel")]
    exporter.shut_down();
    Ok(DONE)
}

impl Args {
    fn config(&self) -> anyhow::Result<ServerConfig> {
        let mut config = ServerConfig::default();
        config.address = (self.host, self.port).into();
        config.api_keys.clone_from(&self.api_key);
        if config.api_keys.is_empty() && !self.no_auth {
            config
                .api_keys
                .extend(std::env::var("STRUCTGEN_API_KEY").ok());
        }
        config.no_auth = self.no_auth;
        config.hosts.clone_from(&self.allow_host);
        config.lenient = self.lenient;
        config.cors_origins.clone_from(&self.cors_origin);
        if self.no_auth && !self.host.is_loopback() {
            note("warning: whoever reaches this machine can use the server");
        }
        let limits = &mut config.limits;
        limits.stop_time = Duration::from_secs(self.stop_time);
        limits.model_bytes = self
            .model_memory
            .map(|megabytes| megabytes.saturating_mul(1_000_000));
        limits.body_bytes = self.max_body.map_or(limits.body_bytes, NonZeroUsize::get);
        limits.requests_per_client = self
            .max_requests
            .map_or(limits.requests_per_client, NonZeroUsize::get);
        limits.generation_time = self
            .max_time
            .map_or(limits.generation_time, Duration::from_secs);
        if !self.model.is_empty() {
            config.models = self.model.iter().map(|text| spec(text)).collect();
        }
        let options = self.model_options();
        let format = self.tool_format.as_deref().map(tool_format).transpose()?;
        for model in &mut config.models {
            model.options = match (&model.folder, tables_folder()) {
                (Some(_), Some(tables)) => options.clone().with_tables_folder(tables),
                _ => options.clone(),
            };
            model.tool_format.clone_from(&format);
            if let Some(folder) = model.folder.as_deref().filter(|folder| !folder.is_dir()) {
                bail!("{} is no folder of a model", folder.display());
            }
        }
        Ok(config)
    }

    fn model_options(&self) -> ModelOptions {
        let mut limits = SchedulerLimits::default();
        limits.queue = self.queue.map_or(limits.queue, NonZeroUsize::get);
        let mut options = ModelOptions::new()
            .with_limits(limits)
            .with_prefix_cache(self.prefix_cache.saturating_mul(1_000_000));
        if let Some(device) = self.device {
            options = options.with_device(device);
        }
        match self.workers {
            Some(workers) => options.with_workers(workers),
            None => options,
        }
    }
}

/// Parses a model given by `--model`: a folder, with an optional name before it.
fn spec(text: &str) -> ModelSpec {
    if text == ModelSpec::EMBEDDED {
        return ModelSpec::embedded();
    }
    match text.split_once('=') {
        Some((name, folder)) if !PathBuf::from(text).exists() => {
            let mut spec = ModelSpec::folder(folder);
            spec.name = name.to_owned();
            spec
        }
        _ => ModelSpec::folder(text),
    }
}

fn tool_format(name: &str) -> anyhow::Result<ToolFormat> {
    ToolFormat::preset(name).with_context(|| {
        let known: Vec<&str> = ToolFormat::presets().collect();
        format!(
            "{name:?} is no format of tool calls; there are: {}",
            known.join(", ")
        )
    })
}

/// Logs a line per request to standard error: for people on a terminal, as JSON elsewhere. Spans go to a collector
/// only.
fn log<S>() -> impl Layer<S>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_target(false);
    let lines = match std::io::stderr().is_terminal() {
        true => lines.compact().boxed(),
        false => lines.json().flatten_event(true).boxed(),
    };
    lines.with_filter(filter_fn(|metadata| metadata.is_event()))
}

/// Catches Ctrl-C, and the signal with which systems end services, from now on; the future waits for one of them.
/// Where one cannot be caught, the system's default ends the process.
#[cfg(unix)]
fn asked_to_stop() -> impl Future<Output = ()> {
    use signal::unix::{SignalKind, signal};
    let caught = [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok());
    async move {
        let [interrupted, terminated] = caught.map(async |caught| match caught {
            Some(mut caught) => drop(caught.recv().await),
            None => std::future::pending().await,
        });
        tokio::select! {
            () = interrupted => {}
            () = terminated => {}
        }
        end_if_asked_again();
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
async fn asked_to_stop() {
    if signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    end_if_asked_again();
}

/// Ends the process at another Ctrl-C: whoever asks twice does not wait.
fn end_if_asked_again() {
    tokio::spawn(async {
        if signal::ctrl_c().await.is_ok() {
            interrupt::exit();
        }
    });
}
