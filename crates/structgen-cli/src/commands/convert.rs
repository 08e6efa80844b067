//! `structgen grammar convert`: GBNF of other notations.

use std::path::PathBuf;

use anyhow::Context;
use structgen::Constraint;
use structgen::frontend::convert::{Notation, to_gbnf};

use crate::Outcome;
use crate::error::DONE;
use crate::input::Document;
use crate::output::write;

/// Options of `structgen grammar convert`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The notation of the file
    #[arg(long, value_enum, value_name = "NOTATION")]
    from: NotationArg,
    /// The rule to start from; without it, the first one, or `start` in Lark
    #[arg(long, value_name = "NAME")]
    root: Option<String>,
    /// The grammar; `-` reads standard input
    file: PathBuf,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum NotationArg {
    /// ABNF of RFC 5234 and RFC 7405
    Abnf,
    /// EBNF of the W3C's specifications
    Ebnf,
    /// The dialect of Lark that llguidance reads
    Lark,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let notation = match args.from {
        NotationArg::Abnf => Notation::Abnf,
        NotationArg::Ebnf => Notation::Ebnf,
        NotationArg::Lark => Notation::Lark,
    };
    let Document { name, text } = Document::read(&args.file)?;
    let made = to_gbnf(&text, notation, args.root.as_deref())
        .with_context(|| format!("{name} cannot be converted"))?;
    // What is taken away from a rule has to be regular, and schemas have to be understood, which only shows here.
    Constraint::gbnf(&made).with_context(|| format!("what {name} becomes cannot be used"))?;
    write(&made)?;
    Ok(DONE)
}
