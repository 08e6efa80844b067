//! A graph of a decoder: its file, and the runs that it is for.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A graph of a decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphFile {
    /// The ONNX file.
    pub path: PathBuf,
    /// The runs that it is for.
    pub runs: When,
    /// Outputs that later graphs know by another name, each with that name.
    pub(crate) renamed: BTreeMap<String, String>,
}

/// The runs that a graph is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// All of them.
    Always,
    /// Those of texts without a past: the graph begins them.
    WithoutPast,
    /// Those of texts with a past: the graph continues them.
    WithPast,
}

impl When {
    pub(crate) fn is_for(self, has_past: bool) -> bool {
        match self {
            Self::Always => true,
            Self::WithoutPast => !has_past,
            Self::WithPast => has_past,
        }
    }

    /// Whether a run that one graph is for is one of the other's, too.
    pub(crate) fn meets(self, other: Self) -> bool {
        [false, true]
            .into_iter()
            .any(|has_past| self.is_for(has_past) && other.is_for(has_past))
    }
}

impl GraphFile {
    pub(crate) fn new(path: impl Into<PathBuf>, runs: When) -> Self {
        Self {
            path: path.into(),
            runs,
            renamed: BTreeMap::new(),
        }
    }
}
