//! Benchmarks that compare structgen with its peers; not published.

#[cfg(feature = "peers")]
pub mod grammars;
#[cfg(feature = "peers")]
pub mod llguidance_engine;
pub mod scoring;
