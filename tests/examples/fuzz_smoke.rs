//! The smoke run of the fuzz targets, built with the tests: after `cargo test --no-run`,
//! `target/debug/examples/fuzz_smoke --seconds 60` needs no build of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    structgen_fuzz::smoke::main()
}
