//! Where results and messages go: standard output or a file, and standard error.
//!
//! The flags are applied once, before the command runs, since they concern the process's own streams.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context, bail};
use structgen_artifact::{Replacement, is_special};

/// The output options of every command.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write results to a file instead of standard output. It is replaced once the command is done, also if the answer
    /// is no or lines of --jsonl failed; if the command fails, it is unchanged. It cannot be one of the inputs
    #[arg(short, long, value_name = "FILE", global = true)]
    output: Option<PathBuf>,
    /// Print only errors to standard error, no warnings or notes
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more to standard error: what was read, and how long each part took
    #[arg(short, long, global = true)]
    verbose: bool,
    /// When to colour messages; auto means on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        global = true
    )]
    color: ColorArg,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
pub(crate) enum ColorArg {
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorArg {
    /// Returns the choice for messages of the command line's parser, which come before the arguments are known.
    pub(crate) fn of_arguments() -> clap::ColorChoice {
        let mut arguments = std::env::args_os().skip(1);
        while let Some(argument) = arguments.next() {
            let value = match argument.to_str().and_then(|it| it.strip_prefix("--color")) {
                Some("") => arguments.next(),
                Some(value) => value.strip_prefix('=').map(OsString::from),
                None => None,
            };
            match value.as_deref().and_then(OsStr::to_str) {
                Some("always") => return clap::ColorChoice::Always,
                Some("never") => return clap::ColorChoice::Never,
                _ => {}
            }
        }
        clap::ColorChoice::Auto
    }

    fn is_on(self, is_terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                is_terminal && !no_color
            }
        }
    }
}

/// The streams of the process.
struct Streams {
    results: Mutex<Results>,
    paint: Paint,
    message_paint: Paint,
    is_quiet: bool,
    is_verbose: bool,
}

/// Where results go.
enum Results {
    StandardOutput,
    /// A temporary file that replaces another one when the command is done.
    Staged {
        file: BufWriter<Replacement>,
        path: PathBuf,
    },
    /// A file that cannot be replaced, such as a pipe.
    Direct(BufWriter<std::fs::File>),
}

static STREAMS: OnceLock<Streams> = OnceLock::new();

fn streams() -> &'static Streams {
    STREAMS.get_or_init(|| Streams {
        results: Mutex::new(Results::StandardOutput),
        paint: Paint { on: false },
        message_paint: Paint { on: false },
        is_quiet: false,
        is_verbose: false,
    })
}

impl OutputArgs {
    /// Opens the streams.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn open(&self) -> anyhow::Result<()> {
        let results = match &self.output {
            Some(path) if path != Path::new("-") => Results::into_file(path)
                .with_context(|| format!("{} cannot be written", path.display()))?,
            _ => Results::StandardOutput,
        };
        let to_terminal = self.output.is_none() && io::stdout().is_terminal();
        let _ = STREAMS.set(Streams {
            results: Mutex::new(results),
            paint: Paint {
                on: self.color.is_on(to_terminal),
            },
            message_paint: Paint {
                on: self.color.is_on(io::stderr().is_terminal()),
            },
            is_quiet: self.quiet,
            is_verbose: self.verbose,
        });
        Ok(())
    }
}

impl Results {
    fn into_file(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::Error::other("it is a folder"));
        }
        if is_special(path) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(Self::Direct(BufWriter::new(file)));
        }
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        if let Some(missing) = folder.filter(|folder| !folder.is_dir()) {
            let missing = format!("there is no folder {}", missing.display());
            return Err(io::Error::other(missing));
        }
        let file = Replacement::of(path, ".structgen-")?;
        Ok(Self::Staged {
            file: BufWriter::new(file),
            path: path.to_owned(),
        })
    }
}

impl Write for Results {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::StandardOutput => io::stdout().write(buffer),
            Self::Staged { file, .. } => file.write(buffer),
            Self::Direct(file) => file.write(buffer),
        }
    }

    /// Flushes standard output and pipes, which have waiting readers; a file has none until it is complete.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::StandardOutput => io::stdout().flush(),
            Self::Staged { .. } => Ok(()),
            Self::Direct(file) => file.flush(),
        }
    }
}

/// Moves the file of `--output` into place, once the command has succeeded.
///
/// # Errors
/// If it cannot be written; the previous file is then unchanged.
pub(crate) fn commit() -> anyhow::Result<()> {
    let mut results = results();
    let Results::Staged { file, path } = std::mem::replace(&mut *results, Results::StandardOutput)
    else {
        return Ok(());
    };
    let persist = || -> io::Result<()> {
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist()
    };
    persist().with_context(|| format!("{} cannot be written", path.display()))
}

/// Returns an error if a file is that of `--output`: a command does not replace what it reads.
pub(crate) fn check_input(path: &Path) -> anyhow::Result<()> {
    match &*results() {
        Results::Staged { path: output, .. } if is_same_file(output, path) => bail!(
            "{} is an input, and --output would replace it: name another file for the results",
            output.display()
        ),
        _ => Ok(()),
    }
}

/// Returns whether two paths lead to the same existing file.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

/// Returns what identifies an existing file, whatever its name.
#[cfg(unix)]
fn identity(path: &Path) -> io::Result<impl PartialEq> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<impl PartialEq> {
    path.canonicalize()
}

/// Removes the unfinished file of `--output`.
pub(crate) fn discard() {
    *results() = Results::StandardOutput;
}

/// Removes the unfinished file of `--output` before the process ends at once. If another thread is writing to it, it
/// stays, and the next command removes it.
pub(crate) fn discard_at_once() {
    if let Ok(mut results) = streams().results.try_lock()
        && matches!(*results, Results::Staged { .. })
    {
        *results = Results::StandardOutput;
    }
}

fn results() -> std::sync::MutexGuard<'static, Results> {
    let results = &streams().results;
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether `--output` names a file for the results.
pub(crate) fn is_file() -> bool {
    !matches!(*results(), Results::StandardOutput)
}

/// Writes text to the results, and flushes it.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut out = results();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a line to the results.
pub(crate) fn write_line(line: &str) -> io::Result<()> {
    let mut out = results();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Writes a line to standard error, with control characters escaped.
pub(crate) fn tell(line: &str) {
    tell_as_it_is(&printable(line));
}

/// Writes a line to standard error as it is. Errors are ignored: nobody is reading.
fn tell_as_it_is(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Escapes control characters other than line breaks and tabs: texts from files must not control the terminal.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let is_obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_obeyed(character) {
            true => safe.extend(character.escape_unicode()),
            false => safe.push(character),
        }
    }
    Cow::Owned(safe)
}

/// Prints why the command failed.
pub(crate) fn error(text: &str) {
    let label = streams().message_paint.red("error:");
    tell_as_it_is(&format!("{label} {}", printable(text)));
}

/// Prints a probable mistake, which does not stop the command.
pub(crate) fn warn(text: &str) {
    if !streams().is_quiet {
        let label = streams().message_paint.yellow("warning:");
        tell_as_it_is(&format!("{label} {}", printable(text)));
    }
}

/// Prints a note that is good to know.
pub(crate) fn note(text: &str) {
    if !streams().is_quiet {
        tell(text);
    }
}

/// Returns whether `--verbose` was given.
pub(crate) fn is_verbose() -> bool {
    streams().is_verbose
}

/// Prints a message that only `--verbose` shows.
pub(crate) fn detail(text: &str) {
    if is_verbose() {
        tell_as_it_is(&streams().message_paint.dim(&printable(text)));
    }
}

/// Returns the colours for results.
pub(crate) fn paint() -> Paint {
    streams().paint
}

/// Returns whether to show progress on standard error while a command runs.
pub(crate) fn shows_progress() -> bool {
    !streams().is_quiet && io::stderr().is_terminal()
}

/// Colours, if they are enabled.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Returns whether colours are enabled.
    #[cfg(feature = "play")]
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with("1;31", text)
    }

    fn yellow(self, text: &str) -> String {
        self.with("1;33", text)
    }
}
