//! Where the lines of `extract --jsonl` go, and which of them an earlier run wrote.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

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

impl Output {
    /// Opens standard output, or a file, which is truncated after its last complete line.
    pub(crate) fn open(resume: Option<&Path>) -> anyhow::Result<Self> {
        let resumed = resume.map(Resumed::open).transpose()?;
        Ok(Self { resumed })
    }

    /// Returns whether an earlier run wrote the output of this input line.
    pub(super) fn has(&mut self, number: u64, line: &Line) -> anyhow::Result<bool> {
        let Some(resumed) = &mut self.resumed else {
            return Ok(false);
        };
        let path = resumed.path.display();
        let Some(done) = resumed.done.next() else {
            return Ok(false);
        };
        let done = done.with_context(|| format!("line {number} of {path} cannot be read"))?;
        let is_no = |what: &str| {
            format!("line {number} of {path} is no {what}: it was not written by --jsonl")
        };
        let Some(id) = &line.id else {
            // The document itself, which need not be an object.
            serde_json::from_str::<IgnoredAny>(&done).with_context(|| is_no("JSON"))?;
            return Ok(true);
        };
        let done: BTreeMap<String, Box<RawValue>> =
            serde_json::from_str(&done).with_context(|| is_no("JSON object"))?;
        if done.get("id").map(|done| done.get()) != Some(id.get()) {
            bail!(
                "line {number} of the input has the id {id}, and line {number} of {path} has not: it is the output of another input"
            );
        }
        Ok(true)
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
    pub(super) fn write(&mut self, line: &str) -> io::Result<()> {
        match &mut self.resumed {
            None => write_line(line),
            Some(resumed) => resumed.file.write_all(format!("{line}\n").as_bytes()),
        }
    }
}

impl Resumed {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let open = || -> io::Result<Self> {
            let mut options = OpenOptions::new();
            let file = options.read(true).append(true).create(true).open(path)?;
            let end = end_of_lines(&file)?;
            file.set_len(end)?;
            // Lines that this run appends are not from the earlier run.
            let done = File::open(path)?.take(end);
            Ok(Self {
                path: path.to_owned(),
                done: BufReader::new(done).lines(),
                file,
            })
        };
        open().with_context(|| format!("{} cannot be continued", path.display()))
    }
}

/// Returns the number of bytes up to the end of the last complete line.
fn end_of_lines(file: &File) -> io::Result<u64> {
    let mut reader = BufReader::new(file);
    let (mut at, mut end) = (0, 0);
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(end);
        }
        if let Some(last) = buffer.iter().rposition(|&byte| byte == b'\n') {
            end = at + last as u64 + 1;
        }
        let read = buffer.len();
        at += read as u64;
        reader.consume(read);
    }
}
