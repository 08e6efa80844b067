//! `structgen completions`: shell completion scripts.

use clap_complete::{Shell, generate};

use crate::error::DONE;
use crate::output::write;
use crate::{Outcome, command_line};

/// Options of `structgen completions`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "For bash: structgen completions bash > ~/.local/share/bash-completion/completions/structgen\n\
    For zsh: structgen completions zsh > a file _structgen in a folder of $fpath\n\
    For fish: structgen completions fish > ~/.config/fish/completions/structgen.fish"
)]
pub(crate) struct Args {
    /// Shell to generate completions for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    generate(args.shell, &mut command_line(), "structgen", &mut script);
    write(&String::from_utf8_lossy(&script))?;
    Ok(DONE)
}
