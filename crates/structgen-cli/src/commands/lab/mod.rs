//! `structgen lab`: tools to inspect decoding, models and memory. One file per tool; the formulas are in
//! `structgen-lab`.

mod advise;
mod cache;
mod compare;
mod diversity;
mod heldout;
mod repetition;
pub(crate) mod report;
mod source;
pub(crate) mod step;
mod strategies;
pub(crate) mod subject;
mod table;
mod temperature;

use clap::Subcommand;

use crate::Outcome;
use crate::error::DONE;

use report::{Report, ReportArgs};

/// Options of `structgen lab`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Subcommand, Debug)]
enum Tool {
    /// Show what temperatures do to a distribution, and which one suits a task.
    Temperature(temperature::Args),
    /// Show one step in detail: logits, mask, each sampler in turn, and the draw.
    Step(Box<step::Args>),
    /// Compare samplers: which tokens they keep, and how far their draws are from the distribution.
    Compare(compare::Args),
    /// Measure how much outputs differ, by temperature, top-k and top-p.
    Diversity(diversity::Args),
    /// Measure how penalties reduce repetition.
    Repetition(repetition::Args),
    /// Measure how probable the true continuation of a text is, compared with the model's own.
    Heldout(heldout::Args),
    /// Measure what the KV cache saves.
    Cache(cache::Args),
    /// Compare strategies side by side, with three seeds each.
    Strategies(strategies::Args),
    /// Find symptoms in an output, and suggest what to change.
    Advise(Box<advise::Args>),
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.tool {
        Tool::Temperature(args) => show(&args.report, || temperature::report(args)),
        Tool::Step(args) => show(&args.report, || step::report(args)),
        Tool::Compare(args) => show(&args.report, || compare::report(args)),
        Tool::Diversity(args) => show(&args.report, || diversity::report(args)),
        Tool::Repetition(args) => show(&args.report, || repetition::report(args)),
        Tool::Heldout(args) => show(&args.report, || heldout::report(args)),
        Tool::Cache(args) => show(&args.report, || cache::report(args)),
        Tool::Strategies(args) => show(&args.report, || strategies::report(args)),
        Tool::Advise(args) => show(&args.report, || advise::report(args)),
    }
}

fn show(output: &ReportArgs, report: impl FnOnce() -> anyhow::Result<Report>) -> Outcome {
    // Report a plot that cannot be written before doing the work.
    output.check()?;
    output.print(&report()?)?;
    Ok(DONE)
}
