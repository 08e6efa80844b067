//! The runtime, and the models that are tested.

use std::io::Write;
use std::path::PathBuf;

use structgen_ort::{Runtime, ensure_runtime};

/// The runtime library, which is fetched where it is missing.
pub(crate) fn runtime() -> &'static Runtime {
    let say = |line: &str| drop(writeln!(std::io::stderr(), "{line}"));
    ensure_runtime(say).unwrap()
}

/// The folder of a tiny model.
pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}
