//! The server as its clients see it: real HTTP against the embedded model.

mod access;
mod chat;
mod contract;
mod endpoints;
mod models;
mod ported;
mod reasoning;
mod responses;
mod support;
mod tools;
