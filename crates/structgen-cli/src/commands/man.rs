//! `structgen man`: manual pages.

use anyhow::anyhow;

use crate::error::DONE;
use crate::output::write;
use crate::{Outcome, command_line};

/// Options of `structgen man`.
#[derive(clap::Args, Debug)]
#[command(after_help = "To read a page: structgen man extract | man -l -\n\
    To keep it: structgen -o ~/.local/share/man/man1/structgen-extract.1 man extract")]
pub(crate) struct Args {
    /// Command whose page to print, such as extract, or grammar compare [default: the page of structgen itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut page = command_line();
    page.build();
    for name in &args.command {
        let found = page.find_subcommand(name).cloned();
        page = found.ok_or_else(|| anyhow!("{} has no command {name:?}", page.get_name()))?;
    }
    let mut roff = Vec::new();
    let version = env!("CARGO_PKG_VERSION");
    clap_mangen::Man::new(page.version(version))
        .manual("structgen")
        .render(&mut roff)?;
    write(&String::from_utf8_lossy(&roff))?;
    Ok(DONE)
}
