//! One file per command.

pub(crate) mod check;
pub(crate) mod check_jsonl;
pub(crate) mod choose;
pub(crate) mod compile;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod demo_samples;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod extract;
pub(crate) mod extract_jsonl;
pub(crate) mod generate;
pub(crate) mod grammar;
pub(crate) mod lab;
pub(crate) mod man;
pub(crate) mod mask;
pub(crate) mod model;
pub(crate) mod params;
#[cfg(feature = "play")]
pub(crate) mod play;
pub(crate) mod runtime;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod tables;
