//! What a run has to do, cut into partitions, and kept in a file so that a later run can go on with it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::files::{self, FileFormat};
use super::input::{Input, Piece};
use super::sample::Sample;

/// The version of what is written. A plan of another version is not continued.
const VERSION: u32 = 1;
/// The name of its file.
const PLAN: &str = "plan.json";

/// The plan of a run. It is written once, before the first row; which partitions are done is told by the files that are
/// there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    version: u32,
    /// The files, with what their rows depend on.
    pub(crate) inputs: Vec<Input>,
    /// Model, options, schema and columns, in words: what a row's value depends on beside its text.
    identity: Vec<(String, String)>,
    pub(crate) format: FileFormat,
    pub(crate) sample: Option<Sample>,
    pub(crate) partitions: Vec<Partition>,
}

/// Some rows that follow one another in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Partition {
    pub(crate) input: usize,
    /// The number of its first row, over all files.
    pub(crate) first_row: u64,
    /// Where it is in its file, and how many rows it has there.
    pub(crate) piece: Piece,
    /// How many rows of the output it makes.
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

    /// The rows of the output.
    pub(crate) fn rows(&self) -> u64 {
        self.partitions.iter().map(|it| it.rows).sum()
    }

    /// What another plan does that this one does not, in words; none where both write the same.
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

/// The folder in which the partitions of an output are until all of them are done.
#[derive(Debug)]
pub(crate) struct PartFolder {
    path: PathBuf,
    format: FileFormat,
    /// Locked as long as a run goes on.
    _lock: fs::File,
}

impl PartFolder {
    /// The folder of this name, made where it is missing, with this plan or an equal one in it.
    pub(crate) fn open(output: &Path, plan: &Plan) -> anyhow::Result<Self> {
        let path = Self::path_for(output);
        let lock = Self::lock(&path)?;
        let written = path.join(PLAN);
        let folder = Self {
            format: plan.format,
            path,
            _lock: lock,
        };
        if written.exists() {
            let earlier = fs::read(&written).map_err(anyhow::Error::from);
            let earlier = earlier.and_then(|it| Ok(serde_json::from_slice::<Plan>(&it)?));
            let earlier =
                earlier.with_context(|| format!("{} cannot be read", written.display()))?;
            if let Some(what) = earlier.difference(plan) {
                bail!(
                    "{} has parts of another run: {what} was different; --overwrite begins anew",
                    folder.path.display()
                );
            }
        } else {
            files::write_whole(&written, &serde_json::to_vec(plan)?)?;
        }
        Ok(folder)
    }

    /// Whether there is a run to go on with.
    pub(crate) fn has_plan(output: &Path) -> bool {
        Self::path_for(output).join(PLAN).exists()
    }

    fn path_for(output: &Path) -> PathBuf {
        files::with_suffix(output, ".parts")
    }

    /// Removes what an earlier run left.
    pub(crate) fn remove(output: &Path) -> anyhow::Result<()> {
        let path = Self::path_for(output);
        if path.exists() {
            // Nobody else may be writing it.
            let _lock = Self::lock(&path)?;
            fs::remove_dir_all(&path)
                .with_context(|| format!("{} cannot be removed", path.display()))?;
        }
        Ok(())
    }

    fn lock(path: &Path) -> anyhow::Result<fs::File> {
        let lock = fs::create_dir_all(path)
            .and_then(|()| fs::File::create(path.join("lock")))
            .with_context(|| format!("nothing can be written in {}", path.display()))?;
        match lock.try_lock() {
            Err(fs::TryLockError::WouldBlock) => {
                bail!("another run is writing {}", path.display())
            }
            // Some file systems have no locks.
            Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(lock),
        }
    }

    /// The file of a partition's rows. It is there when all of them are done.
    pub(crate) fn part(&self, partition: usize) -> PathBuf {
        let extension = self.format.extension();
        self.path.join(format!("part-{partition:08}.{extension}"))
    }

    /// The file of a partition's errors, which is there where it has any.
    pub(crate) fn errors(&self, partition: usize) -> PathBuf {
        self.path.join(format!("part-{partition:08}.errors.jsonl"))
    }

    pub(crate) fn is_done(&self, partition: usize) -> bool {
        self.part(partition).exists()
    }

    /// A file that is removed with the folder, unless it takes a place elsewhere.
    pub(crate) fn temporary(&self) -> anyhow::Result<NamedTempFile> {
        files::temporary_in(&self.path)
    }

    /// Removes the folder with all that is in it; the plan first, so that what a killed process leaves of it is nothing
    /// to go on with.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        fs::remove_file(self.path.join(PLAN))
            .and_then(|()| fs::remove_dir_all(&self.path))
            .with_context(|| format!("{} cannot be removed", self.path.display()))
    }
}
