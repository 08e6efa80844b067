//! Sets of texts with correct answers.

use std::path::PathBuf;

use anyhow::{Context, bail};
use structgen_bench::scoring::Sample;

/// The texts of a file.
pub(super) struct Set {
    /// The name of the file, without its extension.
    pub(super) name: String,
    pub(super) samples: Vec<Sample>,
}

/// Reads the sets, each limited to the first `limit` texts, or to those with an id.
pub(super) fn read(
    paths: &[PathBuf],
    limit: Option<usize>,
    only: Option<&str>,
) -> anyhow::Result<Vec<Set>> {
    let mut sets = Vec::new();
    for path in paths {
        let mut samples = parse(&crate::read(path)?)
            .with_context(|| format!("the set {} cannot be used", path.display()))?;
        for (at, sample) in samples.iter_mut().enumerate() {
            if sample.id.is_empty() {
                sample.id = (at + 1).to_string();
            }
        }
        samples.retain(|sample| only.is_none_or(|id| sample.id == id));
        samples.truncate(limit.unwrap_or(usize::MAX));
        let name = path.file_stem().unwrap_or(path.as_os_str());
        let name = name.to_string_lossy().into_owned();
        if sets.iter().any(|set: &Set| set.name == name) {
            bail!("two sets are named {name}, after their files: rename one");
        }
        if !samples.is_empty() {
            sets.push(Set { name, samples });
        }
    }
    match (sets.is_empty(), only) {
        (false, _) => Ok(sets),
        (true, Some(id)) => bail!("no set has a text of the id {id}"),
        (true, None) => bail!("there are no texts"),
    }
}

fn parse(text: &str) -> serde_json::Result<Vec<Sample>> {
    match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text),
        false => serde_json::Deserializer::from_str(text)
            .into_iter()
            .collect(),
    }
}
