//! Where results and messages go: standard output or a file, and standard error.
//!
//! What the flags of every command decide is decided once, before the command runs: it is about the process's own
//! streams.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Context;
use tempfile::NamedTempFile;

/// What every command takes about its output.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write the results into a file instead of standard output; a command that fails leaves the file as it was
    #[arg(short, long, value_name = "FILE", global = true)]
    output: Option<PathBuf>,
    /// Print no warnings and notes to standard error, only errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more to standard error: what was read, and what took how long
    #[arg(short, long, global = true)]
    verbose: bool,
    /// When to colour messages; auto is on a terminal, unless NO_COLOR is set
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
    /// The choice for the messages of the command line's parser, which come before the arguments are known.
    pub(crate) fn of_arguments() -> clap::ColorChoice {
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let value = match argument.strip_prefix("--color") {
                Some("") => arguments.next(),
                Some(value) => value.strip_prefix('=').map(str::to_owned),
                None => None,
            };
            match value.as_deref() {
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
    /// A file that takes the place of another one when the command is done.
    Staged {
        file: BufWriter<NamedTempFile>,
        path: PathBuf,
    },
    /// What cannot be replaced, such as a pipe.
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
    /// When the file cannot be written.
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
        let existing = path.metadata().ok();
        if existing.as_ref().is_some_and(|existing| existing.is_dir()) {
            return Err(io::Error::other("it is a folder"));
        }
        if existing
            .as_ref()
            .is_some_and(|existing| !existing.is_file())
        {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(Self::Direct(BufWriter::new(file)));
        }
        // A link stays one: what it leads to is replaced.
        let path = if existing.is_some() {
            path.canonicalize()?
        } else {
            path.to_owned()
        };
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            let missing = format!("there is no folder {}", folder.display());
            return Err(io::Error::other(missing));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".structgen-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any new file, or as the one that it replaces; the process's mask applies to the former.
            let new = std::fs::Permissions::from_mode(0o666);
            builder.permissions(new);
        }
        let file = builder.tempfile_in(folder)?;
        if let Some(existing) = existing {
            file.as_file().set_permissions(existing.permissions())?;
        }
        let file = BufWriter::new(file);
        Ok(Self::Staged { file, path })
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

    /// Standard output and pipes have readers who wait; a file has none before it is complete.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::StandardOutput => io::stdout().flush(),
            Self::Staged { .. } => Ok(()),
            Self::Direct(file) => file.flush(),
        }
    }
}

/// Puts the file of `--output` into its place, once the command has done its work.
///
/// # Errors
/// When it cannot be written; the file is then as it was before.
pub(crate) fn commit() -> anyhow::Result<()> {
    let mut results = results();
    let Results::Staged { file, path } = std::mem::replace(&mut *results, Results::StandardOutput)
    else {
        return Ok(());
    };
    let persist = || -> io::Result<()> {
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&path)?;
        Ok(())
    };
    persist().with_context(|| format!("{} cannot be written", path.display()))
}

/// Removes what was written of the file of `--output`.
pub(crate) fn discard() {
    *results() = Results::StandardOutput;
}

fn results() -> std::sync::MutexGuard<'static, Results> {
    let results = &streams().results;
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes text to where results go, and flushes it.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut out = results();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a line to where results go.
pub(crate) fn write_line(line: &str) -> io::Result<()> {
    let mut out = results();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Writes a line to standard error. Where nobody reads it, nobody misses it.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints why a command fails.
pub(crate) fn error(text: &str) {
    tell(&format!("{} {text}", streams().message_paint.red("error:")));
}

/// Prints what is most likely a mistake, and does not stop the command.
pub(crate) fn warn(text: &str) {
    if !streams().is_quiet {
        let label = streams().message_paint.yellow("warning:");
        tell(&format!("{label} {text}"));
    }
}

/// Prints what is good to know.
pub(crate) fn note(text: &str) {
    if !streams().is_quiet {
        tell(text);
    }
}

/// Prints what only `--verbose` shows.
pub(crate) fn detail(text: &str) {
    if streams().is_verbose {
        tell(&streams().message_paint.dim(text));
    }
}

/// The colours of results.
pub(crate) fn paint() -> Paint {
    streams().paint
}

/// Whether something is drawn on standard error while a command runs.
pub(crate) fn shows_progress() -> bool {
    !streams().is_quiet && io::stderr().is_terminal()
}

/// Colours, where they are shown.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Whether there are any.
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
