//! `--retry-errors`: the lines of the output are written to a second file, in which those with errors are tried again.
//! It takes the output's place once it has as many lines.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::mem;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::input::Line;
use super::output::{Earlier, WrittenLines, is_error, next_line, open_lines};

pub(super) struct Retry {
    /// The file to replace.
    path: PathBuf,
    /// The file that will replace it, which a run that was killed may have begun.
    new_path: PathBuf,
    new: File,
    /// Its lines that were not compared with the input yet.
    done: WrittenLines,
    /// The number of lines that it lacks.
    missing: u64,
}

impl Retry {
    /// Opens the second file, if some line of the output has an error. The caller has locked the output.
    pub(super) fn open(path: &Path) -> anyhow::Result<Option<Self>> {
        // The file itself is replaced, and not a link to it.
        let path = path.canonicalize()?;
        let (mut missing, mut has_errors) = (0, false);
        for line in BufReader::new(File::open(&path)?).lines() {
            missing += 1;
            has_errors = has_errors || is_error(&line?, missing);
        }
        if !has_errors {
            return Ok(None);
        }
        let mut new_path = OsString::from(&path);
        new_path.push(".retry");
        let new_path = PathBuf::from(new_path);
        let (new, done) = open_lines(&new_path).with_context(|| new_path.display().to_string())?;
        let permissions = path.metadata()?.permissions();
        // Some file systems have one mode for all files, and refuse any other.
        if permissions != new.metadata()?.permissions() {
            new.set_permissions(permissions)?;
        }
        Ok(Some(Self {
            path,
            new_path,
            new,
            done,
            missing,
        }))
    }

    /// Returns what has to be done for an input line with this line in the output.
    pub(super) fn earlier(
        &mut self,
        old: String,
        number: u64,
        input: &Line,
    ) -> anyhow::Result<Earlier> {
        let is_error_now = |line: &str| is_error(line, number);
        let Some(new) = next_line(&mut self.done, &self.new_path, number, input)? else {
            return Ok(match is_error_now(&old) {
                true => Earlier::Nothing,
                false => Earlier::Again(old),
            });
        };
        if old != new && !is_error_now(&old) {
            let (path, new_path) = (self.path.display(), self.new_path.display());
            bail!(
                "line {number} of {new_path} is not that of {path}: it is left over from a retry of another output; remove it"
            );
        }
        self.missing -= 1;
        Ok(match is_error_now(&new) {
            true => Earlier::Error,
            false => Earlier::Result,
        })
    }

    /// Returns the file to which the next line is written, and its path.
    pub(super) fn next(&mut self) -> (&mut File, &Path) {
        self.missing -= 1;
        (&mut self.new, &self.new_path)
    }

    pub(super) fn is_done(&self) -> bool {
        self.missing == 0
    }

    /// Puts the new file in the place of the output, which `file` then writes to.
    pub(super) fn replace(self, file: &mut File) -> anyhow::Result<()> {
        let renamed = self
            .new
            .sync_all()
            .and_then(|()| fs::rename(&self.new_path, &self.path));
        renamed.with_context(|| format!("{} cannot be replaced", self.path.display()))?;
        // A process that opened the old file has to find it locked until now.
        drop(mem::replace(file, self.new));
        Ok(())
    }
}
