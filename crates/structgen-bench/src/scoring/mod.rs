//! How right extracted documents are.
//!
//! A [`Sample`] is a text with a schema and the right document; [`Sample::score`] compares an answer with it, field by
//! field, and [`Summary`] adds up what many samples came to.
//!
//! A **field** is a leaf that the schema or the expected document names. Objects are taken apart along the schema's
//! `properties`; an array is one field, and so is an object without `properties`. A field is right if its value equals
//! the expected one: numbers by value, all else exactly. An absent optional property is right if it is absent. An
//! answer that is not there has no right field.
//!
//! The **soft score** ([`soft_score`]) says how close an answer comes.

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
