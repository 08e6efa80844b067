//! The benchmarks, run as a user's shell would.

mod decode;
mod masks;
mod support;
