//! Tests of the crate from outside.

mod explanations;
mod large_schemas;
mod stages;
