//! `structgen model`: the models on this machine, and their resource needs.

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
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Register a model folder under a name; hf:ORG/NAME downloads it from the Hugging Face hub first
    Add(AddArgs),
    /// List the registered models by name, with their total size
    List,
    /// Unregister a name and report the size of its files, which are kept
    Remove {
        /// Registered name
        name: String,
        /// Also delete the folder, if the model was downloaded into STRUCTGEN_HOME and no other name uses it
        #[arg(long)]
        files: bool,
    },
    /// Print the smallest model with a capability, and count it as requested
    Best {
        /// Capability that the model must have
        #[arg(long, value_name = "NAME")]
        capability: String,
        /// Number of requests to count; 0 only looks
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>)]
        times: u64,
    },
    /// Show how often each model was requested, through best or by name, most used first
    Usage,
    /// Show a model folder's layout, context, and weights by type
    Info {
        /// Model folder, or the name of a registered model
        model: PathBuf,
        /// Variant of the folder's model file
        #[arg(long, value_name = "NAME")]
        variant: Option<String>,
    },
    /// Show how much memory a model needs, and whether that is available
    Memory(memory::Args),
    /// Show how much precision a model's float weights lose when quantised to few bits
    QuantizeReport(quantize_report::Args),
    /// Compare two models: size, speed, and how far they agree on the next token
    Compare(compare::Args),
    /// Print the commands that convert a Hugging Face model into a working folder
    ConvertHelp {
        /// Name of the model, such as meta-llama/Llama-3.2-1B, or of its family
        name: String,
    },
}

#[derive(clap::Args, Debug)]
struct AddArgs {
    /// Model folder, or hf:ORG/NAME for a repository on the Hugging Face hub
    #[arg(value_name = "FOLDER|hf:ORG/NAME")]
    folder: PathBuf,
    /// Name to register [default: that of the folder or repository]
    #[arg(long)]
    name: Option<String>,
    /// Capability of the model, such as chat, code or embedding; may be repeated
    #[arg(long, value_name = "NAME")]
    capability: Vec<String>,
    #[command(flatten)]
    source: SourceArgs,
}

/// What to download from a repository, and where to.
#[derive(clap::Args, Debug)]
struct SourceArgs {
    /// Variant to download, such as q4 or fp16 [default: the only one]
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Branch, tag or commit of the repository [default: main]
    #[arg(long, value_name = "NAME")]
    revision: Option<String>,
    /// Folder to download to [default: models/ORG/NAME@VARIANT in STRUCTGEN_HOME]
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
