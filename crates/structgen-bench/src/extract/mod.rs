//! `structgen-bench extract`: the accuracy of a model's extractions.

mod ask;
mod card;
mod mode;
mod plots;
mod report;
mod set;
mod table;
mod training;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::Serialize;
use structgen::decode::events::JsonKind;
use structgen::{Calibration, DraftSource, FieldCalibration, LongText, Model, TypeCalibration};
use structgen_bench::scoring::{Probability, fit_confidence};

use crate::model_args::ModelArgs;
use crate::{print, report as tell};
use ask::Extractors;
use mode::{Mode, Strategy};
use report::Results;

/// Options of `structgen-bench extract`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Texts with schemas and correct documents: a JSON array or lines of {"text", "schema", "expected", "id"?,
    /// "kind"?, "language"?, "domain"?}
    #[arg(long = "set", value_name = "FILE", required = true)]
    sets: Vec<PathBuf>,
    /// Whether masks constrain the output to the schema; several are compared
    #[arg(
        long = "mode",
        value_enum,
        value_delimiter = ',',
        default_value = "constrained"
    )]
    modes: Vec<Mode>,
    /// Decoding strategy: greedy, beam:N or speculative; several are compared
    #[arg(
        long = "strategy",
        value_name = "STRATEGY",
        value_delimiter = ',',
        default_value = "greedy"
    )]
    strategies: Vec<Strategy>,
    /// Folder of the draft model for speculative [default: the embedded draft of the embedded model]
    #[arg(long, value_name = "DIR")]
    draft_model: Option<PathBuf>,
    /// Number of texts to process in parallel, each in its own model session
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,
    /// Whether to read texts that exceed the context in windows, which requires a constraint, or to refuse them. A text
    /// that does not fit counts as wrong
    #[arg(long, value_enum, default_value = "windows")]
    long_text: LongTextArg,
    /// Maximum number of tokens per answer [default: the rest of the context]
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
    /// Process only the first N texts of each set
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Process only the text with this id; texts without an id are numbered from 1
    #[arg(long, value_name = "ID")]
    only: Option<String>,
    /// Print the fields of each text
    #[arg(long, value_enum)]
    show: Option<Show>,
    /// Write all figures, and every field, as JSON
    #[arg(long, value_name = "OUT.json")]
    json: Option<PathBuf>,
    /// Write the figures as a section of Markdown, for a model card
    #[arg(long, value_name = "OUT.md")]
    card: Option<PathBuf>,
    /// Plot confidence against accuracy (calibration.svg) and, with --training-log, accuracy over training
    /// (training.svg)
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// JSON lines that training/train.py writes next to its checkpoint
    #[arg(long, value_name = "FILE", requires = "plots")]
    training_log: Option<PathBuf>,
    /// Fit how often fields are correct to their probabilities, and write the calibration.json of a model folder. Meant
    /// for sets whose domains the model never saw
    #[arg(long, value_name = "OUT.json")]
    calibrate: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LongTextArg {
    Windows,
    Refuse,
}

impl From<LongTextArg> for LongText {
    fn from(arg: LongTextArg) -> Self {
        match arg {
            LongTextArg::Windows => Self::Windows,
            LongTextArg::Refuse => Self::Refuse,
        }
    }
}

/// Which fields to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Show {
    Wrong,
    All,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    // Cheap checks come first.
    if args.calibrate.is_some() && args.modes.len() * args.strategies.len() > 1 {
        bail!("--calibrate is for one --mode and one --strategy, and several are asked for");
    }
    let sets = set::read(&args.sets, args.limit, args.only.as_deref())?;
    let curve = { args.training_log.as_deref() }
        .map(training::read)
        .transpose()?;
    let model = args.open()?;
    let mut all = Vec::new();
    for set in &sets {
        for &mode in &args.modes {
            let extractors = Extractors::compile(
                &model,
                &set.samples,
                mode,
                args.long_text.into(),
                args.max_tokens,
            );
            for &strategy in &args.strategies {
                tell(&format!("{}: {mode}, {strategy}", set.name));
                let results = extractors.ask(set, mode, strategy, args.jobs)?;
                if let Some(show) = args.show {
                    print(&report::documents(&results, show == Show::All))?;
                }
                all.push(results);
            }
        }
    }
    print(&report::text(&all))?;
    if let Some(path) = &args.json {
        let figures = Figures {
            model: args.model_name(),
            results: &all,
        };
        write(path, &serde_json::to_string(&figures)?)?;
    }
    if let Some(path) = &args.card {
        write(path, &card::markdown(&args.model_name(), &all))?;
    }
    if let Some(path) = &args.calibrate {
        let calibration = calibration(&all).context("no field has a probability")?;
        write(path, &format!("{}\n", serde_json::to_string(&calibration)?))?;
    }
    if let Some(folder) = &args.plots {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        write(&folder.join("calibration.svg"), &plots::calibration(&all))?;
        if let Some(curve) = &curve {
            write(&folder.join("training.svg"), &plots::training(curve))?;
        }
    }
    Ok(())
}

impl Args {
    /// Opens the model, with the draft model that a strategy needs.
    fn open(&self) -> anyhow::Result<Model> {
        let mut options = self.model.options()?.with_workers(self.jobs);
        let drafts = self.strategies.contains(&Strategy::Speculative);
        match (&self.draft_model, &self.model.model) {
            (Some(_), _) if !drafts => {
                bail!("--draft-model is for --strategy speculative, which is not asked for")
            }
            (Some(folder), _) => {
                options = options.with_draft(DraftSource::Folder(folder.clone()));
            }
            (None, None) if drafts => options = options.with_draft(DraftSource::Embedded),
            (None, Some(_)) if drafts => {
                bail!(
                    "--strategy speculative needs a draft model: name its folder by --draft-model"
                )
            }
            (None, _) => {}
        }
        self.model.open(&options)
    }

    fn model_name(&self) -> String {
        match &self.model.model {
            Some(folder) => folder.display().to_string(),
            None => "embedded".to_owned(),
        }
    }
}

/// A type of which there are fewer fields is calibrated with all others.
const ENOUGH: usize = 50;

/// Fits how often fields of all sets are correct to their probabilities.
fn calibration(all: &[Results]) -> Option<Calibration> {
    let documents = all.iter().flat_map(|results| &results.documents);
    let fields: Vec<(Probability, bool)> = { documents.flat_map(|it| &it.fields) }
        .filter_map(|field| Some((field.confidence?, field.is_right())))
        .collect();
    Some(Calibration {
        read: of_types(&fields, |it| it.read),
        unread: of_types(&fields, |it| Some(it.allowed))?,
    })
}

/// Fits them to this probability and to that of the model alone, for each type.
fn of_types(
    fields: &[(Probability, bool)],
    probability: impl Fn(&Probability) -> Option<f64>,
) -> Option<TypeCalibration> {
    let fields: Vec<(JsonKind, [f64; 2], bool)> = { fields.iter() }
        .filter_map(|(it, is_right)| {
            let log_odds = [probability(it)?, it.model].map(FieldCalibration::log_odds);
            Some((it.kind, log_odds, *is_right))
        })
        .collect();
    let all: Vec<_> = fields.iter().map(|&(_, x, right)| (x, right)).collect();
    let of_all = fit_confidence(&all)?;
    let of = |is_kind: fn(JsonKind) -> bool| {
        let own = fields.iter().filter(|(kind, ..)| is_kind(*kind));
        let own: Vec<_> = own.map(|&(_, x, right)| (x, right)).collect();
        // So few would be fitted to what is special about them.
        let enough = own.len() >= ENOUGH;
        let [intercept, probability, model] =
            { enough.then(|| fit_confidence(&own)).flatten() }.unwrap_or(of_all);
        FieldCalibration {
            intercept,
            probability,
            model,
        }
    };
    Some(TypeCalibration {
        string: of(|kind| kind == JsonKind::String),
        number: of(|kind| kind == JsonKind::Number),
        boolean: of(|kind| kind == JsonKind::Boolean),
        null: of(|kind| kind == JsonKind::Null),
        container: of(JsonKind::is_container),
    })
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// All measurements, for programs.
#[derive(Serialize)]
struct Figures<'r> {
    model: String,
    results: &'r [Results],
}
