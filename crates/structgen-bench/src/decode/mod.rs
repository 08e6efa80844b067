//! `structgen-bench decode`: the overhead of the decoding loop over the model's own runs, and what strategies and the
//! cache save.

mod length;
mod load;
mod memory;
mod plot;
mod rounds;
mod tables;
mod tasks;

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use crate::model_args::ModelArgs;
use crate::print;
use rounds::{Contender, Strategy};

/// Options of `structgen-bench decode`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Folder of the draft model [default: the embedded draft of the embedded model]
    #[arg(long, value_name = "DIR", conflicts_with = "loops")]
    draft_model: Option<PathBuf>,
    /// Texts with schemas, as a JSON array or lines of {"schema", "text"} [default: those of structgen demo]
    #[arg(long, value_name = "FILE")]
    tasks: Option<PathBuf>,
    /// Number of rounds, in which the contenders take turns; medians are reported. An additional first round is not
    /// counted
    #[arg(long, value_name = "N", default_value_t = 15)]
    rounds: usize,
    /// Number of tokens that the bare loop and the unconstrained loop generate
    #[arg(long, value_name = "N", default_value_t = 128)]
    steps: usize,
    /// Maximum number of new tokens per output
    #[arg(long, value_name = "N", default_value_t = 256)]
    max_tokens: usize,
    /// Time only the loops, without strategies and lengths
    #[arg(long)]
    loops: bool,
    /// Plot the time per step by length, with and without the cache
    #[arg(long, value_name = "OUT.svg", conflicts_with = "loops")]
    plot: Option<PathBuf>,
    /// Write prompts, outputs and figures as JSON, for programs that run the same prompts
    #[arg(long, value_name = "OUT.json")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let draft = args.draft_model.as_deref();
    // Drop the model of the prompts before loading those of the loops.
    let tasks = tasks::read(
        args.tasks.as_deref(),
        &args.model.open(&args.model.options()?)?,
    )?;
    let mut loops = args.model.load_loops(draft, !args.loops)?;
    let prompts: usize = tasks.iter().map(|task| task.prompt.len()).sum();
    let mut report = format!(
        "{} tasks, prompts of {:.0} tokens; {}; medians of {} rounds, in which all take turns\n",
        tasks.len(),
        prompts as f64 / tasks.len() as f64,
        args.model.device_name()?,
        args.rounds,
    );
    let measure = |contenders: &[Contender], loops: &mut rounds::Loops| {
        rounds::run(loops, &tasks, contenders, args.rounds, args.max_tokens)
    };
    let plain = Strategy::default();
    let measured_loops = measure(
        &[
            Contender::Bare(args.steps),
            Contender::Steps(args.steps),
            Contender::Free(plain),
            Contender::Schema(plain),
        ],
        &mut loops,
    )?;
    report += &tables::loops(&measured_loops);
    let mut strategies = Vec::new();
    if !args.loops {
        for constrained in [false, true] {
            let contender = if constrained {
                Contender::Schema
            } else {
                Contender::Free
            };
            let all = Strategy::all(&loops, constrained)
                .into_iter()
                .map(contender);
            let measured = measure(&all.collect::<Vec<_>>(), &mut loops)?;
            report += &tables::strategies(&measured);
            strategies.extend(measured);
        }
    }
    let mut lengths = Vec::new();
    if !args.loops {
        lengths = length::measure(&mut loops.bare, args.rounds)?;
        report += &length::table(&lengths);
    }
    report += &memory::line(loops.scheduler.info(), &tasks, args.max_tokens);
    print(&report)?;
    if let Some(path) = &args.plot {
        write_file(path, &plot::svg(&lengths))?;
    }
    if let Some(path) = &args.json {
        let figures = Figures {
            tasks: tasks.iter().map(tasks::Task::written).collect(),
            loops: measured_loops.iter().map(tables::Written::new).collect(),
            strategies: strategies.iter().map(tables::Written::new).collect(),
            lengths: &lengths,
        };
        write_file(
            path,
            &serde_json::to_string(&figures).context("the figures")?,
        )?;
    }
    Ok(())
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// All measurements, for programs.
#[derive(Serialize)]
struct Figures<'t> {
    tasks: Vec<tasks::Written<'t>>,
    loops: Vec<tables::Written<'t>>,
    strategies: Vec<tables::Written<'t>>,
    lengths: &'t [length::At],
}
