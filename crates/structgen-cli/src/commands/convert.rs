//! `structgen grammar convert`: converts other notations to GBNF.

use std::path::PathBuf;

use anyhow::Context;
use structgen::frontend::convert::{Notation, to_gbnf};
use structgen::frontend::gbnf::GbnfOptions;
use structgen::{CancelToken, Constraint};

use crate::Outcome;
use crate::error::DONE;
use crate::input::Document;
use crate::output::write;

/// Options of `structgen grammar convert`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Notation of the file
    #[arg(long, value_enum, value_name = "NOTATION")]
    from: NotationArg,
    /// Start rule [default: the first rule, or `start` in Lark]
    #[arg(long, value_name = "NAME")]
    root: Option<String>,
    /// Grammar file; `-` reads standard input
    file: PathBuf,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum NotationArg {
    /// ABNF of RFC 5234 and RFC 7405
    Abnf,
    /// EBNF as in W3C specifications
    Ebnf,
    /// Lark, in llguidance's dialect
    Lark,
}

/// Converts a grammar. The token cancels the compilation of schemas in it.
pub(crate) fn run(args: &Args, cancel: Option<CancelToken>) -> Outcome {
    let notation = match args.from {
        NotationArg::Abnf => Notation::Abnf,
        NotationArg::Ebnf => Notation::Ebnf,
        NotationArg::Lark => Notation::Lark,
    };
    let Document { name, text } = Document::read(&args.file)?;
    let made = to_gbnf(&text, notation, args.root.as_deref())
        .with_context(|| format!("{name} cannot be converted"))?;
    // Only compiling shows whether an exclusion is regular and whether embedded schemas are supported.
    let mut options = GbnfOptions::default();
    options.schema.cancel = cancel;
    Constraint::gbnf_with(&made, &options)
        .with_context(|| format!("what {name} becomes cannot be used"))?;
    write(&made)?;
    Ok(DONE)
}
