//! From source text to the grammar IR: JSON Schema, regular expressions and GBNF; other notations become GBNF first.

pub mod regex;

pub mod json_schema;

pub mod gbnf;

pub mod convert;
