//! The endpoints, one file per kind.

pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod constraints;
pub(crate) mod extract;
mod fields;
pub(crate) mod models;
pub(crate) mod openapi;
pub(crate) mod page;
pub(crate) mod responses;
pub(crate) mod tokens;
