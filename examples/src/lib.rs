//! The examples are in `examples/`.
