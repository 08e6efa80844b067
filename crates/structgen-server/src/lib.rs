//! An OpenAI-compatible server whose answers keep their contract.
//!
//! No part of a request is silently ignored; constrained outputs are complete within `max_tokens`; reasoning comes
//! first and the constraint applies after it; answers include a report on request. `docs/serving.md` describes all
//! endpoints and fields.
//!
//! [`ServerConfig`] configures what is served and to whom, and [`Server`] serves it.

mod api;
mod auth;
mod body;
mod clients;
mod config;
mod error;
mod fields;
mod generation;
mod hosts;
mod ids;
mod metrics;
mod models;
mod router;
mod server;
mod spans;
mod sse;
mod state;
mod timed;

pub use config::{ConfigError, ModelSpec, ServerConfig, ServerLimits};
pub use server::Server;
