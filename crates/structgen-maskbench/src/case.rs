//! A file of MaskBench: a schema and instances that fit it or do not.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::document::Document;
use crate::order::in_declared_order;

/// A schema and its instances.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file's name.
    pub file: String,
    /// The schema.
    pub schema: Value,
    /// The schema as it is written, with every digit of its numbers.
    pub schema_text: String,
    /// The instances, as the file has them.
    pub instances: Vec<Instance>,
}

/// An instance, serialised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The JSON text.
    pub text: String,
    /// Whether it fits the schema.
    pub is_valid: bool,
}

/// Why a file is no case.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not of the benchmark's form.
    #[error("{path}: not a MaskBench file: {source}")]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
    /// An instance is not text, such as one with half a surrogate pair, or is nested 128 levels deep.
    #[error("{path}: the instance {index} cannot be read as text, or is nested too deeply")]
    Instance {
        /// The file.
        path: PathBuf,
        /// Which of the instances, from 0.
        index: usize,
    },
}

#[derive(Deserialize)]
struct RawCase<'a> {
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(borrow, default)]
    tests: Vec<RawInstance<'a>>,
}

#[derive(Deserialize)]
struct RawInstance<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
    valid: bool,
}

impl Case {
    /// Reads a file. With `reorder`, the keys of every instance are first brought into the schema's declared order.
    ///
    /// # Errors
    /// When the file cannot be read or is not of the benchmark's form.
    pub fn read(path: &Path, reorder: bool) -> Result<Self, CaseError> {
        let form = |source| CaseError::Form {
            path: path.into(),
            source,
        };
        let text = std::fs::read_to_string(path).map_err(|source| CaseError::Io {
            path: path.into(),
            source,
        })?;
        let raw: RawCase<'_> = serde_json::from_str(&text).map_err(form)?;
        let schema: Value = serde_json::from_str(raw.schema.get()).map_err(form)?;
        let instance = |(index, test): (usize, &RawInstance<'_>)| {
            let document = Document::parse(test.data.get()).ok_or_else(|| CaseError::Instance {
                path: path.into(),
                index,
            })?;
            let document = if reorder {
                in_declared_order(document, &schema)
            } else {
                document
            };
            Ok(Instance {
                text: document.to_string(),
                is_valid: test.valid,
            })
        };
        let instances: Result<_, CaseError> = raw.tests.iter().enumerate().map(instance).collect();
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(Self {
            file,
            schema_text: raw.schema.get().to_owned(),
            schema,
            instances: instances?,
        })
    }
}

/// The `.json` files that the paths name, folders searched, sorted.
///
/// # Errors
/// When a folder cannot be read.
pub fn case_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CaseError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let io = |source| CaseError::Io {
            path: path.clone(),
            source,
        };
        for entry in std::fs::read_dir(path).map_err(io)? {
            let entry = entry.map_err(io)?.path();
            if entry
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                files.push(entry);
            }
        }
    }
    files.sort();
    Ok(files)
}
