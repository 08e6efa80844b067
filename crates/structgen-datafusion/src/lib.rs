//! Functions for [DataFusion](datafusion) that fill schemas from texts: JSON Schemas as Arrow types.
//!
//! [`Functions`] are `extract`, `extract_json`, `generate`, `classify`, `matches` and `tokens`, for any session. All
//! calls of a process share one model, which works on as many rows at a time as it has workers.
//! [`Functions::statement`] reads SQL in which `extract(text, 'schema.json').*` stands for all properties of the
//! schema. [`ColumnExtractor`] does the same for Arrow arrays without SQL.
//!
//! What is promised of rows: as many come out as went in; a row that cannot be done is NULL, with the reason in a
//! column where it is [asked for](ExtraColumns); and equal texts have equal values, in any partition, on any machine of
//! the same build, as long as the model runs [one row at a time](Functions::new).

mod columns;
mod definition;
mod engine;
mod error;
mod extractor;
mod functions;
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
