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
use super::retry::Retry;
use crate::output::write_line;

/// Standard output, or a file that may already have lines.
pub(crate) struct Output {
    resumed: Option<Resumed>,
}

struct Resumed {
    path: PathBuf,
    /// The lines of the earlier run that were not compared with the input yet.
    done: WrittenLines,
    file: File,
    /// While lines with errors are tried again.
    retry: Option<Retry>,
}

/// The complete lines that a file had when it was opened.
pub(super) type WrittenLines = io::Lines<BufReader<io::Take<File>>>;

/// What an earlier run wrote for a line of the input.
pub(super) enum Earlier {
    Nothing,
    Result,
    /// Why it could not be done.
    Error,
    /// A result that has to be written again, in its place among lines that are tried again.
    Again(String),
}

/// Returns whether a line of the output says why an input line could not be done.
pub(super) fn is_error(line: &str, number: u64) -> bool {
    serde_json::from_str::<ErrorLine<'_>>(line).is_ok_and(|error| error.line == number)
}

impl Output {
    /// Opens standard output, or a file, which is truncated after its last complete line. Lines with errors are tried
    /// again if `retries`.
    pub(crate) fn open(resume: Option<&Path>, retries: bool) -> anyhow::Result<Self> {
        let resumed = resume.map(|path| Resumed::open(path, retries));
        let resumed = resumed.transpose()?;
        Ok(Self { resumed })
    }

    /// Returns what an earlier run wrote for this input line. Lines are asked for in order.
    pub(super) fn earlier(&mut self, number: u64, line: &Line) -> anyhow::Result<Earlier> {
        let Some(resumed) = &mut self.resumed else {
            return Ok(Earlier::Nothing);
        };
        let Some(done) = next_line(&mut resumed.done, &resumed.path, number, line)? else {
            return Ok(Earlier::Nothing);
        };
        if let Some(retry) = &mut resumed.retry {
            let earlier = retry.earlier(done, number, line)?;
            resumed.end_retry()?;
            return Ok(earlier);
        }
        Ok(match is_error(&done, number) {
            true => Earlier::Error,
            false => Earlier::Result,
        })
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
        let (file, path) = match &mut resumed.retry {
            Some(retry) => retry.next(),
            None => (&mut resumed.file, &*resumed.path),
        };
        let written = file.write_all(format!("{line}\n").as_bytes());
        written.with_context(|| format!("{} cannot be written", path.display()))?;
        resumed.end_retry()
    }
}

/// Returns the next line that an earlier run wrote, which must be a result or an error of this line of the input.
pub(super) fn next_line(
    lines: &mut WrittenLines,
    path: &Path,
    number: u64,
    input: &Line,
) -> anyhow::Result<Option<String>> {
    let path = path.display();
    let Some(done) = lines.next() else {
        return Ok(None);
    };
    let done = done.with_context(|| format!("line {number} of {path} cannot be read"))?;
    let is_no =
        |what: &str| format!("line {number} of {path} is no {what}: it was not written by --jsonl");
    let Some(id) = &input.id else {
        // The document itself, which need not be an object.
        serde_json::from_str::<IgnoredAny>(&done).with_context(|| is_no("JSON"))?;
        return Ok(Some(done));
    };
    let members: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(&done).with_context(|| is_no("JSON object"))?;
    if !["value", "error"]
        .iter()
        .any(|&name| members.contains_key(name))
    {
        bail!(is_no("result"));
    }
    if members.get("id").map(|done| done.get()) != Some(id.get()) {
        bail!(
            "line {number} of the input has the id {id}, and line {number} of {path} has not: it is the output of another input"
        );
    }
    Ok(Some(done))
}

impl Resumed {
    fn open(path: &Path, retries: bool) -> anyhow::Result<Self> {
        let open = || -> anyhow::Result<Self> {
            let (file, done) = open_lines(path)?;
            let retry = match retries {
                true => Retry::open(path)?,
                false => None,
            };
            let path = path.to_owned();
            Ok(Self {
                path,
                done,
                file,
                retry,
            })
        };
        open().with_context(|| format!("{} cannot be continued", path.display()))
    }

    /// Goes on with the new file once it has every line that the old one had.
    fn end_retry(&mut self) -> anyhow::Result<()> {
        match self.retry.take_if(|retry| retry.is_done()) {
            Some(retry) => retry.replace(&mut self.file),
            None => Ok(()),
        }
    }
}

/// Opens a file to append lines, and returns the complete lines that it has. An incomplete last line is completed or
/// removed.
pub(super) fn open_lines(path: &Path) -> anyhow::Result<(File, WrittenLines)> {
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
    Ok((file, BufReader::new(done).lines()))
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
