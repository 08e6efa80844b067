//! `structgen sql`, `structgen cluster` and `structgen extract --input`: the commands over tables, which are another
//! executable.
//!
//! DataFusion takes minutes to build, and nothing else needs it. As cargo does for subcommands, we look for the
//! executable beside this one, then on PATH.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, anyhow};

use crate::Outcome;

const NAME: &str = "structgen-tables";

/// Options of `structgen sql`, parsed by the other executable.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct SqlArgs {
    /// Query and options; structgen sql --help lists them
    #[arg(
        value_name = "SQL",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    args: Vec<OsString>,
}

/// Options of `structgen cluster`, parsed by the other executable.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct ClusterArgs {
    /// scheduler or executor, and its options; structgen cluster scheduler --help lists them
    #[arg(
        value_name = "PROCESS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    args: Vec<OsString>,
}

/// Returns the arguments for the other executable, if this one's arguments ask for it. This is decided before parsing,
/// since the two executables have flags of the same names.
pub(crate) fn requested() -> Option<Vec<OsString>> {
    let args: Vec<OsString> = env::args_os().skip(1).collect();
    let is_input = |arg: &&OsString| {
        let arg = arg.as_encoded_bytes();
        arg == b"--input" || arg.starts_with(b"--input=")
    };
    let is_requested = match args.first()?.to_str()? {
        "sql" | "cluster" => true,
        "extract" => args
            .iter()
            .take_while(|arg| *arg != "--")
            .any(|arg| is_input(&arg)),
        _ => false,
    };
    is_requested.then_some(args)
}

pub(crate) fn sql(args: &SqlArgs) -> Outcome {
    command("sql", &args.args)
}

pub(crate) fn cluster(args: &ClusterArgs) -> Outcome {
    command("cluster", &args.args)
}

fn command(name: &str, args: &[OsString]) -> Outcome {
    start(std::iter::once(OsStr::new(name)).chain(args.iter().map(OsString::as_os_str)))
}

/// Runs the other executable, and returns its exit code.
pub(crate) fn start<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Outcome {
    let program = find().ok_or_else(|| {
        anyhow!(
            "the commands over tables are a program of their own, {NAME}, which is neither beside this one nor on PATH; \
             in the project's folder, this installs it: cargo install --path crates/{NAME}"
        )
    })?;
    let status = Command::new(&program).args(args).status();
    let status = status.with_context(|| format!("{} cannot be started", program.display()))?;
    // A process ended by a signal has no exit code.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(2)))
}

fn find() -> Option<PathBuf> {
    let file = format!("{NAME}{}", env::consts::EXE_SUFFIX);
    let own = env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let on_path = env::var_os("PATH").unwrap_or_default();
    let folders = beside.into_iter().chain(env::split_paths(&on_path));
    let mut programs = folders.map(|folder| folder.join(&file));
    programs.find(|program| program.is_file())
}
