//! From source text to the grammar IR: JSON Schema, regular expressions and GBNF.

pub mod gbnf;
pub mod json_schema;
pub mod regex;
