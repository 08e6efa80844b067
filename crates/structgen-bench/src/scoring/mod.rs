//! The accuracy of extracted documents.
//!
//! A [`Sample`] is a text with a schema and the correct document; [`Sample::score`] compares an answer with it, field
//! by field, and [`Summary`] aggregates many samples.
//!
//! A **field** is a leaf that the schema or the expected document names. Objects are split along the schema's
//! `properties`; an array is a single field, and so is an object without `properties`. A field is correct if its value
//! equals the expected one: numbers by value, all else exactly. An absent optional property is correct if it is absent.
//! A missing answer has no correct fields.
//!
//! The **soft score** ([`soft_score`]) measures how close an answer comes.

mod bootstrap;
mod calibration;
mod cause;
mod document;
mod equality;
mod fields;
mod fit;
mod soft;
mod source;
mod summary;

pub use bootstrap::{Estimate, estimate};
pub use calibration::{Bin, Calibration};
pub use cause::Cause;
pub use document::{Document, Failure, Probability, Sample, ScoredField};
pub use equality::equal;
pub use fields::{Field, fields};
pub use fit::fit_confidence;
pub use soft::soft_score;
pub use source::Source;
pub use summary::{CauseCount, Example, Group, Summary};
