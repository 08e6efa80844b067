//! The program, run as a user's shell would.

mod bad_input;
mod chat;
mod check;
mod compile;
mod grammar;
mod jsonl;
mod model_commands;
mod params;
mod results;
mod support;
mod tools;
