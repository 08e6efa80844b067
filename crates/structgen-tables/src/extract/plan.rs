//! The plan of a run, split into partitions and stored in a file so that a later run can resume it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::files::{self, FileFormat};
use super::input::{Input, Piece};
use super::sample::Sample;

/// The version of the written files. A plan of another version is not resumed.
const VERSION: u32 = 2;
/// The name of the plan's file.
const PLAN: &str = "plan.json";
/// The name of the file that an active run holds locked.
const LOCK: &str = "lock";

/// The plan of a run. It is written once, before the first row; the files that exist show which partitions are done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    version: u32,
    /// The files, with everything that their rows depend on.
    pub(crate) inputs: Vec<Input>,
    /// Model, options, schema and columns, in words: everything that a row's value depends on besides its text.
    identity: Vec<(String, String)>,
    pub(crate) format: FileFormat,
    pub(crate) sample: Option<Sample>,
    pub(crate) partitions: Vec<Partition>,
}

/// Consecutive rows of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Partition {
    pub(crate) input: usize,
    /// The number of its first row, counted over all files.
    pub(crate) first_row: u64,
    /// Its position and number of rows in the file.
    pub(crate) piece: Piece,
    /// Its number of rows in the output.
    pub(crate) rows: u64,
}

impl Plan {
    pub(crate) fn new(
        inputs: Vec<(Input, Vec<Piece>)>,
        identity: Vec<(String, String)>,
        format: FileFormat,
        limit: Option<u64>,
        sample: Option<u64>,
    ) -> Self {
        let all = inputs.iter().flat_map(|(_, pieces)| pieces);
        let total: u64 = all.map(|piece| piece.rows).sum();
        let total = limit.map_or(total, |limit| total.min(limit));
        let sample = sample.map(|wanted| Sample::new(wanted, total));
        let mut partitions = Vec::new();
        let mut first_row = 0;
        for (input, (_, pieces)) in inputs.iter().enumerate() {
            for piece in pieces {
                let mut piece = piece.clone();
                piece.rows = piece.rows.min(total - first_row);
                let end = first_row + piece.rows;
                let rows = match sample {
                    Some(sample) => sample.before(end) - sample.before(first_row),
                    None => piece.rows,
                };
                if rows > 0 {
                    partitions.push(Partition {
                        input,
                        first_row,
                        piece,
                        rows,
                    });
                }
                first_row = end;
            }
        }
        Self {
            version: VERSION,
            inputs: inputs.into_iter().map(|(input, _)| input).collect(),
            identity,
            format,
            sample,
            partitions,
        }
    }

    /// Returns the number of rows in the output.
    pub(crate) fn rows(&self) -> u64 {
        self.partitions.iter().map(|it| it.rows).sum()
    }

    /// Describes how another plan differs from this one, or returns `None` if both write the same.
    fn difference(&self, other: &Self) -> Option<String> {
        if self == other {
            return None;
        }
        if self.inputs != other.inputs {
            return Some("the input".to_owned());
        }
        let named = self.identity.iter().zip(&other.identity);
        let differing = named.filter(|(a, b)| a != b).map(|(a, _)| a.0.clone());
        let differing: Vec<String> = differing.collect();
        Some(match differing.is_empty() {
            true => "the partitions, the limit, the sample or the version".to_owned(),
            false => differing.join(" and "),
        })
    }
}

/// The folder that contains the partitions of an output until all of them are done.
#[derive(Debug)]
pub(crate) struct PartFolder {
    path: PathBuf,
    format: FileFormat,
    /// Locked for as long as a run is active.
    _lock: fs::File,
}

impl PartFolder {
    /// Opens the folder for an output, creating it if necessary, and checks that its plan is equal to this one, unless
    /// the run starts over.
    pub(crate) fn open(output: &Path, plan: &Plan, start_over: bool) -> anyhow::Result<Self> {
        let path = Self::path_for(output);
        let lock = Self::lock(&path)?;
        let folder = Self {
            format: plan.format,
            path,
            _lock: lock,
        };
        match Self::has_plan(output) && !start_over {
            true => folder.check(plan)?,
            false => folder.begin(plan)?,
        }
        Ok(folder)
    }

    /// Checks that the plan in the folder is equal to this one.
    fn check(&self, plan: &Plan) -> anyhow::Result<()> {
        let written = self.path.join(PLAN);
        let earlier = fs::read(&written).map_err(anyhow::Error::from);
        let earlier = earlier.and_then(|it| Ok(serde_json::from_slice::<Plan>(&it)?));
        let earlier = earlier.with_context(|| format!("{} cannot be read", written.display()))?;
        match earlier.difference(plan) {
            Some(what) => bail!(
                "{} has parts of another run: {what} was different; --overwrite begins anew",
                self.path.display()
            ),
            None => Ok(()),
        }
    }

    /// Writes the plan to the folder, without the parts that a killed run may have left there.
    fn begin(&self, plan: &Plan) -> anyhow::Result<()> {
        self.clear()
            .with_context(|| format!("{} cannot be emptied", self.path.display()))?;
        files::write_whole(&self.path.join(PLAN), &serde_json::to_vec(plan)?)
    }

    /// Empties the folder, but for the lock: the plan first, because parts without a plan are never resumed.
    fn clear(&self) -> io::Result<()> {
        match fs::remove_file(self.path.join(PLAN)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_name() == LOCK {
                continue;
            }
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        Ok(())
    }

    /// Returns whether there is a run to resume.
    pub(crate) fn has_plan(output: &Path) -> bool {
        Self::path_for(output).join(PLAN).exists()
    }

    fn path_for(output: &Path) -> PathBuf {
        files::with_suffix(output, ".parts")
    }

    fn lock(path: &Path) -> anyhow::Result<fs::File> {
        let lock = fs::create_dir_all(path)
            .and_then(|()| fs::File::create(path.join(LOCK)))
            .with_context(|| format!("nothing can be written in {}", path.display()))?;
        match lock.try_lock() {
            Err(fs::TryLockError::WouldBlock) => {
                bail!("another run is writing {}", path.display())
            }
            // Some file systems do not support locks.
            Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(lock),
        }
    }

    /// Returns the file of a partition's rows, which exists once all of them are done.
    pub(crate) fn part(&self, partition: usize) -> PathBuf {
        let extension = self.format.extension();
        self.path.join(format!("part-{partition:08}.{extension}"))
    }

    /// Returns the file of a partition's errors, which exists if there are any.
    pub(crate) fn errors(&self, partition: usize) -> PathBuf {
        self.path.join(format!("part-{partition:08}.errors.jsonl"))
    }

    pub(crate) fn is_done(&self, partition: usize) -> bool {
        self.part(partition).exists()
    }

    /// Creates a file that is removed with the folder, unless it is moved elsewhere.
    pub(crate) fn temporary(&self) -> anyhow::Result<NamedTempFile> {
        files::temporary_in(&self.path)
    }

    /// Removes the folder with its contents.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.clear()
            .and_then(|()| fs::remove_dir_all(&self.path))
            .with_context(|| format!("{} cannot be removed", self.path.display()))
    }
}
