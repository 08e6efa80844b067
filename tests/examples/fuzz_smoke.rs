//! The smoke run of the fuzz targets with what the tests were built from, so that it needs no build of its own:
//! `cargo run -p structgen-tests --example fuzz_smoke -- --seconds 60`.

use std::process::ExitCode;

fn main() -> ExitCode {
    structgen_fuzz::smoke::main()
}
