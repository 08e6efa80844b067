//! Tests of the crate from outside.

mod large_schemas;
mod stages;
