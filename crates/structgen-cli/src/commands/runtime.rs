//! `structgen runtime`: the ONNX Runtime library.

use clap::Subcommand;
use structgen::ModelOptions;
use structgen::ort::{InstallOptions, RUNTIME_VERSION, install};

use crate::Outcome;
use crate::error::DONE;
use crate::output::{tell, write_line};

/// Options of `structgen runtime`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Fetch the library through pip into structgen's cache folder: version pinned, hash checked
    Install {
        /// The library with the CUDA provider, which is ten times as large
        #[arg(long)]
        cuda: bool,
    },
}

pub(crate) fn run(args: &Args) -> Outcome {
    let Command::Install { cuda } = args.command;
    let search = ModelOptions::new().search();
    let size = if cuda { "about 260 MB" } else { "about 25 MB" };
    tell(&format!(
        "installing ONNX Runtime {RUNTIME_VERSION} ({size}) …"
    ));
    let installed = install(&search, &InstallOptions { cuda })?;
    let what = if installed.already {
        "installed already"
    } else {
        "installed"
    };
    write_line(&format!(
        "ONNX Runtime {RUNTIME_VERSION} is {what}: {}",
        installed.library.display()
    ))?;
    Ok(DONE)
}
