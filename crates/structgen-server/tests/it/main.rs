//! The server as clients see it: real HTTP requests to the embedded model.

mod access;
mod chat;
mod contract;
mod endpoints;
mod models;
mod overload;
mod ported;
mod reasoning;
mod responses;
mod support;
mod tools;
