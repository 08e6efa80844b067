//! Results as JSON Lines.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

/// A JSON Lines file.
pub(crate) struct Lines<'a> {
    out: BufWriter<File>,
    path: &'a Path,
}

impl<'a> Lines<'a> {
    pub(crate) fn create(path: &'a Path) -> anyhow::Result<Self> {
        let file =
            File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self {
            out: BufWriter::new(file),
            path,
        })
    }

    pub(crate) fn add(&mut self, line: &impl Serialize) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.out, line)
            .map_err(std::io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"))
            .with_context(|| format!("{} cannot be written", self.path.display()))
    }

    /// Writes what is left; without this, an error that it meets would be lost.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.out
            .flush()
            .with_context(|| format!("{} cannot be written", self.path.display()))
    }
}
