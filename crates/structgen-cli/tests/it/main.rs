//! The program, run as a user's shell would.

mod bad_input;
mod check;
mod compile;
mod grammar;
mod jsonl;
mod model_commands;
mod params;
mod results;
mod runtime;
mod support;
mod tools;
