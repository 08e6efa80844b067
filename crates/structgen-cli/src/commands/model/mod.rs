//! `structgen model`: the models on this machine, and what one takes.

mod compare;
mod convert_help;
#[cfg(feature = "hub")]
mod download;
mod list;
mod memory;
mod quantize_report;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

use crate::Outcome;
use crate::args::whole;

/// Options of `structgen model`.
#[derive(clap::Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Every command takes the name of a registered model where it takes a model folder: --model NAME. A folder of that name counts more.\n\
    The list is models.json in STRUCTGEN_HOME, by default the user's data folder for structgen.\n\n\
    Exit codes: 0 done, 1 the answer is no (memory: it does not fit), 2 bad input."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    /// Write the answer as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Give a model folder a name; hf:ORG/NAME downloads one from the Hugging Face hub first
    Add(AddArgs),
    /// List the registered models by name, with the size of all
    List,
    /// Forget a name and report how much its files take; they stay
    Remove {
        /// The name
        name: String,
        /// Delete the folder with its files, too
        #[arg(long)]
        files: bool,
    },
    /// Name the smallest model with a capability, and count that it was asked for
    Best {
        /// The capability
        #[arg(long, value_name = "NAME")]
        capability: String,
        /// How often it counts as asked for; 0 to look only
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>)]
        times: u64,
    },
    /// Show how often each model was asked for, by best or by its name, the most used first
    Usage,
    /// Show what a model folder has: layout, context, weights by type
    Info {
        /// A model folder, or the name of a registered model
        model: PathBuf,
        /// The variant of the folder's model file
        #[arg(long, value_name = "NAME")]
        variant: Option<String>,
    },
    /// Show what a model takes of memory, and whether it fits
    Memory(memory::Args),
    /// Show what the float weights of a model lose in few bits
    QuantizeReport(quantize_report::Args),
    /// Compare two models: size, speed, and how far they agree about the next token
    Compare(compare::Args),
    /// Print the commands that turn a Hugging Face model into a folder that works
    ConvertHelp {
        /// The model, such as meta-llama/Llama-3.2-1B, or its family
        name: String,
    },
}

#[derive(clap::Args, Debug)]
struct AddArgs {
    /// The folder, or hf:ORG/NAME for a repository of the Hugging Face hub
    #[arg(value_name = "FOLDER|hf:ORG/NAME")]
    folder: PathBuf,
    /// The name; without it, that of the folder or repository
    #[arg(long)]
    name: Option<String>,
    /// What it is good for, such as chat, code or embedding; may come several times
    #[arg(long, value_name = "NAME")]
    capability: Vec<String>,
    #[command(flatten)]
    source: SourceArgs,
}

/// What is downloaded of a repository, and where it goes.
#[derive(clap::Args, Debug)]
struct SourceArgs {
    /// Which of the repository's models to download, such as q4 or fp16; without it, the only one
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// The repository's branch, tag or commit [default: main]
    #[arg(long, value_name = "NAME")]
    revision: Option<String>,
    /// The folder to download to [default: models/ORG/NAME-VARIANT in STRUCTGEN_HOME]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl AddArgs {
    fn run(&self, json: bool) -> anyhow::Result<ExitCode> {
        let named = { self.folder.to_str() }.and_then(|name| name.strip_prefix("hf:"));
        match named {
            #[cfg(feature = "hub")]
            Some(repository) => download::add(repository, self, json),
            #[cfg(not(feature = "hub"))]
            Some(_) => bail!("this program was built without the feature `hub`"),
            None => {
                let SourceArgs {
                    variant,
                    revision,
                    to,
                } = &self.source;
                if variant.is_some() || revision.is_some() || to.is_some() {
                    bail!("--variant, --revision and --to are for repositories (hf:ORG/NAME)");
                }
                list::add(&self.folder, self.name.as_deref(), &self.capability, json)
            }
        }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    Ok(match &args.command {
        Command::Add(add) => add.run(args.json)?,
        Command::List => list::list(args.json)?,
        Command::Remove { name, files } => list::remove(name, *files, args.json)?,
        Command::Best { capability, times } => list::best(capability, *times, args.json)?,
        Command::Usage => list::usage(args.json)?,
        Command::Info { model, variant } => memory::info(model, variant.as_deref(), args.json)?,
        Command::Memory(options) => memory::run(options, args.json)?,
        Command::QuantizeReport(options) => quantize_report::run(options, args.json)?,
        Command::Compare(options) => compare::run(options, args.json)?,
        Command::ConvertHelp { name } => convert_help::run(name, args.json)?,
    })
}
