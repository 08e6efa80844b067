//! Benchmarks of structgen beside its peers; not published.

pub mod llguidance_engine;
