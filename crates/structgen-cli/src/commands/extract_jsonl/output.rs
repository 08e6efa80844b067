//! Where the lines of `extract --jsonl` go, and which of them an earlier run wrote.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use structgen_artifact::is_special;

use super::ErrorLine;
use super::input::Line;
use crate::output::write_line;

/// Standard output, or a file that may already have lines.
pub(crate) struct Output {
    resumed: Option<Resumed>,
}

struct Resumed {
    path: PathBuf,
    /// The lines of the earlier run that were not compared with the input yet.
    done: io::Lines<BufReader<io::Take<File>>>,
    file: File,
}

/// What an earlier run wrote for a line of the input.
pub(super) enum Earlier {
    Nothing,
    Result,
    /// Why it could not be done.
    Error,
}

impl Earlier {
    fn of(line: &str, number: u64) -> Self {
        match serde_json::from_str::<ErrorLine<'_>>(line) {
            Ok(error) if error.line == number => Self::Error,
            _ => Self::Result,
        }
    }
}

impl Output {
    /// Opens standard output, or a file, which is truncated after its last complete line.
    pub(crate) fn open(resume: Option<&Path>) -> anyhow::Result<Self> {
        let resumed = resume.map(Resumed::open).transpose()?;
        Ok(Self { resumed })
    }

    /// Returns what an earlier run wrote for this input line.
    pub(super) fn earlier(&mut self, number: u64, line: &Line) -> anyhow::Result<Earlier> {
        let Some(resumed) = &mut self.resumed else {
            return Ok(Earlier::Nothing);
        };
        let path = resumed.path.display();
        let Some(done) = resumed.done.next() else {
            return Ok(Earlier::Nothing);
        };
        let done = done.with_context(|| format!("line {number} of {path} cannot be read"))?;
        let is_no = |what: &str| {
            format!("line {number} of {path} is no {what}: it was not written by --jsonl")
        };
        let Some(id) = &line.id else {
            // The document itself, which need not be an object.
            serde_json::from_str::<IgnoredAny>(&done).with_context(|| is_no("JSON"))?;
            return Ok(Earlier::of(&done, number));
        };
        let earlier = Earlier::of(&done, number);
        let done: BTreeMap<String, Box<RawValue>> =
            serde_json::from_str(&done).with_context(|| is_no("JSON object"))?;
        if !["value", "error"]
            .iter()
            .any(|&name| done.contains_key(name))
        {
            bail!(is_no("result"));
        }
        if done.get("id").map(|done| done.get()) != Some(id.get()) {
            bail!(
                "line {number} of the input has the id {id}, and line {number} of {path} has not: it is the output of another input"
            );
        }
        Ok(earlier)
    }

    /// Returns an error if the output has more lines than the input.
    pub(super) fn check_end(&mut self, lines: u64) -> anyhow::Result<()> {
        if let Some(resumed) = &mut self.resumed
            && resumed.done.next().is_some()
        {
            let path = resumed.path.display();
            bail!(
                "{path} has more than the {lines} lines of the input: it is the output of another input"
            );
        }
        Ok(())
    }

    /// Writes a line at once, so that a killed program leaves only complete lines, or part of the last.
    pub(super) fn write(&mut self, line: &str) -> anyhow::Result<()> {
        let Some(resumed) = &mut self.resumed else {
            return Ok(write_line(line)?);
        };
        let written = resumed.file.write_all(format!("{line}\n").as_bytes());
        written.with_context(|| format!("{} cannot be written", resumed.path.display()))
    }
}

impl Resumed {
    fn open(path: &Path) -> anyhow::Result<Self> {
        Self::try_open(path).with_context(|| format!("{} cannot be continued", path.display()))
    }

    fn try_open(path: &Path) -> anyhow::Result<Self> {
        if is_special(path) {
            bail!("it is not a regular file");
        }
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(path)?;
        // It is unlocked when it is closed.
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => bail!("another process writes to it"),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Ok(()) => {}
        }
        let mut lines = Lines::of(&file)?;
        if let Some(last) = lines.unended.take() {
            match serde_json::from_slice::<IgnoredAny>(&last) {
                // A number may have had more digits.
                Ok(_) if !last.last().is_some_and(u8::is_ascii_digit) => {
                    file.write_all(b"\n")?;
                    lines.end += last.len() as u64 + 1;
                }
                Err(error) if !error.is_eof() => {
                    bail!("its last line is not the beginning of a result: {error}")
                }
                _ => file.set_len(lines.end)?,
            }
        }
        // Lines that this run appends are not from the earlier run.
        let done = File::open(path)?.take(lines.end);
        Ok(Self {
            path: path.to_owned(),
            done: BufReader::new(done).lines(),
            file,
        })
    }
}

/// The lines of a file.
struct Lines {
    /// The number of bytes up to the end of the last complete line.
    end: u64,
    /// What follows it.
    unended: Option<Vec<u8>>,
}

impl Lines {
    fn of(file: &File) -> io::Result<Self> {
        let mut reader = BufReader::new(file);
        let mut end = 0;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                let unended = (read > 0).then_some(line);
                return Ok(Self { end, unended });
            }
            end += read as u64;
        }
    }
}
