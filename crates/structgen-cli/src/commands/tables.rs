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
    passed_on(&args)
}

fn passed_on(args: &[OsString]) -> Option<Vec<OsString>> {
    let (flags, rest) = leading_flags(args)?;
    let (command, rest) = rest.split_first()?;
    let is_input = |arg: &OsString| {
        let arg = arg.as_encoded_bytes();
        arg == b"--input" || arg.starts_with(b"--input=")
    };
    let is_requested = match command.to_str()? {
        "sql" | "cluster" => true,
        "extract" => { rest.iter() }.take_while(|arg| *arg != "--").any(is_input),
        _ => false,
    };
    is_requested.then(|| [std::slice::from_ref(command), &flags, rest].concat())
}

/// Splits off the flags of every command that precede the command. Returns `None` if another flag does.
fn leading_flags(args: &[OsString]) -> Option<(Vec<OsString>, &[OsString])> {
    let mut flags = Vec::new();
    let mut rest = args.iter();
    loop {
        let first = rest.as_slice().first()?.to_str();
        let Some(flag) = first.filter(|first| first.starts_with('-')) else {
            return Some((flags, rest.as_slice()));
        };
        rest.next();
        match push_flag(flag, &mut flags)? {
            Value::None => {}
            Value::PassedOn => flags.push(rest.next()?.clone()),
            Value::Dropped => drop(rest.next()?),
        }
    }
}

/// The value that has to follow a flag.
enum Value {
    None,
    PassedOn,
    Dropped,
}

/// Appends a flag of [`OutputArgs`](crate::output::OutputArgs), or several one-letter ones, for the other executable:
/// it has no `-o`, so that is written out, and its messages have no colours. Returns `None` for any other flag.
fn push_flag(flag: &str, flags: &mut Vec<OsString>) -> Option<Value> {
    let Some(letters) = flag.strip_prefix('-').filter(|it| !it.starts_with('-')) else {
        let (name, value) = flag.split_once('=').unzip();
        return match (name.unwrap_or(flag), value) {
            ("--color", None) => Some(Value::Dropped),
            ("--color", Some(_)) => Some(Value::None),
            ("--quiet" | "--verbose", None) | ("--output", Some(_)) => {
                flags.push(flag.into());
                Some(Value::None)
            }
            ("--output", None) => {
                flags.push(flag.into());
                Some(Value::PassedOn)
            }
            _ => None,
        };
    };
    let (switches, output) = match letters.split_once('o') {
        Some((switches, output)) => (switches, Some(output)),
        None => (letters, None),
    };
    if letters.is_empty() || switches.contains(|letter| !matches!(letter, 'q' | 'v')) {
        return None;
    }
    flags.extend(switches.chars().map(|letter| format!("-{letter}").into()));
    let Some(output) = output else {
        return Some(Value::None);
    };
    flags.push("--output".into());
    if output.is_empty() {
        return Some(Value::PassedOn);
    }
    flags.push(output.strip_prefix('=').unwrap_or(output).into());
    Some(Value::None)
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
