//! Queries on a cluster: sends the plan to the scheduler, and receives the rows of all partitions in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use ballista_core::client::BallistaClient;
use ballista_core::extension::{SessionConfigExt, SessionConfigHelperExt};
use ballista_core::optimizer::ballista_default_optimizer_rules;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::execute_query_result::Result as Submission;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelJobParams, ExecuteQueryParams, GetJobStatusParams, PartitionLocation,
};
use ballista_core::utils::{GrpcClientConfig, create_grpc_client_endpoint};
use ballista_core::version::insert_version_header;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::prelude::SessionConfig;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use futures::StreamExt;
use structgen_datafusion::Functions;
use tonic::transport::Channel;

use super::MAX_MESSAGE;
use super::codec::FunctionCodec;

const PORT: u16 = 50050;

/// How often to ask whether a query is done.
const POLL: Duration = Duration::from_millis(100);

/// How long the scheduler may be unreachable while a query runs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often in succession the scheduler may answer that it does not know a query.
///
/// While Ballista moves a query from its running to its completed ones, the query is for a moment in neither.
const UNKNOWN: u32 = 20;

type Scheduler = SchedulerGrpcClient<Channel>;

/// Creates a session whose plans run on a cluster.
pub(crate) fn session(config: SessionConfig) -> anyhow::Result<SessionContext> {
    let config = config
        .upgrade_for_ballista()
        // A partition always has its own rows, in order, whichever process reads it.
        .set_bool(
            "datafusion.execution.enable_file_stream_work_stealing",
            false,
        )
        // The rows of a small file are as expensive for a model as those of a large one.
        .set_usize("datafusion.optimizer.repartition_file_min_size", 1);
    let state = SessionStateBuilder::new_with_default_features()
        .with_config(config)
        .with_optimizer_rules(ballista_default_optimizer_rules());
    Ok(SessionContext::new_with_state(state.build()))
}

/// Plans a query for a cluster.
pub(crate) async fn physical_plan(
    context: &SessionContext,
    plan: &LogicalPlan,
) -> anyhow::Result<Arc<dyn ExecutionPlan>> {
    if !is_query(plan) {
        bail!("a cluster runs queries only; --output writes their rows to a file");
    }
    Ok(context.state().create_physical_plan(plan).await?)
}

/// Runs a query on the cluster of a scheduler, and passes its rows to `take`, in the order of a local query.
pub(crate) async fn execute(
    url: &str,
    context: &SessionContext,
    functions: &Functions,
    plan: Arc<dyn ExecutionPlan>,
    mut take: impl FnMut(RecordBatch) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let state = context.state();
    let schema = plan.schema();
    let partitions = plan.output_partitioning().partition_count();
    let codec = FunctionCodec::new(functions.clone());
    let mut message = Vec::new();
    PhysicalPlanNode::try_from_physical_plan(plan, &codec)?.try_encode(&mut message)?;
    let query = ExecuteQueryParams {
        session_id: context.session_id(),
        settings: state.config().to_key_value_pairs(),
        operation_id: context.session_id(),
        query: Some(Query::PhysicalPlan(message)),
    };

    let grpc = GrpcClientConfig::from(&state.config().ballista_config());
    let mut scheduler = connect(url, &grpc).await?;
    let job = submit(&mut scheduler, query).await?;
    let interrupted = async {
        match tokio::signal::ctrl_c().await {
            Ok(()) => anyhow!("interrupted; the query is cancelled"),
            Err(error) => error.into(),
        }
    };
    let run = async {
        let locations = outcome(&mut scheduler.clone(), &job).await?;
        let locations = one_for_each_partition(locations, partitions)?;
        fetch(url, &grpc, &schema, locations, &mut take).await
    };
    let done = tokio::select! {
        done = run => done,
        interrupted = interrupted => Err(interrupted),
    };
    if done.is_err() {
        // The rest is not read. It does not matter if the job has already ended.
        let _ = scheduler.cancel_job(CancelJobParams { job_id: job }).await;
    }
    done
}

fn is_query(plan: &LogicalPlan) -> bool {
    !matches!(
        plan,
        LogicalPlan::Ddl(_)
            | LogicalPlan::Dml(_)
            | LogicalPlan::Copy(_)
            | LogicalPlan::Statement(_)
            | LogicalPlan::Analyze(_)
            | LogicalPlan::Explain(_)
    )
}

/// Parses `http://HOST:PORT`; the scheme, and Ballista's default port, may be omitted.
fn host_and_port(url: &str) -> anyhow::Result<(&str, u16)> {
    let wrong = || format!("{url} is no scheduler's URL, such as http://127.0.0.1:{PORT}");
    let rest = match url.split_once("://") {
        Some(("http" | "df", rest)) => rest,
        Some(_) => bail!(wrong()),
        None => url,
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().with_context(wrong)?),
        _ => (rest, PORT),
    };
    match host.is_empty() || host.contains('/') {
        true => bail!(wrong()),
        false => Ok((host, port)),
    }
}

async fn connect(url: &str, grpc: &GrpcClientConfig) -> anyhow::Result<Scheduler> {
    let (host, port) = host_and_port(url)?;
    let endpoint = create_grpc_client_endpoint(format!("http://{host}:{port}"), Some(grpc))?;
    let channel = endpoint.connect().await;
    let channel = channel.with_context(|| format!("no scheduler answers at {host}:{port}"))?;
    Ok(Scheduler::new(channel)
        .max_decoding_message_size(MAX_MESSAGE as usize)
        .max_encoding_message_size(MAX_MESSAGE as usize))
}

/// Submits a query, and returns the id that the scheduler assigned.
async fn submit(scheduler: &mut Scheduler, query: ExecuteQueryParams) -> anyhow::Result<String> {
    let mut request = tonic::Request::new(query);
    insert_version_header(request.metadata_mut());
    let answer = scheduler.execute_query(request).await;
    let answer = answer
        .map_err(|status| anyhow!("the scheduler refuses the query: {}", status.message()))?;
    match answer.into_inner().result {
        Some(Submission::Success(accepted)) => Ok(accepted.job_id),
        Some(Submission::Failure(refused)) => bail!("the scheduler refuses the query: {refused:?}"),
        None => bail!("the scheduler's answer is empty"),
    }
}

/// Waits until a query is done, and returns the locations of its partitions.
async fn outcome(scheduler: &mut Scheduler, job: &str) -> anyhow::Result<Vec<PartitionLocation>> {
    let mut answered = Instant::now();
    let mut unknown = 0;
    loop {
        let job_id = job.to_owned();
        let status = match scheduler
            .get_job_status(GetJobStatusParams { job_id })
            .await
        {
            Ok(answer) => {
                answered = Instant::now();
                answer.into_inner().status
            }
            Err(_) if answered.elapsed() < PATIENCE => {
                tokio::time::sleep(POLL).await;
                continue;
            }
            Err(status) => bail!("the scheduler is gone: {}", status.message()),
        };
        let Some(status) = status else {
            unknown += 1;
            if unknown > UNKNOWN {
                bail!(
                    "the scheduler does not know the query any more: it was started again, and so has to be the query"
                );
            }
            tokio::time::sleep(POLL).await;
            continue;
        };
        unknown = 0;
        match status.status {
            Some(Status::Successful(done)) => return Ok(done.partition_location),
            Some(Status::Failed(failed)) => bail!("{}", failed.error),
            Some(Status::Queued(_) | Status::Running(_)) | None => tokio::time::sleep(POLL).await,
        }
    }
}

/// Returns the location of each partition, in order.
///
/// Ballista lists them in the order in which tasks ended. When an executor is lost, its tasks run again on others, and
/// the list contains both runs: only the later one counts, or rows would be duplicated.
fn one_for_each_partition(
    locations: Vec<PartitionLocation>,
    partitions: usize,
) -> anyhow::Result<Vec<PartitionLocation>> {
    let mut latest = BTreeMap::new();
    for location in locations {
        let partition = location
            .partition_id
            .as_ref()
            .context("a partition has no number")?;
        latest.insert(partition.partition_id as usize, location);
    }
    if !latest.keys().copied().eq(0..partitions) {
        bail!(
            "the cluster has {} of {partitions} partitions",
            latest.len()
        );
    }
    Ok(latest.into_values().collect())
}

/// Reads partitions through the scheduler.
async fn fetch(
    url: &str,
    grpc: &GrpcClientConfig,
    schema: &SchemaRef,
    locations: Vec<PartitionLocation>,
    take: &mut impl FnMut(RecordBatch) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (host, port) = host_and_port(url)?;
    let (retries, wait) = (grpc.io_retries_times, grpc.io_retry_wait_time_ms);
    let size = MAX_MESSAGE as usize;
    let mut client =
        BallistaClient::try_new(host, port, size, false, None, retries, wait, 0, 0).await?;
    for location in locations {
        let layout = location.layout();
        let executor = location
            .executor_meta
            .context("a partition has no executor")?;
        let partition = location.partition_id.context("a partition has no number")?;
        let rows = location.partition_stats.map(|it| it.num_rows);
        let (executor_port, file) = (u16::try_from(executor.port)?, location.file_id);
        let lost = || {
            format!(
                "the rows of the executor {} are lost; run the query again",
                executor.host
            )
        };
        let batches = client
            .fetch_partition_proxied(
                &executor.id,
                &partition.into(),
                file,
                layout,
                &executor.host,
                executor_port,
                true,
            )
            .await;
        let mut batches = batches.with_context(lost)?;
        let mut read = 0;
        while let Some(batch) = batches.next().await {
            let batch = batch.with_context(lost)?;
            read += batch.num_rows() as i64;
            take(RecordBatch::try_new(
                Arc::clone(schema),
                batch.columns().to_vec(),
            )?)?;
        }
        if rows.is_some_and(|rows| rows != read) {
            bail!("a partition of {rows:?} rows had {read}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::PartitionId;

    use super::*;

    fn location(partition_id: u32, task: u32) -> PartitionLocation {
        PartitionLocation {
            map_partition_id: task,
            partition_id: Some(PartitionId {
                partition_id,
                ..PartitionId::default()
            }),
            ..PartitionLocation::default()
        }
    }

    #[test]
    fn the_latest_of_each_partition_counts() {
        let ended = [(2, 0), (0, 1), (1, 2), (2, 3)];
        let ended = ended.map(|(partition, task)| location(partition, task));
        let found = one_for_each_partition(ended.to_vec(), 3).unwrap();
        let tasks: Vec<u32> = found.iter().map(|it| it.map_partition_id).collect();
        assert_eq!(tasks, [1, 2, 3]);
        for partitions in [2, 4] {
            assert!(one_for_each_partition(ended.to_vec(), partitions).is_err());
        }
    }

    #[test]
    fn urls_name_a_host_and_perhaps_a_port() {
        for (url, expected) in [
            ("http://10.0.0.5:1234", ("10.0.0.5", 1234)),
            ("df://scheduler/", ("scheduler", PORT)),
            ("scheduler:1", ("scheduler", 1)),
            ("[::1]", ("[::1]", PORT)),
            ("http://[::1]:1", ("[::1]", 1)),
        ] {
            assert_eq!(host_and_port(url).unwrap(), expected, "{url}");
        }
        for url in ["", "http://", "https://a:1", "a:b", "http://a:1/b", ":1"] {
            assert!(host_and_port(url).is_err(), "{url}");
        }
    }
}
