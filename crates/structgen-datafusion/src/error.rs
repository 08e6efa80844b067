//! Why there is no table.

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::error::DataFusionError;

/// Why a function cannot be planned or run at all. What is wrong with a row is in the row instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A schema that is registered under no name, where files may not be read.
    #[error("there is no schema of the name {0:?}")]
    UnknownSchema(String),
    /// A schema's file that cannot be read.
    #[error("the schema {} cannot be read", path.display())]
    SchemaFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A schema of a name or a file that is refused.
    #[error("the schema {name:?} cannot be used")]
    Schema {
        /// The name, or the path.
        name: String,
        /// Why.
        source: Box<Error>,
    },
    /// A schema that is not JSON.
    #[error("the schema is not JSON")]
    SchemaJson(#[source] serde_json::Error),
    /// A column on request that there is not.
    #[error("there is no column {0:?} to ask for; there are error, confidence and spans")]
    UnknownColumn(String),
    /// A column on request whose name a property of the schema has.
    #[error("the schema has a property {0:?}, which is the name of a column that is asked for")]
    ColumnTaken(String),
    /// A label that is given twice.
    #[error("the label {0:?} is given twice")]
    LabelTwice(String),
    /// The schema, the model, or the runtime library.
    #[error(transparent)]
    Structgen(#[from] structgen::Error),
    /// The model could not be loaded.
    #[error("the model cannot be used")]
    Model(#[source] Arc<structgen::Error>),
    /// Functions of another process that ran on another model there.
    #[error("the query is for the model {wanted}, and the model here is {present}")]
    OtherModel {
        /// The identity of the model in the definition.
        wanted: String,
        /// That of the model in this process.
        present: String,
    },
    /// Arrow's.
    #[error(transparent)]
    Arrow(#[from] datafusion::arrow::error::ArrowError),
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        match error {
            Error::Arrow(error) => error.into(),
            // It is read where another process wrote it down.
            error @ Error::OtherModel { .. } => Self::Execution(error.to_string()),
            error => Self::External(Box::new(error)),
        }
    }
}
