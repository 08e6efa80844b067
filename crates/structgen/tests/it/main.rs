//! The library from the outside, on the embedded model.

mod beams_as_transformers;
mod caches;
mod cascade;
mod contrastive_search;
mod errors;
mod extract_all;
mod extract_stream;
mod fields;
mod grounded;
mod handles;
mod long_texts;
mod notation;
mod prompts;
mod reader;
mod results;
mod strategies;
mod support;
