//! `cluster executor`: runs tasks on its own model.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use ballista_core::extension::ballista_scalar_functions;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use structgen_datafusion::{FunctionOptions, Functions};

use super::codec::FunctionCodec;
use super::{KEPT_SECONDS, MAX_MESSAGE, warn_if_open};
use crate::model::ModelArgs;
use crate::model_hash::model_hash;
use crate::terminal::say;

/// Options of `structgen cluster executor`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Address of the scheduler
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050", value_parser = parse_address)]
    scheduler: (String, u16),
    /// Address to listen on. Ballista supports neither keys nor TLS: anyone who can reach it can read results and run
    /// tasks
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port for reading rows
    #[arg(long, value_name = "PORT", default_value_t = 50051)]
    port: u16,
    /// Port for tasks from the scheduler
    #[arg(long, value_name = "PORT", default_value_t = 50052)]
    task_port: u16,
    /// Name or address by which the scheduler and other executors reach this machine [default: the address that the
    /// scheduler sees]
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// Folder in which to create the folder of this executor's results [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// Number of partitions to process in parallel; all rows go to the same workers [default: the number of workers]
    #[arg(long, value_name = "N")]
    concurrency: Option<NonZeroUsize>,
    /// Seconds between heartbeats. The executor ends after five unanswered ones
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    heartbeat: u64,
    /// Seconds to wait for the scheduler at the start
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait_for_scheduler: u16,
    #[command(flatten)]
    model: ModelArgs,
}

fn parse_address(text: &str) -> Result<(String, u16), &'static str> {
    let parts = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    let (host, port) = parts.ok_or("it must be HOST:PORT")?;
    let port = port.parse().map_err(|_| "it must be HOST:PORT")?;
    Ok((host.to_owned(), port))
}

pub(super) async fn run(args: &Args) -> anyhow::Result<()> {
    warn_if_open(args.host);
    let hash = model_hash(&args.model)?;
    let options = FunctionOptions::new().with_model_id(&hash);
    let functions = Functions::new(args.model.loader(), options);
    // An executor whose model cannot be loaded must not accept tasks.
    functions.load_model()?;
    // It is removed when the executor ends, but not if it is killed.
    let work_dir = args.work_dir.clone().unwrap_or_else(std::env::temp_dir);
    let work_dir = tempfile::Builder::new()
        .prefix("structgen-executor-")
        .tempdir_in(&work_dir)
        .with_context(|| format!("nothing can be written in {}", work_dir.display()))?;
    let workers = args.model.workers();
    let mut registry = BallistaFunctionRegistry::default();
    // The default registry lacks functions for lists.
    for function in ballista_scalar_functions() {
        let name = function.name().to_owned();
        registry.scalar_functions.insert(name, function);
    }
    let config = ExecutorProcessConfig {
        bind_host: args.host.to_string(),
        external_host: args.advertise.clone(),
        port: args.port,
        grpc_port: args.task_port,
        scheduler_host: args.scheduler.0.clone(),
        scheduler_port: args.scheduler.1,
        scheduler_connect_timeout_seconds: args.wait_for_scheduler,
        vcores: args.concurrency.unwrap_or(workers).get(),
        work_dir: Some(work_dir.path().to_string_lossy().into_owned()),
        executor_heartbeat_interval_seconds: args.heartbeat,
        job_data_ttl_seconds: KEPT_SECONDS,
        grpc_max_decoding_message_size: MAX_MESSAGE,
        grpc_max_encoding_message_size: MAX_MESSAGE,
        override_function_registry: Some(Arc::new(registry)),
        override_physical_codec: Some(Arc::new(FunctionCodec::new(functions))),
        ..ExecutorProcessConfig::default()
    };
    let (scheduler, port) = &args.scheduler;
    say(&format!(
        "the executor of {scheduler}:{port} has the model {hash} with {workers} workers"
    ));
    start_executor_process(Arc::new(config)).await?;
    Ok(())
}
