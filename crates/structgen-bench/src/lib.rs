//! Benchmarks of structgen beside its peers; not published.
