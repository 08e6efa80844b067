//! Replaces clusters in a build without Ballista: explains how to get a build with it.

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::bail;
use datafusion::arrow::array::RecordBatch;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use structgen_datafusion::Functions;

use crate::Outcome;

const MISSING: &str = "this structgen-tables is built without clusters; in the project's folder, this installs it with them: \
     cargo install --path crates/structgen-tables --features cluster";

/// Options of `structgen cluster`, which a build with clusters parses.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(_: &Args) -> Outcome {
    bail!(MISSING)
}

pub(crate) fn session(_: SessionConfig) -> anyhow::Result<SessionContext> {
    bail!(MISSING)
}

pub(crate) async fn physical_plan(
    _: &SessionContext,
    _: &LogicalPlan,
) -> anyhow::Result<Arc<dyn ExecutionPlan>> {
    bail!(MISSING)
}

pub(crate) async fn execute(
    _: &str,
    _: &SessionContext,
    _: &Functions,
    _: Arc<dyn ExecutionPlan>,
    _: impl FnMut(RecordBatch) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    bail!(MISSING)
}
