//! An OpenAI-compatible server whose answers keep their contract.
//!
//! Nothing in a request is dropped in silence; what is constrained is complete at `max_tokens`; reasoning comes first
//! and the constraint after it; a report comes with each answer on request. `docs/serving.md` describes all endpoints
//! and fields.
//!
//! [`ServerConfig`] says what is served and to whom, and [`Server`] serves it.

mod api;
mod auth;
mod body;
mod clients;
mod config;
mod error;
mod fields;
mod generation;
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
