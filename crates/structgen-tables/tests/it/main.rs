//! Runs the program as a user's shell would.

#[cfg(feature = "cluster")]
mod cluster;
mod extract;
mod faults;
mod killed;
mod sql;
mod support;
