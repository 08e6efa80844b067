//! `structgen bench decode`: what the loop costs beside the model's own runs, and what strategies and the cache save.

mod length;
mod memory;
mod plot;
mod rounds;
mod tables;
mod tasks;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use structgen::Model;

use crate::Outcome;
use crate::args::ModelArgs;
use crate::error::DONE;
use crate::output::write;
use rounds::{Contender, Drafters, Strategy};

/// Options of `structgen bench decode`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// The folder of the model that drafts; without it, the embedded draft of the embedded model
    #[arg(long, value_name = "DIR")]
    draft_model: Option<PathBuf>,
    /// Texts and their schemas, a JSON array or lines of {"schema", "text"}; without it, those of the demonstration
    #[arg(long, value_name = "FILE")]
    tasks: Option<PathBuf>,
    /// How often everything is run, in turns; medians are taken. One round more goes before and is not counted
    #[arg(long, value_name = "N", default_value_t = 15)]
    rounds: usize,
    /// How many tokens the bare loop and the loop without a constraint generate
    #[arg(long, value_name = "N", default_value_t = 128)]
    steps: usize,
    /// The most new tokens of an output
    #[arg(long, value_name = "N", default_value_t = 256)]
    max_tokens: usize,
    /// Time the loops only: no strategies, no lengths
    #[arg(long)]
    loops: bool,
    /// Draw a step's time over length, with the cache and without
    #[arg(long, value_name = "OUT.svg", conflicts_with = "loops")]
    plot: Option<PathBuf>,
    /// Write prompts, outputs and figures as JSON, for programs that run the same prompts
    #[arg(long, value_name = "OUT.json")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut model = args.model.load_on(Some(NonZeroUsize::MIN))?;
    let mut drafters = drafters(args)?;
    let tasks = tasks::read(args.tasks.as_deref(), &model)?;
    let prompts: usize = tasks.iter().map(|task| task.prompt.len()).sum();
    let mut report = format!(
        "{} tasks, prompts of {:.0} tokens; one thread; medians of {} rounds, in which all take turns\n",
        tasks.len(),
        prompts as f64 / tasks.len() as f64,
        args.rounds,
    );
    let mut measure = |contenders: &[Contender], drafters: &mut Drafters| {
        rounds::run(
            &mut model,
            drafters,
            &tasks,
            contenders,
            args.rounds,
            args.max_tokens,
        )
    };
    let plain = Strategy::default();
    let loops = measure(
        &[
            Contender::Bare(args.steps),
            Contender::Steps(args.steps),
            Contender::Free(plain),
            Contender::Schema(plain),
        ],
        &mut drafters,
    )?;
    report += &tables::loops(&loops);
    let mut strategies = Vec::new();
    if !args.loops {
        for constrained in [false, true] {
            let contender = if constrained {
                Contender::Schema
            } else {
                Contender::Free
            };
            let all = Strategy::all(&drafters, constrained)
                .into_iter()
                .map(contender);
            let measured = measure(&all.collect::<Vec<_>>(), &mut drafters)?;
            report += &tables::strategies(&measured);
            strategies.extend(measured);
        }
    }
    let mut lengths = Vec::new();
    if !args.loops {
        lengths = length::measure(model.language_model(), args.rounds)?;
        report += &length::table(&lengths);
    }
    report += &memory::line(&mut model, &tasks, args.max_tokens);
    write(&report)?;
    if let Some(path) = &args.plot {
        write_file(path, &plot::svg(&lengths))?;
    }
    if let Some(path) = &args.json {
        let figures = Figures {
            tasks: tasks.iter().map(tasks::Task::written).collect(),
            loops: loops.iter().map(tables::Written::new).collect(),
            strategies: strategies.iter().map(tables::Written::new).collect(),
            lengths: &lengths,
        };
        write_file(
            path,
            &serde_json::to_string(&figures).context("the figures")?,
        )?;
    }
    Ok(DONE)
}

/// A draft model, and the embedded model's heads.
fn drafters(args: &Args) -> anyhow::Result<Drafters> {
    if args.loops {
        return Ok(Drafters::default());
    }
    let options = args.model.options_on(Some(NonZeroUsize::MIN))?;
    let is_embedded = args.model.model.is_none();
    let model = match &args.draft_model {
        Some(folder) => Some(Model::open(folder, &options).with_context(|| {
            let folder = folder.display();
            format!("the draft model folder {folder} cannot be used")
        })?),
        None if is_embedded => Some(Model::embedded_draft(&options)?),
        None => None,
    };
    let heads = { is_embedded }.then(|| Model::embedded_heads(&options));
    Ok(Drafters {
        model,
        heads: heads.transpose()?,
    })
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// All that was measured, for programs.
#[derive(Serialize)]
struct Figures<'t> {
    tasks: Vec<tasks::Written<'t>>,
    loops: Vec<tables::Written<'t>>,
    strategies: Vec<tables::Written<'t>>,
    lengths: &'t [length::At],
}
