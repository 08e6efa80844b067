//! `structgen play`: decoding, live in a terminal.

mod subject;

use anyhow::{Context, bail};
use structgen::Model;
use structgen_play::headless::Headless;
use structgen_play::terminal::{self, TerminalError};
use structgen_play::{ConstraintKind, ConstraintText, Scene, app::Start, picture};

use super::demo_samples::samples;
use super::lab::report::PlotArgs;
use super::lab::step::or_balanced;
use super::lab::subject::OPENING;
use crate::Outcome;
use crate::args::LoadArgs;
use crate::constraint_args::ConstraintArgs;
use crate::error::DONE;
use crate::input::Document;
use crate::output::{detail, paint};
use crate::settings::SettingsArgs;
use subject::ModelSubject;

/// The embedded model's sample: one with free text in it, whose first words offer a wide choice.
const SAMPLE: &str = "bug-export";

/// Columns and lines of a screenshot.
const PICTURE: (u16, u16) = (100, 30);

/// Bytes of keys and values to cache, so that a step runs one token rather than the whole text.
const KEPT_BYTES: usize = 256_000_000;

/// Options of `structgen play`.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("schema", |schema| schema.long("json-schema")),
    after_help = "Without any flag, the embedded model reads a sample text under its schema. n takes the token that is drawn, b goes back, ←→ move the \
    slider\nthat ↑↓ choose, p and c edit prompt and constraint, 1 to 4 start the scenes, ? shows all keys. Samplers are temperature 0.7, top-k 50 and\n\
    top-p 0.9 where none is given. NO_COLOR is honoured.\n\n\
    Input and output must be a terminal; --plot draws a screen into a file without one."
)]
pub(crate) struct Args {
    /// Prompt; for the embedded model, the text to extract from
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    #[command(flatten)]
    constraint: ConstraintArgs,
    /// Scene to start with: temperature (from 0.1 to 2), top-k (from 1 to 10), top-p (from 1 to 0.5), or together (a
    /// whole output)
    #[arg(long, value_name = "NAME")]
    scene: Option<Scene>,
    /// Number of tokens to take at the start
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "scene")]
    tokens: usize,
    #[command(flatten)]
    plot: PlotArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    settings: SettingsArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    Ok(play(args).map(|()| DONE)?)
}

fn play(args: &Args) -> anyhow::Result<()> {
    let is_picture = args.plot.is_asked_for()?;
    if !is_picture && let Err(error @ TerminalError::NoTerminal(_)) = terminal::check() {
        bail!(
            "{error}: run structgen play by itself in one. --plot FILE.svg draws a screen without a terminal, and structgen lab step prints a step"
        );
    }
    let settings = args.settings.settings()?;
    settings.check_sampling_only("play")?;
    let seed = settings.seed().unwrap_or(1);
    let mut sampling = or_balanced(settings.options.sampling);
    sampling.seed = seed;
    let constraint = args.constraint()?;
    let options = args
        .load
        .settings
        .options(None)?
        .with_prefix_cache(KEPT_BYTES);
    let model = args.load.load_with(options)?;
    let start = Start {
        model: args.model_name(&model),
        prompt: String::new(),
        constraint: ConstraintText::default(),
        sampling,
        scene: args.scene,
        tokens: args.tokens,
        has_colour: is_picture || paint().is_on(),
    };
    let start = args.with_texts(start, constraint, &model)?;
    let subject = ModelSubject::new(model, args.constraint.grammar.as_deref())?;
    if is_picture {
        let mut headless = Headless::new(start, subject);
        headless.finish();
        let (columns, lines) = PICTURE;
        let screen = headless.screen(columns, lines);
        return args.plot.draw(&picture::chart(&screen, "structgen play"));
    }
    restore_when_interrupted();
    let redraws = terminal::play(start, subject)?;
    let milliseconds = |share| redraws.quantile(share).as_secs_f64() * 1e3;
    detail(&format!(
        "{} screens were drawn, half of them within {:.2} ms, all within {:.2} ms",
        redraws.count(),
        milliseconds(0.5),
        milliseconds(1.0)
    ));
    Ok(())
}

impl Args {
    /// Returns the text of the constraint that a flag gives.
    fn constraint(&self) -> anyhow::Result<Option<ConstraintText>> {
        let (kind, text) = if let Some(path) = &self.constraint.schema {
            (ConstraintKind::Schema, Document::read_json(path)?.text)
        } else if let Some(path) = &self.constraint.grammar {
            (ConstraintKind::Grammar, Document::read_grammar(path)?.text)
        } else if let Some(pattern) = &self.constraint.regex {
            (ConstraintKind::Pattern, pattern.clone())
        } else {
            return Ok(None);
        };
        Ok(Some(ConstraintText { kind, text }))
    }

    /// Returns the start with prompt and constraint: those given, else the sample for the embedded model, and free text
    /// for others.
    fn with_texts(
        &self,
        mut start: Start,
        constraint: Option<ConstraintText>,
        model: &Model,
    ) -> anyhow::Result<Start> {
        let sample = samples()?.into_iter().find(|sample| sample.id == SAMPLE);
        let sample = sample.with_context(|| format!("there is no sample {SAMPLE}"))?;
        let (prompt, default) = match model.is_embedded() {
            true => {
                let schema: serde_json::Value = serde_json::from_str(sample.schema.get())?;
                let text = serde_json::to_string_pretty(&schema)?;
                (
                    sample.text.as_str(),
                    ConstraintText {
                        kind: ConstraintKind::Schema,
                        text,
                    },
                )
            }
            false => (
                OPENING,
                ConstraintText {
                    kind: ConstraintKind::Free,
                    text: String::new(),
                },
            ),
        };
        start.prompt = self.prompt.clone().unwrap_or_else(|| prompt.to_owned());
        start.constraint = constraint.unwrap_or(default);
        Ok(start)
    }

    fn model_name(&self, model: &Model) -> String {
        let folder = self.load.model.as_deref();
        let name = folder.and_then(|folder| folder.file_name());
        match name {
            Some(name) if !model.is_embedded() => name.to_string_lossy().into_owned(),
            _ => "embedded model".to_owned(),
        }
    }
}

/// Restores the terminal if the process is interrupted from outside; in the terminal, Ctrl-C is just a key.
fn restore_when_interrupted() {
    let handler = || {
        terminal::restore();
        crate::interrupt::exit();
    };
    // If no handler can be set, the system's default ends the process.
    drop(ctrlc::set_handler(handler));
}
