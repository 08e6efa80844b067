//! Runs the program as a user's shell would.

mod extract;
mod faults;
mod killed;
mod sql;
mod support;
