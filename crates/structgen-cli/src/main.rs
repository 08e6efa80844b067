//! The `structgen` command line.

fn main() {}
