//! [DataFusion](datafusion) functions that fill schemas from texts, with JSON Schemas as Arrow types.
//!
//! [`Functions`] are `extract`, `extract_json`, `generate`, `classify`, `matches` and `tokens`, for any session. All
//! calls of a process share one model, which processes as many rows in parallel as it has workers.
//! [`Functions::statement`] parses SQL in which `extract(text, 'schema.json').*` stands for all properties of the
//! schema. [`ColumnExtractor`] does the same for Arrow arrays without SQL.
//!
//! Guarantees: there are as many output rows as input rows; a row whose text is at fault is NULL, with the reason in a
//! column on [request](ExtraColumns), while a failure of the model [fails the call](Error::Interrupted); and equal
//! texts have equal values, in any partition, on any machine of the same build, as long as the model runs [one row at a
//! time](Functions::new).

mod columns;
mod definition;
mod engine;
mod error;
mod extractor;
mod functions;
mod row_error;
mod row_type;
mod schemas;
mod seed;
mod star;
mod texts;

pub use columns::ExtraColumns;
pub use definition::Definition;
pub use error::Error;
pub use extractor::{ColumnExtractor, ExtractedColumn};
pub use functions::{FunctionOptions, Functions};
pub use row_type::{Cell, CellError, RowType};
pub use schemas::{Schema, Schemas};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;
