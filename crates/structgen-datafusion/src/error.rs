//! Errors of whole functions.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::error::DataFusionError;

/// Why a function cannot be planned or run at all. Errors of a row's text are in the row instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No schema is registered under this name, and files may not be read.
    #[error("there is no schema of the name {0:?}")]
    UnknownSchema(String),
    /// A schema's file cannot be read.
    #[error("the schema {} cannot be read", path.display())]
    SchemaFile {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The schema of a name or a file is invalid.
    #[error("the schema {name:?} cannot be used")]
    Schema {
        /// The name, or the path.
        name: String,
        /// The reason.
        source: Box<Error>,
    },
    /// A schema is not JSON.
    #[error("the schema is not JSON")]
    SchemaJson(#[source] serde_json::Error),
    /// A requested column does not exist.
    #[error("there is no column {0:?} to ask for; there are error, confidence and spans")]
    UnknownColumn(String),
    /// A requested column has the name of a property of the schema.
    #[error("the schema has a property {0:?}, which is the name of a column that is asked for")]
    ColumnTaken(String),
    /// A label is given twice.
    #[error("the label {0:?} is given twice")]
    LabelTwice(String),
    /// An error of the schema, the model, or the runtime library.
    #[error(transparent)]
    Structgen(#[from] structgen::Error),
    /// The model could not be loaded.
    #[error("the model cannot be used")]
    Model(#[source] Arc<structgen::Error>),
    /// The model failed or was stopped, for a reason that is not in the rows and may pass. None of the rows is done;
    /// DataFusion gets this as an I/O error, after which systems such as Ballista try again.
    #[error("the model could not compute the rows")]
    Interrupted(#[source] structgen::Error),
    /// Functions of another process were defined for another model.
    #[error("the query is for the model {wanted}, and the model here is {present}")]
    OtherModel {
        /// The id of the model in the definition.
        wanted: String,
        /// The id of the model in this process.
        present: String,
    },
    /// An error of Arrow.
    #[error(transparent)]
    Arrow(#[from] datafusion::arrow::error::ArrowError),
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        match error {
            Error::Arrow(error) => error.into(),
            // This error must be readable after it was sent to another process.
            error @ Error::OtherModel { .. } => Self::Execution(error.to_string()),
            error @ Error::Interrupted(_) => Self::IoError(io::Error::other(error)),
            error => Self::External(Box::new(error)),
        }
    }
}
