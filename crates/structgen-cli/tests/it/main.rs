//! The program, run as a user's shell would.

mod bad_input;
mod check;
mod compile;
mod grammar;
mod inputs;
mod jsonl;
mod model_commands;
mod output;
mod params;
mod results;
mod schema_mistakes;
mod support;
mod tools;
