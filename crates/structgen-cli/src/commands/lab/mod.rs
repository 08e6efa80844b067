//! `structgen lab`: decoding, models and memory under a glass. One file per tool; the formulas are in `structgen-lab`.

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
    /// What temperatures do to a distribution, and which one suits a task.
    Temperature(temperature::Args),
    /// One step under a glass: logits, mask, samplers one after another, the draw.
    Step(Box<step::Args>),
    /// Samplers compared: what they keep, and how far their draws are from the distribution.
    Compare(compare::Args),
    /// How different outputs are, by temperature, top-k and top-p.
    Diversity(diversity::Args),
    /// What penalties do about repetition.
    Repetition(repetition::Args),
    /// How probable the true continuation of a text is, beside what the model writes.
    Heldout(heldout::Args),
    /// What the cache of keys and values saves.
    Cache(cache::Args),
    /// Strategies side by side, with three seeds each.
    Strategies(strategies::Args),
    /// What an output shows, and what to change.
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
    // A picture that cannot be written is known before the work is done.
    output.check()?;
    output.print(&report()?)?;
    Ok(DONE)
}
