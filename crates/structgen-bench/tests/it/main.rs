//! The benchmarks, run as a user's shell would.

mod decode;
mod extract;
mod masks;
#[cfg(feature = "peers")]
mod peers;
mod scripts;
mod support;
