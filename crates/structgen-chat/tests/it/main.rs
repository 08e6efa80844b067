//! Chat templates from the outside: as transformers renders them, and damaged.

mod mutated;
mod transformers;
