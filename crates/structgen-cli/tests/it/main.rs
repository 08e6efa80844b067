//! The program, run as a user's shell would.

mod bad_input;
mod caches;
mod chat;
mod check;
mod compile;
#[cfg(feature = "hub")]
mod download;
mod explain;
mod grammar;
mod hostile_folders;
mod inputs;
mod interrupt;
mod jsonl;
mod lab;
mod missing_values;
mod model;
mod model_commands;
mod otel;
mod output;
mod params;
#[cfg(feature = "play")]
mod play;
mod remote;
mod results;
mod runtime;
mod schema_mistakes;
mod serve;
mod streams;
mod support;
mod tables;
mod tools;
