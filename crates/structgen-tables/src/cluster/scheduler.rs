//! `cluster scheduler`: accepts queries, and assigns their tasks to executors.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use structgen_datafusion::{FunctionOptions, Functions};
use tokio::net::{TcpListener, TcpSocket};

use super::codec::FunctionCodec;
use super::{KEPT_SECONDS, MAX_MESSAGE, advertised, until_stopped, warn_if_open};
use crate::terminal::say;

/// Options of `structgen cluster scheduler`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Address to listen on. Ballista supports neither keys nor TLS: anyone who can reach it can run queries on all
    /// files that executors can read
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on
    #[arg(long, value_name = "PORT", default_value_t = 50050)]
    port: u16,
    /// Name or address by which executors reach this machine [default: --host]
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// Seconds without a heartbeat after which an executor counts as lost, and its tasks are reassigned
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    executor_timeout: u64,
    /// Seconds for which a running query waits for an executor when none is left
    #[arg(long, value_name = "SECONDS", default_value_t = 180)]
    wait_for_executors: u64,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<()> {
    let address = SocketAddr::new(args.host, args.port);
    let advertised = advertised(args.host, args.advertise.as_deref())?;
    warn_if_open(args.host);
    // The scheduler only splits plans, so it needs no model.
    let functions = Functions::planned(FunctionOptions::new());
    let config = SchedulerConfig {
        bind_host: args.host.to_string(),
        bind_port: args.port,
        external_host: advertised,
        executor_timeout_seconds: args.executor_timeout,
        expire_dead_executor_interval_seconds: args.executor_timeout.div_ceil(4).max(1),
        no_executors_grace_period_seconds: args.wait_for_executors,
        finished_job_data_clean_up_interval_seconds: KEPT_SECONDS,
        finished_job_state_clean_up_interval_seconds: KEPT_SECONDS,
        // Rows reach the client through the scheduler, so that it needs no other connection.
        enable_embedded_flight_proxy: true,
        grpc_server_max_decoding_message_size: MAX_MESSAGE,
        grpc_server_max_encoding_message_size: MAX_MESSAGE,
        grpc_client_max_message_size: MAX_MESSAGE,
        override_physical_codec: Some(Arc::new(FunctionCodec::new(functions))),
        ..SchedulerConfig::default()
    };
    config.validate()?;
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let scheduler =
        create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await?;
    let listener =
        listen(address).with_context(|| format!("the scheduler cannot listen on {address}"))?;
    say(&format!(
        "the scheduler listens on {}",
        listener.local_addr()?
    ));
    tokio::select! {
        served = start_grpc_service_with_listener(listener, scheduler) => Ok(served?),
        stopped = until_stopped() => stopped,
    }
}

/// Creates a listener whose connections send small messages at once, since a task takes several of them.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_nodelay(true)?;
    // A restarted scheduler can reuse the port of the previous one.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(1024)
}
