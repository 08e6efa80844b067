//! `structgen choose`: how probable each of several texts is after a prompt.

use std::path::PathBuf;

use anyhow::bail;
use structgen::ChooseOptions;
use structgen::decode::strategies::AllLimits;

use crate::Outcome;
use crate::args::{LoadArgs, whole};
use crate::error::DONE;
use crate::input::{TextArgs, read_text_file};
use crate::output::write_line;

/// Options of `structgen choose`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Each line has a choice's share among the choices, its probability, what may be missing from that, and the choice; the most \
    probable comes first.\n\nExit codes: 0 done, 2 bad input."
)]
pub(crate) struct Args {
    #[command(flatten)]
    prompt: TextArgs,
    /// Apply the model's chat template to the prompt
    #[arg(long)]
    chat: bool,
    /// Text to choose from; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    choice: Vec<String>,
    /// Read choices from a file, one per line
    #[arg(long, value_name = "FILE")]
    choices_file: Option<PathBuf>,
    /// Sum over all tokenizations of a choice, not just the tokenizer's own
    #[arg(long)]
    all_tokenizations: bool,
    /// Maximum number of model runs for --all-tokenizations
    #[arg(long, value_name = "N", requires = "all_tokenizations", value_parser = whole::<usize>)]
    max_runs: Option<usize>,
    /// With --all-tokenizations, stop once at most this share of the probability found is missing
    #[arg(long, value_name = "P", requires = "all_tokenizations")]
    tolerance: Option<f64>,
    /// Allow more text after a choice, instead of the end of the output
    #[arg(long)]
    no_end: bool,
    /// Print one JSON object per choice, in the order given
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    load: LoadArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut choices = args.choice.clone();
    if let Some(path) = &args.choices_file {
        choices.extend(read_text_file(path)?.lines().map(str::to_owned));
    }
    if choices.is_empty() {
        return Err(anyhow::anyhow!(
            "there is no choice to choose from: give some with --choice or --choices-file"
        )
        .into());
    }
    let mut options = ChooseOptions::new().with_end(!args.no_end);
    if args.all_tokenizations {
        let default = AllLimits::default();
        options = options.with_all(AllLimits {
            runs: args.max_runs.unwrap_or(default.runs),
            tolerance: tolerance(args.tolerance, default.tolerance)?,
        });
    }
    let prompt = args.prompt.read()?;
    let model = args.load.load()?;
    let tokens = if args.chat {
        model.chat_prompt(None, &prompt)?
    } else {
        model.encode_prompt(&prompt)?
    };
    let found = model.choose(&tokens, &choices, &options)?;
    let mut listed: Vec<_> = choices.iter().zip(&found).collect();
    if args.json {
        for (choice, found) in listed {
            // The logarithm of 0 is infinite, which JSON cannot represent.
            let log = Some(found.log_probability).filter(|log| log.is_finite());
            let line = serde_json::json!({
                "choice": choice,
                "share": found.share,
                "probability": found.probability(),
                "log_probability": log,
                "left_out": found.left_out,
            });
            write_line(&line.to_string())?;
        }
        return Ok(DONE);
    }
    listed.sort_by(|(_, a), (_, b)| b.log_probability.total_cmp(&a.log_probability));
    for (choice, found) in listed {
        write_line(&format!(
            "{:.4}\t{:.3e}\t{:.1e}\t{choice}",
            found.share,
            found.probability(),
            found.left_out,
        ))?;
    }
    Ok(DONE)
}

fn tolerance(given: Option<f64>, default: f64) -> anyhow::Result<f64> {
    match given {
        None => Ok(default),
        Some(given) if (0.0..=1.0).contains(&given) => Ok(given),
        Some(given) => bail!("the tolerance {given} is no probability: it is between 0 and 1"),
    }
}
