//! Benchmarks of structgen beside its peers; not published.

pub mod grammars;
pub mod llguidance_engine;
