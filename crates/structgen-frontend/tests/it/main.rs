//! Tests of the crate from outside.

mod convert;
mod explanations;
mod large_schemas;
mod stages;
