//! Fuzzes without coverage, on a stable compiler; see [`structgen_fuzz::smoke`].

use std::process::ExitCode;

fn main() -> ExitCode {
    structgen_fuzz::smoke::main()
}
