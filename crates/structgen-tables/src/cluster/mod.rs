//! `cluster`, and queries on a cluster: Ballista's scheduler and executors, with the functions.
//!
//! The client plans a query like one that runs locally. The scheduler splits the plan into tasks, each of which reads
//! some partitions of the tables, and executors run them. Calls of functions contain everything that their values
//! depend on, so that an executor needs only a model.

mod client;
mod codec;
mod executor;
mod scheduler;

use std::net::IpAddr;

use anyhow::{Context, bail};
use clap::Subcommand;
use log::LevelFilter;

use crate::Outcome;
use crate::terminal::say;
pub(crate) use client::{execute, physical_plan, session};

/// Maximum size of a message in bytes: a plan contains the names of all files.
const MAX_MESSAGE: u32 = 256 << 20;

/// How long results are kept for the client.
const KEPT_SECONDS: u64 = 3600;

/// Stack size of the threads that parse plans, which are nested.
const STACK_BYTES: usize = 32 << 20;

/// Options of `structgen cluster`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Level of messages to log to standard error
    #[arg(long, value_name = "LEVEL", default_value = "warn", global = true)]
    log: LevelFilter,
    #[command(subcommand)]
    process: Process,
}

#[derive(Subcommand, Debug)]
enum Process {
    /// Accept queries, and assign their tasks to executors
    Scheduler(scheduler::Args),
    /// Run tasks on a model of its own
    Executor(Box<executor::Args>),
}

pub(crate) fn run(args: &Args) -> Outcome {
    env_logger::Builder::new().filter_level(args.log).init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match &args.process {
            Process::Scheduler(args) => scheduler::run(args).await,
            Process::Executor(args) => executor::run(args).await,
        }
    })?;
    Ok(0)
}

/// Returns the name by which other machines reach a process that listens on an address.
fn advertised(host: IpAddr, advertise: Option<&str>) -> anyhow::Result<String> {
    match advertise {
        Some(name) => Ok(name.to_owned()),
        None if host.is_unspecified() => {
            bail!("with --host {host}, --advertise has to name this machine as others reach it")
        }
        None => Ok(host.to_string()),
    }
}

fn warn_if_open(host: IpAddr) {
    if !host.is_loopback() {
        say(&format!(
            "{host} is open to other machines, without keys or TLS: keep it in a network of your own"
        ));
    }
}

/// Waits for a termination signal.
async fn until_stopped() -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate()).context("no signals")?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    Ok(tokio::signal::ctrl_c().await.context("no signals")?)
}
